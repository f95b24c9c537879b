"""Pictures as SVG, PNG and HTML: automata, plans and timelines."""
