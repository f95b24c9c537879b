"""The worked cases of SEMANTICS 6."""

from __future__ import annotations

import pytest

from fyke.language.ast import Strategy

from .notation import (
    ANY,
    GREEDY,
    GREEDY_PARTITION,
    GREEDY_STRICT,
    NEXT,
    PARTITION,
    ROBUST,
    STRICT,
    alternative,
    form,
    found,
    op,
)

ABC = alternative("A a ; B b ; C c")
AB_GROUP_C = alternative("A a ; B+ b[] ; C c")

CHEMO = (
    "C3:PID=1,V=1672.5 B4:PID=1,V=7100 P5:PID=1,V=111.5 B6:PID=2,V=10100 D7:PID=1,V=84 P8:PID=2,V=88 "
    "D9:PID=2,V=84 C10:PID=2,V=1320 P11:PID=2,V=98 P12:PID=1,V=116.5 P15:PID=2,V=88 B17:PID=1,V=3400 "
    "B18:PID=2,V=4000 B19:PID=2,V=4900 B22:PID=1,V=3000"
)
CHEMO_PATTERN = alternative("C c, P+ p[], D d ; B b", op("p[i].V", ">", "p[i-1].V"))
CHEMO_GREEDY = ["c=C10 p=P11 d=D9 b=B18", "c=C10 p=P8,P11 d=D9 b=B18", "c=C3 p=P5,P12 d=D7 b=B17"]

CHEMO_SMALL = "C3:PID=1 B4:PID=1 P5:PID=1 B6:PID=2 P8:PID=2 C10:PID=2 P11:PID=2 B17:PID=1 B18:PID=2 B19:PID=2"

STOCKS = (
    "GOOG344:P=615,V=100 IBM357:P=204,V=200 GOOG368:P=610,V=400 GOOG380:P=618,V=100 GOOG396:P=620,V=300 "
    "GOOG401:P=628,V=200 GOOG421:P=628,V=700 GOOG450:P=632,V=100 GOOG100555:P=629,V=200 "
    "GOOG100572:P=645,V=300 MSFT100581:P=28,V=100 GOOG100592:P=632,V=100 GOOG100605:P=635,V=700 "
    "GOOG100613:P=638,V=100 GOOG100628:P=642,V=600 GOOG100640:P=635,V=500"
)
STOCKS_PATTERN = alternative(
    "GOOG s ; GOOG t ; GOOG+ u[] ; GOOG v",
    op("s.P", "<", "t.P"),
    op("t.P", "<", "u[i].P"),
    op("u[i].P", ">", "u[i-1].P"),
    op("v.V", ">", "s.V"),
    op("v.V", ">", "t.V"),
    op("v.V", ">", "u[i].V"),
)
STOCKS_GREEDY = [
    "s=GOOG344 t=GOOG380 u=GOOG396,GOOG401 v=GOOG421",
    "s=GOOG368 t=GOOG380 u=GOOG396,GOOG401 v=GOOG421",
    "s=GOOG380 t=GOOG396 u=GOOG401 v=GOOG421",
]

QUERY3 = alternative(
    "S+ a[] ; S b",
    op("a[1].volume", ">", 1000),
    op("a[i].price", ">", "avg(a[..i-1].price)"),
    op("b.volume", "<", op(0.8, "*", "a[len].volume")),
)
QUERY3_STREAM = " ".join(
    f"S{time}:price={price},volume={volume}"
    for time, (price, volume) in enumerate(
        [(100, 1010), (120, 990), (120, 1005), (121, 999), (120, 999), (125, 750), (120, 950), (120, 700)], 1
    )
)


@pytest.mark.parametrize(
    "strategy, expected",
    [
        (ANY, ["a=A0 b=B2 c=C4", "a=A0 b=B3 c=C4", "a=A1 b=B2 c=C4", "a=A1 b=B3 c=C4"]),
        (NEXT, ["a=A0 b=B2 c=C4", "a=A1 b=B2 c=C4"]),
        (GREEDY, ["a=A0 b=B2 c=C4", "a=A1 b=B2 c=C4"]),
        (ROBUST, ["a=A0 b=B2 c=C4", "a=A1 b=B2 c=C4"]),
        (STRICT, []),
        (GREEDY_STRICT, []),
    ],
)
def test_lazy_sequence(strategy: Strategy, expected: list[str]) -> None:
    assert found(form(ABC, strategy=strategy, within=100), "A0 A1 B2 B3 C4") == expected


def test_lazy_iteration() -> None:
    events = "A0 B1 B2 B3 C4"
    groups = ["B1", "B1,B2", "B1,B2,B3", "B1,B3", "B2", "B2,B3", "B3"]
    assert found(form(AB_GROUP_C, within=100), events) == [f"a=A0 b={group} c=C4" for group in groups]
    for strategy in set(Strategy) - {ANY}:
        assert found(form(AB_GROUP_C, strategy=strategy), events) == ["a=A0 b=B1,B2,B3 c=C4"]


