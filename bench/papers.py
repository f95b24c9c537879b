"""The experiments of the papers: what each reports, what was measured here, and whether the shape agrees."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.record import Record
from bench.report import Line, number


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment: the lines that repeat it, and the least and most that are of the shape it reports.

    Without both, the lines are claims with bars of their own.  ``why`` is said where the shape differs in
    lines that match ``explains``; of other lines that differ, no reason is known.
    """

    paper: str
    where: str
    about: str
    reports: str
    benchmark: str
    lines: str
    least: float | None = None
    most: float | None = None
    why: str = ""
    explains: str = ""  # every line
    up_to: bool = False  # the paper names its best case, so the best line decides

    @property
    def shape(self) -> str:
        """The values that count as agreeing."""
        if self.least is None and self.most is None:
            return "each line's own bar"
        ends = [("at least", self.least), ("at most", self.most)]
        asked = " and ".join(f"{word} {number(end)}" for word, end in ends if end is not None)
        return f"{asked}, at best" if self.up_to else asked

    def agrees(self, line: Line) -> bool:
        """Whether a line is of the shape that the paper reports."""
        if self.least is None and self.most is None:
            return line.holds
        return (self.least or 0.0) <= line.value <= (float("inf") if self.most is None else self.most)

    def reason(self, differing: Sequence[Line]) -> str:
        """Say why lines differ, and name those of which that is not known."""
        explained = [line for line in differing if self.why and re.search(self.explains, line.what)]
        others = [line.what for line in differing if line not in explained]
        named = "; ".join(others[:_NAMED]) + (f"; and {len(others) - _NAMED} more" * (len(others) > _NAMED))
        found = [self.why] if explained else []
        return " ".join([*found, f"Not explained: {named}."] if others else found)


