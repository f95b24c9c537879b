"""The report is written from given lines, and the command fails where a bar does not hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import __main__ as command
from bench.pages import write_pages
from bench.processes import run_here
from bench.record import Record, read_record, write_record
from bench.report import SHOWN, CannotRun, Line, Plot, Section, Spread, Timed, interleaved, show

HOLDS = Line("chain / DuckDB", Spread([0.5, 0.2, 0.3]), 1, "x", "12 matches")
FAILS = Line("throughput", 0.4, 0.6, "x", at_least=True)
CURVES = Plot("growth", "events", "seconds", {"fyke": [(10, 1.0), (100, 9.5)]})


@pytest.fixture(autouse=True)
def _nothing_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SHOWN, "sections", [])


def records() -> list[Record]:
    return [
        Record("good", (Section("good", (HOLDS,), (CURVES,), "Why | so."),), 61.0),
        Record("bad", (Section("a <b>", (FAILS,)), Section("claims", (FAILS,), claims=True)), 1.0, False),
        Record("absent", (Section("absent", skipped="there is no Java"),)),
        Record("dead", broken="its process ended with code -9", holds=False),
    ]


def test_the_median_of_rounds_knows_their_range() -> None:
    assert (float(HOLDS.value), HOLDS.spread) == (0.3, "0.20 to 0.50")
    assert FAILS.spread == ""
    timed = Timed(["one", "other"])
    timed.rounds = {"one": [1.0, 2.0, 9.0], "other": [1.0, 4.0, 3.0]}
    ratio = timed.ratio("one", "other")
    assert (float(ratio), ratio.low, ratio.high) == (1.0, 0.5, 3.0)


def test_works_take_turns_by_the_clock_that_is_asked_for() -> None:
    ticks = iter(range(100))
    timed = interleaved(3, {"a": lambda: None, "b": lambda: None}, clock=lambda: float(next(ticks)))
    assert timed.rounds == {"a": [1.0] * 3, "b": [1.0] * 3}


def test_a_record_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    for record in records():
        write_record(record, tmp_path / "record.json")
        found = read_record(tmp_path / "record.json")
        assert found == record
        assert [line.spread for s in found.sections for line in s.lines] == [
            line.spread for s in record.sections for line in s.lines
        ]


def test_both_pages_show_lines_plots_and_what_could_not_run(tmp_path: Path) -> None:
    markdown, page = write_pages(records(), tmp_path, quick=True)
    text, web = markdown.read_text(), page.read_text()
    assert "| chain / DuckDB | 0.30 x | 0.20 to 0.50 | at most 1 x | holds | 12 matches |" in text
    assert "| throughput | 0.40 x |  | at least 0.6 x | FAILS |  |" in text
    assert "| throughput | 0.40 x |  | at least 0.6 x | differs |  |" in text
    assert "| bad | throughput | 0.40 x |  | at least 0.6 x |" in text.split("Bars that do not hold")[1]
    assert text.count("Not run: there is no Java") == 1
    assert "FAILS: its process ended with code -9" in text
    assert "a &lt;b&gt;" in web
    assert '<td class="fails">FAILS</td>' in web
    assert "numba" in text
    assert "processor" in text
    pictures = sorted(each.name for each in tmp_path.glob("*.svg"))
    assert pictures == ["bad-0.svg", "bad-1.svg", "good-0-0.svg", "good-0.svg"]
    assert all(f"({name})" in text for name in pictures)
    assert web.count("<svg") == len(pictures)


def test_a_benchmark_runs_with_what_it_knows_and_says_how_it_ended(tmp_path: Path) -> None:
    file, asked = tmp_path / "record.json", []

    def knows(*, quick: bool = False) -> bool:
        asked.append(quick)
        return show("knows", [FAILS])

    assert not run_here("knows", knows, quick=True, file=file)
    assert asked == [True]
    assert read_record(file).sections[0].lines == (FAILS,)

    def lacks() -> bool:
        raise CannotRun("no jars")

    assert run_here("lacks", lacks, quick=True, file=file)
    assert read_record(file).sections[-1].skipped == "no jars"

    def breaks() -> bool:
        raise ValueError("other rows")

    assert not run_here("breaks", breaks, quick=False, file=file)
    assert read_record(file).broken == "ValueError: other rows"


@pytest.mark.parametrize("line, code", [(HOLDS, 0), (FAILS, 1)], ids=["holds", "fails"])
def test_a_line_that_misses_its_bar_makes_the_command_fail(
    line: Line, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def apart(name: str, *, quick: bool) -> Record:
        return Record(name, [Section(name, [line])])

    monkeypatch.setattr(command, "run_apart", apart)
    assert command.main(["lazy", "--folder", str(tmp_path)]) == code
    assert "## lazy" in (tmp_path / "report.md").read_text()


def test_the_quick_mode_lists_all_benchmarks(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--quick", "--list"]) == 0
    assert capsys.readouterr().out.split() == list(command.BENCHMARKS)


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["nothing"])
    assert ended.value.code == 2
    assert "there is no benchmark 'nothing'" in capsys.readouterr().err
