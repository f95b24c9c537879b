"""A timeline drawn: lanes, events as dots, matches as lines between them, windows and absences shaded."""

from __future__ import annotations

from fyke.pictures.svg import NORMAL, SMALL, Svg, colour_of, fitted, width_of, wrapped
from fyke.pictures.timeline_data import Bound, Mark, Timeline
from fyke.pictures.times import moment, ticks

_WIDTH, _MARGIN, _LANE, _TOP = 1080.0, 24.0, 46.0, 46.0
_DOT = 5.5


def draw_timeline(timeline: Timeline) -> Svg:
    """Draw a timeline."""
    return _Drawing(timeline).draw()


class _Drawing:
    def __init__(self, timeline: Timeline) -> None:
        self.data = timeline
        names = [width_of(name) for name in timeline.lanes] or [0.0]
        self.left = _MARGIN + min(240.0, max(names)) + 30
        self.right = _WIDTH - _MARGIN - 14
        self.first, self.last = timeline.span
        notes = [line for note in timeline.notes for line in wrapped(note, _WIDTH - 2 * _MARGIN, SMALL)]
        self.notes = notes
        self.bottom = _TOP + _LANE * len(timeline.lanes)
        self.svg = Svg(_WIDTH, self.bottom + 46 + 17 * len(notes) + 8)

    def x(self, at: float) -> float:
        """Return where a time is."""
        share = (at - self.first) / (self.last - self.first)
        return self.left + max(0.0, min(1.0, share)) * (self.right - self.left)

    def y(self, lane: int) -> float:
        """Return the middle of a lane."""
        return _TOP + _LANE * (lane + 0.5)

    def draw(self) -> Svg:
        """Draw from the back to the front."""
        svg = self.svg
        svg.text(
            _MARGIN, 26, fitted(self.data.title, _WIDTH - 2 * _MARGIN), "ink", size=NORMAL + 1, bold=True
        )
        self._lanes()
        for match in self.data.matches:
            self._window(match)
        for absence in self.data.absences:
            x1, x2 = self.x(absence.start), self.x(absence.end)
            svg.rect(
                x1, self.y(absence.lane) - _LANE / 2 + 4, max(4.0, x2 - x1), _LANE - 8, "absence",
                "bad" if absence.broken else "none", round_=4, dashed=True, tip=absence.text, name="absence",
            )  # fmt: skip
        for number, match in enumerate(self.data.matches):
            self._match(number, match)
        for number, mark in enumerate(self.data.marks):
            self._mark(number, mark)
        self._axis()
        for number, line in enumerate(self.notes):
            svg.text(_MARGIN, self.bottom + 52 + 17 * number, line, "faint", size=SMALL, name="note")
        return svg

    def _lanes(self) -> None:
        for number, name in enumerate(self.data.lanes):
            y = self.y(number)
            if number % 2 == 0:
                self.svg.rect(_MARGIN, y - _LANE / 2, _WIDTH - 2 * _MARGIN, _LANE, "panel", name="lane")
            self.svg.line(self.left, y, self.right, y, "grid")
            self.svg.text(_MARGIN + 6, y + 4, fitted(name, self.left - _MARGIN - 14), "ink", name="lane-name")

    def _window(self, match: Bound) -> None:
        if match.window is None:
            return
        x1, x2 = self.x(match.window[0]), self.x(match.window[1])
        lanes = [self.data.marks[each].lane for each in match.marks]
        top, bottom = _TOP, self.bottom
        if len(set(lanes)) == 1 and len(lanes) > 1:  # lanes of keys: the window is of this one
            top, bottom = self.y(lanes[0]) - _LANE / 2 + 3, self.y(lanes[0]) + _LANE / 2 - 3
        self.svg.rect(
            x1, top, max(2.0, x2 - x1), bottom - top, "window", opacity=0.45, round_=3, name="window",
            tip=f"window from {self._when(match.window[0])} to {self._when(match.window[1])}",
        )  # fmt: skip

    def _match(self, number: int, match: Bound) -> None:
        rows = sorted(match.marks, key=lambda each: (self.data.marks[each].end, self.data.marks[each].row))
        points = [(self._middle(self.data.marks[each]), self.y(self.data.marks[each].lane)) for each in rows]
        d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        told = ", ".join(
            f"{name} at {self._when(self.data.marks[numbers[0]].end)}"
            for name, numbers in match.variables.items()
        )
        if len(points) > 1:
            self.svg.path(
                d, colour_of(number), width=2, opacity=0.85, name="match", tip=f"match {number + 1}: {told}"
            )
        for x, y in points:
            self.svg.circle(x, y, _DOT + 3 + number % 3 * 2, "none", colour_of(number), width=2, name="bound")

    def _middle(self, mark: Mark) -> float:
        return (self.x(mark.start) + self.x(mark.end)) / 2

    def _mark(self, number: int, mark: Mark) -> None:
        y = self.y(mark.lane)
        colour = "bad" if number in self.data.culprits else "ink" if number in self.data.of_match else "faint"
        tip = f"{mark.type} at {self._when(mark.end)}" if mark.type else self._when(mark.end)
        tip += "".join(f"; {name} {value}" for name, value in mark.attributes.items())
        if mark.end > mark.start:
            x1, x2 = self.x(mark.start), self.x(mark.end)
            self.svg.rect(x1, y - _DOT, max(3.0, x2 - x1), 2 * _DOT, colour, round_=3, tip=tip, name="event")
        else:
            self.svg.circle(self.x(mark.end), y, _DOT - 1, colour, tip=tip, name="event")

    def _axis(self) -> None:
        most = max(2, int((self.right - self.left) / 150))
        y = self.bottom
        self.svg.line(self.left, y, self.right, y, "line")
        free = 0.0
        for at, text in ticks(self.first, self.last, self.data.unit, self.data.dated, most):
            x, wide = self.x(at), width_of(text, SMALL)
            place = min(max(x, self.left - 40 + wide / 2), _WIDTH - 4 - wide / 2)
            self.svg.line(x, y, x, y + 5, "line")
            if place - wide / 2 >= free:
                self.svg.text(place, y + 19, text, "faint", size=SMALL, anchor="middle", name="tick")
                free = place + wide / 2 + 10

    def _when(self, at: int) -> str:
        return moment(at, self.data.unit if self.data.dated else None)
