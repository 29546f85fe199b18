"""JSON with comments and trailing commas, read with places: one entry can be put in or taken out, and no more."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NoReturn

import msgspec

from hudkit.errors import ConfigError

MAX_DEPTH = 60
BOM = "\ufeff"

_SPACE = re.compile(r"[ \t\r\n]+")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.S)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w)")
_SAME_LINE = re.compile(r"(?:[ \t]+|//[^\r\n]*|/\*[^\r\n]*?\*/)*")


class JsonNode(msgspec.Struct, frozen=True):
    """A value and where it stands: `text[start:end]`. A list or an object has its items, and the place of a comma
    behind the last one."""

    value: Any
    start: int
    end: int
    items: tuple[JsonItem, ...] = ()
    comma: int | None = None


class JsonItem(msgspec.Struct, frozen=True):
    """An element of a list, or a member of an object with its name; it begins at `start`."""

    start: int
    node: JsonNode
    name: str = ""


class TextEdit(msgspec.Struct, frozen=True):
    """At this place of a text, `old` becomes `new`."""

    offset: int = msgspec.field(name="at")
    old: str
    new: str


def parse_jsonc(text: str, where: str) -> JsonNode:
    """Return the document as a tree with places.

    Raises `ConfigError` naming `where`, line, column and what was expected.
    """
    reader = _Reader(text, where)
    start = reader.skip(len(BOM) if text.startswith(BOM) else 0)
    node = reader.value(start, 0)
    if reader.skip(node.end) != len(text):
        reader.fail(reader.skip(node.end), "the end of the file")
    return node


def parse_object(text: str, where: str) -> JsonNode:
    """Return the document where it is an object. Raises `ConfigError` where it is not, or cannot be read."""
    root = parse_jsonc(text, where)
    if not opens_with(text, root, "{"):
        raise ConfigError(f"{where} does not hold an object", hint="It was left as it is")
    return root


def opens_with(text: str, node: JsonNode, first: str) -> bool:
    """Return whether a value is an object (`{`) or a list (`[`)."""
    return text[node.start] == first


def is_blank(text: str) -> bool:
    """Return whether there is nothing in a document, or nothing but comments."""
    return _Reader(text, "").skip(len(BOM) if text.startswith(BOM) else 0) == len(text)


def object_edit(text: str, member: str) -> TextEdit:
    """Return what puts an object with one member into a blank document, behind its comments."""
    lead = "" if text.rstrip(BOM) == "" or text.endswith("\n") else "\n"
    return TextEdit(len(text), "", f"{lead}{{\n  {member}\n}}\n")


def check_edited(after: str, wanted: dict[str, Any], where: str) -> None:
    """Make sure that what was made says what was meant, and everything else as before. Raises `ConfigError`."""
    if parse_jsonc(after, where).value != wanted:
        raise ConfigError(f"{where} is written in a way that cannot be edited safely", hint="It was left as it is")


def find_member(node: JsonNode, name: str) -> JsonItem | None:
    """Return the member of an object that is in force: the last one of its name."""
    return next((item for item in reversed(node.items) if item.name == name), None)


def insertion_edits(text: str, node: JsonNode, entry: str) -> tuple[TextEdit, ...]:
    """Return what puts `entry` (an element, or a member with its name) at the end of a list or object."""
    eol = "\r\n" if "\r\n" in text else "\n"
    if not node.items:
        inside = text[node.start + 1 : node.end - 1]
        if text[node.start] == "[":
            return (TextEdit(node.start + 1, "", entry),)
        return (TextEdit(node.start + 1, "", f"{eol}  {entry}" + ("" if "\n" in inside else eol)),)
    last = node.items[-1]
    after = last.node.end if node.comma is None else node.comma + 1
    lead, place = _manner(text, node, last, after, eol)
    if node.comma is not None:
        return (TextEdit(place, "", f"{lead}{entry},"),)
    if place == last.node.end:
        return (TextEdit(place, "", f",{lead}{entry}"),)
    return TextEdit(last.node.end, "", ","), TextEdit(place, "", f"{lead}{entry}")


def removal_edits(text: str, node: JsonNode, index: int) -> tuple[TextEdit, ...]:
    """Return what takes an item out of a list or object, with its comma and the space before it."""
    item = node.items[index]
    start, end = item.start, item.node.end
    last = index == len(node.items) - 1
    if not last or node.comma is not None:
        end = node.comma + 1 if last and node.comma is not None else _comma(text, end) + 1
    lead = len(text[:start]) - len(text[:start].rstrip(" \t\r\n"))
    cut = TextEdit(start - lead, text[start - lead : end], "")
    if not last or node.comma is not None or index == 0:
        return (cut,)
    comma = _comma(text, node.items[index - 1].node.end)
    if comma == cut.offset - 1:
        return (TextEdit(comma, text[comma:end], ""),)
    return TextEdit(comma, ",", ""), cut


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """Return the text after edits that do not overlap. Raises `ValueError` where an edit's old text is not there."""
    # From the end on, so that the places of the others stay true.
    for edit in sorted(edits, key=lambda edit: edit.offset, reverse=True):
        end = edit.offset + len(edit.old)
        if text[edit.offset : end] != edit.old:
            raise ValueError(f"the text at {edit.offset} is not {edit.old[:40]!r}")
        text = text[: edit.offset] + edit.new + text[end:]
    return text


