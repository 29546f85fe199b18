"""Whatever comes in, what goes out is inert: only allowed elements and attributes, to every reader of HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from justhtml import JustHTML

from campaigns import Campaign
from hudkit.compose.formats import html
from hudkit.compose.formats.html import hast
from hudkit.compose.formats.html.sanitize import ALLOWED, SCHEMES, safe_url

pytestmark = pytest.mark.slow

PIECES = Campaign("data", quick=300, full=20_000)
ATTACKS = (
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<script\x20type='text/javascript'>javascript:alert(1);</script>",
    "<<script>alert(1)//<</script>",
    "<script>alert(1)",
    "<img src=x onerror=alert(1)>",
    "<img src=javascript:alert(1)>",
    '<img """><script>alert(1)</script>">',
    "<img/src='x'/onerror=alert(1)>",
    "<body onload=alert(1)>",
    "<p onclick=alert(1) style='background:url(javascript:alert(1))' id=x class=y>a</p>",
    "<p/onmouseover=alert(1)>a",
    "<div style='width: expression(alert(1))'>a</div>",
    "<a href=javascript:alert(1)>x</a>",
    "<a href='JaVaScRiPt:alert(1)'>x</a>",
    "<a href='java\nscript:alert(1)'>x</a>",
    "<a href='java\tscript:alert(1)'>x</a>",
    "<a href=' \x01\x1f javascript:alert(1)'>x</a>",
    "<a href='&#106;avascript&colon;alert(1)'>x</a>",
    "<a href='&#x6A&#x61&#x76&#x61&#x73&#x63&#x72&#x69&#x70&#x74&#x3A;alert(1)'>x</a>",
    "<a href='java&Tab;script&NewLine;:alert(1)'>x</a>",
    "<a href='java&#0;script:alert(1)'>x</a>",
    "<a href='data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg=='>x</a>",
    "<a href='vbscript:msgbox(1)'>x</a>",
    "<a href='file:///etc/passwd'>x</a>",
    "<a href='feed:javascript:alert(1)'>x</a>",
    "<a href='view-source:javascript:alert(1)'>x</a>",
    "<a href='blob:https://a.b/c'>x</a>",
    "<a href=\"https://a.b\" onclick=alert(1) target=_blank ping=//evil.example>x</a>",
    "<a href='https://a.b/\"onmouseover=alert(1) x=\"'>x</a>",
    "<a title='\"><script>alert(1)</script>' href=/x>x</a>",
    "<a xlink:href='javascript:alert(1)'>x</a>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><a xlink:href=javascript:alert(1)><text y=9>x</text></a></svg>",
    "<svg><animate xlink:href=#x attributeName=href values=javascript:alert(1) /><a id=x><text>x</text></a></svg>",
    "<svg><foreignObject><p onclick=alert(1)>x</p></foreignObject></svg>",
    "<svg></p><style><a id=\"</style><img src=1 onerror=alert(1)>\">",
    "<svg><p><style><!--</style><img src=x onerror=alert(1)>-->",
    "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=alert(1)&gt;\">",
    "<math><mtext><h1><a><h6></a></h6><mglyph><svg><mtext><style><a title=\"</style><img src onerror='alert(1)'>\">",
    "<math><annotation-xml encoding='text/html'><p>x<script>alert(1)</script>",
    "<math href=javascript:alert(1)>x</math>",
    "<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "<form><form><input formaction=javascript:alert(1) type=submit></form>",
    "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
    "<textarea></textarea><img src=x onerror=alert(1)></textarea>",
    "<title><a title=\"</title><img src=x onerror=alert(1)>\">",
    "<xmp><p title=\"</xmp><svg/onload=alert(1)>\">",
    "<noembed><img title=\"</noembed><img src onerror=alert(1)>\"></noembed>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<iframe><p title=\"</iframe><img src onerror=alert(1)>\"></iframe>",
    "<object data=javascript:alert(1)><embed src=javascript:alert(1)></object>",
    "<template><script>alert(1)</script><p>x</p></template>",
    "<template><style></template><img src onerror=alert(1)></style>",
    "<select><style></select><img src=x onerror=alert(1)></style>",
    "<style>@import 'javascript:alert(1)';</style>",
    "<link rel=stylesheet href=javascript:alert(1)>",
    "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
    "<base href='javascript:alert(1)//'><a href='/x'>x</a>",
    "<table background=javascript:alert(1)><tr><td background=javascript:alert(1)>x</table>",
    "<table><p><script>alert(1)</script></table><img src onerror=alert(1)>",
    "<details open ontoggle=alert(1)>x",
    "<video><source onerror=alert(1)></video>",
    "<input autofocus onfocus=alert(1)>",
    "<!--><script>alert(1)</script>-->",
    "<!--[if gte IE 4]><script>alert(1)</script><![endif]-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?xml version='1.0'?><?php echo 1 ?><p>x",
    "<!DOCTYPE html [<!ENTITY x '<script>alert(1)</script>'>]>&x;",
    "<p>&lt;script&gt;alert(1)&lt;/script&gt;",
    "<p>\x00<scr\x00ipt>alert(1)</scr\x00ipt>",
    "<im\x00g src=x onerror=alert(1)>",
    "<p title='a\x00b'>\ufeff\ud800</p>",
    "<b><i><a><p></b></i></a><table><b><tr><i>",
    "<a href=/1><a href=/2><table><a href=/3>x",
    "<p><p><p></div></div></body></html><script>alert(1)</script>",
    "<plaintext><script>alert(1)</script>",
    "<isindex action=javascript:alert(1)>",
    "<pre data-lang='\"><script>alert(1)</script>'>x</pre>",
    "<pre data-lang='`onmouseover=alert(1)'>x</pre>",
    "<ol start='1 onmouseover=alert(1)'><li>x</ol>",
    "<td align='left\" onmouseover=\"alert(1)'>x",
    "<x-custom onclick=alert(1) is=y><slot>z</slot></x-custom>",
)  # fmt: skip


