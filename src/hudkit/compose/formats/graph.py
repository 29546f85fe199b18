"""Graphs: the outline of a tree as a Mermaid flowchart, and such a flowchart as a tree (docs/adding-a-format.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count

import msgspec

from hudkit.compose import Element, h, text_of, visible
from hudkit.compose.formats.format import Format
from hudkit.compose.formats.transform import Rule, Shape, Transform
from hudkit.errors import FormatError

NAME = "graph"
DEEPEST = 100


class Titled(msgspec.Struct, frozen=True):
    """A node with a title, and what is below it."""

    label: str
    below: tuple[Box, ...] = ()


class Listed(msgspec.Struct, frozen=True):
    """A list, and its items."""

    label: str
    below: tuple[Box, ...] = ()


class Line(msgspec.Struct, frozen=True):
    """A line of words."""

    label: str
    below: tuple[Box, ...] = ()


Box = Titled | Listed | Line


class Document(Shape, frozen=True, tag="document"):
    """The root."""


class Section(Shape, frozen=True, tag="section"):
    """A section."""

    title: str = ""


class List(Shape, frozen=True, tag="list"):
    """A list, numbered or not."""

    ordered: bool = False


class Other(msgspec.Struct, frozen=True):
    """Any other element is a line of its words."""


RULES: tuple[Rule[Box], ...] = (
    Rule(Document, lambda _, element, within: within(element.children)),
    Rule(
        Section,
        lambda section, element, within: [Titled(visible(section.title), tuple(within(element.children)))],
        Titled,
        lambda box, within: [h.section(title=box.label)[within(box.below)]],
    ),
    Rule(
        List,
        lambda shape, element, within: [Listed("1." if shape.ordered else "-", tuple(within(element.children)))],
        Listed,
        lambda box, _: [h.list(ordered=box.label == "1." or None)[[h.item[line.label] for line in box.below]]],
    ),
    Rule(
        Other,
        lambda _, element, __: [Line(visible(text_of(element)))],
        Line,
        lambda box, _: [h.paragraph[box.label]],
    ),
)
"""Sections and lists are nodes with what is in them below; everything else is one line."""

OUTLINE: Transform[Box] = Transform(NAME, RULES, lambda text: Line(visible(text)))

_SHAPES: dict[type, tuple[str, str]] = {Titled: ('(["', '"])'), Listed: ('(("', '"))'), Line: ('["', '"]')}
_KINDS: dict[tuple[str, str], type[Titled | Listed | Line]] = {
    ("([", "])"): Titled,
    ("((", "))"): Listed,
    ("[", "]"): Line,
}
_HEAD = "flowchart TD"
_UNSAFE = re.compile(r"[^A-Za-z0-9 .,:!?()/_+=*-]")
_CODE = re.compile(r"#(\d{1,7});")
_NODE = re.compile(r'n(\d+)(\(\[|\(\(|\[)"([^"]*)"(\]\)|\)\)|\])')
_EDGE = re.compile(r"n(\d+) --> n(\d+)")


def write(tree: Element) -> str:
    """The flowchart of a tree's outline, one line a node and one an edge; raises `FormatError` as `Transform.to`."""
    lines = [_HEAD]
    _write(OUTLINE.to((tree,)), "", count(), lines)
    return "\n".join(lines) + "\n"


def _write(boxes: Sequence[Box], above: str, numbers: Iterator[int], lines: list[str]) -> None:
    for box in boxes:
        name = f"n{next(numbers)}"
        opening, closing = _SHAPES[type(box)]
        lines.append(f"{name}{opening}{_UNSAFE.sub(_code, box.label)}{closing}")
        if above:
            lines.append(f"{above} --> {name}")
        _write(box.below, name, numbers, lines)


def _code(match: re.Match[str]) -> str:
    return f"#{ord(match.group())};"


def read(text: str) -> Element:
    """The document that a flowchart says, of the form that `write` gives; `FormatError` with the line otherwise."""
    labels: dict[str, tuple[type[Titled | Listed | Line], str]] = {}
    below: dict[str, list[str]] = {"": []}
    lines = text.splitlines()
    if lines[:1] != [_HEAD]:
        raise _unreadable(1, f"a flowchart begins with {_HEAD!r}")
    for place, line in enumerate(lines[1:], 2):
        if found := _NODE.fullmatch(line):
            name, opening, label, closing = found.groups()
            if name in labels or (opening, closing) not in _KINDS:
                raise _unreadable(place, f"n{name} stands twice, or has brackets that do not match")
            labels[name] = (_KINDS[opening, closing], _CODE.sub(_character, label))
            below[name] = []
            below[""].append(name)
        elif found := _EDGE.fullmatch(line):
            above, name = found.groups()
            if above not in below or not below[""] or below[""][-1] != name or above == name:
                raise _unreadable(place, "an edge follows the node that it leads to, and comes from an earlier one")
            below[""].pop()
            below[above].append(name)
        else:
            raise _unreadable(place, 'a line is n1["label"] or n0 --> n1')
    return h.document[OUTLINE.back([_box(name, labels, below, 1) for name in below[""]])]


def _box(
    name: str, labels: dict[str, tuple[type[Titled | Listed | Line], str]], below: dict[str, list[str]], depth: int
) -> Box:
    if depth > DEEPEST:
        raise _unreadable(1, f"more than {DEEPEST} levels")
    kind, label = labels[name]
    return kind(label, tuple(_box(one, labels, below, depth + 1) for one in below[name]))


def _character(match: re.Match[str]) -> str:
    code = int(match[1])
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


def _unreadable(line: int, what: str) -> FormatError:
    return FormatError(f"{NAME}: line {line}: {what}", format=NAME, line=line)


FORMAT = Format(NAME, "tree", write, read, "text/vnd.mermaid", "The outline of a tree as a Mermaid flowchart.")
