"""From a part that can be taken away to what was wrong with it: values, events, the smallest change."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

from fyke.diagnosis.finding import Finding
from fyke.diagnosis.probe import Bindings, Found, Prober
from fyke.diagnosis.relax import FLIPPED, Relaxation, window_amount, with_window
from fyke.diagnosis.setup import (
    Setup,
    changed_event,
    made_present,
    present,
    with_condition,
    with_pattern,
    without_absences,
)
from fyke.diagnosis.values import Compared, common, compared_in_matches, distance, sides, written
from fyke.language.ast import (
    Binary,
    Event,
    Expression,
    Literal,
    Not,
    ReturnItem,
    Seq,
    Strategy,
    WindowKind,
    events,
    walk,
)
from fyke.language.unparse import unparse_expression, unparse_pattern, unparse_window
from fyke.logical.constants import null_comparisons

_UNITS = {1_000: "thousand", 1_000_000: "million", 1_000_000_000: "billion"}


class Refiner:
    """Tells what was wrong with the parts of one setup."""

    def __init__(self, setup: Setup, prober: Prober) -> None:
        self.setup, self.prober, self.events = setup, prober, prober.events

    def refine(self, relaxation: Relaxation, found: Found, base: Setup | None = None) -> Finding | None:
        """Return the finding for a relaxation of ``base`` with matches; None if it is not to blame."""
        before = base or self.setup
        after = relaxation.change(before)
        plain = Finding(
            relaxation.cause,
            relaxation.cost,
            "",
            relaxation.words,
            found.count,
            found.exact,
            after,
            found.matches[0] if found.matches else None,
        )
        told = {
            "window": self._window,
            "condition": self._condition,
            "key": self._key,
            "absence": self._absence,
            "strategy": self._strategy,
            "order": self._order,
            "count": self._count,
            "type": self._type,
            "tie": self._tie,
            "touching": self._touching,
            "complete_windows": self._complete,
        }[relaxation.cause]
        return told(plain, relaxation, before, found)

    # --- time ---------------------------------------------------------------------------

    def _window(self, plain: Finding, relaxation: Relaxation, before: Setup, found: Found) -> Finding:
        window = before.query.window
        assert window is not None
        if found.shortest is None:
            return replace(plain, text="The events come, but not within the window.")
        counts = window.kind is WindowKind.EVENTS
        amount = found.shortest if counts else window_amount(window, found.shortest, self.events)
        fitting = replace(window, amount=max(amount, window.amount + 1))
        setup = with_window(fitting)(before)
        again = self.prober.tried(setup, all_events=True)
        if again.some and again.shortest is not None and not found.exact:  # all events may have a shorter one
            shorter = again.shortest if counts else window_amount(window, again.shortest, self.events)
            fitting = replace(window, amount=max(shorter, window.amount + 1))
            setup = with_window(fitting)(before)
            again = self.prober.tried(setup, all_events=True)
        if not again.some:
            setup, again, fitting = plain.setup or setup, found, relaxation.subject
        factor = fitting.amount / max(1, window.amount)
        text = (
            f"The events come, but not WITHIN {unparse_window(window)}: the nearest match takes "
            f"{unparse_window(fitting)}.{self._unit_hint(factor)}"
        )
        return replace(
            plain,
            cost=1.0 + math.log10(max(1.0, factor)),
            text=text,
            change=f"WITHIN {unparse_window(fitting)}",
            matches=again.count,
            exact=again.exact,
            setup=setup,
            example=again.matches[0] if again.matches else plain.example,
            part=f"WITHIN {unparse_window(window)}",
        )

    def _unit_hint(self, factor: float) -> str:
        if factor < 500:
            return ""
        near = min(_UNITS, key=lambda each: abs(math.log10(factor / each)))
        if abs(math.log10(factor / near)) > 0.75:
            return ""
        kind = self.events.schema.columns[self.events.schema.end]
        return f" That is about {near:,} times as long: is the window in the unit of the times ({kind})?"

    def _tie(self, plain: Finding, _: Relaxation, before: Setup, found: Found) -> Finding:
        tied = self._tied(found.matches[0]) if found.matches else ()
        when = f" at {self._when(tied[0])}" if tied else ""
        names = " and ".join(self._label(row) for row in tied[:2])
        return replace(
            plain,
            text=f"Events of one time are never in sequence, and {names or 'those that fit'} are of one "
            f"time{when}.",
            change="tie_breaker='column', naming a column that says which comes first",
            culprits=tuple(tied),
        )

    def _tied(self, match: Bindings) -> tuple[int, ...]:
        rows = sorted(row for bound in match.values() for row in bound)
        ends = self.events.ends
        for first, second in pairwise(rows):
            if ends[first] == ends[second]:
                return first, second
        return ()

    def _touching(self, plain: Finding, _: Relaxation, before: Setup, found: Found) -> Finding:
        return replace(
            plain,
            text="Each event starts in the moment in which the one before it ends, and such events are "
            "not in sequence.",
        )

    def _complete(self, plain: Finding, _: Relaxation, before: Setup, found: Found) -> Finding:
        return replace(
            plain,
            text="The absence reaches past the first or the last event, and complete_windows=True leaves out "
            "such matches.",
        )

    # --- conditions -----------------------------------------------------------------------

    def _condition(self, plain: Finding, relaxation: Relaxation, before: Setup, found: Found) -> Finding:
        condition: Expression = relaxation.subject
        text = unparse_expression(condition)
        plain = replace(plain, part=text)
        if relaxation.words == text or _is_flipped(relaxation.words, condition):
            constant = any(isinstance(node, Literal) for node in walk(condition))
            return replace(
                plain,
                cost=3.2 if constant else 2.0,
                text=f"{text} never holds where all else fits; the other way round it does.",
                change=f"{relaxation.words} instead of {text}",
            )
        if any(True for _ in null_comparisons(condition)):
            return replace(
                plain, cause="null_value", cost=1.5, text=f"{text} is never true, for nothing equals NULL."
            )
        groups = [each.variable for each in events(before.query.pattern) if each.group]
        compared = compared_in_matches(
            condition, self.prober.combinations(plain.setup, found), self.events.full, groups
        )
        if compared is None:
            compared = self._returned(condition, plain.setup)
        if compared is None:
            return replace(plain, text=f"{text} does not hold for events that fit otherwise.")
        return self.told_of_values(plain, before, compared)

    def _returned(self, condition: Expression, setup: Setup | None) -> Compared | None:
        """Return the values of both sides of a condition as the engine computes them for each match."""
        parts = sides(condition)
        if parts is None or setup is None:
            return None
        items = [ReturnItem(part, name) for part, name in zip(parts, ("left_", "right_"), strict=True)]
        table = self.prober.values(setup, items)
        if table is None or table.num_rows == 0:
            return None
        left, right = (table.column(name).slice(0, 1000).to_pylist() for name in ("left_", "right_"))
        return Compared(condition, tuple(left), tuple(right), ({},) * len(left))

    def told_of_values(self, plain: Finding, before: Setup, compared: Compared) -> Finding:
        """Return a finding about a condition with the values that it has compared."""
        condition, text = compared.condition, plain.part
        parts = sides(condition)
        assert parts is not None
        if not isinstance(condition, Binary):
            return self._tested(plain, compared)
        if compared.nulls == len(compared.left):
            which = unparse_expression(parts[0 if compared.left[0] is None else 1])
            return replace(
                plain, cause="null_value", cost=2.0, text=f"{text} is never true, for {which} is null."
            )
        nearest = compared.nearest()
        if nearest is None:
            return replace(plain, text=f"{text} does not hold: {_pairs(compared)}.")
        left, right = compared.left[nearest], compared.right[nearest]
        far = distance(left, right)
        seen = f"the nearest miss is {written(left)} {condition.operator} {written(right)}"
        told = replace(
            plain,
            cost=2.5 + min(1.0, far if far is not None else 1.0),
            text=f"{text} does not hold for events that fit otherwise: {seen}.{_same_text(left, right)}",
            example=compared.cases[nearest] or plain.example,
        )
        return self._loosened(told, before, condition, left, right)

    def _tested(self, plain: Finding, compared: Compared) -> Finding:
        parts = sides(compared.condition)
        assert parts is not None
        operand = unparse_expression(parts[0])
        known = [value for value in compared.left if value is not None]
        if not known:
            return replace(
                plain,
                cause="null_value",
                cost=2.0,
                text=f"{plain.part} does not hold, for {operand} is null.",
            )
        return replace(
            plain,
            cost=2.8,
            text=f"{plain.part} does not hold where all else fits: {operand} is {common(known)}.",
        )

    def _loosened(self, told: Finding, before: Setup, condition: Binary, left: Any, right: Any) -> Finding:
        """Return the finding with a looser bound, if the condition compares with a literal."""
        for value, side in ((right, "left"), (left, "right")):
            literal = getattr(condition, "right" if side == "left" else "left")
            seen = left if side == "left" else right
            if not isinstance(literal, Literal) or isinstance(value, bool):
                continue
            if not isinstance(seen, (int, float, str)) or isinstance(seen, bool) or seen != seen:
                continue
            loose: Any = {"right" if side == "left" else "left": Literal(seen)}
            operator = {"<": "<=", ">": ">="}.get(condition.operator, condition.operator)
            new = replace(condition, operator=operator, **loose)
            original = next((c for c in before.query.conditions if unparse_expression(c) == told.part), None)
            if original is None:
                return told
            setup = replace(before, query=with_condition(before.query, original, new))
            again = self.prober.tried(setup)
            if again.some:
                far = distance(seen, literal.value)
                return replace(
                    told,
                    cost=(2.2 if new.operator == "=" else 1.8) + min(1.2, far if far is not None else 1.0),
                    change=f"{unparse_expression(new)} instead of {told.part}",
                    matches=again.count,
                    exact=again.exact,
                    setup=setup,
                    example=again.matches[0] if again.matches else told.example,
                )
        return told

    def _key(self, plain: Finding, relaxation: Relaxation, before: Setup, found: Found) -> Finding:
        attribute: str = relaxation.subject
        plain = replace(plain, part=f"[{attribute}]")
        column = self.events.full.column(attribute)
        values = [
            {written(column[row].as_py()) for bound in match.values() for row in bound}
            for match in found.matches
        ]
        nulls = [seen for seen in values if "NULL" in seen]
        if values and len(nulls) == len(values):
            return replace(
                plain,
                cause="null_key",
                cost=2.0,
                text=f"{attribute} is null in events that fit otherwise, and [{attribute}] leaves them out.",
                culprits=tuple(self._null_rows(found.matches[0], attribute)),
            )
        shown = sorted(values[0])[:3] if values else []
        near = _alike(values)
        said = f" The nearest are {' and '.join(shown)}.{near}" if shown else ""
        return replace(
            plain,
            cost=2.9 if near else plain.cost,
            text=f"No events that fit otherwise agree on {attribute}.{said}",
        )

    def _null_rows(self, match: Bindings, attribute: str) -> list[int]:
        column = self.events.full.column(attribute)
        return [row for bound in match.values() for row in bound if not column[row].is_valid]

    # --- the pattern ------------------------------------------------------------------------

    def _absence(self, plain: Finding, relaxation: Relaxation, before: Setup, found: Found) -> Finding:
        absence: Not = relaxation.subject
        text = unparse_pattern(absence)
        names = [each.variable for each in events(absence)]
        there = self.prober.tried(replace(before, query=made_present(before.query, absence)))
        rows: list[int] = []
        if there.matches:
            rows = [row for name in names for row in there.matches[0].get(name, [])]
        searched = before != self.setup or self.prober.has_searched_all(before)
        every = "the only match" if found.count == 1 else f"all {found.count:,} matches"
        every, each_time = (every, " each time") if searched else ("matches", "")
        said = f", as {self._label(rows[0])} at {self._when(rows[0])}" if rows else ""
        kept = (
            {name: bound for name, bound in there.matches[0].items() if name not in names}
            if there.matches
            else plain.example
        )
        return replace(
            plain,
            text=f"{text} rules out {every} of the rest: such an event is there{each_time}{said}.",
            example=kept,
            culprits=tuple(rows),
            part=text,
        )

    def _strategy(self, plain: Finding, relaxation: Relaxation, before: Setup, found: Found) -> Finding:
        old, new = before.query.strategy, relaxation.subject
        culprit = self._between(found.matches[0], before) if found.matches else None
        said = f", as {self._label(culprit)} at {self._when(culprit)}" if culprit is not None else ""
        if old.contiguous:
            where = "of the input" if old.strict else "of the partition"
            text = f"{old.value} lets no event {where} lie between, and there is one{said}."
        elif old.greedy:
            text = f"{old.value} takes every event that fits, and what it takes leads to no match{said}."
        elif old is Strategy.ROBUST:
            text = f"{old.value} drops matches that skip an event of another one{said}."
        else:
            text = f"{old.value} takes the next event that fits, and that leads to no match{said}."
        return replace(
            plain,
            text=text,
            change=f"{new.value} instead of {old.value}",
            culprits=() if culprit is None else (culprit,),
            part=old.value,
        )

    def _between(self, match: Bindings, before: Setup) -> int | None:
        """Return a row between the events of a match, none of them, of one of their types if possible."""
        bound = {row for rows in match.values() for row in rows}
        others = [row for row in range(min(bound), max(bound)) if row not in bound][:5_000]
        names = {each.type for each in events(before.query.pattern)}
        if before.query.strategy.strict:
            return others[0] if others else None
        same = [row for row in others if self._same_partition(row, next(iter(bound)), before)]
        typed = [row for row in same if self._type_of(row) in names]
        if before.query.strategy.contiguous:
            return same[0] if same else None
        return (typed or same or [None])[0]  # type: ignore[list-item]

    def _same_partition(self, row: int, other: int, before: Setup) -> bool:
        keys = self.events.options.query.conditions
        full = self.events.full
        names = [name for each in keys for name in getattr(each, "attributes", ())]
        return all(full.column(name)[row] == full.column(name)[other] for name in names)

    def _order(self, plain: Finding, _: Relaxation, before: Setup, found: Found) -> Finding | None:
        came = Counter(tuple(_as_they_came(match)) for match in found.matches)
        sequence = came.most_common(1)[0][0] if came else ()
        written_order = [each.variable for each in present(before.query.pattern)]
        if list(sequence) == [name for name in written_order if name in sequence]:
            return None  # they do come in order: something else stands in the way
        text = f"The events come in another order: {', '.join(sequence)}."
        plain = replace(plain, text=text, part=unparse_pattern(before.query.pattern))
        pattern = before.query.pattern
        if not isinstance(pattern, Seq) or not all(isinstance(part, (Event, Not)) for part in pattern.parts):
            return replace(plain, change="AND(...) instead of SEQ(...)")
        parts = sorted(
            (part for part in pattern.parts if isinstance(part, Event)),
            key=lambda part: sequence.index(part.variable) if part.variable in sequence else len(sequence),
        )
        ordered = iter(parts)
        turned = Seq(tuple(next(ordered) if isinstance(part, Event) else part for part in pattern.parts))
        for query in (
            with_pattern(before.query, turned),
            without_absences(with_pattern(before.query, turned)),
        ):
            again = self.prober.tried(replace(before, query=query))
            if again.some:
                return replace(
                    plain,
                    change=unparse_pattern(query.pattern),
                    matches=again.count,
                    exact=again.exact,
                    setup=replace(before, query=query),
                    example=again.matches[0] if again.matches else plain.example,
                )
        return replace(plain, change="AND(...) instead of SEQ(...)")

    def _count(self, plain: Finding, relaxation: Relaxation, before: Setup, found: Found) -> Finding:
        name, bound = relaxation.subject
        event = next(each for each in events(before.query.pattern) if each.variable == name)
        sizes = [len(match.get(name, ())) for match in found.matches]
        if not sizes:
            return replace(plain, text=f"{name} has no group of the right size.")
        size = max(sizes) if bound == "minimum" else min(sizes)
        few = "at least" if bound == "minimum" else "at most"
        wanted = event.minimum if bound == "minimum" else event.maximum
        setup = replace(
            before,
            query=changed_event(before.query, name, partial(_sized, bound, size)),
        )
        again = self.prober.tried(setup)
        changed = next(e for e in events(setup.query.pattern) if e.variable == name)
        return replace(
            plain,
            text=f"{name} is to have {few} {wanted} events, and "
            + (f"no more than {size} come." if bound == "minimum" else f"there are {size}."),
            change=f"{unparse_pattern(changed)} instead of {unparse_pattern(event)}",
            matches=again.count if again.some else plain.matches,
            setup=setup if again.some else plain.setup,
            part=unparse_pattern(event),
        )

    def _type(self, plain: Finding, relaxation: Relaxation, before: Setup, found: Found) -> Finding:
        name: str = relaxation.subject
        event = next(each for each in events(before.query.pattern) if each.variable == name)
        kinds = Counter(self._type_of(row) for match in found.matches for row in match.get(name, ())[:1])
        best = next((kind for kind, _ in kinds.most_common() if kind is not None), None)
        if best is None:
            return replace(plain, text=f"No {event.type} is where {name} is to be.")
        setup = replace(
            before, query=changed_event(before.query, name, lambda each: replace(each, type=best))
        )
        again = self.prober.tried(setup)
        text = f"No {event.type} is where {name} is to be; there is a {best}."
        changed = unparse_pattern(replace(event, type=best))
        if not again.some:
            return replace(plain, text=text, part=unparse_pattern(event))
        return replace(
            plain,
            text=text,
            change=f"{changed} instead of {unparse_pattern(event)}",
            matches=again.count,
            exact=again.exact,
            setup=setup,
            example=again.matches[0] if again.matches else plain.example,
            part=unparse_pattern(event),
        )

    # --- names of rows ----------------------------------------------------------------------

    def _type_of(self, row: int) -> str | None:
        column = self.events.schema.type_column
        value = None if column is None else self.events.full.column(column)[row].as_py()
        return None if value is None else str(value)

    def _label(self, row: int) -> str:
        return self._type_of(row) or f"row {row}"

    def _when(self, row: int) -> str:
        return str(self.events.full.column(self.events.schema.end)[row].as_py())


def _sized(bound: str, size: int, event: Event) -> Event:
    return replace(event, minimum=size) if bound == "minimum" else replace(event, maximum=size)


def _as_they_came(match: Bindings) -> list[str]:
    return [name for name, _ in sorted(match.items(), key=lambda item: min(item[1]))]


def _is_flipped(words: str, condition: Expression) -> bool:
    if not isinstance(condition, Binary) or condition.operator not in FLIPPED:
        return False
    return words == unparse_expression(replace(condition, operator=FLIPPED[condition.operator]))


def _pairs(compared: Compared) -> str:
    shown = [f"{written(a)} and {written(b)}" for a, b in zip(compared.left, compared.right, strict=True)]
    return f"the values are {', '.join(dict.fromkeys(shown[:3]))}"


def _same_text(left: Any, right: Any) -> str:
    if not isinstance(left, str) or not isinstance(right, str):
        return ""
    if left.strip() == right.strip():
        return " They differ only in spaces."
    return " They differ only in capital letters." if left.casefold() == right.casefold() else ""


def _alike(values: list[set[str]]) -> str:
    """Return a word about keys that differ in spaces or capital letters only."""
    for seen in values:
        plain = {value.strip("'").strip().casefold() for value in seen}
        if len(plain) == 1 and len(seen) > 1:
            return " They differ only in spaces or capital letters."
    return ""
