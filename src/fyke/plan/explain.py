"""A plan in words: what a query means and how it will be run."""

from __future__ import annotations

from fyke.html import ShownText
from fyke.language.ast import Expression, Strategy
from fyke.language.unparse import unparse_expression, unparse_window
from fyke.logical.normal_form import Absence, Alternative, Condition, Variable
from fyke.plan.anchors import find_anchors
from fyke.plan.early_absences import depends_on, early_absences
from fyke.plan.engine_costs import CostedEngine
from fyke.plan.explain_run import ObservedRun, explain_run
from fyke.plan.explain_stream import explain_stream
from fyke.plan.plan import Plan
from fyke.plan.planner import Choice, choose_plan, expected_run
from fyke.plan.pushdown import physical
from fyke.plan.statistics import Statistics
from fyke.plan.successions import covering

_READS = {
    Strategy.ANY: "every satisfied binding starts a new run, and the old one goes on",
    Strategy.NEXT: "a run takes the next relevant event; closing a group is a choice",
    Strategy.GREEDY: "a run takes every relevant event and is reported once, in its final form",
    Strategy.ROBUST: "all matches that skip no event of another match",
    Strategy.PARTITION: "no event of the partition may be passed over",
    Strategy.STRICT: "no event of the input may be passed over",
    Strategy.GREEDY_PARTITION: "a run takes every event of the partition that it can, and is reported once, "
    "when it cannot take one",
    Strategy.GREEDY_STRICT: "a run takes every event of the input that it can, and is reported once, "
    "when it cannot take one",
}


