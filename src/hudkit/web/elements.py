"""Elements of a page, in the manner of hast, and their HTML: nothing is written but what the tables allow.

`compose.formats.html` writes documents and drops all else; a page also has forms, and the pictures of its bars.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias, Union

from hudkit.compose import visible
from hudkit.compose.formats.html.hast import HtmlElement, HtmlText
from hudkit.errors import TreeError

Child: TypeAlias = Union[HtmlElement, HtmlText, str, Iterable["Child"], None]  # noqa: UP007 - it names itself
Value: TypeAlias = str | float | bool | None

_VOID = frozenset({"br", "hr", "input", "link", "meta"})
_TAGS = _VOID | frozenset(
    """
    a article aside b blockquote body br button caption circle code datalist dd del details div dl dt em fieldset
    figcaption figure footer form h1 h2 h3 h4 h5 head header hr html ins kbd label li main mark nav ol option p pre
    script section select small span strong summary svg g line rect path table tbody td text textarea th thead time
    title tr ul
    """.split()  # noqa: SIM905
)
_ATTRIBUTES = frozenset(
    """
    action aria-current aria-hidden aria-label aria-live autocomplete autofocus charset checked class colspan content
    cx cy datetime d defer disabled for height hidden href id lang list max maxlength method min name open placeholder
    preserveAspectRatio r readonly rel required role rows scope selected spellcheck src step stroke-width tabindex
    text-anchor title type value
    viewBox width x x1 x2 y y1 y2
    hx-boost:inherited hx-get hx-morph-skip hx-select hx-swap hx-target hx-trigger
    """.split()  # noqa: SIM905
)
# Attributes that name where something is loaded from or sent to: only this server, so that a text which reached an
# attribute cannot take a visitor, or what he types, elsewhere.
_ADDRESSES = frozenset({"action", "href", "src", "hx-get"})
_OWN_ADDRESS = re.compile(r"(/(?!/)|#)[^\s\\]*")
_EMOJI = re.compile("(?<=[\u2190-\u2bff\U0001f000-\U0001faff])\ufe0f")
# The backtick, too: some old readers take it for a quotation mark.
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "`": "&#96;"}
_SPECIAL = re.compile('[&<>"`]')


def e(tag: str, *children: Child, **attributes: Value) -> HtmlElement:
    """Return an element: `e("a", "Back", href="/", class_="big")` is `<a href="/" class="big">Back</a>`.

    `class_` is `class`, `data_n` is `data-n`; a value of `None` or `False` leaves an attribute out, `True` gives it
    without a value. Children that are `None` are left out, iterables are flattened.
    """
    pairs: list[tuple[str, str]] = []
    for name, value in attributes.items():
        if value is not None and value is not False:
            pairs.append((_attribute_name(name), "" if value is True else str(value)))
    return HtmlElement(tag, tuple(pairs), tuple(_flatten(children)))


def is_page_tag(tag: str) -> bool:
    """Return whether pages have elements of this tag."""
    return tag in _TAGS


def classes(*names: str | bool | None) -> str:
    """Return the names that are there, as the value of `class`: `classes("row", closed and "closed")`."""
    return " ".join(name for name in names if isinstance(name, str) and name)


def _visible_text(text: str) -> str:
    """Return text as people may see it: hidden characters spelled, but for the one that makes a symbol an emoji."""
    if "\ufe0f" not in text:
        return visible(text, breaks=True)
    return "\ufe0f".join(visible(part, breaks=True) for part in _EMOJI.split(text))


def write(root: HtmlElement) -> str:
    """Return the HTML of an element. Raises `TreeError` for a tag or an attribute that pages do not have, and for an
    address that is not this server's own."""
    parts: list[str] = ["<!doctype html>"] if root.tag == "html" else []
    _write(root, parts)
    return "".join(parts)


def _write(node: HtmlElement | HtmlText, parts: list[str]) -> None:
    if isinstance(node, HtmlText):
        parts.append(_escape(_visible_text(node.value)))
        return
    if node.tag not in _TAGS:
        raise TreeError(f"a page has no <{node.tag}>", hint="Tags are listed in web/elements.py")
    parts.append(f"<{node.tag}")
    parts += [_attribute(node.tag, name, value) for name, value in node.attributes]
    parts.append(">")
    if node.tag in _VOID:
        return
    if node.tag in ("pre", "textarea"):
        parts.append("\n")  # readers skip it (HTML, 13.1.2.5), and then leave the text's own first line feed
    for child in node.children:
        _write(child, parts)
    parts.append(f"</{node.tag}>")


@lru_cache(16_384)  # pages differ little from those a moment ago
def _attribute(tag: str, name: str, value: str) -> str:
    if name not in _ATTRIBUTES and not name.startswith("data-"):
        raise TreeError(f"<{tag}> has no attribute {name!r}", hint="They are listed in web/elements.py")
    if name in _ADDRESSES and not _OWN_ADDRESS.fullmatch(value):
        raise TreeError(f"{name} of <{tag}> leaves this server", hint="Addresses begin with one / or with #")
    return f' {name}="{_escape(_visible_text(value))}"' if value else f" {name}"


def _flatten(children: Iterable[Child]) -> Iterable[HtmlElement | HtmlText]:
    for child in children:
        if isinstance(child, HtmlElement | HtmlText):
            yield child
        elif isinstance(child, str):
            yield HtmlText(child)
        elif child is not None:
            yield from _flatten(child)


@lru_cache(1024)
def _attribute_name(name: str) -> str:
    if name == "hx_boost":
        return "hx-boost:inherited"
    return name.removesuffix("_").replace("_", "-")


def _escape(text: str) -> str:
    return _SPECIAL.sub(_entity, text) if _SPECIAL.search(text) else text


def _entity(match: re.Match[str]) -> str:
    return _ENTITIES[match.group()]
