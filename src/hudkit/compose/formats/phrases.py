"""What stands in a line: elements of the vocabulary to phrasing nodes.

Every text is data: hidden and control characters become visible escapes, so that a line stays one line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from hudkit.compose import TAGS, Element, Node, text_of, visible
from hudkit.compose.formats import mdast
from hudkit.compose.formats.mdast import Phrasing
from hudkit.compose.formats.urls import bare_urls
from hudkit.errors import TreeError

STANDS_FOR: Mapping[str, Callable[[Element], tuple[Node, ...]]] = {
    "fragment": lambda element: element.children,
    "first": lambda element: element.children[:1],
    "choice": lambda element: element.children[:1],
    "default": lambda element: element.children[:-1] or element.children,
    "break": lambda _: (),
    "reserve": lambda _: (),
}
"""Elements that are not written themselves, and the nodes that are in their place: what speaks to `fit` alone, in a
tree that was not fitted, says its first alternative."""


def spread(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Nodes with those in the place of elements that are not written themselves."""
    for node in nodes:
        if isinstance(node, Element) and node.tag in STANDS_FOR:
            break
    else:
        return tuple(nodes)
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Element) and node.tag in STANDS_FOR:
            found.extend(spread(STANDS_FOR[node.tag](node)))
        else:
            found.append(node)
    return tuple(found)


def silent(node: Node) -> bool:
    """Whether a node is a marker that has nothing to say."""
    return not isinstance(node, str) and node.tag == "more" and node.get("hidden", 0) <= 0


def spans(nodes: Sequence[Node]) -> tuple[Phrasing, ...]:
    """The nodes of a line, without white space at its ends."""
    found = _spans(nodes)
    while found and isinstance(found[0], mdast.Text):
        value = found[0].value.lstrip()
        if value:
            found[0] = mdast.Text(value)
            break
        del found[0]
    while found and isinstance(found[-1], mdast.Text):
        value = found[-1].value.rstrip()
        if value:
            found[-1] = mdast.Text(value)
            break
        del found[-1]
    return tuple(_with_urls(found))


def _with_urls(nodes: list[Phrasing]) -> Iterator[Phrasing]:
    final = len(nodes) - 1
    for place, node in enumerate(nodes):
        if not isinstance(node, mdast.Text) or "://" not in node.value:
            yield node
            continue
        end = 0
        for start, stop in bare_urls(node.value, place == final):
            if start > end:
                yield mdast.Text(node.value[end:start])
            yield mdast.BareUrl(node.value[start:stop])
            end = stop
        if end < len(node.value):
            yield mdast.Text(node.value[end:])


def _spans(nodes: Iterable[Node]) -> list[Phrasing]:
    found: list[Phrasing] = []
    for node in nodes:
        for one in [mdast.Text(visible(node))] if isinstance(node, str) else _element(node):
            last = found[-1] if found else None
            if isinstance(one, mdast.Text) and isinstance(last, mdast.Text):
                found[-1] = mdast.Text(last.value + one.value)
            elif not isinstance(one, mdast.Text) or one.value:
                found.append(one)
    return found


def _element(element: Element) -> list[Phrasing]:
    write = SPANS.get(element.tag)
    if write is None:
        if element.tag in STANDS_FOR:
            return _spans(STANDS_FOR[element.tag](element))
        if element.tag in TAGS:
            return _spans(element.children)
        raise TreeError(f"there is no element <{element.tag}>", hint=f"The vocabulary has: {', '.join(TAGS)}")
    return write(element)


def _around(make: Callable[[tuple[Phrasing, ...]], Phrasing]) -> Callable[[Element], list[Phrasing]]:
    """A stretch; white space at its ends stands outside, where Markdown can say it."""

    def stretch(element: Element) -> list[Phrasing]:
        inner = _spans(element.children)
        before, after = _edge(inner, 0), _edge(inner, -1)
        return [*before, make(tuple(inner)), *after] if inner else [*before, *after]

    return stretch


def _edge(inner: list[Phrasing], place: int) -> list[Phrasing]:
    """Take the white space at one end of a line's nodes away from it."""
    if not inner:
        return []
    text = inner[place]
    if not isinstance(text, mdast.Text):
        return []
    kept = text.value.lstrip() if place == 0 else text.value.rstrip()
    if kept == text.value:
        return []
    if kept:
        inner[place] = mdast.Text(kept)
    else:
        del inner[place]
    return [mdast.Text(" ")]


def _code(element: Element) -> list[Phrasing]:
    value = visible(text_of(element))
    return [mdast.InlineCode(value)] if value else []


def _link(element: Element) -> list[Phrasing]:
    href = visible(str(element.get("href", "")))
    if not href:
        return _spans(element.children)
    found = _around(lambda children: mdast.Link(href, children))(element)
    return found or [mdast.Link(href, (mdast.Text(href),))]


def _not_shown(element: Element) -> str:
    """`+3 older: decisions.list`."""
    noun, see = (visible(str(element.get(name, ""))).strip() for name in ("noun", "see"))
    return f"+{element.get('hidden', 0)} {noun or 'more'}" + (f": {see}" if see else "")


SPANS: dict[str, Callable[[Element], list[Phrasing]]] = {
    "code": _code,
    "emphasis": _around(mdast.Emphasis),
    "link": _link,
    "more": lambda element: [] if silent(element) else [mdast.Text(_not_shown(element))],
    "strike": _around(mdast.Delete),
    "strong": _around(mdast.Strong),
}