class Explanation(ShownText):
    """What a query means and how it would be run, in words; ``fyke.draw`` makes a picture of it.

    ``plan`` is the plan, ``choice`` what it was chosen from, and ``ran`` a run of it, if there was one.
    """

    __slots__ = ("choice", "plan", "ran")

    def __new__(cls, text: str, plan: Plan, choice: Choice, ran: ObservedRun | None = None) -> Explanation:
        """Return the text with the plan that it explains."""
        made = super().__new__(cls, text)
        made.plan, made.choice, made.ran = plan, choice, ran
        return made

    plan: Plan
    choice: Choice
    ran: ObservedRun | None

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Become the bare text elsewhere: a plan holds functions, which may not travel."""
        return str, (str(self),)


def explain_plan(
    plan: Plan,
    *,
    rows_by: str,
    pieces: str | None = None,
    ran: ObservedRun | None = None,
    streams: bool = False,
    tasks_choose: bool = False,
) -> Explanation:
    """Return the explanation of a plan; ``rows_by`` names who evaluates what one row decides.

    ``pieces`` says how the events are cut, if they are read by several threads or tasks.
    ``ran`` is a run of the same plan; ``streams``: its events come one after the other; ``tasks_choose``: the
    engine is that of tasks whose events come at usual rates.
    """
    lines = [str(plan.query), ""]
    lines += _title("normal form")
    for number, alternative in enumerate(plan.stated, start=1):
        if len(plan.stated) > 1:
            lines.append(f"  alternative {number} of {len(plan.stated)}")
        lines += _alternative(alternative)
    lines += ["", *_title(f"before matching, by {rows_by}"), *_rows(plan)]
    # Only a whole table can be searched for rare events first.
    if rows_by == "Arrow" and find_anchors(plan) is not None:
        lines.append("  near     where events of the rarest variable are few: rows within a window of one")
    lines += ["", *_title("matching"), *_matching(plan)]
    if pieces is not None:
        lines.append(f"  pieces   {pieces}")
    if streams:
        lines += ["", *_title("on a stream"), *explain_stream(plan)]
    choice = choose_plan(plan.engine, plan, plan.statistics)
    lines += ["", *_title("cost"), *_costs(choice, expected_run(plan, choice)), *_unused(plan)]
    if plan.statistics is None:
        lines += _unmeasured(plan, tasks_choose=tasks_choose)
    if ran is not None:
        lines += ["", *_title("estimated against observed")]
        lines += explain_run(plan, choice, ran)
    return Explanation("\n".join(lines), plan, choice, ran)


def _costs(choice: Choice, expected: CostedEngine) -> list[str]:
    """Return what every engine is expected to cost, and the statistics behind it."""
    lines = [f"  chosen   {expected}"]
    lines += [f"  rejected {option}" for option in choice.options if option is not choice.chosen]
    return lines + [f"  {line}" for line in str(choice.statistics).splitlines()]


def _unused(plan: Plan) -> list[str]:
    """Name the statistics that fit nothing in the query, which are probably typing errors."""
    known, there = plan.statistics or Statistics(), plan.sums()
    names, texts = ", ".join(there.names), " and ".join(there.texts) or "none"
    return [
        *(
            f"    unused: {name!r} is not a variable of the query, which has {names}"
            for name in known.rates
            if name not in there.names
        ),
        *(
            f"    unused: {text!r} is not a condition between events, which are {texts}"
            for text in known.selectivities
            if text not in there.texts
        ),
    ]


def _unmeasured(plan: Plan, *, tasks_choose: bool) -> list[str]:
    """Say how a plan is made for a DataFrame, whose events were not measured."""
    if tasks_choose:
        return ["    these are usual rates: each task chooses its engine by the first rows it reads"]
    lines = ["    nothing is measured before a run on Spark: engines are compared at usual rates"]
    if plan.engine == "lazy_chain" and (plan.techniques.order or plan.order) is None:
        lines.append("    each task orders the chain by the events it reads")
    if plan.engine == "tree" and plan.techniques.tree is None:
        lines.append("    each task plans its tree on the first rows it reads")
    return [
        *lines,
        "    statistics=fyke.statistics(events, query, ...) looks at some rows, in a job of its own",
    ]


def _title(text: str) -> list[str]:
    return [text, "-" * len(text)]


def _alternative(alternative: Alternative) -> list[str]:
    names = [variable.name for variable in alternative.variables]
    lines = [f"  bind     {', '.join(map(_variable, alternative.variables))}"]
    covers = sorted(covering(alternative.order, set(names)))
    lines.append(f"  order    {', '.join(f'{u} < {v}' for u, v in covers) or 'any'}")
    lines += [f"  where    {_condition(condition)}" for condition in alternative.conditions]
    for absence in alternative.absences:
        lines += _absence(absence, alternative, "  absent   ")
    return lines


def _variable(variable: Variable) -> str:
    kind = "ANY" if variable.type is None else variable.type
    if not variable.group:
        return f"{variable.name}: {kind}"
    most = "" if variable.maximum is None else str(variable.maximum)
    return f"{variable.name}[]: {kind}{{{variable.minimum},{most}}}"


def _condition(condition: Condition) -> str:
    text = unparse_expression(condition.expression)
    notes = []
    if condition.each:
        start = " from the second on" if condition.each & condition.lagged else ""
        notes.append(f"for every element of {', '.join(sorted(condition.each))}{start}")
    enough = dict(condition.reached)
    if condition.whole.difference(enough):
        notes.append(f"when {', '.join(sorted(condition.whole.difference(enough)))} is closed")
    for name, count in sorted(enough.items()):
        notes.append(f"when {name} has {count} elements or is closed")
    return f"{text}  ({'; '.join(notes)})" if notes else text


def _absence(absence: Absence, alternative: Alternative, head: str) -> list[str]:
    names = {variable.name for variable in absence.variables}
    present = {variable.name for variable in alternative.variables}
    after = sorted(u for u, v in alternative.order if v in names and u in present)
    before = sorted(v for u, v in alternative.order if u in names and v in present)
    where = f"after {', '.join(after)} " if after else ""
    where += f"before {', '.join(before)}" if before else "until the window has passed"
    lines = [f"{head}{', '.join(map(_variable, absence.variables))} {where}".rstrip()]
    lines += [f"{' ' * len(head)}where {_condition(condition)}" for condition in absence.conditions]
    for nested in absence.absences:
        lines += _absence(nested, alternative, " " * len(head) + "unless ")
    return lines


def _rows(plan: Plan) -> list[str]:
    lines = []
    for role in plan.roles:
        tests = [f"type is {role.type!r}"] if role.type is not None else []
        tests += [_row_text(condition) for condition in role.conditions]
        lines.append(f"  role {role.bit}   {' and '.join(tests) or 'every row'}")
    if plan.every_row_counts:
        lines.append("  filter   none: irrelevant rows break contiguity or count in the window")
    else:
        lines.append("  filter   rows that can play a role")
    made = [derived for derived in plan.made if physical(derived) not in plan.schema.columns]
    lines += [f"  column   {physical(derived)} = {_row_text(derived.expression)}" for derived in made]
    lines.append(f"  carry    {', '.join(plan.needed)}")
    return lines


def _row_text(expression: Expression) -> str:
    return unparse_expression(expression).replace('"".', "")


def _matching(plan: Plan) -> list[str]:
    schema, window = plan.schema, plan.query.window
    rest = "" if schema.unique else ", then all columns"
    lines = [
        f"  split by {', '.join(plan.keys) or 'nothing: one stream'}",
        f"  order    {', '.join((schema.end, *schema.tie_breaker))}{rest}",
        f"  engine   {plan.engine}",
        f"  strategy {plan.strategy.value}: {_READS[plan.strategy]}",
        f"  window   {'none' if window is None else unparse_window(window)}",
        f"  output   {plan.output}",
    ]
    if schema.touching:
        lines.append("  touching an event is before one that starts when it ends, unless both are points")
    if plan.looks_past_data:
        lines.append("  complete no match whose absence reaches past the data")
    if plan.engine == "lazy_chain":
        given = plan.techniques.order or plan.order
        lines.append(f"  chain    {', '.join(given) if given else 'rare variables first, groups last'}")
    if plan.engine == "lazy_tree":
        lines.append("  tree     the variable with the fewest candidates in reach is next, groups last")
    if plan.stores:
        lines += _absence_checks(plan)
    if plan.result.over_matches:
        lines.append(f"  then     {_aggregation(plan)}")
    return lines


def _absence_checks(plan: Plan) -> list[str]:
    """Say when a lazy engine checks absences ([L] 4.4)."""
    lines = []
    for alternative in plan.alternatives:
        early = early_absences(alternative) if plan.techniques.absence != "post_processing" else ()
        for number, absence in enumerate(alternative.absences):
            names = ", ".join(variable.name for variable in absence.variables)
            when = "on whole matches"
            if number in early:
                when = f"as soon as {', '.join(sorted(depends_on(alternative, absence)))} are bound"
            lines.append(f"  absence  of {names}: {when}")
    return list(dict.fromkeys(lines))


def _aggregation(plan: Plan) -> str:
    """Say how aggregates over matches are computed."""
    counting = plan.counting
    if isinstance(counting, str):
        return f"aggregate over matches ({counting})"
    how = "chunk by chunk" if counting.chunks else "by counting"
    if counting.subsets:
        how = "by a recurrence over the elements of groups"
    return f"aggregate over matches {how} ({counting.reason})"
