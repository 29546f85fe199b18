"""Parse JSX text: from characters to syntax, by recursive descent. It knows no vocabulary and no values.

The grammar (spaces between the parts of a tag are left out):

    root       = element
    element    = "<" name attribute* "/>"
               | "<" name attribute* ">" child* "</" name ">"
               | "<>" child* "</>"
    attribute  = name | name "=" quoted text | name "=" "{" value "}" | "{..." name "}"
    child      = element | text | "{" value "}" | "{" comment "}"
    value      = string | number | "true" | "false" | "null" | name ("." name)*

One character decides what comes next, so nothing is read twice: `<` begins an element or ends one, `{` begins a
value, everything else is text. A name is noted, not looked up: nothing is evaluated here.

An example: `<item priority={2}>Hi, {user.name}</item>` becomes

    ElementSyntax("item", [Attribute("priority", Literal(2))], [TextRun("Hi, "), NameLookup(("user", "name"))])

each with its offset in the text, so that whatever is found wrong with it later can be said with line and column.
"""

from __future__ import annotations

import msgspec

from hudkit.compose.jsx.scanner import Scanner
from hudkit.compose.validation import TreeLimits, check_size

_LINE_BREAKS = "\r\n"
_BLANKS = " \t"
_LITERAL_WORDS = {"true": True, "false": False, "null": None}
_VALUE_HINT = "A name, a number, a string, true, false or null stands in braces; nothing is evaluated"


class TextRun(msgspec.Struct, frozen=True):
    """Text between tags, after the rules of white space; `offset` is its place in the source."""

    text: str
    offset: int


class Literal(msgspec.Struct, frozen=True):
    """A value that is written out: `{3}`, `{"text"}`, `{true}`."""

    value: str | int | float | bool | None
    offset: int


class NameLookup(msgspec.Struct, frozen=True):
    """A name to look up: `{task.summary}`."""

    names: tuple[str, ...]
    offset: int


class Attribute(msgspec.Struct, frozen=True):
    """A prop; without a name, `{...name}`: a mapping of props."""

    name: str
    value: Literal | NameLookup
    offset: int


class ElementSyntax(msgspec.Struct, frozen=True):
    """An element; without a name, `<>…</>`."""

    name: str
    attributes: tuple[Attribute, ...]
    children: tuple[ChildSyntax, ...]
    offset: int


ChildSyntax = TextRun | Literal | NameLookup | ElementSyntax


def parse(scanner: Scanner, limits: TreeLimits) -> ElementSyntax:
    """Return the one element of a text. Raises `TreeError` with line and column, whatever the text is."""
    check_size(len(scanner.text), limits)
    return _Parser(scanner, limits).root()


