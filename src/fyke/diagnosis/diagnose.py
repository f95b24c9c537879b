"""The search for a cause: what rows show, and what the query finds if it asks for less."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from fyke.diagnosis.candidates import Candidates, Step, candidates
from fyke.diagnosis.finding import Finding
from fyke.diagnosis.numbered import Numbered
from fyke.diagnosis.probe import Found, OutOfTime, Prober
from fyke.diagnosis.refine import Refiner
from fyke.diagnosis.relax import Relaxation, relaxations
from fyke.diagnosis.setup import Setup, changed_event, first_steps, present
from fyke.diagnosis.values import compared_in_rows
from fyke.engine.measure.types_seen import types_in
from fyke.errors import LimitError, QueryError
from fyke.language.ast import Event, Opt, Or, Pattern
from fyke.language.unparse import unparse_expression, unparse_pattern
from fyke.plan.missing_types import missing_types


@dataclass(slots=True)
class Diagnosis:
    """What is known so far.

    ``together`` are changes that give a match only if all of them are made.  ``attempts`` says how
    many events started an attempt and reached each of the first steps; None if that took too long.
    """

    findings: list[Finding] = field(default_factory=list)
    together: bool = False
    matches: Found | None = None
    candidates: list[Candidates] = field(default_factory=list)
    attempts: list[tuple[tuple[str, ...], int | None]] = field(default_factory=list)
    untried: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Everywhere:
    """What there is of whatever key and time: how many events, and of which types.

    Of a sample it is known which of the types that the query names there are, and ``sampled`` is true.
    """

    rows: int
    types: Sequence[str]
    sampled: bool = False


def diagnose(prober: Prober, setup: Setup, everywhere: Everywhere) -> Diagnosis:
    """Find out why a setup has no match."""
    events, result = prober.events, Diagnosis()
    if events.table.num_rows == 0:
        result.findings.append(_no_events(events, everywhere))
        return result
    try:
        # Whether there is a match at all matters most: a search of everything may take long.
        with prober.within(prober.left / 2, each=prober.left * 3 / 8):
            result.matches = prober.find(setup, all_events=True)
        result.candidates = candidates(setup.query, events)
        if result.matches.some:
            result.findings.append(_matched(result.matches))
            return result
        if not result.matches.decided:
            result.untried.append("whether the query itself has a match")
        _count_attempts(result, prober, setup)
        missing = _missing(setup, result.candidates, events, everywhere)
        if missing:
            _tell_missing(result, missing, prober, setup, everywhere)
        else:
            _tell_changes(result, prober, setup)
    except OutOfTime:
        result.untried.append("other changes")
    if not result.findings:
        result.findings.append(Finding("unknown", 99.0, "No change that was tried gives a match."))
    return result


def _matched(found: Found) -> Finding:
    example = found.matches[0] if found.matches else None
    return Finding(
        "matched", 0.0, "The query has matches in these events.", "", found.count, found.exact, None, example
    )


def _no_events(events: Numbered, everywhere: Everywhere) -> Finding:
    rejected = events.rejected.num_rows
    if rejected:
        rows = "row has" if rejected == 1 else "rows have"
        return Finding(
            "no_time", 0.0, f"All {rejected:,} {rows} no time, or end before they start, and are left out."
        )
    if everywhere.rows:
        return Finding(
            "no_events", 0.0, f"None of the {everywhere.rows:,} events is of that key and interval."
        )
    return Finding("no_events", 0.0, "There are no events.")


# --- types ------------------------------------------------------------------------------------------


def required(pattern: Pattern) -> Iterator[Event]:
    """Yield the events that every match must have."""
    if isinstance(pattern, Event):
        if pattern.minimum > 0:
            yield pattern
    elif not isinstance(pattern, (Or, Opt)) and hasattr(pattern, "parts"):
        for part in pattern.parts:
            yield from required(part)


def _missing(
    setup: Setup, found: Sequence[Candidates], events: Numbered, everywhere: Everywhere
) -> list[Finding]:
    """Return a finding for each required event whose type no row has."""
    column = events.schema.type_column
    if column is None:
        return []
    needed = {event.variable for event in required(setup.query.pattern)}
    absent = [each.event for each in found if each.event.type is not None and each.steps[0].left == 0]
    named: dict[str, tuple[str, ...]] = {}
    for event in absent:
        if event.variable in needed or not needed:
            assert event.type is not None
            named[event.type] = (*named.get(event.type, ()), event.variable)
    there = types_in(events.full.column(column))
    rejected = types_in(events.rejected.column(column)) if events.rejected.num_rows else []
    findings = []
    for name, variables in named.items():
        findings.append(_no_such_type(name, variables, there, everywhere, rejected, events))
    return findings


def _no_such_type(
    name: str,
    variables: tuple[str, ...],
    there: Sequence[str],
    everywhere: Everywhere,
    rejected: Sequence[str],
    events: Numbered,
) -> Finding:
    whose = ", ".join(variables)
    if name in rejected:
        return Finding(
            "no_time",
            0.3,
            f"All events of type {name!r}, for {whose}, have no time, or end before they start, "
            "and are left out.",
            part=name,
        )
    if name in everywhere.types:
        where = "in the part that was looked at" if everywhere.sampled else "of this key and interval"
        return Finding(
            "not_in_selection",
            0.4,
            f"There are events of type {name!r}, for {whose}, but none {where}.",
            part=name,
        )
    hint = missing_types({name: variables}, there)[name]
    column = events.full.column(events.schema.type_column)
    nulls = column.null_count
    blank = f" {nulls:,} events have no type." if nulls else ""
    return Finding("missing_type", 0.2, f"No event is of type {name!r}, for {whose}.{hint}{blank}", part=name)


def _tell_missing(
    result: Diagnosis, missing: list[Finding], prober: Prober, setup: Setup, everywhere: Everywhere
) -> None:
    """Tell of missing types, and of what the query would find with the types that may be meant."""
    there = types_in(prober.events.full.column(prober.events.schema.type_column))
    fixed, changes = setup, []
    for finding in missing:
        for event in present(setup.query.pattern):
            if event.type == finding.part and finding.cause == "missing_type":
                meant = _meant(event, there)
                if meant is not None:
                    fixed = replace(fixed, query=changed_event(fixed.query, event.variable, meant))
                    new = meant(event)
                    changes.append(f"{unparse_pattern(new)} instead of {unparse_pattern(event)}")
    result.findings += missing
    if not changes:
        return
    found = prober.tried(fixed)
    if found.some:
        told = replace(
            missing[0],
            change=" and ".join(changes),
            matches=found.count,
            exact=found.exact,
            setup=fixed,
            example=found.matches[0] if found.matches else None,
        )
        result.findings[-len(missing)] = told
        return
    result.findings[-len(missing)] = replace(missing[0], change=" and ".join(changes), matches=0)
    further = Diagnosis()
    _tell_changes(further, prober, fixed)
    result.findings += [
        replace(each, cost=each.cost + 10, text=f"After that: {each.text}") for each in further.findings
    ]


def _meant(event: Event, there: Sequence[str]) -> Callable[[Event], Event] | None:
    """Return the change to the type that may be meant; None if nothing is near."""
    assert event.type is not None
    if event.variable in there:
        return lambda each: replace(each, type=each.variable)
    by_folded = {each.strip().casefold(): each for each in there}
    close = difflib.get_close_matches(event.type.strip().casefold(), by_folded, n=1, cutoff=0.6)
    if not close:
        return None
    name = by_folded[close[0]]
    return lambda each: replace(each, type=name)


# --- changes ----------------------------------------------------------------------------------------


def _tell_changes(result: Diagnosis, prober: Prober, setup: Setup) -> None:
    """Try each part of the query without it, and if no single one helps, as few as possible together."""
    refiner, ways = Refiner(setup, prober), relaxations(setup, prober.events)
    stuck = _stuck(setup, prober)
    freeing = [each for each in ways if _may_free(each, stuck)]
    findings = _single_changes(result, prober, setup, refiner, freeing)
    findings += _seen_in_rows(setup, prober, refiner, findings)
    changing = any(each.matches for each in findings)
    result.findings += sorted(findings, key=lambda each: (each.matches is None, each.cost))
    if not changing:
        together = _together(prober, setup, ways, refiner)
        if together:
            parts = {each.part for each in together}
            others = [each for each in result.findings if each.part not in parts]
            result.findings, result.together = [*together, *others], True


def _single_changes(
    result: Diagnosis, prober: Prober, setup: Setup, refiner: Refiner, ways: Sequence[Relaxation]
) -> list[Finding]:
    """Return what the ways that give a match by themselves have to tell.

    Each has its share of the time first, so that one that takes long keeps none of the others from being
    tried; what is undecided then is tried again.
    """
    findings: list[Finding] = []
    done: set[str] = set()
    dropped: set[int] = set()
    share = prober.left / (2 * len(ways) + 1)
    try:
        for seconds in (share, prober.left):
            undecided = []
            for way in ways:
                part = way.cause if way.cause in ("window", "strategy") else way.words
                if part in done:
                    continue
                if way.turns and id(way.subject) not in dropped:
                    undecided.append(way)
                    continue
                with prober.within(seconds):
                    found = prober.tried(way.change(setup))
                if found.some:
                    done.add(part)
                    dropped.add(id(way.subject))
                    with prober.within(seconds):
                        told = refiner.refine(way, found)
                    findings += [] if told is None else [told]
                elif not found.decided:
                    undecided.append(way)
            ways = undecided
    except OutOfTime:
        result.untried.append("other changes")
    else:
        result.untried += [way.words for way in ways if not way.turns]
    return findings


def _stuck(setup: Setup, prober: Prober) -> list[Candidates]:
    """Return the variables that every match must have and that no row can play."""
    needed = {event.variable for event in required(setup.query.pattern)}
    found = candidates(setup.query, prober.events)
    return [each for each in found if each.failed and each.event.variable in needed]


def _may_free(way: Relaxation, stuck: Sequence[Candidates]) -> bool:
    """Say whether a way can give rows to the variables that have none: not if it is about something else."""
    for each in stuck:
        own = [step.condition for step in each.steps if step.condition is not None]
        about = way.cause == "condition" and any(way.subject is condition for condition in own)
        if not (about or way.cause == "key" or (way.cause == "type" and way.subject == each.event.variable)):
            return False
    return True


def _seen_in_rows(setup: Setup, prober: Prober, refiner: Refiner, known: Sequence[Finding]) -> list[Finding]:
    """Return what the rows show by themselves: a condition that no event of its type meets."""
    findings = []
    told = {each.part for each in known}
    for each in candidates(setup.query, prober.events):
        step = each.failed
        if step is None or step.condition is None or unparse_expression(step.condition) in told:
            continue
        findings.append(_no_row(each, step, setup, prober.events, refiner))
    return findings


def _no_row(found: Candidates, step: Step, setup: Setup, events: Numbered, refiner: Refiner) -> Finding:
    assert step.condition is not None
    text = unparse_expression(step.condition)
    plain = Finding("condition", 2.6, f"No {found.event.type or 'event'} has {text}.", part=text)
    table = events.table
    column = events.schema.type_column
    if found.event.type is not None and column is not None:
        table = table.filter(pc.equal(table.column(column).cast(pa.string()), found.event.type))
    compared = compared_in_rows(step.condition, table, found.event.variable)
    if compared is None or not compared.left:
        return plain
    told = refiner.told_of_values(
        replace(plain, example=None), setup, replace(compared, cases=({},) * len(compared.left))
    )
    return replace(told, text=f"{plain.text} {told.text}", matches=told.matches)


def _together(prober: Prober, setup: Setup, ways: Sequence[Relaxation], refiner: Refiner) -> list[Finding]:
    """Return findings that give a match together, and not if one of them is left out."""
    chosen = _most_of_each(ways)
    try:
        if not prober.tried(_all(setup, chosen)).some:
            return []
        for way in sorted(chosen, key=lambda each: -each.cost):
            fewer = [each for each in chosen if each is not way]
            if prober.tried(_all(setup, fewer)).some:
                chosen = fewer
        findings = []
        for way in chosen:
            others = _all(setup, [each for each in chosen if each is not way])
            told = refiner.refine(way, prober.tried(way.change(others)), others)
            if told is not None:
                findings.append(told)
    except OutOfTime:
        return []
    return sorted(findings, key=lambda each: each.cost)


def _most_of_each(ways: Sequence[Relaxation]) -> list[Relaxation]:
    """Return one way for each part: the one that asks for least."""
    best: dict[object, Relaxation] = {}
    for way in ways:
        if way.turns:
            continue
        part = way.cause if way.cause in ("window", "strategy") else (way.cause, way.words)
        best[part] = way  # they come in the order of their cost
    # Order is undone last: events in any order leave no place for absences.
    return sorted(best.values(), key=lambda each: each.cause == "order")


def _all(setup: Setup, ways: Sequence[Relaxation]) -> Setup:
    for way in ways:
        setup = way.change(setup)
    return setup


# --- attempts ---------------------------------------------------------------------------------------


def _count_attempts(result: Diagnosis, prober: Prober, setup: Setup) -> None:
    """Count how many events start an attempt, and how many of these come to each further step."""
    names = [event.variable for event in present(setup.query.pattern)]
    empty = {each.event.variable for each in result.candidates if each.failed}
    until = prober.left / 2
    reached: int | None = 1
    for length in range(1, len(names) + 1):
        steps = tuple(names[:length])
        if names[length - 1] in empty:
            reached = 0
        elif reached != 0:
            try:
                if prober.left < until:
                    raise OutOfTime
                found = prober.find(replace(setup, query=first_steps(setup.query, steps)), all_events=True)
                reached = found.starts if found.exact else None
            except (OutOfTime, QueryError, LimitError):
                reached = None
        result.attempts.append((steps, reached))
