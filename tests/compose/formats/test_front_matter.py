"""Front matter: read as YAML says, lines that are no YAML as their writers mean them, and refused with the line."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.compose.formats.front_matter import split_front_matter
from hudkit.errors import ConfigError

YAML: list[tuple[str, object]] = [
    ("a: 1\nb: two words\nc: true", {"a": 1, "b": "two words", "c": True}),
    ("a: [x, 'y z', 3]\nb:\n  - one\n  - two", {"a": ["x", "y z", 3], "b": ["one", "two"]}),
    ("a:\n- one\n- two", {"a": ["one", "two"]}),
    ("a:\n  b:\n    c: 1\n  d: 2\ne: 3", {"a": {"b": {"c": 1}, "d": 2}, "e": 3}),
    ('"git *": allow\n# note\nb: "x: y" ', {"git *": "allow", "b": "x: y"}),
    ("a: https://x.org/y\nb: -1.5\nc:\nd: ~", {"a": "https://x.org/y", "b": -1.5, "c": None, "d": None}),
    ("a: plain text\n  that goes on\n  twice", {"a": "plain text that goes on twice"}),
    ("a: {b: 1, c: [d]}", {"a": {"b": 1, "c": ["d"]}}),
    ("a:\n  - b: 1\n    c: 2\n  - b: 3", {"a": [{"b": 1, "c": 2}, {"b": 3}]}),
    ("a: ['x, y', \"z, w\"]", {"a": ["x, y", "z, w"]}),
    ("a: [x,\n  y,\n  z]", {"a": ["x", "y", "z"]}),
    ('a: "one\\ntwo"', {"a": "one\ntwo"}),
    ('a: "say \\"yes\\" \\u00e9"', {"a": 'say "yes" é'}),
    ("a: 'it''s'", {"a": "it's"}),
    ("a: |\n  one\n    two\n\n  three", {"a": "one\n  two\n\nthree\n"}),
    ("a: |-\n  one\n  two\nb: 1", {"a": "one\ntwo", "b": 1}),
    ("a: >\n  folded\n  text\n\n  new", {"a": "folded text\nnew\n"}),
    ("a: >-\n  folded\n  text", {"a": "folded text"}),
    ("a: |+\n  kept\n\nb: 1", {"a": "kept\n\n", "b": 1}),
    ('a: "wrapped\n  text"', {"a": "wrapped text"}),
    ("a: C# is a word # a comment", {"a": "C# is a word"}),
    (
        "a: no\nb: on\nc: 2026-11-23\nd: 12:30\ne: 007",
        {"a": "no", "b": "on", "c": "2026-11-23", "d": "12:30", "e": 7},
    ),
    ("a: !!str 5\nb: 1e3\nc: .5\nd: -7", {"a": "5", "b": 1000.0, "c": 0.5, "d": -7}),
    ("a: &x 1", {"a": 1}),
    ("", {}),
    ("# only a comment", {}),
]
"""What YAML 1.2 says of each."""

MEANT: list[tuple[str, object]] = [
    ("description: Use this: it helps", {"description": "Use this: it helps"}),
    (
        'description: Use when… Examples: <example>user: "hi"</example>\nmodel: sonnet',
        {"description": 'Use when… Examples: <example>user: "hi"</example>', "model": "sonnet"},
    ),
    ("argument-hint: [file] [mode]", {"argument-hint": "[file] [mode]"}),
    ("permission:\n  *: ask\n  bash: allow", {"permission": {"*": "ask", "bash": "allow"}}),
    ("a: @mentioned\nb: `code`\nc: %d", {"a": "@mentioned", "b": "`code`", "c": "%d"}),
    ("tools: *", {"tools": "*"}),
    ("a: {b} and c\nd: one: two", {"a": "{b} and c", "d": "one: two"}),
]
"""No YAML, and one thing only that the writer can have meant."""


@pytest.mark.parametrize(("text", "expected"), [*YAML, *MEANT])
def test_front_matter(text: str, expected: object) -> None:
    assert split_front_matter(f"---\n{text}\n---\nbody\n") == (expected, "body")


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("b: 1\na: !!python/object x", 3, "Tags are not read"),
        ("a: &x 1\nb: *x", 3, "Aliases are not read"),
        ("nonsense", 2, "It is no `key: value`"),
        ("- x", 2, "It is no `key: value`"),
        ("a: 1\na: 2", 3, ""),
        ("b: 1\na: 'open", 3, ""),
        ("  - x\na: 1", 3, ""),
        ("a:\n\t- x", 3, ""),
        ("? [x]\n: 1", 2, "A key is a word"),
        ("a: !!int x", 2, "Tags are not read"),
        ("a: " + "[" * 400, 2, "It is nested more than 12 levels deep"),
        ("a" + " " * 30_000 + "b", 2, ""),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(ConfigError, match=f"line {line} of the front matter") as caught:
        split_front_matter(f"---\n{text}\n---\nbody")
    assert (caught.value.hint or "").startswith(reason)


@given(st.text(alphabet="ab:- \n[]'\"|>#{}&*!?%@\t\\,", max_size=80))
def test_front_matter_never_fails_otherwise(text: str) -> None:
    try:
        settings, body = split_front_matter(f"---\n{text}\n---\nbody")
    except ConfigError:
        return
    assert isinstance(settings, dict) and isinstance(body, str)


def test_deep_nesting_costs_no_stack() -> None:
    text = "\n".join("[" * 900 for _ in range(300))
    with pytest.raises(ConfigError, match="cannot be read"):
        split_front_matter(f"---\na: {text[:800]}\n{text}\n---\n")
    assert sys.getrecursionlimit() >= 1000