class _Parser:
    """One pass over a text; a method for each rule of the grammar, which leaves the scanner behind what it read."""

    def __init__(self, scanner: Scanner, limits: TreeLimits) -> None:
        self._scan = scanner
        self._limits = limits
        self._count = 0

    def root(self) -> ElementSyntax:
        """Read the whole text and return its one element."""
        scan = self._scan
        self._skip_around_root()
        if scan.peek() != "<":
            scan.fail("no element", "A text of JSX is one element: <document>…</document>, or <>…</>")
        root = self._element(0)
        self._skip_around_root()
        if scan.peek():
            scan.fail("something behind the root", "A text of JSX is one element; put several into <>…</>")
        return root

    def _skip_around_root(self) -> None:
        """Pass over white space and comments."""
        scan = self._scan
        scan.skip_space()
        while scan.starts("{/*"):
            self._braces()
            scan.skip_space()

    def _element(self, depth: int) -> ElementSyntax:
        scan, offset = self._scan, self._scan.position
        self._count_node(offset)
        if depth > self._limits.depth:
            scan.fail(f"more than {self._limits.depth} levels", "Split the tree", offset)
        scan.position += 1
        name = scan.name()
        if not name and scan.peek() != ">":
            scan.fail("no tag", "A < that is text is written &lt;; comments are written {/* … */}", offset)
        attributes = self._attributes(name, offset) if name else ()
        if name and scan.take("/>"):
            return ElementSyntax(name, attributes, (), offset)
        scan.position += 1
        return ElementSyntax(name, attributes, self._children(name, offset, depth), offset)

    def _attributes(self, tag: str, tag_offset: int) -> tuple[Attribute, ...]:
        scan = self._scan
        attributes: list[Attribute] = []
        seen: set[str] = set()
        while True:
            scan.skip_space()
            offset, char = scan.position, scan.peek()
            if char == ">" or (char == "/" and scan.peek(1) == ">"):
                return tuple(attributes)
            if not char:
                scan.fail(f"the tag <{tag} has no end", "Close it with > or />", tag_offset)
            if char == "{":
                attributes.append(self._spread(offset))
                continue
            name = scan.name(dashes=True)
            if not name:
                scan.fail(f"{char!r} in the tag <{tag}", 'Props are written name="text", name={value} or {...names}')
            if name in seen:
                scan.fail(f"<{tag}> has the prop {name!r} twice", "Give it once", offset)
            seen.add(name)
            attributes.append(Attribute(name, self._attribute_value(tag, name, offset), offset))

    def _spread(self, offset: int) -> Attribute:
        scan = self._scan
        scan.position += 1
        scan.skip_space()
        if not scan.take("..."):
            scan.fail("braces where a prop is expected", "A mapping of props is written {...name}", offset)
        scan.skip_space()
        value = self._value()
        if not isinstance(value, NameLookup):
            scan.fail("no name behind the dots", "A mapping of props is written {...name}", value.offset)
        self._close_braces(offset)
        return Attribute("", value, offset)

    def _attribute_value(self, tag: str, name: str, offset: int) -> Literal | NameLookup:
        scan = self._scan
        scan.skip_space()
        if not scan.take("="):
            return Literal(True, offset)
        scan.skip_space()
        begin, char = scan.position, scan.peek()
        if char in ('"', "'") and char:
            # As in HTML and JSX: no escapes here, a backslash is a backslash, but references are replaced.
            scan.position += 1
            scan.until(char)
            end = scan.position
            if not scan.peek():
                scan.fail(f"the text of {name!r} has no end", f"Close it with {char}", begin)
            scan.position += 1
            return Literal(scan.decoded(begin + 1, end), begin)
        if char == "{":
            scan.position += 1
            scan.skip_space()
            value = self._value()
            self._close_braces(begin)
            return value
        raise scan.error(f"no value for {name!r} of <{tag}>", f'Write {name}="text" or {name}={{value}}', begin)

    def _children(self, tag: str, tag_offset: int, depth: int) -> tuple[ChildSyntax, ...]:
        scan = self._scan
        children: list[ChildSyntax] = []
        while True:
            offset, char = scan.position, scan.peek()
            if not char:
                scan.fail(f"<{tag}> has no end", f"Close it with </{tag}>", tag_offset)
            elif char == "<":
                if scan.peek(1) == "/":
                    self._closing_tag(tag, tag_offset, offset)
                    return tuple(children)
                children.append(self._element(depth + 1))
            elif char == "{":
                value = self._braces()
                if value is not None:
                    self._count_node(offset)
                    children.append(value)
            else:
                end = offset + len(scan.until("<{}"))
                if scan.peek() == "}":
                    scan.fail("a } in text", 'Write {"}"} or &#125;')
                text = self._text_run(offset, end)
                if text:
                    self._count_node(text.offset)
                    children.append(text)

    def _closing_tag(self, tag: str, tag_offset: int, offset: int) -> None:
        scan = self._scan
        scan.position += 2
        scan.skip_space()
        name = scan.name()
        scan.skip_space()
        if name != tag:
            opening = scan.error("", "", tag_offset).details
            hint = f"<{tag}> was opened at line {opening['line']}, column {opening['column']}; close it with </{tag}>"
            scan.fail(f"</{name}> does not close <{tag}>", hint, offset)
        if not scan.take(">"):
            scan.fail(f"the tag </{name} has no end", "Close it with >", offset)

    def _braces(self) -> Literal | NameLookup | None:
        """Return what stands in braces among children; `None` for a comment."""
        scan, offset = self._scan, self._scan.position
        scan.position += 1
        scan.skip_space()
        if not scan.starts("/*"):
            value = self._value()
            self._close_braces(offset)
            return value
        while scan.take("/*"):
            end = scan.find("*/")
            if end < 0:
                scan.fail("a comment without its end", "Close it with */}", offset)
            scan.position = end + 2
            scan.skip_space()
        if not scan.take("}"):
            scan.fail("something behind a comment", "Close it with */}")
        return None

    def _value(self) -> Literal | NameLookup:
        scan, offset = self._scan, self._scan.position
        char = scan.peek()
        if char in ('"', "'") and char:
            return Literal(scan.quoted(), offset)
        if char in tuple("-0123456789"):
            return Literal(scan.number(), offset)
        names = [scan.name()]
        while names[-1] and scan.take("."):
            names.append(scan.name())
        if not names[-1]:
            scan.fail("no value in braces" if len(names) == 1 else "no name behind the dot", _VALUE_HINT)
        if len(names) == 1 and names[0] in _LITERAL_WORDS:
            return Literal(_LITERAL_WORDS[names[0]], offset)
        return NameLookup(tuple(names), offset)

    def _close_braces(self, offset: int) -> None:
        scan = self._scan
        scan.skip_space()
        if not scan.take("}"):
            if not scan.peek():
                scan.fail("braces without their end", "Close them with }", offset)
            scan.fail(f"{scan.peek()!r} behind a value in braces", _VALUE_HINT)

    def _count_node(self, offset: int) -> None:
        # While reading, and not afterwards: a text that is refused must not have cost more than one that is read.
        self._count += 1
        if self._count > self._limits.nodes:
            self._scan.fail(f"more than {self._limits.nodes} nodes", "Split the tree", offset)

    def _text_run(self, begin: int, end: int) -> TextRun | None:
        """Return text by the rules of white space, `None` where none is left.

        Lines are trimmed where they meet, blank ones go, the rest is joined. Of `" a\\n  b "` the text is `" a b "`:
        the outer blanks stand next to tags and stay.
        """
        lines = self._lines(begin, end)
        text = self._scan.text
        parts: list[str] = []
        offset = begin
        for number, (first, last) in enumerate(lines):
            while number > 0 and first < last and text[first] in _BLANKS:
                first += 1
            while number < len(lines) - 1 and last > first and text[last - 1] in _BLANKS:
                last -= 1
            if first < last:
                offset = offset if parts else first
                # References after the trimming: `&#32;` is a blank that somebody means.
                parts.append(self._scan.decoded(first, last))
        return TextRun(" ".join(parts), offset) if parts else None

    def _lines(self, begin: int, end: int) -> list[tuple[int, int]]:
        """Return the begin and end of each line of a part of the text, without its line break."""
        lines: list[tuple[int, int]] = []
        start, text = begin, self._scan.text
        for index in range(begin, end):
            if text[index] in _LINE_BREAKS:
                lines.append((start, index))
                start = index + 1
        lines.append((start, end))
        self._scan.steps += end - begin
        return lines