_ORDER = (
    "Both orders of search are compiled loops over the same arrays, and a re-read costs what a step costs, "
    "so the factor is about the number of re-reads."
)
_EARLY = "Compiled, evaluating a window takes no longer than noticing a change and planning for it."
_MERGING = (
    "Merging saves a quarter to two thirds of the steps of runs, as the notes say; compiled, a step costs so "
    "little that reading events and comparing runs weigh as much."
)
_NAMED = 3  # lines without a reason that are named
EXPERIMENTS = (
    Experiment(
        "N", "6, experiment 1", "a predicate that selects little makes the strategy matter",
        "Under p2, contiguity is about ten times as fast as next match.",
        "nfab", r"^p2: next match / contiguity", least=5,
        why="Under contiguity most of the time is reading the events, which both strategies do.",
    ),
    Experiment(
        "N", "6, experiment 1", "predicates that select much make it not matter",
        "Under p1 both strategies are equally fast, under p3 nearly so.",
        "nfab", r"^p[13]: next match / contiguity", most=2,
    ),
    Experiment(
        "N", "6, experiment 2", "cost over the window", "Cost is linear in the size of the output.",
        "nfab", r"time grows, per growth of output$", most=1.25,
    ),
    Experiment(
        "N", "6, experiment 3", "backtracking, all results",
        "200 to 300 times slower than breadth-first.",
        "nfab", r"^backtrack / breadth-first, all, (?!p2, contiguity)", least=100, why=_ORDER,
    ),
    Experiment(
        "N", "6, experiment 3", "the same for p2 under contiguity", "1.3 times slower: little is read again.",
        "nfab", r"^backtrack / breadth-first, all, p2, contiguity", least=1, most=3, why=_ORDER,
    ),
    Experiment(
        "N", "6, experiment 4", "backtracking, non-overlapping results",
        "About level, as runs end early.",
        "nfab", r"^backtrack / breadth-first, non_overlap, p\d, ", least=0.2, most=5, why=_ORDER,
    ),
    Experiment(
        "N", "6, experiment 4", "the same where most runs fail late",
        "Breadth-first is ten times as fast under next match.",
        "nfab", r"^backtrack / breadth-first, non_overlap, p3\*, next match", least=5, why=_ORDER,
    ),
    Experiment(
        "N", "6, experiment 5", "merging of runs, window 500", "1.4 to 1.5 times the throughput.",
        "nfab", r"^merging, p\d, W 500:", least=1.3, why=_MERGING,
    ),
    Experiment(
        "N", "6, experiment 6", "merging of runs, longer windows",
        "1.4 to 2.1 times, without making results.",
        "nfab", r"^merging, p\d, W (1000|1500|2000):", least=1.3, why=_MERGING,
    ),
    Experiment(
        "S", "4.7", "one automaton for a set of exclusive types",
        "Up to three orders of magnitude faster than one per permutation, (n - 1)! times fewer instances.",
        "sets", r"^permutations / set, exclusive, .*: instances",
    ),
    Experiment(
        "S", "4.7", "the same, all of one type", "Up to one order of magnitude.",
        "sets", r"^permutations / set, one type, .*: search", least=3, up_to=True,
    ),
    Experiment(
        "S", "4.7.3", "six variables in more and more sets, of exclusive types",
        "The gain shrinks with the permutations: none is left for a sequence.",
        "sets", r"^permutations / sets, exclusive, .* in 6: instances", least=1, most=1,
    ),
    Experiment(
        "S", "4.7.3", "the same for fewer sets", "Fewer sets, more automata, a larger gain.",
        "sets", r"^permutations / sets, .* in [1-4]: search", least=2,
    ),
    Experiment(
        "S", "4.7.4", "twice the window, variables without a group",
        "At most a constant number of instances, so linear in the window.",
        "sets", r"^kinds of sets, P_[14]", most=2.5,
    ),
    Experiment(
        "S", "4.7.4", "the same with groups", "At most quadratic where types exclude one another.",
        "sets", r"^kinds of sets, P_[23]", most=4.5,
    ),
    Experiment(
        "S", "4.7", "size of the stream", "Run time grows linearly with the stream.",
        "sets", r"^set of three, twice the events", least=1.5, most=2.5,
    ),
    Experiment(
        "S", "4.7", "size of the match window", "Linear for exclusive variables.",
        "sets", r"^set of three, twice the window", most=2.5,
    ),
    Experiment(
        "S", "5.4", "filter, partition and candidate windows, for sets",
        "Up to several orders of magnitude of throughput, and more for sets than for sequences.",
        "sets", r"^two-phase, P_set, [4-9]|^two-phase, P_set, 10", least=100, up_to=True,
        why="The phases save as many runs as the notes say; one that ends early costs compiled code little.",
    ),
    Experiment(
        "S", "5.4", "the same, for sequences",
        "A smaller gain, as only events of the first variable start anything.",
        "sets", r"^two-phase, P_seq, [4-9]|^two-phase, P_seq, 10", least=1,
    ),
    Experiment(
        "S", "5.4.2", "filter, partition and candidate windows, over the window",
        "With patients spread over time the gain grows with the window.",
        "sets", r"^two-phase, window [\d,]+ / [\d,]+: gain", least=1,
    ),
    Experiment(
        "S", "5.4.3", "the same, over the size of the stream", "The gain stays about the same.",
        "sets", r"^two-phase, [\d,]+ / [\d,]+ events: gain", least=0.5, most=2,
    ),
    Experiment(
        "S", "6.5", "intermediate matches of robust matching",
        "Three to five orders of magnitude fewer by backtracking than by finding all.",
        "sets", r"^robust, P_\d: intermediate matches", least=1000,
        why="Windows are kept so short that finding all matches is possible at all.",
    ),
    Experiment(
        "S", "6.5", "throughput of robust matching",
        "Backtracking is always faster, by more than two orders at times.",
        "sets", r"^robust, .*time, post-processing", least=1,
        why="Where few matches of many variables are to be looked at afterwards, both do about the same.",
        explains="P_vars",
    ),
    Experiment(
        "S", "6.5", "what the greedy strategy misses", "A substantial part of the robust matches.",
        "sets", r"^robust, P_\d: matches missed by greedy", least=5,
    ),
    Experiment(
        "S", "6.5.2", "what the greedy strategy misses, over the number of variables",
        "The more variables, the larger the part.",
        "sets", r"^robust, P_vars, .*: more missed by greedy", least=0,
    ),
    Experiment(
        "S", "6.5.3", "intermediate matches, over the number of variables",
        "Orders of magnitude fewer by backtracking.",
        "sets", r"^robust, P_vars, .*intermediate matches", least=100, up_to=True,
    ),
    Experiment(
        "T", "6", "6.2: first events frequent", "The adaptive tree is much faster than the automaton.",
        "trees", r"^6\.2 .*first events",
    ),
    Experiment(
        "T", "6", "6.2: middle or last events frequent",
        "Trees are ahead for equal rates; the automaton is level or slightly ahead once rates are skewed.",
        "trees", r"^6\.2 .*(middle|last) events",
        why="In the automaton's best case looking at the events and planning adds to the tree's time.",
        explains="last events",
    ),
    Experiment(
        "T", "6", "6.3: structure of conditions",
        "The automaton is behind, and left-deep is not always best.",
        "trees", r"^6\.3 ", why=_EARLY,
    ),
    Experiment(
        "T", "6", "6.4 and 6.6: tree beside automaton, over windows",
        "The tree is ahead, most in long windows; with overlapping conditions less so in short ones.",
        "trees", r"^6\.4, 6\.6 .*: trees$", why=_EARLY,
    ),
    Experiment(
        "T", "6", "6.6: adaptive beside left-deep tree, as data changes",
        "The adaptive one is ahead, most with overlapping conditions.",
        "trees", r"^6\.(4, 6\.)?6 .*changing data.*(shape|pairs tried|rows made)$", why=_EARLY,
    ),
    Experiment(
        "T", "6", "6.5: groups",
        "Trees are ahead of the automaton, and pulling is slightly ahead of pushing.",
        "trees", r"^6\.5 ",
    ),
    Experiment(
        "T", "6", "6.7: pass-down", "Ahead of the plain pull plan where the last event is rare.",
        "trees", r"^6\.7 ",
    ),
    Experiment(
        "L", "8", "8.1: throughput over windows", "One to two orders of magnitude above the eager automaton.",
        "lazy", r": chain / eager automaton$", most=0.1,
        why="What is left of the lazy time is mostly reading the table, which both share.",
    ),
    Experiment(
        "L", "8", "8.1: computations per event and per match", "10 to 200 times fewer.",
        "lazy-work", r"^(?!ratio).*conditions evaluated", least=10,
        why="In a long window three variables have many matches, which both engines must evaluate.",
        explains="^(SEQ|AND) of 3|^SEQ with absence",
    ),
    Experiment(
        "L", "8", "8.1: memory operations, per event and per match", "Fewer for most patterns.",
        "lazy-work", r"^(?!ratio).*memory operations", least=1,
        why="A lazy chain looks at stored events, which counts here as an operation each.",
    ),
    Experiment(
        "L", "8", "8.1: memory (figure 11)",
        "Less for all patterns: 1.5 to 3 times for sequences in long windows, least for conjunctions.",
        "lazy-work", r": partial matches and buffered events held, eager / lazy$", least=1,
    ),
    Experiment(
        "L", "8", "8.1: instances (figure 12)", "5 to 100 times fewer at once.",
        "lazy-work", r": peak partial matches, eager / lazy$", least=5,
    ),
    Experiment(
        "L", "8", "8.2: equal rates", "The gain goes, and the lazy method does at most as much.",
        "lazy-work", r"^ratio of rates, .*, 1: conditions evaluated", least=1, most=5,
    ),
    Experiment(
        "L", "8", "8.2: ratio of rates", "The gain grows with the ratio.",
        "lazy-work", r"^ratio of rates, .*, (300|700): conditions evaluated", least=10,
    ),
    Experiment(
        "L", "8", "8.3: changing rates, tree beside the best chain",
        "The tree does better than any chain over the whole stream.",
        "lazy", r"^changing: tree / best chain, evaluations", most=1,
    ),
    Experiment(
        "L", "8", "8.3: a wrong order", "Up to two orders of magnitude more computations than the right one.",
        "lazy", r" rare: tree / wrong chain, evaluations", most=0.1,
    ),
)  # fmt: skip


