"""Errors of JSX text, as documents: title, text, error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hudkit.compose import ContextKey, Density, Element, Node, TreeLimits, component, h, jsx, read_jsx
from hudkit.errors import ConfigError, TreeError

GOLDENS = Path(__file__).parent / "jsx_errors.md"
_CASE = re.compile(
    r"^## (?P<title>[^\n]+)\n\n```jsx\n(?P<text>.*?)\n```\n\n```text\n(?P<error>.*?)\n```$", re.M | re.S
)
CASES = _CASE.findall(GOLDENS.read_text(encoding="utf-8"))


@component
def Notice(title: str, density: Density = Density.FULL, children: tuple[Node, ...] = ()) -> Element:
    return h.section(title=f"{title} ({density})")[children]


GIVEN: dict[str, Any] = {
    "task": {"summary": "s", "steps": 3, "by": object()},
    "items": [h.item["x"]],
    "props": {"level": 2, "onClick": "x"},
}


@pytest.mark.parametrize(("title", "text", "error"), CASES, ids=[case[0] for case in CASES])
def test_error(title: str, text: str, error: str) -> None:
    with pytest.raises(TreeError) as raised:
        read_jsx(text, {"Notice": Notice, "Tone": ContextKey("Tone")}, GIVEN)
    assert str(raised.value) == error
    details = raised.value.details
    line = re.split("\r\n|\r|\n", text)[int(str(details["line"])) - 1]
    assert 1 <= int(str(details["column"])) <= len(line) + 1


def test_there_are_goldens() -> None:
    assert len(CASES) == GOLDENS.read_text(encoding="utf-8").count("\n## ") >= 40


@pytest.mark.parametrize(
    ("text", "limits", "words"),
    [
        ("<quote>" * 9 + "<rule/>" + "</quote>" * 9, TreeLimits(depth=8), "column 64: more than 8 levels"),
        ("<document>" + "<rule/>" * 9 + "</document>", TreeLimits(nodes=9), "column 67: more than 9 nodes"),
        ("<text>" + "{1}" * 9 + "</text>", TreeLimits(nodes=9), "more than 9 nodes"),
        ("<text>" + "a{/**/}" * 9 + "</text>", TreeLimits(nodes=9), "more than 9 nodes"),
        ("<text>abcdefgh</text>", TreeLimits(chars=20), "the text has 21 characters. At most 20 are read"),
    ],
)
def test_limits(text: str, limits: TreeLimits, words: str) -> None:
    assert read_jsx(text)
    with pytest.raises(TreeError, match=words):
        read_jsx(text, limits=limits)


@pytest.mark.parametrize("wrong", [{"depth": 0}, {"depth": 129}, {"nodes": 0}, {"chars": 0}])
def test_limits_have_limits(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="limits out of range"):
        TreeLimits(**wrong)


def test_the_deepest_tree_reads_and_renders() -> None:
    text = "<Show>" * 60 + "<quote>" * 67 + "<rule/>" + "</quote>" * 67 + "</Show>" * 60
    tree = read_jsx(text, limits=TreeLimits(depth=128))
    assert tree.tag == "Show"
    quotes = "<quote>" * 120 + "<rule/>" + "</quote>" * 120
    assert sum(1 for _ in read_jsx(quotes, limits=TreeLimits(depth=128)).walk()) == 121
    assert jsx("<Show>" * 40 + "<rule/>" + "</Show>" * 40) == h.rule.element()


def test_messages_are_short_and_printable_whatever_they_repeat() -> None:
    for text in ("<" + "a" * 10_000, f"<text>{{'{'x' * 9000}", "<text>\x1b\u202e }", "<text " + "\x00" * 5000 + ">"):
        with pytest.raises(TreeError) as raised:
            read_jsx(text)
        said = str(raised.value)
        assert len(said) < 1500 and said.replace("\n", "").isprintable()
