"""A section as a markdown file: front matter, then markdown whose `{…}` are filled in from the state.

    ---
    title: Release
    priority: 45
    ---
    Ship from `main` only: {task.description}

    - {steps.map(step => <item>{step.description}</item>)}

What stands in braces is what JSX text may have there (`compose.jsx`): names, `a && b`, `a ? b : c`, `list.map(…)`.
Nothing is run, and no name of the program is found, so that a file needs no sandbox.

**How it is read.** The parts in braces are cut out of the body and stand as marks (two private characters around a
number) in what is then read as markdown; in the tree that comes of it, each mark is replaced by the nodes of its
part. An item or a paragraph that is one mark only becomes the items or blocks of its part, or nothing. In code, a
mark is the text that stood there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import msgspec

from hudkit.compose import Element, Node, h, read_jsx, render, shorten, text_of, visible
from hudkit.compose.formats.front_matter import split_front_matter
from hudkit.compose.formats.markdown.verbatim import verbatim
from hudkit.errors import ConfigError, TreeError
from hudkit.sections.sandboxed.result_parser import (
    JSX_LIMITS,
    MAX_CHARS,
    MAX_ITEMS,
    SectionTrees,
    check_elements,
    write_tree,
)

_KEYS: Final[Mapping[str, tuple[type, str]]] = {
    "title": (str, "one line of text"),
    "priority": (int, "0 to 60"),
    "items": (int, f"1 to {MAX_ITEMS}"),
    "chars": (int, "20 to 1000"),
}
"""What the front matter may have: the type of each value, and what it is in words."""

_OPEN, _CLOSE = "\ue000", "\ue001"
_MARK = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")
_HEADING = re.compile(r" {0,3}(?:#{1,6}(?:\s|$)|(?:=+|-+)\s*$)")
_WORD = re.compile(r"[a-z_]+")

COUNTS: Final = "counts"
"""The name under which a template has the number of items of each list that it reads."""


class MarkdownTemplate(msgspec.Struct, frozen=True):
    """A file: what its front matter says, its `body`, which begins at `line`, and the `parts` in braces.

    `reads` are the fields of the state that the parts name. `body` has marks where they stood; `parts` are their
    texts and lines. `items` of a list are shown at most, and `chars` of each text that is filled in.
    """

    title: str
    priority: int
    reads: tuple[str, ...]
    body: str
    line: int
    parts: tuple[tuple[str, int], ...]
    items: int = 12
    chars: int = 200


def read_template(text: str, fields: Collection[str]) -> MarkdownTemplate:
    """Return what a file says. `fields` are those of the state that it may read.

    Raises `ConfigError`, with the `line` in its details.
    """
    text = text.replace("\r\n", "\n").replace(_OPEN, "\ufffd").replace(_CLOSE, "\ufffd")
    try:
        settings, _ = split_front_matter(text)
    except ConfigError as error:
        place = re.search(r"line (\d+)", error.message)
        message = error.message.partition(" of the front matter ")
        words = f"the front matter {message[2]}" if place else error.message
        raise _wrong(words, error.hint, int(place[1]) if place else 1) from None
    line, lines = 1, text.split("\n")
    if lines[0] == "---":
        line = 2 + next(n for n, words in enumerate(lines[1:], 1) if words.rstrip() == "---")
    body = "\n".join(lines[line - 1 :])
    for key, value in settings.items():
        number = next((n for n, words in enumerate(lines, 1) if words.split(":")[0].strip("\"' ") == key), 1)
        if key not in _KEYS:
            raise _wrong(f"there is no {key[:40]!r} in a section", f"There are: {', '.join(_KEYS)}", number)
        type_, words = _KEYS[key]
        if type(value) is not type_:
            raise _wrong(f"{key} is {str(value)[:40]!r}", f"It is {words}", number)
    items, chars = settings.get("items", 12), settings.get("chars", 200)
    if not 1 <= items <= MAX_ITEMS or not 20 <= chars <= 1000:
        raise _wrong(f"items is {items}, chars is {chars}", f"items is {_KEYS['items'][1]}, chars is 20 to 1000", 2)
    if not body.strip():
        raise _wrong("it has no text", "Write the section below the front matter", line)
    marked, parts = _cut_out(body, line)
    named = {word for part, _ in parts for word in _WORD.findall(part)}
    reads = tuple(field for field in fields if field in named)
    title, priority = settings.get("title", ""), settings.get("priority", 30)
    return MarkdownTemplate(title, priority, reads, marked, line, parts, items, chars)


def fill_template(template: MarkdownTemplate, values: Mapping[str, Any]) -> SectionTrees:
    """Return the section that a template says with these values, as trees. Raises `TreeError` with the `line`.

    A state that has grown does not make it fail: lists are shown shorter until the whole has room.
    """
    from hudkit.compose.formats.markdown import parse
    from hudkit.compose.formats.mdast_tree import from_mdast

    names = {
        **_shown_values(values, template.chars),
        COUNTS: {name: len(value) for name, value in values.items() if isinstance(value, list)},
    }
    parts = [_BracedPart(text, line, names) for text, line in template.parts]
    blocks = _blocks(from_mdast(parse(template.body, gfm=True)).children, parts)
    try:
        check_elements(blocks)
    except TreeError as error:
        lines = template.body.split("\n")
        headings = (n for n, words in enumerate(lines, template.line) if _HEADING.match(words))
        line = next(headings, template.line) if "<section>" in error.message else template.line
        what = "a heading" if "<section>" in error.message else error.message
        hint = "A section has one heading, its title" if "<section>" in error.message else error.hint
        raise TreeError(what, hint=hint, line=line) from None
    items = template.items
    while items > 1 and sum(map(_length, _cut(blocks, items))) > MAX_CHARS["full"]:
        items -= 1
    return SectionTrees(full=write_tree("full", _cut(blocks, items)))


class _BracedPart:
    """A part in braces, read when it is first needed: what stands in code is only text."""

    def __init__(self, text: str, line: int, names: Mapping[str, Any]) -> None:
        self.text = text
        self._line = line
        self._names = names
        self._nodes: tuple[Node, ...] | None = None

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes that it says. Raises `TreeError` with the line."""
        if self._nodes is None:
            if not self.text.endswith("}"):
                hint = "Close it with }, or put what is meant as text into `code`"
                raise TreeError("a { without its end", hint=hint, line=self._line)
            try:
                tree = render(read_jsx(f"<>{self.text}</>", {}, self._names, JSX_LIMITS))
            except TreeError as error:
                within = error.details.get("line", 1)
                line = self._line + (within if isinstance(within, int) else 1) - 1
                words = re.sub(r"^line \d+, column \d+: ", "", error.message)
                raise TreeError(words, hint=error.hint.partition("\n")[0], line=line) from None
            self._nodes = tree.children
        return self._nodes


