"""The portable cases of Markdown text safety, F1 to F20, one by one."""

from __future__ import annotations

import pytest
from hostile import LITERALS, PLACES, shape, texts

from hudkit.compose.formats.markdown import parse, write
from hudkit.compose.formats.mdast import (
    Break,
    CodeBlock,
    Emphasis,
    Heading,
    InlineCode,
    Link,
    List,
    ListItem,
    Paragraph,
    Quote,
    Root,
    Strong,
    Text,
    ThematicBreak,
)


def _written(text: str) -> str:
    return write(PLACES["paragraph"](text))[:-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1. x", "1\\. x"),  # F1
        ("- x", "\\- x"),  # F2
        ("# h", "\\# h"),  # F3
        ("> q", "\\> q"),  # F4
        ("a *b* c", "a *b\\* c"),  # F5
        ("**", "**"),  # F6
        ("[x](y)", "[x\\](y)"),  # F7
        ("<div>", "\\<div>"),  # F8
        ("&amp;", "\\&amp;"),  # F9
        ("`a``b`", "\\`a``b`"),  # F10
        ("Foo\n---", "Foo\n\\---"),  # F11
        ("a\\", "a\\"),  # F12
        ("a\\\nb", "a\\\\\nb"),  # F12
        ("http://a.b[- <", "http\\://a.b[- <"),  # F13
    ],
)
def test_one_escape_where_one_is_needed(text: str, expected: str) -> None:
    assert _written(text) == expected
    for gfm in (False, True):
        assert texts(parse(expected, gfm=gfm)) == [text]


def test_f14_a_bar_in_a_cell() -> None:
    node = PLACES["cell"]("a | b")
    assert write(node).endswith("| a \\| b |\n")
    assert texts(parse(write(node), gfm=True)) == ["h", "a | b"]


def test_f15_a_fence_in_a_fence() -> None:
    assert write(CodeBlock("```")) == "````\n```\n````\n"
    assert parse(write(CodeBlock("a\n````\nb"))) == Root((CodeBlock("a\n````\nb"),))


def test_f16_inline_code_that_starts_with_three_backticks_at_the_start_of_a_line_and_holds_a_line_break() -> None:
    node = LITERALS["code"]("```x\ny")
    back = parse(write(node))
    assert back == LITERALS["code"]("```x y")
    node = LITERALS["code"]("a`b``c\nd")
    assert parse(write(node)) == LITERALS["code"]("a`b``c d")


@pytest.mark.parametrize(
    "text",
    [
        *(
            "snake_case",
            "5 > 3 && a < b",
            "#123",
            "a * b",
            "C:\\path",
            "[x]",
            "[WIP] fix",
            "[WIP]: fix the bug",
            "--flag",
        ),
        *(
            "src/**",
            "f[0](a, b)",
            "Dict<int, str>",
            "a~b",
            "~/x and ~/y",
            "$HOME",
            "x = y",
            "50% | 10",
            "v1.2.3",
            "2024-01-02",
        ),
        *(
            "-1",
            "+3 older: decisions.list",
            "*.py",
            "f(*args, **kwargs)",
            "it's `half",
            "a@b",
            "pkg@1.2.3",
            "http:",
            "a_",
            "_x",
        ),
        *(
            "\\d+\\w",
            "!important",
            "AT&T",
            "&x",
            "<3",
            "a<b",
            "#!/bin/sh",
            "1.5",
            "x^2",
            "::",
            "() => {}",
            "C#",
            "T[]",
        ),
    ],
)
def test_f17_what_is_safe_is_not_escaped(text: str) -> None:
    for place in ("paragraph", "item", "heading"):
        written = write(PLACES[place](text))
        assert text in written
        assert texts(parse(written)) == texts(parse(written, gfm=True)) == [text]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("* a\n* b\n", "- a\n- b\n"),
        ("a\n=\n\n\n\nb", "# a\n\nb\n"),
        ("    code\n", "```\ncode\n```\n"),
        ("- a\n- b\n\n\n* c\n", "- a\n- b\n\n+ c\n"),
        ("1) a\n2) b\n", "1. a\n2. b\n"),
        ("- a\n\n- b\n", "- a\n\n- b\n"),
        ("[a]\n\n[a]: /u 't'", '[a](/u "t")\n'),
        ("__a__ _b_", "**a** *b*\n"),
        ("a  \nb", "a\\\nb\n"),
        ("- - -", "***\n"),
        ("~~~ py\nx\n~~~", "```py\nx\n```\n"),
        ("> a\nb", "> a\n> b\n"),
    ],
)
def test_f18_one_spelling_which_stays(source: str, expected: str) -> None:
    assert write(parse(source)) == expected
    assert write(parse(expected)) == expected


