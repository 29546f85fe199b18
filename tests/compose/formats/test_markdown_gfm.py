"""What GFM adds, rule by rule: footnotes, literal links, struck stretches, tasks; and what each escape is for."""

from __future__ import annotations

import pytest
from hostile import PLACES

from hudkit.compose.formats.markdown import parse, write
from hudkit.compose.formats.mdast import (
    BareUrl,
    Break,
    CodeBlock,
    Delete,
    FootnoteDefinition,
    FootnoteReference,
    Heading,
    Image,
    InlineCode,
    Link,
    List,
    ListItem,
    Mdast,
    Paragraph,
    Phrasing,
    Root,
    Strong,
    Text,
)


def _note(label: str, *children: Phrasing) -> FootnoteDefinition:
    return FootnoteDefinition(label, (Paragraph(children),))


def _line(*children: Phrasing) -> Root:
    return Root((Paragraph(children), _note("1", Text("n"))))


@pytest.mark.parametrize(
    ("children", "expected"),
    [
        ((Text("a"), FootnoteReference("1")), "a[^1]"),
        ((Text("a [^1] b"),), "a \\[^1] b"),
        ((FootnoteReference("1"), Text("(x)")), "[^1]\\(x)"),
        ((FootnoteReference("1"), Text(": x")), "[^1]\\: x"),
        ((Text("a "), FootnoteReference("1"), Text(": x")), "a [^1]: x"),
        ((Text("a!"), FootnoteReference("1")), "a\\![^1]"),
        ((FootnoteReference("1"), FootnoteReference("1")), "[^1][^1]"),
        ((Strong((FootnoteReference("1"),)),), "**[^1]**"),
        ((Link("/u", (Text("a"), FootnoteReference("1"))),), "[a[^1]](/u)"),
    ],
)
def test_calls_of_footnotes_and_text_beside_them(children: tuple[Phrasing, ...], expected: str) -> None:
    root = _line(*children)
    assert write(root) == f"{expected}\n\n[^1]: n\n"
    assert parse(write(root), gfm=True) == root


def test_text_like_a_call_needs_no_escape_where_no_footnote_is_defined() -> None:
    root = Root((Paragraph((Text("the pattern [^abc] and [^x] y"),)),))
    assert write(root) == "the pattern [^abc] and [^x] y\n"
    assert parse(write(root), gfm=True) == root


def test_a_call_of_nothing_is_text() -> None:
    assert write(Paragraph((FootnoteReference("x"),))) == "[^x]\n"
    assert parse(write(_line(FootnoteReference("x"))), gfm=True) == _line(Text("[^x]"))


@pytest.mark.parametrize(
    ("label", "written"), [("a b", "a%20b"), ("a]", "a%5D"), ("ü.1:_-", "ü.1:_-"), ("", "%"), ("`*|", "%60%2A%7C")]
)
def test_a_label_is_one_whatever_it_holds(label: str, written: str) -> None:
    root = Root((Paragraph((Text("a"), FootnoteReference(label))), _note(label, Text("n"))))
    assert write(root) == f"a[^{written}]\n\n[^{written}]: n\n"
    back = parse(write(root), gfm=True)
    assert back == Root((Paragraph((Text("a"), FootnoteReference(written))), _note(written, Text("n"))))


def test_labels_differ_by_more_than_case() -> None:
    root = Root((Paragraph((FootnoteReference("Ab"),)), _note("aB", Text("n"))))
    assert parse(write(root), gfm=True) == root


def test_a_footnote_holds_blocks_and_stands_where_blocks_stand() -> None:
    inner = (
        Paragraph((Text("a"),)),
        CodeBlock("x\n\ny", "py"),
        List((ListItem((Paragraph((Text("b"),)),)), ListItem((FootnoteDefinition("2", ()),)))),
    )
    root = Root((FootnoteDefinition("1", inner), Paragraph((FootnoteReference("1"), FootnoteReference("2")))))
    written = write(root)
    assert written.startswith("[^1]: a\n\n    ```py\n    x\n\n    y\n    ```\n\n    - b\n    - [^2]:\n\n[^1][^2]")
    assert parse(written, gfm=True) == root