def rows(records: Sequence[Record]) -> Iterator[list[str]]:
    """Yield a row of the table for each experiment whose benchmark ran."""
    ran = {record.name: record for record in records}
    for each in EXPERIMENTS:
        if each.benchmark not in ran:
            continue
        lines = [line for section in ran[each.benchmark].sections for line in section.lines]
        found = [line for line in lines if re.search(each.lines, line.what)]
        judged = [max(found, key=lambda line: line.value)] if each.up_to and found else found
        differing = [line for line in judged if not each.agrees(line)]
        good = len(judged) - len(differing)
        place = f"[{each.paper}] {each.where}: {each.about}"
        if not found:
            yield [place, each.reports, "not measured in this run", each.shape, "", ""]
            continue
        verdict = "agrees" if good == len(judged) else "differs" if good == 0 else f"{good} of {len(judged)}"
        yield [place, each.reports, _measured(found), each.shape, verdict, each.reason(differing)]


def _measured(lines: Sequence[Line]) -> str:
    """Say the range of the lines, and what they are ratios of."""
    values = [line.value for line in lines]
    unit = lines[0].unit
    where = lines[0].what if len(lines) == 1 else f"{len(lines)} lines such as {lines[0].what}"
    low, high = number(min(values)), number(max(values))
    return f"{low} {unit} ({where})" if low == high else f"{low} to {high} {unit} ({where})"
