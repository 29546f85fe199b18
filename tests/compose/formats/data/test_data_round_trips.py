"""Every data format gives back every document of the strategy; what it cannot carry is a typed error."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from enum import IntEnum
from typing import Any
from uuid import UUID

import pytest
from documents import documents, keys
from hypothesis import example, given, settings
from hypothesis import strategies as st

from campaigns import Campaign
from hudkit.compose import visible
from hudkit.compose.formats import columns, compact, json_text, toon
from hudkit.compose.formats.columns import align_rows, restore_rows
from hudkit.compose.formats.plain import DEEPEST, check, same
from hudkit.errors import ConfigError, FormatError
from hudkit.log.payloads import TaskSet
from hudkit.tokens import shared_counter

pytestmark = pytest.mark.slow

DOCUMENTS = Campaign("data", quick=150, full=20_000)

FORMATS: dict[str, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
    "json": (json_text.encode, json_text.decode),
    "minified": (lambda value: json_text.encode(value, indent=None), json_text.decode),
    "compact": (compact.encode, compact.decode),
    "columns": (columns.encode, columns.decode),
    "toon": (toon.encode, toon.decode),
    "toon-even": (lambda value: toon.encode(value, even=True), lambda text: toon.decode(text, even=True)),
}


def named(value: object) -> str:
    """Names of cases: an integer of many digits cannot be spelled."""
    return "digits" if isinstance(value, int) else ascii(value)


every_format = pytest.mark.parametrize("name", FORMATS)


def negative_zero(value: object) -> bool:
    if isinstance(value, float):
        return value == 0 and math.copysign(1, value) < 0
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(negative_zero, inner))


@DOCUMENTS
@every_format
@settings(max_examples=DOCUMENTS.rounds)
@given(document=documents)
@example({"msg": 1, "message_id": 2, "$msg": 3, "$$msg": 4})
@example([{"a": 1}, {"a": 1, "a?": None}])
@example([{"a": {"x": 1}}, {}, {"a": {"y": 2}}])
@example([{"a": 1, "b": {"x": None}}, {"a": 2}])
@example([{"a": None, "b": 1}, {"a": {"x": 1}, "b": 2}])
@example({"cols": ["a"], "rows": [[1]]})
@example([{"cols": 1}, {"cols": 2}])
@example([{"a!": 1, "b": 0}, {"b": 2}, {"a!": 1, "b": 0, "c~": [1]}])
def test_a_document_survives(name: str, document: object) -> None:
    assert_survives(name, document)


def assert_survives(name: str, document: object) -> None:
    encode, decode = FORMATS[name]
    if name.startswith("toon") and negative_zero(document):
        with pytest.raises(FormatError, match="negative zero"):
            encode(document)
        return
    found = decode(encode(document))
    assert same(found, document), (found, document)
    if not name.startswith("toon"):
        assert found == document and repr(found) == repr(document)  # the order of keys, 1.0 and -0.0 too


@pytest.mark.parametrize("flat", [False, True])
@given(document=documents)
def test_even_rows_are_restored(flat: bool, document: object) -> None:
    assert repr(restore_rows(align_rows(document, flat=flat), "test")) == repr(document)


@given(st.lists(keys, unique=True, max_size=8), st.dictionaries(keys, keys.filter(lambda k: not k.startswith("$"))))
def test_any_map_that_can_be_inverted_keeps_any_keys(names: list[str], drawn: dict[str, str]) -> None:
    short = {long: name for name, long in {name: long for long, name in drawn.items()}.items()}
    document = {name: place for place, name in enumerate(names)}
    assert compact.decode(compact.encode(document, short), short) == document


@pytest.mark.parametrize("short", [{"a": "x", "b": "x"}, {"a": "$x"}])
def test_a_map_that_cannot_be_inverted_is_refused(short: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="inverted"):
        compact.encode({}, short)


@pytest.mark.parametrize("long", compact.SHORT)
def test_a_short_name_costs_one_token_and_its_key_more(long: str) -> None:
    tally = shared_counter("o200k_base")
    with_key = {
        name: tally.count(f'{{"a":"x","{name}":"hello","{name}":5}}') for name in ("q", long, compact.SHORT[long])
    }
    assert with_key[compact.SHORT[long]] == with_key["q"] < with_key[long]


def test_no_key_of_the_map_is_a_short_name_of_another() -> None:
    assert len(set(compact.SHORT.values())) == len(compact.SHORT)
    assert not compact.SHORT.keys() & set(compact.SHORT.values())


@every_format
@pytest.mark.parametrize(
    ("value", "path", "said"),
    [
        ({"a": [1, float("nan")]}, "$.a[1]", "nan"),
        ([float("-inf")], "$[0]", "-inf"),
        ({"a": {"b c": "x\ud800"}}, "$.a['b c']", "lone surrogate U+D800 at character 1"),
        ({"\udfff": 1}, "$['\\udfff']", "lone surrogate"),
        ({"a": {1: 2}}, "$.a", "a key of type int"),
        ([b"x"], "$[0]", "of type bytes"),
        ([{1, 2}], "$[0]", "of type set"),
        (10**4300, "$", "too many digits"),
    ],
    ids=named,
)
def test_what_is_no_plain_data_is_refused_with_its_path(name: str, value: object, path: str, said: str) -> None:
    with pytest.raises(FormatError) as caught:
        FORMATS[name][0](value)
    assert caught.value.details["path"] == path
    assert said in caught.value.message
    str(caught.value).encode()


@every_format
def test_depth_has_one_limit(name: str) -> None:
    encode, decode = FORMATS[name]
    value: object = 1
    for level in range(DEEPEST):
        value = [value] if level % 2 else {"a": value}
    assert decode(encode(value)) == value
    with pytest.raises(FormatError, match="deep"):
        encode([value])


@every_format
@pytest.mark.parametrize("text", ["[" * 200 + "]" * 200, "[" * 100_000, '{"a":' * 5000])
def test_hostile_depth_is_refused(name: str, text: str) -> None:
    if name.startswith("toon"):
        text = "".join(f"{'  ' * n}a:\n" for n in range(min(len(text), 1500)))
    with pytest.raises(FormatError):
        FORMATS[name][1](text)


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        ('{"a": 1,\n "b": }', 2, 7, "Expecting value"),
        ('{"a": 1,\n  "b": {"x": 0},\n  "\\u0061": 2}', 3, 3, 'key "a" stands twice'),
        ("[1,\n NaN]", 2, 2, "NaN is not a number"),
        ("[-Infinity]", 1, 2, "-Infinity is not a number"),
        ("[0,\n1e999]", 2, 1, "out of the range"),
        (f"[{'9' * 5000}]", 1, 2, "more than 4300 digits"),
        ("[" * 1001 + "]" * 1001, 1, 101, "more than 100 levels"),
        ("", 1, 1, "Expecting value"),
        ("\ufeff1", 1, 1, "BOM"),
        ("1 2", 1, 3, "Extra data"),
        ("'a'", 1, 1, "Expecting value"),
    ],
)
@pytest.mark.parametrize("read", [json_text.decode, compact.decode, columns.decode])
def test_what_is_no_json_is_refused_with_its_place(
    read: Callable[[str], Any], text: str, line: int, column: int, said: str
) -> None:
    with pytest.raises(FormatError) as caught:
        read(text)
    assert (caught.value.details["line"], caught.value.details["column"]) == (line, column), caught.value
    assert said in caught.value.message


def test_a_surrogate_in_json_is_refused_with_its_path() -> None:
    with pytest.raises(FormatError) as caught:
        json_text.decode('{"a": ["\\ud800"]}')
    assert caught.value.details["path"] == "$.a[0]"
    assert json_text.decode('"\\ud83d\\ude42"') == "🙂"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"msg":1,"message_id":2}', "names 'message_id' twice"),
        ('{"$x":1}', "escapes nothing"),
        ('{"$":1}', "escapes nothing"),
    ],
)
def test_what_compact_never_writes_is_refused(text: str, said: str) -> None:
    with pytest.raises(FormatError, match=said.replace("$", r"\$")):
        compact.decode(text)


def test_compact_reads_long_keys_too() -> None:
    assert compact.decode('{"message_id":1}') == {"message_id": 1}
    assert compact.encode({"is_self_room": True, "own": 1, "content": ""}) == '{"own":true,"$own":1,"content":""}'
    assert compact.legend({"rooms": [{"is_self_room": True, "own": 1}]}) == {"own": "is_self_room"}


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ('{"a":{"cols":["x"]}}', "$.a", "the keys 'cols'"),
        ('{"cols":["x"],"rows":[[1],[1,2]]}', "$.rows[1]", "has 2 cells for 1 columns"),
        ('{"cols":["x","x"],"rows":[]}', "$.cols", "differ"),
        ('{"cols":[1],"rows":[]}', "$.cols", "names"),
        ('{"cols":["x"],"rows":[3]}', "$.rows[0]", "has int cells"),
        ('{"cols":"x","rows":[]}', "$", "no array"),
        ('{"cols":["x","x?"],"rows":[[1,2]]}', "$[0]", "names 'x' twice"),
    ],
)
def test_a_malformed_table_is_refused_with_its_path(text: str, path: str, said: str) -> None:
    with pytest.raises(FormatError) as caught:
        columns.decode(text)
    assert caught.value.details["path"] == path
    assert said in caught.value.message


def test_rows_without_a_key_stand_in_the_table() -> None:
    messages = [{"id": 1, "text": "a"}, {"id": 2, "re": 1, "text": "b"}, {"id": 3, "text": "c"}]
    assert columns.encode(messages) == '{"cols":["id","re?","text"],"rows":[[1,null,"a"],[2,1,"b"],[3,null,"c"]]}'
    assert toon.encode(messages, even=True) == '[3]{id,"re?",text}:\n  1,null,a\n  2,1,b\n  3,null,c'
    assert toon.encode(messages).count("- id:") == 3


def test_an_object_in_few_rows_is_json_text_in_a_flat_table() -> None:
    messages = [{"id": 1}, {"id": 2, "reactions": {"brain": 1}}, {"id": 3}, {"id": 4, "reactions": None}]
    text = '[4]{id,"reactions~"}:\n  1,null\n  2,"{\\"brain\\":1}"\n  3,null\n  4,"null"'
    assert toon.encode(messages, even=True) == text
    assert toon.decode(text, even=True) == messages
    for cell, said in (("3", "is no text"), ('"{"', "is no JSON")):
        with pytest.raises(FormatError, match=said):
            toon.decode(f'"a~": {cell}', even=True)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\na: 2", 2),
        ("x[3]: 1,2", 1),
        ("a:\n   b: 1", 2),
        ('"unterminated', 1),
        ("x[2]{a,b}:\n  1,2\n  3", 3),
        ("a: 1\n\tb: 2", 2),
        ("x[2]:\n  - 1\n\n  - 2", 3),
        ('[1]: "\\q"', 1),
        ("a: 1\nb", 2),
        ("a: 1e999", 1),
        ("[2]: 1,2\nx: 1", 2),
    ],
)
def test_toon_is_strict_and_says_the_line(text: str, line: int) -> None:
    with pytest.raises(FormatError) as caught:
        toon.decode(text)
    assert caught.value.details == {"format": "toon", "line": line}


@given(documents)
def test_json_shows_what_is_hidden(document: object) -> None:
    text = json_text.encode(document)
    assert visible(text, breaks=True) == text
    assert json.loads(text) == document


@pytest.mark.parametrize("indent", [None, 0, 1, 2])
@given(document=documents, nested=st.integers(0, 40))
@example(document=[-0.0, 0.1, 1e16, 1e-7, 5e-324, 2**63, 2**64, -(2**63) - 1, 10**40], nested=0)
@example(document={"": [], "a": {}, "b": [[], {}, [[]], [{}], ()], "c": (1, ("x",))}, nested=0)
@example(document="".join(map(chr, range(0x180))) + "\u2028\u2029\ufeff\U0001f642\U0010ffff", nested=0)
@example(document=["x" * 5000, 10**4299, -(10**4299)], nested=0)
def test_json_is_what_the_standard_library_writes(indent: int | None, document: object, nested: int) -> None:
    for _ in range(nested):
        document = [document]
    separators = (",", ":") if indent is None else None
    wanted = json.dumps(document, ensure_ascii=False, indent=indent, separators=separators)
    told = json_text.encode(document, indent=indent)
    assert json_text._NOT_PLAIN.sub(json_text._escape, wanted) == told


class Text(str):
    """A text that is more than one."""


class Level(IntEnum):
    """A number with a name."""

    HIGH = 3


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({Text("a"): [Text("b"), Level.HIGH]}, '{"a":["b",3]}'),
        ([True, False, None, 1], "[true,false,null,1]"),
        (OrderedDict(b=1, a=(2,)), '{"b":1,"a":[2]}'),
    ],
    ids=str,
)
def test_json_takes_subtypes_of_plain_data_for_what_they_are(value: object, wanted: str) -> None:
    assert json_text.encode(value, indent=None) == wanted == json.dumps(value, separators=(",", ":"))


@pytest.mark.parametrize(
    "value",
    [
        {1: 2},
        {None: 1},
        [datetime(2024, 1, 15, tzinfo=UTC)],
        {"a": UUID(int=1)},
        [Decimal(1)],
        bytearray(b"x"),
        frozenset(("a",)),
        [{"a": {"b": {2: "c"}}}],
        TaskSet("x"),
    ],
    ids=str,
)
def test_json_refuses_what_other_writers_would_turn_into_text(value: object) -> None:
    with pytest.raises(FormatError):
        json_text.encode(value)
    with pytest.raises(FormatError):
        json_text.encode([value], indent=None)


@given(document=documents)
def test_json_reads_what_the_standard_library_reads(document: object) -> None:
    for text in (json.dumps(document), json.dumps(document, ensure_ascii=False, indent=2)):
        assert same(json_text.decode(text), document)


@given(documents)
def test_equality_knows_its_values(document: object) -> None:
    check(document, "test")
    assert same(document, json.loads(json.dumps(document)))
    assert not same([document], [document, None])
    assert not same(True, 1) and not same(0, False) and same(1, 1.0) and not same("1", 1) and not same(None, False)
