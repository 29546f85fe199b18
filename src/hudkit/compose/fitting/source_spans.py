"""Find where in a text each node of its tree is, in code points and in bytes of UTF-8, for any writer of text.

The idea: no writer has to keep positions. A writer is only asked to write, once the whole tree and once each node by
itself (within a list where it needs one, or as a line). The node's own text is then looked for in the whole, in
document order, behind the nodes before it and within what its parent covers. So every span is exactly its text. A
node that is written otherwise where it stands (a cell, say, or a heading one level down) has no text of its own to
find: it covers what its children cover.

An example, in Markdown: a document with the text "größer" and a list of "eins" is written `größer\\n\\n- eins\\n`.
The text alone is `größer`, found at 0 to 6 (bytes 0 to 8, because ö and ß take two each). The list alone is `- eins`,
found from 8 on, and within it the item's text `eins` at 10 to 14.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from hudkit.compose.fitting.traits import standalone
from hudkit.compose.nodes import Element, Node
from hudkit.errors import TreeError

Write = Callable[[Element], str]
"""Writes a tree as text."""


class SourceSpan(msgspec.Struct, frozen=True):
    """A node (its path of child positions) and where it is: `text[start:end]`, and the same in bytes of UTF-8.

    `leaf` says that no other span is in it.
    """

    path: tuple[int, ...]
    start: int
    end: int
    start_byte: int
    end_byte: int
    leaf: bool


class SourceMap(msgspec.Struct, frozen=True):
    """The text of a tree, and the spans of its nodes in document order, a container before what is in it."""

    text: str
    spans: tuple[SourceSpan, ...]

    @property
    def leaves(self) -> tuple[SourceSpan, ...]:
        """Return the spans that hold no other."""
        return tuple(span for span in self.spans if span.leaf)

    def of(self, path: tuple[int, ...]) -> SourceSpan | None:
        """Return the span of a node, or of the nearest one above it that has one."""
        by_path = {span.path: span for span in self.spans}
        while path and path not in by_path:
            path = path[:-1]
        return by_path.get(path)

    def at(self, index: int) -> SourceSpan | None:
        """Return the innermost span at an index in code points, `None` behind the text."""
        around = [span for span in self.spans if span.start <= index < span.end]
        return around[-1] if around else None


def source_map(tree: Element, write: Write) -> SourceMap:
    """Write a tree (one that was fitted: it has no structural tags) and return where its nodes are in the text."""
    text = write(tree)
    finder = _SpanFinder(text, write)
    finder.find_children(tree, (), 0, len(text))
    spans = sorted([((), 0, len(text), not finder.spans), *finder.spans])
    byte_at = _byte_offsets(text, {index for _, start, end, _ in spans for index in (start, end)})
    return SourceMap(
        text,
        tuple([SourceSpan(path, start, end, byte_at[start], byte_at[end], leaf) for path, start, end, leaf in spans]),
    )


class _SpanFinder:
    """One search through a text; `spans` has (path, start, end, whether it is a leaf) of what was found."""

    def __init__(self, text: str, write: Write) -> None:
        self.text = text
        self.write = write
        self.spans: list[tuple[tuple[int, ...], int, int, bool]] = []

    def find_children(self, node: Element, path: tuple[int, ...], low: int, high: int) -> int:
        """Find what is in a node between two indexes; return the index behind the last that was found."""
        for position, child in enumerate(node.children):
            low = self._find(child, (*path, position), node, low, high)
        return low

    def _find(self, node: Node, path: tuple[int, ...], host: Element, low: int, high: int) -> int:
        before = len(self.spans)
        for form in self._forms(node, host):
            start = self.text.find(form, low, high)
            if start >= 0:
                end = start + len(form)
                if isinstance(node, Element):
                    self.find_children(node, path, start, end)
                self.spans.append((path, start, end, len(self.spans) == before))
                return end
        if isinstance(node, str):
            return low
        after = self.find_children(node, path, low, high)
        inside = self.spans[before:]
        if inside:
            start, end = min(span[1] for span in inside), max(span[2] for span in inside)
            self.spans.append((path, start, end, False))
        return after

    def _forms(self, node: Node, host: Element) -> Iterator[str]:
        """Yield how a node may be written: as it is alone, within its list or table, as a line."""
        if isinstance(node, str):
            shells = [Element("text", (), (node,))] if node.strip() else []
        elif node.tag in ("item", "row", "cell"):
            shells = [standalone(host, node), Element("text", (), node.children)]
        else:
            shells = [node]
        for shell in shells:
            try:
                form = self.write(shell).strip()
            except TreeError:
                continue  # the writer does not write such a node by itself
            if form:
                yield form
        if isinstance(node, str) and node.strip():
            yield node.strip()


def _byte_offsets(text: str, indexes: set[int]) -> dict[int, int]:
    """Return for each index in code points the offset in bytes of UTF-8."""
    offsets: dict[int, int] = {}
    last = size = 0
    for index in sorted(indexes):
        size += len(text[last:index].encode("utf-8", "surrogatepass"))
        offsets[index] = size
        last = index
    return offsets
