"""One entry goes into a configuration and out again, and everything else stays as it was written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.errors import ConfigError
from hudkit.hosts.installing.config_files import ConfigChange, undo_edits
from hudkit.hosts.installing.jsonc import apply_edits, inverse_edits, parse_jsonc
from hudkit.hosts.opencode.plugin_install import with_plugin, without_plugin

WHERE = Path("opencode.json")
OURS = "/data/plugins/opencode/hudkit.js"

SHAPES = {
    "nothing": ("", '{\n  "plugin": ["OURS"]\n}\n'),
    "blank lines": ("\n\n", '\n\n{\n  "plugin": ["OURS"]\n}\n'),
    "an empty object": ("{}", '{\n  "plugin": ["OURS"]\n}'),
    "an empty object of two lines": ("{\n}\n", '{\n  "plugin": ["OURS"]\n}\n'),
    "only a comment": ("{ // nothing yet\n}\n", '{\n  "plugin": ["OURS"] // nothing yet\n}\n'),
    "one line": ('{"model": "a/b"}', '{"model": "a/b", "plugin": ["OURS"]}'),
    "tabs": ('{\n\t"model": "a/b"\n}\n', '{\n\t"model": "a/b",\n\t"plugin": ["OURS"]\n}\n'),
    "a trailing comma": ('{\n  "model": "a/b",\n}\n', '{\n  "model": "a/b",\n  "plugin": ["OURS"],\n}\n'),
    "CRLF": ('{\r\n  "model": "a/b"\r\n}\r\n', '{\r\n  "model": "a/b",\r\n  "plugin": ["OURS"]\r\n}\r\n'),
    "a byte order mark": ('\ufeff{"model": 1}', '\ufeff{"model": 1, "plugin": ["OURS"]}'),
    "an empty list": ('{"plugin": []}', '{"plugin": ["OURS"]}'),
    "an empty list with a comment": ('{"plugin": [ // none\n]}', '{"plugin": ["OURS" // none\n]}'),
    "another plugin": ('{"plugin": ["a"], "x": 1}', '{"plugin": ["a", "OURS"], "x": 1}'),
    "others, a line each": (
        '{\n  "plugin": [\n    "a",\n    "b"\n  ]\n}\n',
        '{\n  "plugin": [\n    "a",\n    "b",\n    "OURS"\n  ]\n}\n',
    ),
    "others, and a trailing comma": (
        '{\n  "plugin": [\n    "a", // first\n    "b", // second\n  ],\n}\n',
        '{\n  "plugin": [\n    "a", // first\n    "b", // second\n    "OURS",\n  ],\n}\n',
    ),
    "a comment behind the last": (
        '{\n  "plugin": [\n    "a" // the only one\n  ]\n}\n',
        '{\n  "plugin": [\n    "a", // the only one\n    "OURS"\n  ]\n}\n',
    ),
    "a comment with a comma": (
        '{\n  "plugin": [\n    "a" /* , */\n  ]\n}\n',
        '{\n  "plugin": [\n    "a", /* , */\n    "OURS"\n  ]\n}\n',
    ),
    "options of a plugin": ('{"plugin": [["a", {"b": 1}]]}', '{"plugin": [["a", {"b": 1}], "OURS"]}'),
    "what looks like a comment": ('{"u": "http://x//y", "plugin": ["/*"]}', None),
    "a comment before everything": ('// mine\n{"a": 1} // end', '// mine\n{"a": 1, "plugin": ["OURS"]} // end'),
    "the list closed on the last line": (
        '{\n  "plugin": [\n    "a"]}',
        '{\n  "plugin": [\n    "a",\n    "OURS"]}',
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_an_entry_comes_in_in_the_manner_of_the_file(name: str) -> None:
    before, wanted = SHAPES[name]
    change = with_plugin(before, WHERE, OURS)
    assert change.after is not None
    if wanted is not None:
        assert change.after == wanted.replace("OURS", OURS)
    assert undo_edits(change.after, change.edits) == before
    assert with_plugin(change.after, WHERE, OURS).after == change.after


@pytest.mark.parametrize("name", SHAPES)
def test_it_goes_out_where_the_file_has_changed_since(name: str) -> None:
    """Without the record of what was put in: the values are those from before, other text stays."""
    before, _ = SHAPES[name]
    change = with_plugin(before, WHERE, OURS)
    assert change.after is not None
    after = change.after + "// added later\n"
    without = without_plugin(after, WHERE, OURS, key_too='"plugin"' not in before).after
    assert without is not None
    assert parse_jsonc(without, "here").value == (parse_jsonc(before, "here").value if before.strip() else {})
    assert without.endswith("// added later\n")
    comments = [line.partition("//")[2] for line in before.splitlines() if "//" in line]
    assert all(comment in without for comment in comments)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "line 1, column 2 should have a name in quotes"),
        ('{"a": 1 "b": 2}', 'line 1, column 9 should have "," or "}"'),
        ('{"plugin": [,]}', "column 13 should have a value"),
        ('{\n  "a": {env:X}\n}', "line 2, column 9 should have a name in quotes"),
        ("{'a': 1}", "a name in quotes"),
        ('{"a": 01}', "a value"),
        ('{"a": "\n"}', "a value"),
        ("{} {}", "the end of the file"),
        ('{"a": /* open }', "a value"),
        ("[" * 5_000, "at most 60 levels"),
        ("[]", "does not hold an object"),
        ('{"plugin": "a"}', "is not a list"),
        ('{"plugin": {"0": "a"}}', "is not a list"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_place(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match="left as it is") as refused:
        with_plugin(text, WHERE, OURS)
    assert said in str(refused.value)


def test_the_last_of_two_lists_is_the_one_in_force() -> None:
    change = with_plugin('{"plugin": ["a"], "plugin": ["b"]}', WHERE, OURS)
    assert change.after == f'{{"plugin": ["a"], "plugin": ["b", "{OURS}"]}}'


def test_only_our_entry_goes() -> None:
    text = f'{{"plugin": ["a", ["{OURS}", {{"x": 1}}], "{OURS}.old"]}}'
    assert without_plugin(text, WHERE, OURS) == ConfigChange(text, f'{{"plugin": ["a", "{OURS}.old"]}}', (
        without_plugin(text, WHERE, OURS).edits
    ))  # fmt: skip


SPACE = st.sampled_from(["", " ", "\n", "\t", "\r\n", "\n    ", " // c\n", "/* c */", " /*\n,*/ ", "\n// ]\n  "])
SCALAR = st.sampled_from(['"a"', "1", "-2.5e3", "true", "null", '"x\\"]//"', '"\\u00e9é"'])


@st.composite
def written(draw: st.DrawFn, depth: int = 2) -> str:
    """JSON as somebody could have written it, comments and trailing commas included."""
    kind = draw(st.sampled_from(["scalar", "list", "object"])) if depth else "scalar"
    if kind == "scalar":
        return draw(SCALAR)
    entries = draw(st.lists(written(depth - 1), max_size=3))
    if kind == "object":
        entries = [f'"k{n}"{draw(SPACE)}:{draw(SPACE)}{entry}' for n, entry in enumerate(entries)]
    return draw(laid_out("[]" if kind == "list" else "{}", entries))


@st.composite
def laid_out(draw: st.DrawFn, brackets: str, entries: list[str]) -> str:
    padded = [f"{draw(SPACE)}{entry}{draw(SPACE)}" for entry in entries]
    end = "," + draw(SPACE) if padded and draw(st.booleans()) else ""
    return brackets[0] + ",".join(padded) + (end or (draw(SPACE) if not padded else "")) + brackets[1]


@st.composite
def configurations(draw: st.DrawFn) -> str:
    names = draw(st.permutations(["model", "theme", "keybinds"]))[: draw(st.integers(0, 3))]
    members = [f'"{name}"{draw(SPACE)}:{draw(SPACE)}{draw(written())}' for name in names]
    if draw(st.booleans()):
        plugins = draw(st.lists(st.sampled_from(['"a"', '"b@1"', '["c", {"d": [1]}]', '"/data/x.js"']), max_size=3))
        listed = draw(laid_out("[]", plugins))
        members.insert(draw(st.integers(0, len(members))), f'"plugin"{draw(SPACE)}:{draw(SPACE)}{listed}')
    return draw(st.sampled_from(["", "\ufeff"])) + draw(SPACE) + draw(laid_out("{}", members)) + draw(SPACE)


@pytest.mark.slow
@given(configurations())
def test_in_and_out_gives_the_same_bytes(before: str) -> None:
    value = parse_jsonc(before, "here").value
    change = with_plugin(before, WHERE, OURS)
    assert change.after is not None
    assert parse_jsonc(change.after, "here").value == {**value, "plugin": [*value.get("plugin", []), OURS]}
    assert undo_edits(change.after, change.edits) == before
    assert apply_edits(before, change.edits) == change.after
    assert inverse_edits(inverse_edits(change.edits)) == change.edits
    after = without_plugin(change.after, WHERE, OURS, key_too="plugin" not in value).after
    assert after is not None
    assert parse_jsonc(after, "here").value == value


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda deep: st.lists(deep) | st.dictionaries(st.text(), deep),
    )
)
def test_json_is_read_as_it_is(value: object) -> None:
    assert parse_jsonc(json.dumps(value, indent=1), "here").value == value
