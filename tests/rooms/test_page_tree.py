"""The elements of pages: every character is a text's, and nothing is written that the tables do not have."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.compose import visible
from hudkit.errors import ConfigError, TreeError
from hudkit.rooms.page.url_state import UrlState, parse_query
from hudkit.web.elements import e, write


class _Read(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[object] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        if self.seen and isinstance(self.seen[-1], str):
            data = str(self.seen.pop()) + data
        self.seen.append(data)


@pytest.mark.slow
@given(st.text(min_size=1), st.text(min_size=1))
def test_any_text_is_read_as_it_was_meant(text: str, value: str) -> None:
    read_back = _Read(write(e("p", text, title=value))).seen
    assert read_back == [("p", [("title", visible(value, breaks=True))]), visible(text, breaks=True)]


def test_the_first_line_feed_of_preformatted_text_stays() -> None:
    assert write(e("pre", "\nx")) == "<pre>\n\nx</pre>"


def test_an_emoji_stays_one_and_hidden_characters_show() -> None:
    assert write(e("p", "❤\ufe0f a\ufe0fb\u202e")) == "<p>❤\ufe0f a\\ufe0fb\\u202e</p>"


@pytest.mark.parametrize(
    "address", ["https://evil.example", "//evil.example", "javascript:alert(1)", "data:,x", "/\\evil", "x", "/ y", ""]
)
def test_an_address_that_leaves_this_server_is_refused(address: str) -> None:
    for tag, name in (("a", "href"), ("script", "src"), ("form", "action"), ("div", "hx_get")):
        with pytest.raises(TreeError, match="leaves this server"):
            write(e(tag, **{name: address}))


@pytest.mark.parametrize("name", ["onclick", "style", "srcdoc", "formaction", "hx_on", "hx_vals", "hx_headers"])
def test_an_attribute_that_could_act_is_refused(name: str) -> None:
    with pytest.raises(TreeError, match="has no attribute"):
        write(e("div", **{name: "x"}))


@pytest.mark.parametrize("tag", ["iframe", "style", "object", "img", "base", "template", "p onclick=x"])
def test_a_tag_that_pages_do_not_have_is_refused(tag: str) -> None:
    with pytest.raises(TreeError, match="a page has no"):
        write(e(tag))


@pytest.mark.slow
@given(
    st.builds(
        UrlState,
        room=st.integers(0, 2**53),
        agent=st.integers(0, 99),
        tab=st.sampled_from(["hud", "memory", "activity", "edit"]),
        format=st.sampled_from(["", "json", "compact", "toon"]),
        when=st.sampled_from(["now", "beat"]),
        seq=st.integers(0, 99),
        reply=st.integers(0, 99),
        new=st.booleans(),
        view=st.sampled_from(["rooms", "talk", "agent"]),
    )
)
def test_an_address_is_all_of_a_page(url: UrlState) -> None:
    assert parse_query(url.href()[2:]) == url


def test_an_address_that_is_not_ours_is_refused() -> None:
    for query in ("room=-1", "x=1", "at=%ff", "new=maybe", f"room={2**60}"):
        with pytest.raises(ConfigError):
            parse_query(query)