def test_markers_of_stretches_hold_where_letters_touch_them() -> None:
    for node in (
        Paragraph((Strong((Text("a."),)), Text("b"))),
        Paragraph((Text("a"), Emphasis((Text("(b)"),)), Text("c"))),
        Paragraph((Emphasis((Text("a"),)), Emphasis((Text("b"),)))),
        Paragraph((Emphasis((Strong((Text("a"),)), Text(" b"))),)),
        Paragraph((Strong((Text(" a "),)),)),
        Paragraph((Link("/u", (Strong((Text("[x]"),)),)),)),
    ):
        root = Root((node,))
        assert parse(write(root)) == root, write(root)


def test_stretches_that_cannot_be_said_keep_their_text() -> None:
    node = Root((Paragraph((Strong((Text("a"), Break())),)),))
    assert texts(parse(write(node))) == ["a"]


def test_lists_that_touch_stay_apart() -> None:
    one = List((ListItem((Paragraph((Text("a"),)),)),))
    for root in (
        Root((one, one, one)),
        Root((one, List(one.children, ordered=True), List(one.children, ordered=True))),
        Root((List((ListItem((Paragraph((Text("z"),)), one, one)),)),)),
        Root((Quote((one, one)), Quote((one,)))),
        Root((one, CodeBlock("x"), one)),
        Root((one, ThematicBreak(), one)),
    ):
        assert shape(parse(write(root))) == shape(root), write(root)


def test_three_empty_lists_in_each_other_are_no_thematic_break() -> None:
    root = Root((List((ListItem((List((ListItem((List((ListItem(()),)),)),)),)),)),))
    assert parse(write(root)) == root


def test_a_list_is_tight_until_the_blocks_of_an_item_need_a_blank_line() -> None:
    para = Paragraph((Text("a"),))
    assert write(List((ListItem((para, CodeBlock("x"))), ListItem((para,))))) == "- a\n  ```\n  x\n  ```\n- a\n"
    assert write(List((ListItem((para, para)), ListItem((para,))))) == "- a\n\n  a\n\n- a\n"


def test_every_block_ends_in_one_line_feed_and_begins_with_no_space() -> None:
    for node in (
        Heading(2, (Text(" a "),)),
        Heading(1, ()),
        CodeBlock(""),
        CodeBlock("\n\n"),
        ThematicBreak(),
        Quote(()),
        List((ListItem(()),)),
        Paragraph((InlineCode(" "),)),
        Paragraph((Text("\n a \n"),)),
    ):
        written = write(node)
        assert written[0] != " " and written.endswith("\n") and (len(written) == 1 or written[-2] != "\n"), node
        assert write(parse(written)) == written


def test_destinations_that_readers_refuse_are_text() -> None:
    for href in ("javascript:alert(1)", "JaVaScRiPt:x", "data:text/html,x", "vbscript:x", "file:///etc/passwd"):
        root = Root((Paragraph((Link(href, (Text("ok"),)),)),))
        written = write(root)
        assert texts(parse(written)) == [f"ok ({href})"]
        assert write(parse(written)) == written
