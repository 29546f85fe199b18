"""Where in a text each node of its tree is, in code points and in bytes of UTF-8, for any writer of text.

A writer is only asked to write: a node's text is what it writes for that node alone (or within a list, or as a line),
looked for in the whole, in document order, within what its parent covers. So every span is exactly its text; a node
that is written otherwise where it stands (a cell, say, or a heading one level down) covers what its children cover.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from hudkit.compose.fit.traits import alone
from hudkit.compose.nodes import Element, Node
from hudkit.errors import TreeError

Write = Callable[[Element], str]


class Span(msgspec.Struct, frozen=True):
    """A node (its path of child positions) and where it is: `text[start:end]`, and the same in bytes of UTF-8."""

    path: tuple[int, ...]
    start: int
    end: int
    start_byte: int
    end_byte: int
    leaf: bool


class SourceMap(msgspec.Struct, frozen=True):
    """The text of a tree, and the spans of its nodes in document order, a container before what is in it."""

    text: str
    spans: tuple[Span, ...]

    @property
    def leaves(self) -> tuple[Span, ...]:
        """The spans that hold no other."""
        return tuple(span for span in self.spans if span.leaf)

    def of(self, path: tuple[int, ...]) -> Span | None:
        """The span of a node, or of the nearest one above it that has one."""
        known = {span.path: span for span in self.spans}
        while path and path not in known:
            path = path[:-1]
        return known.get(path)

    def at(self, place: int) -> Span | None:
        """The innermost span at a place in code points."""
        found = [span for span in self.spans if span.start <= place < span.end]
        return found[-1] if found else None


def source_map(tree: Element, write: Write) -> SourceMap:
    """Write a tree (one that was fitted: it has no structural tags) and find its nodes in the text."""
    text = write(tree)
    found: list[tuple[tuple[int, ...], int, int, bool]] = [((), 0, len(text), False)]
    _children(tree, (), 0, len(text), text, write, found)
    if len(found) == 1:
        found[0] = ((), 0, len(text), True)
    bytes_at = _bytes(text, {place for _, start, end, _ in found for place in (start, end)})
    return SourceMap(
        text, tuple([Span(path, a, b, bytes_at[a], bytes_at[b], leaf) for path, a, b, leaf in sorted(found)])
    )


Found = list[tuple[tuple[int, ...], int, int, bool]]


def _children(node: Element, path: tuple[int, ...], low: int, high: int, text: str, write: Write, out: Found) -> int:
    """Find what is in a node between two places; the place behind the last that was found."""
    for n, child in enumerate(node.children):
        low = _node(child, (*path, n), node, low, high, text, write, out)
    return low


def _node(
    node: Node, path: tuple[int, ...], host: Element, low: int, high: int, text: str, write: Write, out: Found
) -> int:
    for words in _forms(node, host, write):
        start = text.find(words, low, high)
        if start >= 0:
            end = start + len(words)
            before = len(out)
            if isinstance(node, Element):
                _children(node, path, start, end, text, write, out)
            out.append((path, start, end, len(out) == before))
            return end
    if isinstance(node, str):
        return low
    before = len(out)
    after = _children(node, path, low, high, text, write, out)
    if len(out) > before:
        inside = out[before:]
        out.append((path, min(one[1] for one in inside), max(one[2] for one in inside), False))
    return after


def _forms(node: Node, host: Element, write: Write) -> Iterator[str]:
    """How a node may be written: as it is alone, within its list or table, as a line."""
    if isinstance(node, str):
        shells = [Element("text", (), (node,))] if node.strip() else []
    elif node.tag in ("item", "row", "cell"):
        shells = [alone(host, node), Element("text", (), node.children)]
    else:
        shells = [node]
    for shell in shells:
        try:
            words = write(shell).strip()
        except TreeError:
            continue
        if words:
            yield words
    if isinstance(node, str) and node.strip():
        yield node.strip()


def _bytes(text: str, places: set[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    last = size = 0
    for place in sorted(places):
        size += len(text[last:place].encode("utf-8", "surrogatepass"))
        found[place] = size
        last = place
    return found
