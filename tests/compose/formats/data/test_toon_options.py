"""The options of TOON's specification 4.0: indentation, delimiter, strictness. (Key folding and path expansion are
gone in 4.)"""

from __future__ import annotations

from typing import Any

import pytest

from hudkit.compose.formats import toon
from hudkit.errors import FormatError

ROWS = {"rows": [{"id": 1, "text": "a, b"}, {"id": 2, "text": "c"}], "deep": {"er": {"x": 1}}}


@pytest.mark.parametrize("delimiter", [",", "\t", "|"])
@pytest.mark.parametrize("indent", [1, 2, 4])
@pytest.mark.parametrize("even", [False, True])
def test_what_is_written_with_an_option_is_read_back(delimiter: Any, indent: int, even: bool) -> None:
    text = toon.encode(ROWS, delimiter=delimiter, indent=indent, even=even)
    assert toon.decode(text, indent=indent, even=even) == ROWS


def test_a_delimiter_is_named_in_the_header_and_saves_quotes() -> None:
    assert toon.encode(ROWS["rows"], delimiter="|") == "[2|]{id|text}:\n  1|a, b\n  2|c"
    assert toon.encode(ROWS["rows"], delimiter="\t") == "[2\t]{id\ttext}:\n  1\ta, b\n  2\tc"


def test_indentation() -> None:
    assert toon.encode(ROWS["deep"], indent=4) == "er:\n    x: 1"
    with pytest.raises(FormatError):
        toon.decode("er:\n    x: 1", indent=2)
    assert toon.decode("er:\n    x: 1", indent=4) == ROWS["deep"]


@pytest.mark.parametrize("text", ["items[3]: 1,2", "items[2]:\n  - 1\n\n  - 2"])
def test_what_is_not_strict_is_let_through(text: str) -> None:
    with pytest.raises(FormatError):
        toon.decode(text)
    assert toon.decode(text, strict=False) == {"items": [1, 2]}
