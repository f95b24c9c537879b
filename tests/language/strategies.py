"""Random queries as trees, in the shapes that the parser and the builder make."""

from __future__ import annotations

from hypothesis import strategies as st

from fyke.language import ast, rules
from fyke.language.query import Query

KEYWORDS = """
    pattern seq and or not any where within return in is between like null true false as timestamp date
    len i count first type from to end start strict_contiguity events minutes ANY Like WHERE
""".split()  # noqa: SIM905
names = st.one_of(
    st.sampled_from(
        ["a", "b", "price", "_x", "Ünï", "日本", "odd name", 'quo"te', "back`tick", "x-y", "9", "\n"]
    ),
    st.sampled_from(KEYWORDS),
    st.text(min_size=1, max_size=6),
)
lengths = st.integers(-(2**63) + 1, 2**63 - 1) | st.integers(-100, 100).map(lambda n: n * 10**9)


@st.composite
def events(draw: st.DrawFn) -> ast.Event:
    type_, variable = draw(st.none() | names), draw(names)
    kind = draw(st.sampled_from(["single", "optional", "group"]))
    if kind != "group":
        return rules.event(type_, variable, None, group=False, optional=kind == "optional")
    minimum = draw(st.integers(0, 5))
    maximum = draw(st.none() | st.integers(max(1, minimum), 9))
    return rules.event(type_, variable, (minimum, maximum), group=True)


def _composites(parts: st.SearchStrategy[ast.Pattern]) -> st.SearchStrategy[ast.Pattern]:
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return several.map(ast.Seq) | several.map(ast.And) | several.map(ast.Or) | parts.map(ast.Not)


patterns = st.recursive(events(), _composites, max_leaves=6)

numbers = st.integers(-(10**38) + 1, 10**38 - 1) | st.floats(allow_nan=False, allow_infinity=False)
literals = st.builds(ast.Literal, numbers | st.text(max_size=5) | st.booleans() | st.none())
paths = st.lists(names, max_size=3).map(tuple)
leaves = st.one_of(
    literals,
    lengths.map(ast.Duration),
    st.text(max_size=5).map(ast.Timestamp),
    names.map(ast.Length),
    st.builds(ast.Reference, names, paths, st.sampled_from(ast.Index)),
    st.just(ast.Call("count", (ast.Star(),))),
)
functions = names.map(str.lower).filter(lambda name: name not in ("prev", "first", "last"))
binary_operators = st.sampled_from(["+", "-", "*", "/", "%", "=", "!=", "<", "<=", ">", ">=", "AND", "OR"])


def _larger(parts: st.SearchStrategy[ast.Expression]) -> st.SearchStrategy[ast.Expression]:
    several = st.lists(parts, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        st.builds(ast.Binary, binary_operators, parts, parts),
        parts.map(rules.negative),
        st.builds(ast.Unary, st.just("NOT"), parts),
        st.builds(ast.In, parts, several, st.booleans()),
        st.builds(ast.Between, parts, parts, parts, st.booleans()),
        st.builds(ast.Like, parts, parts, st.booleans()),
        st.builds(ast.IsNull, parts, st.booleans()),
        st.builds(ast.Call, functions, st.lists(parts, max_size=3).map(tuple)),
    )


expressions = st.recursive(leaves, _larger, max_leaves=12)
conjuncts = expressions.filter(lambda node: not (isinstance(node, ast.Binary) and node.operator == "AND"))
equivalences = st.lists(names, min_size=1, max_size=3).map(tuple).map(ast.Equivalence)
windows = st.builds(ast.Window, st.sampled_from(ast.WindowKind), st.integers(1, 2**63 - 1))
items = st.builds(ast.ReturnItem, expressions, st.none() | names)

queries = st.builds(
    Query,
    patterns,
    st.lists(conjuncts | equivalences, max_size=4).map(tuple),
    st.sampled_from(ast.Strategy),
    st.none() | windows,
    st.none() | st.lists(items, min_size=1, max_size=3).map(tuple),
    st.none() | names,
)