@pytest.mark.parametrize(
    "strategy, expected",
    [
        (ANY, ["a=A0 b=B1 c=C2", "a=A0 b=B1 c=C4", "a=A0 b=B1,B3 c=C4", "a=A0 b=B3 c=C4"]),
        (NEXT, ["a=A0 b=B1 c=C2", "a=A0 b=B1,B3 c=C4"]),
        (GREEDY, ["a=A0 b=B1 c=C2"]),
        (ROBUST, ["a=A0 b=B1 c=C2"]),
        (STRICT, ["a=A0 b=B1 c=C2"]),
        (GREEDY_PARTITION, ["a=A0 b=B1 c=C2"]),
        (GREEDY_STRICT, ["a=A0 b=B1 c=C2"]),
    ],
)
def test_closing_a_group_is_a_choice(strategy: Strategy, expected: list[str]) -> None:
    assert found(form(AB_GROUP_C, strategy=strategy, within=100), "A0 B1 C2 B3 C4") == expected


def test_chemo() -> None:
    def chemo(strategy: Strategy) -> list[str]:
        return found(form(CHEMO_PATTERN, strategy=strategy, by=("PID",), within=15), CHEMO)

    groups = ["P11", "P15", "P8", "P8,P11"]
    second = [f"c=C10 p={group} d=D9 b=B{time}" for group in groups for time in (18, 19)]
    first = [f"c=C3 p={group} d=D7 b=B17" for group in ("P12", "P5", "P5,P12")]
    assert chemo(ANY) == sorted(second + first)
    assert chemo(GREEDY) == chemo(ROBUST) == CHEMO_GREEDY
    assert chemo(NEXT) == sorted([*CHEMO_GREEDY, "c=C10 p=P11 d=D9 b=B19", "c=C10 p=P8,P11 d=D9 b=B19"])
    assert chemo(PARTITION) == chemo(GREEDY_PARTITION) == []


def test_chemo_small() -> None:
    def chemo(strategy: Strategy) -> list[str]:
        pattern = alternative("C c, P+ p[] ; B b")
        return found(form(pattern, strategy=strategy, by=("PID",), within=15), CHEMO_SMALL)

    earliest = ["c=C10 p=P11 b=B18", "c=C10 p=P8,P11 b=B18"]
    assert len(chemo(ANY)) == 7
    assert chemo(GREEDY) == chemo(ROBUST) == [*earliest, "c=C3 p=P5 b=B17"]
    assert chemo(NEXT) == sorted([*chemo(GREEDY), "c=C10 p=P11 b=B19", "c=C10 p=P8,P11 b=B19"])
    assert chemo(PARTITION) == chemo(GREEDY_PARTITION) == earliest
    assert chemo(STRICT) == chemo(GREEDY_STRICT) == []


def test_stocks() -> None:
    def stocks(strategy: Strategy) -> list[str]:
        return found(form(STOCKS_PATTERN, strategy=strategy, within=100), STOCKS)

    noise = "s=GOOG100555 t=GOOG100592 u=GOOG100613 v=GOOG100628"
    assert stocks(GREEDY) == stocks(NEXT) == STOCKS_GREEDY
    assert stocks(ROBUST) == [noise, *STOCKS_GREEDY]
    overlooked = [f"s=GOOG{start} t=GOOG396 u=GOOG401 v=GOOG421" for start in (344, 368)]
    first, third = [
        [
            f"s=GOOG{start} t=GOOG380 u={group} v=GOOG421"
            for group in ("GOOG396", "GOOG396,GOOG401", "GOOG401")
        ]
        for start in (344, 368)
    ]
    late = [noise, noise.replace("100628", "100640")]
    assert stocks(ANY) == sorted([*first, *third, *overlooked, STOCKS_GREEDY[2], *late])


def test_query3() -> None:
    assert found(form(QUERY3, strategy=NEXT, within=60), QUERY3_STREAM) == [
        "a=S1,S2,S3,S4,S5 b=S6",
        "a=S1,S2,S3,S4,S5,S6,S7 b=S8",
        "a=S3,S4 b=S6",
    ]
    assert len(found(form(QUERY3, within=60), QUERY3_STREAM)) == 68


@pytest.mark.parametrize(
    "pattern, within, events, expected",
    [
        ("A a ; ~B b ; C c", 100, "A0 B1 C2 A3 C4", ["a=A3 c=C4"]),
        ("~B b ; A a", 3, "B0 A1 X2 A3 X4 X5 X6 A7", ["a=A7"]),
        ("A a ; ~B b", 2, "A0 A1 B2 A3 X4 X5 X6 X7 A8", ["a=A3", "a=A8"]),
        ("A a, ~B b, C c", 4, "A0 C1 X2 B3 X4 X5 X6 A7 X8 C9", ["a=A7 c=C9"]),
    ],
    ids=["between", "at the start", "at the end", "in AND"],
)
def test_absence(pattern: str, within: int, events: str, expected: list[str]) -> None:
    assert found(form(alternative(pattern), within=within), events) == expected