def test_without_gfm_a_footnote_is_text() -> None:
    assert parse("a[^1]\n\n[^1]: b c\n") == Root((Paragraph((Text("a[^1]"),)), Paragraph((Text("[^1]: b c"),))))


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("see http://a.b/c?d=(e).", (Text("see "), BareUrl("http://a.b/c?d=(e)"), Text("."))),
        ("www.a.b, ftp://a.b", (BareUrl("www.a.b"), Text(", "), BareUrl("ftp://a.b"))),
        ("to x@y.z", (Text("to "), BareUrl("x@y.z"))),
        ("http://a.b/~c. d", (Link("http://a.b/~c", (Text("http://a.b/~c"),)), Text(". d"))),
        ("[x www.a.b] y a@b.cd]", (Text("[x www.a.b] y "), BareUrl("a@b.cd"), Text("]"))),
        ("[x www.a.b y] [x a@b.cd", (Text("[x www.a.b y] [x a@b.cd"),)),
        ("[http://a.b] [www.a.b]", (Text("["), BareUrl("http://a.b"), Text("] [www.a.b]"))),
        ("a@b.c- a@b.c_ a@b.1", (Text("a@b.c- a@b.c_ a@b.1"),)),
        ("xwww.a.b xhttp://a.b", (Text("xwww.a.b xhttp://a.b"),)),
        ("http\\://a.b", (Text("http://a.b"),)),
    ],
)  # fmt: skip
def test_literal_links_are_bare_where_they_can_be_written_so(source: str, found: tuple[Phrasing, ...]) -> None:
    root = parse(source, gfm=True)
    assert root.children[0].children == found  # type: ignore[union-attr]
    written = write(root)
    assert parse(written, gfm=True) == root
    assert write(parse(written, gfm=True)) == written


@pytest.mark.parametrize("gfm", [False, True])
@pytest.mark.parametrize("text", ["see https://a.b/c.", "(https://a.b_c/d)", "[https://a.b/?c=d", "https://a.b\nc"])
def test_a_url_stays_as_it_stands_with_either_reader(text: str, gfm: bool) -> None:
    assert write(parse(text, gfm=gfm)) == text + "\n"


def test_no_url_is_bare_where_something_would_run_into_it() -> None:
    for source in ("http://a.b`c`", "**http://a.b**", "http://a.b\\\nc", "http://a.b\\*"):
        root = parse(source, gfm=True)
        assert "BareUrl" not in repr(root)
        assert parse(write(root), gfm=True) == root


def test_struck_stretches_that_touch_are_one() -> None:
    root = Root((Paragraph((Delete((Text("a"),)), Delete((Text("b"), Strong((Text("c"),)))), Text(" d"))),))
    assert write(root) == "~~ab**c**~~ d\n"
    assert parse("~~ab**c**~~ d", gfm=True).children[0] == Paragraph(
        (Delete((Text("ab"), Strong((Text("c"),)))), Text(" d"))
    )


def test_a_stretch_within_its_like_goes_before_the_one_around_it() -> None:
    node = Paragraph((Strong((Strong((Text("a"),)), Text("a"))), Text("a")))
    assert write(node) == "**aa**a\n"


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (CodeBlock("x", "~ `"), "~~~ ~ `\nx\n~~~\n"),
        (Paragraph((Text("a"), Break(), Break())), "a\n"),
        (Heading(1, (Strong((Break(), Text("a"))),)), "**\\\na**\n===\n"),
        (Heading(1, (Image("/u", "a\nb"), Break())), "# ![a&#10;b](/u)&#32;\n"),
        (List((ListItem((Paragraph((Break(),)),), True),)), "-\n"),
        (List((ListItem(()), ListItem((List(()), Paragraph((InlineCode("x"),)))))), "-\n- `x`\n"),
    ],
)
def test_what_shows_nothing_leaves_no_trace(node: Mdast, expected: str) -> None:
    assert write(node) == expected
    assert write(parse(expected, gfm=True)) == expected


@pytest.mark.parametrize(
    ("place", "text", "expected"),
    [
        ("paragraph", "* * *", "\\* * *\n"),
        ("paragraph", "***", "\\***\n"),
        ("paragraph", "_ _ _", "\\_ _ _\n"),
        ("paragraph", "___", "\\___\n"),
        ("paragraph", "b\n[^a]: x y", "b\n\\[^a]: x y\n"),
        ("paragraph", "a\n===", "a\n\\===\n"),
        ("paragraph", "a | b\n- | -", "a | b\n\\- | -\n"),
        ("paragraph", "a | b\n| - | -", "a | b\n\\| - | -\n"),
        ("paragraph", "a\n:-:", "a\n\\:-:\n"),
        ("heading", "C #", "## C \\#\n"),
        ("heading", "##", "## \\##\n"),
        ("quote", "[!NOTE]", "> \\[!NOTE]\n"),
    ],
)
def test_what_a_line_would_be_without_its_escape(place: str, text: str, expected: str) -> None:
    root = PLACES[place](text)
    assert write(root) == expected
    assert parse(expected, gfm=True) == root
