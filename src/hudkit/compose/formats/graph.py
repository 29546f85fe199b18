"""Graphs: the outline of a tree as a Mermaid flowchart, and such a flowchart as a tree.

Rules make boxes of the tree: sections and lists are boxes with what is in them below, everything else is one line of
its words. The shape of a box says which of the three it is, so that the way back needs nothing but the text. Boxes
are numbered in the order in which they are met, and the edge to a box stands right below it:

    flowchart TD
    n0(["Plan"])
    n1["read the tests"]
    n0 --> n1
    n2(("-"))
    n0 --> n2
    n3["write"]
    n2 --> n3

is the section `Plan` with a paragraph and a bullet list of one item. Reading goes line by line: a node is a root
until the edge below it hangs it under an earlier one, so that no circle can be written. Characters that could end a
label, or be markup in one, are written as their code points: `#34;` is a quote.

docs/adding-a-format.md tells how to make such a format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count

import msgspec

from hudkit.compose import Element, h, text_of, visible
from hudkit.compose.formats.transform import Rule, Shape, Transform
from hudkit.errors import FormatError

_NAME = "graph"
_DEEPEST = 100


class _TitleBox(msgspec.Struct, frozen=True):
    """A box with the title of a section, and what is below it."""

    label: str
    below: tuple[_Box, ...] = ()


class _ListBox(msgspec.Struct, frozen=True):
    """The box of a list, `-` or `1.`, and its items."""

    label: str
    below: tuple[_Box, ...] = ()


class _LineBox(msgspec.Struct, frozen=True):
    """A line of words."""

    label: str
    below: tuple[_Box, ...] = ()


_Box = _TitleBox | _ListBox | _LineBox


class _DocumentShape(Shape, frozen=True, tag="document"):
    """The root."""


class _SectionShape(Shape, frozen=True, tag="section"):
    """A section."""

    title: str = ""


class _ListShape(Shape, frozen=True, tag="list"):
    """A list, numbered or not."""

    ordered: bool = False


class _AnyShape(msgspec.Struct, frozen=True):
    """Any other element is a line of its words."""


_OUTLINE: Transform[_Box] = Transform(
    _NAME,
    (
        Rule(_DocumentShape, lambda _, element, within: within(element.children)),
        Rule(
            _SectionShape,
            lambda section, element, within: [_TitleBox(visible(section.title), tuple(within(element.children)))],
            _TitleBox,
            lambda box, within: [h.section(title=box.label)[within(box.below)]],
        ),
        Rule(
            _ListShape,
            lambda shape, element, within: [
                _ListBox("1." if shape.ordered else "-", tuple(within(element.children)))
            ],
            _ListBox,
            lambda box, _: [h.list(ordered=box.label == "1." or None)[[h.item[line.label] for line in box.below]]],
        ),
        Rule(
            _AnyShape,
            lambda _, element, __: [_LineBox(visible(text_of(element)))],
            _LineBox,
            lambda box, _: [h.paragraph[box.label]],
        ),
    ),
    text=lambda text: _LineBox(visible(text)),
)

_BRACKETS: dict[type[_Box], tuple[str, str]] = {
    _TitleBox: ("([", "])"),
    _ListBox: ("((", "))"),
    _LineBox: ("[", "]"),
}
_KINDS = {brackets: kind for kind, brackets in _BRACKETS.items()}
_HEAD = "flowchart TD"
_UNSAFE = re.compile(r"[^A-Za-z0-9 .,:!?()/_+=*-]")
_CODE = re.compile(r"#(\d{1,7});")
_NODE = re.compile(r'n(\d+)(\(\[|\(\(|\[)"([^"]*)"(\]\)|\)\)|\])')
_EDGE = re.compile(r"n(\d+) --> n(\d+)")


def write(tree: Element) -> str:
    """Return the flowchart of a tree's outline, one line a node and one an edge.

    Raises `FormatError` where no rule takes an element.
    """
    lines = [_HEAD]
    _write(_OUTLINE.to((tree,)), "", count(), lines)
    return "\n".join(lines) + "\n"


def _write(boxes: Sequence[_Box], above: str, numbers: Iterator[int], lines: list[str]) -> None:
    for box in boxes:
        name = f"n{next(numbers)}"
        opening, closing = _BRACKETS[type(box)]
        lines.append(f'{name}{opening}"{_UNSAFE.sub(_code, box.label)}"{closing}')
        if above:
            lines.append(f"{above} --> {name}")
        _write(box.below, name, numbers, lines)


def _code(match: re.Match[str]) -> str:
    return f"#{ord(match.group())};"


def read(text: str) -> Element:
    """Return the document that a flowchart says, of the form that `write` gives.

    Raises `FormatError` with the line where it is of another form.
    """
    labels: dict[str, tuple[type[_Box], str]] = {}
    # Under the empty name stand those that no edge has led to yet.
    below: dict[str, list[str]] = {"": []}
    lines = text.splitlines()
    if lines[:1] != [_HEAD]:
        raise _unreadable(1, f"a flowchart begins with {_HEAD!r}")
    for number, line in enumerate(lines[1:], 2):
        if node := _NODE.fullmatch(line):
            name, opening, label, closing = node.groups()
            if name in labels or (opening, closing) not in _KINDS:
                raise _unreadable(number, f"n{name} stands twice, or has brackets that do not match")
            labels[name] = (_KINDS[opening, closing], _CODE.sub(_character, label))
            below[name] = []
            below[""].append(name)
        elif edge := _EDGE.fullmatch(line):
            above, name = edge.groups()
            if above not in below or not below[""] or below[""][-1] != name or above == name:
                raise _unreadable(number, "an edge follows the node that it leads to, and comes from an earlier one")
            below[""].pop()
            below[above].append(name)
        else:
            raise _unreadable(number, 'a line is n1["label"] or n0 --> n1')
    return h.document[_OUTLINE.back([_box(name, labels, below, 1) for name in below[""]])]


def _box(name: str, labels: dict[str, tuple[type[_Box], str]], below: dict[str, list[str]], depth: int) -> _Box:
    if depth > _DEEPEST:
        raise _unreadable(1, f"more than {_DEEPEST} levels")
    kind, label = labels[name]
    return kind(label, tuple(_box(child, labels, below, depth + 1) for child in below[name]))


def _character(match: re.Match[str]) -> str:
    code = int(match[1])
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


def _unreadable(line: int, problem: str) -> FormatError:
    return FormatError(f"{_NAME}: line {line}: {problem}", format=_NAME, line=line)
