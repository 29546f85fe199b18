"""A tree survives HTML in the normal form that Markdown has too; HTML that others wrote says what it shows."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns import Campaign
from hudkit.compose import Element, h
from hudkit.compose.formats import html, mdast
from hudkit.compose.formats.mdast_tree import from_mdast, to_mdast
from hudkit.errors import FormatError
from strategies import hostile

TREES = Campaign("data", quick=200, full=20_000)

words = st.one_of(hostile, st.sampled_from(["a", " a ", "b  c", "", " ", "x\ny", "&lt;", "https://a.b/c?d=1 e"]))
urls = st.sampled_from(
    [
        "https://a.b/c?x=1&y=2",
        "a.md",
        "#top",
        "/p",
        "mailto:a@b.c",
        "//a.b",
        "javascript:alert(1)",
        "data:text/html,x",
        "",
    ]
)


def _stretches(inner: st.SearchStrategy[list[Element | str]]) -> st.SearchStrategy[Element]:
    return st.one_of(
        inner.map(lambda nodes: h.strong[nodes]),
        inner.map(lambda nodes: h.emphasis[nodes]),
        inner.map(lambda nodes: h.strike[nodes]),
        st.tuples(urls, inner).map(lambda drawn: h.link(href=drawn[0])[drawn[1]]),
    )


def _phrasing(depth: int) -> st.SearchStrategy[list[Element | str]]:
    leaf: st.SearchStrategy[Element | str] = st.one_of(
        words,
        words.map(lambda text: h.code[text]),
        st.builds(lambda count, noun: h.more(hidden=count, noun=noun, see="x.list"), st.integers(0, 4), words),
    )
    one = leaf if depth == 0 else st.one_of(leaf, _stretches(st.deferred(lambda: _phrasing(depth - 1))))
    return st.lists(one, max_size=4)


phrases = st.deferred(lambda: _phrasing(2))
cells = phrases.map(lambda nodes: h.cell[nodes])
leaves = st.one_of(
    phrases.map(lambda nodes: h.paragraph[nodes]),
    phrases.map(lambda nodes: h.text(priority=3)[nodes]),
    st.tuples(st.booleans(), st.integers(0, 12), st.lists(phrases.map(lambda nodes: h.item[nodes]), max_size=4)).map(
        lambda drawn: h.list(ordered=drawn[0], start=drawn[1])[drawn[2]]
    ),
    st.tuples(st.sampled_from(["", "py", "c++ x", '"q"']), words).map(lambda drawn: h.pre(lang=drawn[0])[drawn[1]]),
    st.just(h.rule.element()),
    st.tuples(
        st.sampled_from(["", "l", "cr", "-c-", "lcr"]),
        st.lists(st.lists(cells, max_size=3).map(lambda row: h.row[row]), max_size=3),
    ).map(lambda drawn: h.table(align=drawn[0])[drawn[1]]),
)
blocks = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda nodes: h.quote[nodes]),
        st.lists(inner, max_size=3).map(lambda nodes: h.fragment[nodes]),
        st.lists(inner, max_size=3).map(lambda nodes: h.first(limit=3)[nodes]),
        st.tuples(words, st.none() | st.integers(1, 6), st.lists(inner, max_size=3)).map(
            lambda drawn: h.section(title=drawn[0], level=drawn[1])[drawn[2]]
        ),
    ),
    max_leaves=6,
)
trees = st.lists(blocks, max_size=4).map(lambda nodes: h.document[nodes])


@TREES
@pytest.mark.slow
@settings(max_examples=TREES.rounds)
@given(trees)
def test_a_tree_survives_in_normal_form(tree: Element) -> None:
    assert_survives(tree)


def assert_survives(tree: Element) -> None:
    written = html.render(tree)
    normal = from_mdast(to_mdast(tree))
    assert html.read(written) == normal, written
    assert html.read(html.render(normal)) == normal


@pytest.mark.slow
@given(trees)
def test_sanitising_changes_nothing_of_what_was_written(tree: Element) -> None:
    said = html.to_hast(to_mdast(tree))
    assert html.sanitize(said) == said
    assert html.write(html.parse(html.write(said))) == html.write(
        html.parse(html.write(html.parse(html.write(said))))
    )


@pytest.mark.parametrize("checked", [True, False, None])
def test_tasks_survive(checked: bool | None) -> None:
    said = mdast.List((mdast.ListItem((mdast.Paragraph((mdast.Text("a"),)),), checked),))
    assert html.from_hast(html.parse(html.write(html.to_hast(said)))).children == (said,)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("<p>a <b>b</b>\n  c<br>d", h.document[h.paragraph["a ", h.strong["b"], " c d"]]),
        (
            "<h1>A</h1><p>x</p><h2>B</h2>y<h1>C</h1>",
            h.document[
                h.section(title="A")[h.paragraph["x"], h.section(title="B")[h.paragraph["y"]]],
                h.section(title="C")[()],
            ],
        ),
        (
            "<html><head><title>no</title></head><body><main><article><p>a</p>b</article></main></body></html>",
            h.document[h.paragraph["a"], h.paragraph["b"]],
        ),
        (
            "<ul><li>a<ul><li>b</ul><li><p>c</p><p>d</p></ul>",
            h.document[h.list[h.item["a"], h.item["b"], h.item["c d"]]],
        ),
        ("<ol start=3><li>a</ol>", h.document[h.list(ordered=True, start=3)[h.item["a"]]]),
        ("<ol start=-3><li>a</ol>", h.document[h.list(ordered=True)[h.item["a"]]]),
        (
            "<table><caption>c</caption><tr><th align=RIGHT>a<td>b<tr><td>1</table>",
            h.document[
                h.paragraph["c"],
                h.table(align="r-")[h.row[h.cell["a"], h.cell["b"]], h.row[h.cell["1"], h.cell[()]]],
            ],
        ),
        ("<pre>\n\na\n  b</pre>", h.document[h.pre["\na\n  b"]]),
        ("<p><img src=x alt='a cat'> &copy; &#x1F642;", h.document[h.paragraph["a cat © 🙂"]]),
        ("<p>seen<span hidden>not seen</span><!-- nor this -->", h.document[h.paragraph["seen"]]),
        ("<dl><dt>a<dd>b</dl>", h.document[h.paragraph["a"], h.paragraph["b"]]),
        ("<a href='https://a.b'><div>x</div></a>", h.document[h.paragraph[h.link(href="https://a.b")["x"]]]),
        ("<kbd>x\ny</kbd>", h.document[h.paragraph[h.code["x y"]]]),
        ("", h.document[()]),
    ],
)
def test_what_others_wrote_says_what_it_shows(text: str, tree: Element) -> None:
    assert html.read(text) == tree


def test_what_html_has_no_word_for_is_said() -> None:
    document = mdast.Root(
        (
            mdast.HtmlBlock("<div onclick=x>\n"),
            mdast.Paragraph(
                (
                    mdast.InlineHtml("<script>"),
                    mdast.Break(),
                    mdast.FootnoteReference("n"),
                    mdast.Image("javascript:x", "cat"),
                )
            ),
            mdast.FootnoteDefinition("n", (mdast.Paragraph((mdast.Text("note"),)),)),
            mdast.List((mdast.ListItem((mdast.Paragraph((mdast.Text("a"),)),)),), spread=True),
        )
    )
    assert html.write(html.to_hast(document)) == (
        '<pre data-lang="html"><code>&lt;div onclick=x&gt;\n</code></pre>\n'
        "<p><code>&lt;script&gt;</code><br>[^n]cat (javascript:x)</p>\n"
        "<p>[^n]: note</p>\n<ul>\n<li>\n<p>a</p>\n</li>\n</ul>\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("tag", ["div", "blockquote", "b", "unknown"])
def test_depth_has_a_limit(tag: str) -> None:
    with pytest.raises(FormatError, match="too deeply"):
        html.read(f"<{tag}>" * 5000 + "x")
    assert html.read(f"<{tag}>" * 40 + "x") != h.document[()]
