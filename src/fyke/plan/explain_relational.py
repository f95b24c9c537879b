"""A relational query in words: what it means and how it will be run."""

from __future__ import annotations

from collections.abc import Mapping

from fyke.language.unparse import unparse_expression, unparse_window
from fyke.logical.relational import AnalysedRelational


def explain_relational(
    analysed: AnalysedRelational, *, rows_by: str, counts: Mapping[str, float] | None = None
) -> str:
    """Return the explanation of a query; ``rows_by`` names who runs it, ``counts`` are those of a run."""
    lines = _query(analysed, rows_by)
    if counts:
        lines += ["", "observed", "--------"]
        lines.append(f"  read     {counts['events_read']:,} events of {counts['rows']:,} rows")
        lines.append(f"  made     {counts['matches']:,} rows")
    return "\n".join(lines)


def _query(analysed: AnalysedRelational, rows_by: str) -> list[str]:
    query = analysed.query
    title = f"join, by {rows_by}" if len(analysed.streams) > 1 else f"selection, by {rows_by}"
    lines = [str(query), "", title, "-" * len(title)]
    for number, stream in enumerate(analysed.streams):
        lines.append(f"  stream   {stream.alias}: {stream.type}")
        lines += [f"  filter   {unparse_expression(each)}" for each in stream.conditions]
        lines += [
            f"  on       {unparse_expression(each.expression)}" for each in analysed.conditions_at(number)
        ]
    lines.append(f"  within   {unparse_window(query.window)}, from the first start to the last end")
    if analysed.slide is None:
        return lines
    lines += ["", "aggregation", "-----------"]
    lines.append(f"  window   {unparse_window(query.window)} long, and whole events only")
    lines.append(f"  every    {unparse_window(query.slide or query.window)}")
    lines.append(f"  one row  a window{''.join(f' and {name}' for name in analysed.partition)}")
    lines += [f"  item     {unparse_expression(each.expression)}" for each in analysed.output.columns]
    return lines