def _cut_out(body: str, line: int) -> tuple[str, tuple[tuple[str, int], ...]]:
    """Return the body with marks in place of what stands in braces, and these parts, each with its line."""
    parts: list[tuple[str, int]] = []
    pieces: list[str] = []
    place = 0
    while (begin := body.find("{", place)) >= 0:
        depth, end = 0, begin
        for end in range(begin, len(body)):
            depth += {"{": 1, "}": -1}.get(body[end], 0)
            if depth == 0:
                break
        # What has no end is the brace alone: in code that is fine.
        stop = end + 1 if depth == 0 else begin + 1
        pieces += [body[place:begin], f"{_OPEN}{len(parts)}{_CLOSE}"]
        parts.append((body[begin:stop], line + body.count("\n", 0, begin)))
        place = stop
    return "".join([*pieces, body[place:]]), tuple(parts)


def _blocks(nodes: tuple[Node, ...], parts: list[_BracedPart]) -> tuple[Element, ...]:
    """The nodes with their marks replaced; what is only text of a line stands in a block of its own."""
    blocks: list[Element] = []
    items: list[Element] = []  # outside of a list: they get one
    for node in _filled(nodes, parts):
        if isinstance(node, Element) and node.tag == "item":
            items.append(node)
            continue
        if items:
            blocks, items = [*blocks, h.list[items]], []
        blocks.append(h.text[node] if isinstance(node, str) else node)
    return tuple([*blocks, h.list[items]] if items else blocks)


def _filled(nodes: tuple[Node, ...], parts: list[_BracedPart]) -> Iterator[Node]:
    for node in nodes:
        if isinstance(node, str):
            yield from _with_parts(node, parts)
        elif node.tag in ("code", "pre"):
            words = _MARK.sub(lambda mark: parts[int(mark[1])].text, text_of(node))
            yield node.with_children((words,))
        elif node.tag in ("item", "paragraph", "text") and (mark := _MARK.fullmatch(text_of(node).strip())):
            yield from _standing_alone(node, parts[int(mark[1])].nodes)
        else:
            filled = node.with_children(tuple(_filled(node.children, parts)))
            if filled.children or not node.children:
                yield filled


def _standing_alone(block: Element, nodes: tuple[Node, ...]) -> Iterator[Node]:
    """What stands in place of an item or a paragraph that was one part in braces."""
    line: list[Node] = []
    for node in nodes:
        if isinstance(node, Element) and node.tag in _BLOCKS:
            if line:
                yield block.with_children(tuple(line))
            line = []
            yield node
        else:
            line.append(node)
    if any(text_of(node).strip() for node in line):
        yield block.with_children(tuple(line))


_BLOCKS = frozenset({"item", "list", "paragraph", "text", "quote", "pre", "rule", "table"})


def _with_parts(text: str, parts: list[_BracedPart]) -> Iterator[Node]:
    place = 0
    for mark in _MARK.finditer(text):
        if mark.start() > place:
            yield text[place : mark.start()]
        yield from parts[int(mark[1])].nodes
        place = mark.end()
    if place < len(text):
        yield text[place:]


def _shown_values(value: Any, chars: int) -> Any:
    """The same values, each text one line of at most so many characters; what would need an escape is a code span."""
    if isinstance(value, str):
        nodes = verbatim(shorten(visible(" ".join(value.split())), chars), first=False, alone=False)
        return nodes if any(isinstance(node, Element) for node in nodes) else "".join(map(text_of, nodes))
    if isinstance(value, list):
        return [_shown_values(each, chars) for each in value]
    if isinstance(value, dict):
        return {name: _shown_values(each, chars) for name, each in value.items()}
    return value


def _cut(blocks: tuple[Element, ...], items: int) -> tuple[Element, ...]:
    """The blocks with so many items of each list; the others are counted."""
    return tuple(
        block.with_children((*block.children[:items], h.item[f"+{len(block.children) - items} more"]))
        if block.tag == "list" and len(block.children) > items
        else block
        for block in blocks
    )


def _length(block: Element) -> int:
    return len(text_of(block))


def _wrong(message: str, hint: str, line: int) -> ConfigError:
    return ConfigError(message, hint=hint, line=line)
