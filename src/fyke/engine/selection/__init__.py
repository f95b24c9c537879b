"""Which of the matches found are reported: absences, robust selection, union, non-overlap."""
