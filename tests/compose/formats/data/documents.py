"""Hypothesis strategies of plain data: every JSON document, and those that look like what a format writes."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from hudkit.compose.formats.compact import SHORT

AWKWARD = (
    "", "-", "- x", "1", "05", "1e5", "-0", "true", "null", "a,b", "a|b", "a:b", "a: 1", "[2]", "[2]:", "{x}",
    "# c", "x[1]{a}:", " lead", "trail ", "two\nlines", "\r\n", "tab\there", "back\\slash", '"quoted"', "a.b", "ü",
    "🙂", "\u2028", "\u200b", "\x00", "\x1b[2J", "\x85", "\ufeff", "\u00a0", "\x7f", "'", "</script>", "NaN",
    "Infinity", "0x1", "+1", ".5", "~", "🙂\u202ee", "\U000e0041",
)  # fmt: skip
KEYS = (
    *list(SHORT)[:8], *list(SHORT.values())[:8], "msg", "$msg", "$$msg", "$", "$$", "re",
    "reply_to", "cols", "rows", "$cols", "$$cols", "a?", "b!", "a!?", "c~", "?", "!", "a", "b", "c", "id", "content",
)  # fmt: skip

texts = st.one_of(st.sampled_from(AWKWARD), st.text(st.characters(codec="utf-8"), max_size=12))
keys = st.one_of(st.sampled_from(KEYS), st.sampled_from(KEYS), texts)
numbers = st.one_of(
    st.integers(),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.1, 1e21, 1e-7, 1e300, 5e-324, 1.0, 2**53 + 1, 2**64, 10**40, -(2**80), 5.303211354225998e16]),
)
leaves = st.one_of(st.none(), st.booleans(), numbers, texts)


def _rows(cells: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects that share most of their keys, in one order or in several."""
    return st.lists(keys, min_size=1, max_size=4, unique=True).flatmap(
        lambda names: st.lists(
            st.one_of(
                st.fixed_dictionaries(dict.fromkeys(names, cells)),
                st.fixed_dictionaries({}, optional=dict.fromkeys(names, cells)),
            ),
            max_size=4,
        )
    )


def _tables(cells: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """What a table of the columns format looks like, well-formed or not."""
    return st.fixed_dictionaries(
        {"cols": st.lists(keys, max_size=3)}, optional={"rows": st.lists(st.lists(cells, max_size=3), max_size=3)}
    )


documents = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4), _rows(inner), _tables(inner)
    ),
    max_leaves=16,
)
