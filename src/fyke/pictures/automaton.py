"""The automaton of a query: its states, what each step binds, and which conditions it must meet.

A state is a set of bound variables that is downward closed, as in the engine.  A chain gives the automaton
that one would draw by hand; where there are too many states, one way through them is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fyke.language.ast import Equivalence, Event, Expression, Funnel, Length, Reference, walk
from fyke.language.query import Query
from fyke.language.rules import quantifier_sign
from fyke.language.unparse import unparse_expression, unparse_window
from fyke.limits import Limits
from fyke.logical.expand import Shape, expand
from fyke.pictures.svg import SMALL, Svg, fitted, width_of, wrapped

_MOST_STATES = 20
_MOST_ALTERNATIVES = 4
_RADIUS, _STEP, _ROW, _MARGIN = 20.0, 170.0, 130.0, 28.0

State = frozenset[str]


@dataclass(frozen=True, slots=True)
class Numbered:
    """A condition with the number that stands at the step that decides it."""

    number: int
    text: str
    variables: frozenset[str]
    absent: bool


def draw_automaton(query: Query) -> Svg:
    """Draw the automaton of a query."""
    shapes = expand(query.pattern, Limits(), query.text)
    conditions = _numbered(query, shapes)
    graphs = [_Graph(shape, conditions) for shape in shapes[:_MOST_ALTERNATIVES]]
    notes = _notes(query, conditions, len(shapes))
    width = max([*(graph.width for graph in graphs), 620.0])
    lines = [line for note in notes for line in _note_lines(note, width - 2 * _MARGIN)]
    several = len(shapes) > 1
    head = 24.0 if several else 0.0
    height = sum(graph.height + head for graph in graphs) + 19.0 * len(lines) + 2 * _MARGIN
    svg = Svg(width, height)
    top = _MARGIN
    for number, graph in enumerate(graphs, start=1):
        if several:
            svg.text(_MARGIN, top + 4, _alternative_name(query, number, len(shapes)), "faint", size=SMALL)
            top += head
        graph.draw(svg, top)
        top += graph.height
    for line, colour in lines:
        top += 19.0
        svg.text(_MARGIN, top, line, colour, size=SMALL + 1, name="note")
    return svg


def _alternative_name(query: Query, number: int, count: int) -> str:
    return (
        f"funnel, {number} of {count}"
        if isinstance(query.pattern, Funnel)
        else f"alternative {number} of {count}"
    )


def _numbered(query: Query, shapes: Sequence[Shape]) -> list[Numbered]:
    bound = {event.variable for shape in shapes for event in shape.variables}
    found = []
    plain = [each for each in query.conditions if not isinstance(each, Equivalence)]
    for number, condition in enumerate(plain, start=1):
        names = _variables(condition)
        found.append(Numbered(number, unparse_expression(condition), names, bool(names - bound)))
    return found


def _variables(condition: Expression) -> frozenset[str]:
    return frozenset(node.variable for node in walk(condition) if isinstance(node, (Reference, Length)))


def _notes(query: Query, conditions: Sequence[Numbered], alternatives: int) -> list[tuple[str, str]]:
    notes = [(f"({each.number}) {each.text}", "bad" if each.absent else "ink") for each in conditions]
    agreed = [unparse_expression(each) for each in query.conditions if isinstance(each, Equivalence)]
    if agreed:
        notes.append(
            (f"{' '.join(agreed)}  all events agree on it, and divide into partitions by it", "accent")
        )
    notes.append((f"{query.strategy.value}", "faint"))
    if query.window is not None:
        notes.append((f"WITHIN {unparse_window(query.window)}, from the first event to the last", "faint"))
    if alternatives > _MOST_ALTERNATIVES:
        notes.append((f"and {alternatives - _MOST_ALTERNATIVES} more alternatives", "faint"))
    return notes


def _note_lines(note: tuple[str, str], width: float) -> list[tuple[str, str]]:
    text, colour = note
    return [(line, colour) for line in wrapped(text, width, SMALL + 1)]


class _Graph:
    """The states of one alternative, laid out in columns by the number of variables bound."""

    def __init__(self, shape: Shape, conditions: Sequence[Numbered]) -> None:
        self.shape, self.conditions = shape, conditions
        self.events = {event.variable: event for event in shape.variables}
        self.layers = _layers(shape)
        self.rows = max(len(layer) for layer in self.layers)
        self.chain = self.rows == 1
        names = [width_of(_set_name(state), SMALL) for layer in self.layers for state in layer]
        labels = [
            width_of(self._label(state, state | {name}, name))
            for layer in self.layers
            for state in layer
            for name in self.events
            if name not in state
        ]
        self.step = max(_STEP, max(labels) * (1.0 if self.chain else 1.4) + 2 * _RADIUS + 34, max(names) + 24)
        loops = any(event.group for event in shape.variables)
        self.above = 54.0 if loops else 12.0
        self.left = _MARGIN + 30
        right = max(width_of(_set_name(state), SMALL) / 2 for state in self.layers[-1])
        trailing = any(self._reach(absence)[1] is None for absence in shape.absences)
        self.right = max(right, _RADIUS, self.step * 0.6 if trailing else 0.0)
        self.graph_height = self.above + _ROW * (self.rows - 1) + 2 * _RADIUS + 24
        self.height = self.graph_height + 30.0 * len(shape.absences) + 14
        self.width = self.left + _RADIUS + self.step * (len(self.layers) - 1) + self.right + _MARGIN

    def place(self, state: State, top: float) -> tuple[float, float]:
        """Return where a state is drawn."""
        column = next(k for k, layer in enumerate(self.layers) if state in layer)
        layer = self.layers[column]
        row = layer.index(state) + (self.rows - len(layer)) / 2
        return self.left + _RADIUS + self.step * column, top + self.above + _RADIUS + _ROW * row

    def draw(self, svg: Svg, top: float) -> None:
        """Draw steps, then states over them."""
        for before, after in zip(self.layers, self.layers[1:], strict=False):
            for state in before:
                for target in after:
                    if state < target:
                        (name,) = target - state
                        self._step(svg, top, state, target, name)
        for layer in self.layers:
            for state in layer:
                self._state(svg, top, state)
        for number, absence in enumerate(self.shape.absences):
            self._absence(svg, top, absence, number)

    def _state(self, svg: Svg, top: float, state: State) -> None:
        x, y = self.place(state, top)
        final = len(state) == len(self.events)
        svg.circle(x, y, _RADIUS, "panel", "accent" if final else "line", name="state")
        if final:
            svg.circle(x, y, _RADIUS - 4, "none", "accent")
        if not state:
            svg.line(x - _RADIUS - 26, y, x - _RADIUS - 1, y, "line", arrow=True)
        svg.text(x, y + 4, str(len(state)), "ink", anchor="middle")
        svg.text(x, y + _RADIUS + 15, _set_name(state), "faint", size=SMALL, anchor="middle", name="bound")
        for name in sorted(state):
            event = self.events[name]
            if event.group and self._is_open(state, name):
                svg.path(
                    f"M{x - 9:.1f} {y - _RADIUS + 2:.1f}C{x - 26:.1f} {y - _RADIUS - 34:.1f} {x + 26:.1f} "
                    f"{y - _RADIUS - 34:.1f} {x + 9:.1f} {y - _RADIUS + 2:.1f}",
                    "line",
                    arrow=True,
                    name="loop",
                )
                svg.text(x, y - _RADIUS - 29, f"{name}[]", "ink", size=SMALL, anchor="middle")

    def _is_open(self, state: State, name: str) -> bool:
        """Say whether a group still grows in a state: nothing that comes behind it is bound."""
        return not any((name, other) in self.shape.order for other in state)

    def _label(self, state: State, target: State, name: str) -> str:
        """Return what is written at a step: what it binds and, where steps cross, the conditions it meets."""
        label = _label(self.events[name])
        return label if self.chain else f"{label} {self._marks(target, name)}".rstrip()

    def _marks(self, target: State, name: str) -> str:
        """Return the numbers of the conditions that a step decides."""
        decided = [each for each in self.conditions if not each.absent and name in each.variables <= target]
        return " ".join(f"({each.number})" for each in decided)

    def _step(self, svg: Svg, top: float, state: State, target: State, name: str) -> None:
        (x1, y1), (x2, y2) = self.place(state, top), self.place(target, top)
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
        dx, dy = (x2 - x1) / length * (_RADIUS + 2), (y2 - y1) / length * (_RADIUS + 2)
        svg.line(x1 + dx, y1 + dy, x2 - dx, y2 - dy, "line", width=1.5, arrow=True, name="step")
        # Steps that cross do so in the middle: what is written stands nearer to where each begins.
        share = 0.5 if len(self.layers[len(state)]) == 1 == len(self.layers[len(target)]) else 0.36
        x, y = x1 + (x2 - x1) * share, y1 + (y2 - y1) * share
        label = self._label(state, target, name)
        back = width_of(label)
        if y1 != y2:
            y += 12
            svg.rect(x - back / 2 - 3, y - 21, back + 6, 17, "paper")
        svg.text(x, y - 8, label, "ink", anchor="middle", name="label")
        marks = fitted(self._marks(target, name), self.step - 3 * _RADIUS, SMALL) if self.chain else ""
        if marks:
            svg.text(x, y + 15, marks, "accent", size=SMALL, anchor="middle", name="conditions")

    def _reach(self, absence: Shape) -> tuple[State, State | None]:
        """Return the states between which an absence reaches; None: it reaches past the last event."""
        names = {event.variable for event in absence.variables}
        before = {u for u, v in self.shape.order if v in names and u in self.events}
        after = {v for u, v in self.shape.order if u in names and v in self.events}
        states = [state for layer in self.layers for state in layer]
        start = next(state for state in states if before <= state)
        return start, next((state for state in states if after <= state), None) if after else None

    def _absence(self, svg: Svg, top: float, absence: Shape, number: int) -> None:
        """Draw what must not come between two states, under them."""
        start, end = self._reach(absence)
        x1 = self.place(start, top)[0]
        x2 = (
            self.place(end, top)[0]
            if end is not None
            else self.place(self.layers[-1][0], top)[0] + self.right
        )
        y = top + self.graph_height + 30 * number
        text = "~" + ", ".join(_label(event) for event in absence.variables)
        svg.rect(x1, y, x2 - x1, 22, "absence", "bad", round_=4, dashed=True, name="absence")
        svg.text((x1 + x2) / 2, y + 15, fitted(text, x2 - x1 - 6, SMALL), "bad", size=SMALL, anchor="middle",
                 name="absent")  # fmt: skip


def _label(event: Event) -> str:
    kind = "ANY" if event.type is None else event.type
    if event.group:
        return f"{event.variable}[]: {kind}{quantifier_sign(event.minimum, event.maximum)}"
    return f"{event.variable}: {kind}"


def _set_name(state: State) -> str:
    return ", ".join(sorted(state)) if state else "start"


def _layers(shape: Shape) -> list[list[State]]:
    """Return the states by how many variables they have bound; a few of them if there are too many."""
    names = [event.variable for event in shape.variables]
    needs = {name: {u for u, v in shape.order if v == name and u in names} for name in names}
    layers: list[list[State]] = [[frozenset()]]
    for _ in names:
        found: dict[State, None] = {}
        for state in layers[-1]:
            for name in names:
                if name not in state and needs[name] <= state:
                    found[state | {name}] = None
        layers.append(list(found))
    if sum(map(len, layers)) <= _MOST_STATES:
        return layers
    few: list[list[State]] = [[frozenset()]]
    for name in sorted(names, key=lambda each: len(needs[each])):
        few.append([few[-1][0] | {name}])
    return few