class Tags(HTMLParser):
    """A second, tokenising reader: it knows no contexts, and sees every tag that a text could have."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.other: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, attrs))

    def handle_comment(self, data: str) -> None:
        self.other.append(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


def assert_inert(text: str) -> None:
    """Nothing but allowed elements, attributes and links, to a tokenising reader and to one that builds a tree."""
    text.encode()
    assert "\x00" not in text
    tags = Tags(text)
    assert not tags.other
    for tag, attributes in tags.found:
        _check(tag, {name: value or "" for name, value in attributes})
    for document in (
        JustHTML(text, sanitize=False),
        JustHTML(text, sanitize=False, fragment=True, scripting_enabled=False),
    ):
        nodes = list(document.root.children)
        while nodes:
            node = nodes.pop()
            assert node.name not in ("#comment", "!doctype")
            nodes.extend(node.children or ())
            if not node.name.startswith("#") and node.name not in ("html", "head", "body"):
                assert node.namespace in (None, "html")
                _check(node.name, node.attrs)


def _check(tag: str, attributes: dict[str, str]) -> None:
    assert tag in ALLOWED, tag
    for name, value in attributes.items():
        assert name in ALLOWED[tag], (tag, name)
        if name == "href":
            scheme = re.match(r"[\x00-\x20]*([^/?#]*?):", value)
            assert scheme is None or scheme[1].lower() in SCHEMES, value


@pytest.mark.parametrize("text", ATTACKS, ids=range(len(ATTACKS)))
def test_an_attack_comes_out_inert(text: str) -> None:
    written = html.write(html.parse(text))
    assert_inert(written)
    assert_inert(html.render(html.read(text)))
    assert html.write(html.parse(written)) == html.write(html.parse(html.write(html.parse(written))))
    assert "alert(1)" not in "".join(tag for tag, _ in Tags(written).found)


@PIECES
@pytest.mark.slow
@settings(max_examples=PIECES.rounds)
@given(st.lists(st.one_of(st.sampled_from(ATTACKS), st.text(max_size=5)), min_size=2, max_size=4), st.data())
def test_pieces_of_attacks_come_out_inert(parts: list[str], data: st.DataObject) -> None:
    pieces = [part[data.draw(st.integers(0, len(part))) :] if data.draw(st.booleans()) else part for part in parts]
    assert_inert(html.write(html.parse("".join(pieces))))


nodes: st.SearchStrategy[hast.Hast] = st.recursive(
    st.builds(hast.HtmlText, st.one_of(st.text(max_size=8), st.sampled_from(ATTACKS))),
    lambda inner: st.builds(
        hast.HtmlElement,
        st.sampled_from([*ALLOWED, "script", "svg", "style", "b><script", "img", "iframe", "x y", "!--", "template"]),
        st.lists(
            st.tuples(
                st.sampled_from(["href", "title", "onclick", "style", "align", "start", "data-lang", "x y", "a>b"]),
                st.one_of(
                    st.text(max_size=8), st.sampled_from(["javascript:x", '"><script>', "https://a.b", "left"])
                ),
            ),
            max_size=3,
        ).map(tuple),
        st.lists(inner, max_size=3).map(tuple),
    ),
    max_leaves=8,
)


@given(st.lists(nodes, max_size=3))
def test_nodes_that_somebody_made_come_out_inert(made: list[hast.Hast]) -> None:
    assert_inert(html.write(hast.HtmlRoot(tuple(made))))


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("https://a.b/c?d=e#f", "https://a.b/c?d=e#f"),
        ("HTTP://a.b", "HTTP://a.b"),
        ("mailto:a@b.c", "mailto:a@b.c"),
        ("a/b.md", "a/b.md"),
        ("#x", "#x"),
        ("?a:b", "?a:b"),
        ("./a:b", "./a:b"),
        ("  /x\n/y ", "/x/y"),
        ("", None),
        ("  ", None),
        ("C:\\x", None),
        ("tel:1", None),
        ("\x00javascript:x", None),
        ("java\rscript:x", None),
        ("data:,", None),
    ],
)
def test_which_links_may_be_followed(url: str, taken: str | None) -> None:
    assert safe_url(url) == taken
