"""GFM 0.29, judged by micromark: examples keep their HTML, and hostile text is read back as text."""

from __future__ import annotations

import pytest
from gfm_oracle import examples, html, reading
from hostile import LITERALS, PLACES, hostile, trimmed

from hudkit.compose.formats.markdown import parse, write

pytestmark = pytest.mark.slow


READ_OTHERWISE = {"foo <!--> foo -->\n\nfoo <!-- foo--->\n"}
"""An example of CommonMark 0.29, to which the second line is text, as to our reader; it is a comment since 0.31."""


def test_every_example_keeps_its_html_and_is_written_the_same_again() -> None:
    found = examples()
    assert len(found) >= 673
    written = [write(parse(one, gfm=True)) for one in found]
    before, after = html(list(found)), html(written)
    changed = {
        one: (text, was, now)
        for one, text, was, now in zip(found, written, before, after, strict=True)
        if was.rstrip("\n") != now.rstrip("\n")
    }
    assert changed.keys() == READ_OTHERWISE
    assert [write(parse(one, gfm=True)) for one in written] == written


FOOTNOTES = (
    "a[^1]\n\n[^1]: n\n",
    "x![^1]\n\n[^1]: n\n",
    "**a[^1]** ~~[^1]~~\n\n[^1]: n\n",
    "[a[^1]](/u)\n\n[^1]: n\n",
    "[^1](x)\n\n[^1]: n\n",
    "[^1][^2]\n\n[^1]: n\n\n[^2]: m\n",
    "a\n[^1]: n\n\nb[^1]\n",
    "> [^1]: q\n\nb[^1]\n",
    "- [^1]: q\n\nb[^1]\n",
    "[^1]:\n\nb[^1]\n",
    "[^1]:\n    b[^1]\n",
    "[^1]: x\nlazy\n\nb[^1]\n",
    "[^é.:_-]\n\n[^é.:_-]: n\n",
    "[^1]: - a\n    - b\n\nx[^1]\n",
    "[^1]: ```\n    x\n    ```\n\nx[^1]\n",
    "|a|\n|-|\n|[^1]|\n\n[^1]: x\n",
    "# a[^1]\n\n[^1]: x\n",
    "[^1]\\: a\n\n[^1]: x\n",
    "[^A]\n\n[^a]: x\n\n[^a]: y\n",
    "a[^1]\n\n[^1]: x\n\n    y\n\n        code\n\n    - a\n    - b\n\nz\n",
    "[^1]: [^2]\n\n[^2]: x\n\na[^1]\n",
    "- a[^1]\n\n  [^1]: x\n\n      y\n- b\n",
    "\\[^1]: x\n\n[^1]\n",
    "[^1]\n: a\n\n[^1]: n\n",
    "[^a b]\n\n[^a b]: n\n",
    "[^1]: | a |\n    | - |\n    | b |\n\na[^1]\n",
    "[^1]:   <div>\n    a\n    </div>\n\nx[^1]\n",
    "[x] [^2]\n\n[^1]: n\n",
)


def test_footnotes_keep_their_html_and_are_written_the_same_again() -> None:
    written = [write(parse(one, gfm=True)) for one in FOOTNOTES]
    assert dict(zip(FOOTNOTES, html(written), strict=True)) == dict(
        zip(FOOTNOTES, html(list(FOOTNOTES)), strict=True)
    )
    assert [write(parse(one, gfm=True)) for one in written] == written


@pytest.mark.parametrize("place", [*PLACES, *LITERALS])
def test_hostile_text_is_text_to_another_reader(place: str) -> None:
    make = PLACES.get(place) or LITERALS[place]
    texts = [text for text in ("zzz", *hostile(23, 2_000)) if trimmed(text)]
    found = [reading(one) for one in html([write(make(text)) for text in texts])]
    tags, around = found[0]
    wrong = []
    for text, (kinds, words) in zip(texts, found, strict=True):
        expected = _plain(around.replace("zzz", trimmed(text)))
        if kinds != tags or _plain(words) != expected:
            wrong.append((text, write(make(text)), kinds, words))
    assert wrong == []


def _plain(text: str) -> str:
    """Without what HTML and the places keep in their own ways: white space, and what cannot be said."""
    return "".join(char for char in text if not char.isspace() and char not in "\ufeff\x1c\x1d\x1e\x1f")