def inverse_edits(edits: Iterable[TextEdit]) -> tuple[TextEdit, ...]:
    """Return the edits that undo `edits`, in places of the text that these made."""
    inverse, shift = [], 0
    for edit in sorted(edits, key=lambda edit: edit.offset):
        inverse.append(TextEdit(edit.offset + shift, edit.new, edit.old))
        shift += len(edit.new) - len(edit.old)
    return tuple(inverse)


def _manner(text: str, node: JsonNode, last: JsonItem, after: int, eol: str) -> tuple[str, int]:
    """Return what comes before a new last item, and its place: on a line of its own where the last one has one."""
    line = text.rfind("\n", node.start, last.start)
    indent = text[line + 1 : last.start]
    if line < 0 or indent.strip(" \t"):
        return " ", after
    rest = _SAME_LINE.match(text, after)
    end = rest.end() if rest else after
    return eol + indent, end if text[end : end + 1] in ("\n", "\r") else after


def _comma(text: str, place: int) -> int:
    """Return the next comma behind an item, comments passed over."""
    while text[place] != ",":
        comment = _COMMENT.match(text, place)
        place = comment.end() if comment else place + 1
    return place


class _Reader:
    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.where = where

    def fail(self, place: int, wanted: str) -> NoReturn:
        line = self.text.count("\n", 0, place) + 1
        column = place - self.text.rfind("\n", 0, place)
        raise ConfigError(
            f"{self.where} cannot be read: line {line}, column {column} should have {wanted}",
            hint="It was left as it is; mend it and try again",
        )

    def skip(self, place: int) -> int:
        """Return the place past space and comments."""
        while match := _SPACE.match(self.text, place) or _COMMENT.match(self.text, place):
            place = match.end()
        return place

    def value(self, start: int, depth: int) -> JsonNode:
        first = self.text[start : start + 1]
        if depth > MAX_DEPTH:
            self.fail(start, f"at most {MAX_DEPTH} levels")
        if first in ("{", "["):
            return self.items(start, depth, "}" if first == "{" else "]")
        match = (_STRING if first == '"' else _WORD).match(self.text, start)
        if not match:
            self.fail(start, "a value")
        try:
            return JsonNode(json.loads(match[0]), start, match.end())
        except ValueError:
            self.fail(start, "a value")

    def items(self, start: int, depth: int, close: str) -> JsonNode:
        items: list[JsonItem] = []
        comma: int | None = None
        place = self.skip(start + 1)
        while self.text[place : place + 1] != close:
            if items and comma is None:
                self.fail(place, f'"," or "{close}"')
            items.append(self.item(place, depth, close))
            place = self.skip(items[-1].node.end)
            comma = place if self.text[place : place + 1] == "," else None
            place = place if comma is None else self.skip(place + 1)
        value: Any = [item.node.value for item in items]
        if close == "}":
            value = {item.name: item.node.value for item in items}
        return JsonNode(value, start, place + 1, tuple(items), comma)

    def item(self, start: int, depth: int, close: str) -> JsonItem:
        if close == "]":
            return JsonItem(start, self.value(start, depth + 1))
        if self.text[start : start + 1] != '"':
            self.fail(start, "a name in quotes")
        name = self.value(start, depth)
        colon = self.skip(name.end)
        if self.text[colon : colon + 1] != ":":
            self.fail(colon, '":"')
        return JsonItem(start, self.value(self.skip(colon + 1), depth + 1), name.value)
