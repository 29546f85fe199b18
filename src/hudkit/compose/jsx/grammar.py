"""The grammar of JSX text: from characters to syntax, by recursive descent. It knows no vocabulary and no values."""

from __future__ import annotations

import msgspec

from hudkit.compose.jsx.scanner import Scanner
from hudkit.compose.validation import TreeLimits, check_size

_LINE_BREAKS = "\r\n"
_BLANKS = " \t"
_LITERAL_WORDS = {"true": True, "false": False, "null": None}
_VALUE_HINT = "A name, a number, a string, true, false or null stands in braces; nothing is evaluated"


class TextRun(msgspec.Struct, frozen=True):
    """Text between tags, after the rules of white space; `at` is its place in the source."""

    text: str
    at: int


class Literal(msgspec.Struct, frozen=True):
    """A value that is written out: `{3}`, `{"text"}`, `{true}`."""

    value: str | int | float | bool | None
    at: int


class NameLookup(msgspec.Struct, frozen=True):
    """A name to look up: `{task.summary}`."""

    names: tuple[str, ...]
    at: int


class Attribute(msgspec.Struct, frozen=True):
    """A prop; without a name, `{...name}`: a mapping of props."""

    name: str
    value: Literal | NameLookup
    at: int


class ElementSyntax(msgspec.Struct, frozen=True):
    """An element; without a name, `<>…</>`."""

    name: str
    attributes: tuple[Attribute, ...]
    children: tuple[ChildSyntax, ...]
    at: int


ChildSyntax = TextRun | Literal | NameLookup | ElementSyntax


def parse(scanner: Scanner, limits: TreeLimits) -> ElementSyntax:
    """The one element of a text. Raises `TreeError` with line and column, whatever the text is."""
    check_size(len(scanner.text), limits)
    return _Grammar(scanner, limits).root()


class _Grammar:
    def __init__(self, scanner: Scanner, limits: TreeLimits) -> None:
        self._scan = scanner
        self._limits = limits
        self._count = 0

    def root(self) -> ElementSyntax:
        scan = self._scan
        self._aside()
        if scan.peek() != "<":
            scan.fail("no element", "A text of JSX is one element: <document>…</document>, or <>…</>")
        root = self._element(0)
        self._aside()
        if scan.peek():
            scan.fail("something behind the root", "A text of JSX is one element; put several into <>…</>")
        return root

    def _aside(self) -> None:
        """White space and comments around the root."""
        scan = self._scan
        scan.skip_space()
        while scan.starts("{/*"):
            self._container()
            scan.skip_space()

    def _element(self, depth: int) -> ElementSyntax:
        scan, at = self._scan, self._scan.at
        self._counted(at)
        if depth > self._limits.depth:
            scan.fail(f"more than {self._limits.depth} levels", "Split the tree", at)
        scan.at += 1
        name = scan.name()
        if not name and scan.peek() != ">":
            scan.fail("no tag", "A < that is text is written &lt;; comments are written {/* … */}", at)
        attributes = self._attributes(name, at) if name else ()
        if name and scan.take("/>"):
            return ElementSyntax(name, attributes, (), at)
        scan.at += 1
        return ElementSyntax(name, attributes, self._children(name, at, depth), at)

    def _attributes(self, tag: str, opened: int) -> tuple[Attribute, ...]:
        scan = self._scan
        found: list[Attribute] = []
        seen: set[str] = set()
        while True:
            scan.skip_space()
            at, char = scan.at, scan.peek()
            if char == ">" or (char == "/" and scan.peek(1) == ">"):
                return tuple(found)
            if not char:
                scan.fail(f"the tag <{tag} has no end", "Close it with > or />", opened)
            if char == "{":
                found.append(self._spread(at))
                continue
            name = scan.name(dashes=True)
            if not name:
                scan.fail(f"{char!r} in the tag <{tag}", 'Props are written name="text", name={value} or {...names}')
            if name in seen:
                scan.fail(f"<{tag}> has the prop {name!r} twice", "Give it once", at)
            seen.add(name)
            found.append(Attribute(name, self._assigned(tag, name, at), at))

    def _spread(self, at: int) -> Attribute:
        scan = self._scan
        scan.at += 1
        scan.skip_space()
        if not scan.take("..."):
            scan.fail("braces where a prop is expected", "A mapping of props is written {...name}", at)
        scan.skip_space()
        value = self._value()
        if not isinstance(value, NameLookup):
            scan.fail("no name behind the dots", "A mapping of props is written {...name}", value.at)
        self._closed(at)
        return Attribute("", value, at)

    def _assigned(self, tag: str, name: str, at: int) -> Literal | NameLookup:
        scan = self._scan
        scan.skip_space()
        if not scan.take("="):
            return Literal(True, at)
        scan.skip_space()
        begin, char = scan.at, scan.peek()
        if char in ('"', "'") and char:
            scan.at += 1
            scan.until(char)
            end = scan.at
            if not scan.peek():
                scan.fail(f"the text of {name!r} has no end", f"Close it with {char}", begin)
            scan.at += 1
            return Literal(scan.decoded(begin + 1, end), begin)
        if char == "{":
            scan.at += 1
            scan.skip_space()
            value = self._value()
            self._closed(begin)
            return value
        raise scan.error(f"no value for {name!r} of <{tag}>", f'Write {name}="text" or {name}={{value}}', begin)

    def _children(self, tag: str, opened: int, depth: int) -> tuple[ChildSyntax, ...]:
        scan = self._scan
        found: list[ChildSyntax] = []
        while True:
            at, char = scan.at, scan.peek()
            if not char:
                scan.fail(f"<{tag}> has no end", f"Close it with </{tag}>", opened)
            elif char == "<":
                if scan.peek(1) == "/":
                    self._close(tag, opened, at)
                    return tuple(found)
                found.append(self._element(depth + 1))
            elif char == "{":
                value = self._container()
                if value is not None:
                    self._counted(at)
                    found.append(value)
            else:
                end = at + len(scan.until("<{}"))
                if scan.peek() == "}":
                    scan.fail("a } in text", 'Write {"}"} or &#125;')
                words = self._words(at, end)
                if words:
                    self._counted(words.at)
                    found.append(words)

    def _close(self, tag: str, opened: int, at: int) -> None:
        scan = self._scan
        scan.at += 2
        scan.skip_space()
        name = scan.name()
        scan.skip_space()
        if name != tag:
            where = scan.error("", "", opened).details
            hint = f"<{tag}> was opened at line {where['line']}, column {where['column']}; close it with </{tag}>"
            scan.fail(f"</{name}> does not close <{tag}>", hint, at)
        if not scan.take(">"):
            scan.fail(f"the tag </{name} has no end", "Close it with >", at)

    def _container(self) -> Literal | NameLookup | None:
        """What stands in braces among children; `None` for a comment."""
        scan, at = self._scan, self._scan.at
        scan.at += 1
        scan.skip_space()
        if not scan.starts("/*"):
            value = self._value()
            self._closed(at)
            return value
        while scan.take("/*"):
            end = scan.find("*/")
            if end < 0:
                scan.fail("a comment without its end", "Close it with */}", at)
            scan.at = end + 2
            scan.skip_space()
        if not scan.take("}"):
            scan.fail("something behind a comment", "Close it with */}")
        return None

    def _value(self) -> Literal | NameLookup:
        scan, at = self._scan, self._scan.at
        char = scan.peek()
        if char in ('"', "'") and char:
            return Literal(scan.quoted(), at)
        if char in tuple("-0123456789"):
            return Literal(scan.number(), at)
        names = [scan.name()]
        while names[-1] and scan.take("."):
            names.append(scan.name())
        if not names[-1]:
            scan.fail("no value in braces" if len(names) == 1 else "no name behind the dot", _VALUE_HINT)
        if len(names) == 1 and names[0] in _LITERAL_WORDS:
            return Literal(_LITERAL_WORDS[names[0]], at)
        return NameLookup(tuple(names), at)

    def _closed(self, opened: int) -> None:
        scan = self._scan
        scan.skip_space()
        if not scan.take("}"):
            if not scan.peek():
                scan.fail("braces without their end", "Close them with }", opened)
            scan.fail(f"{scan.peek()!r} behind a value in braces", _VALUE_HINT)

    def _counted(self, at: int) -> None:
        self._count += 1
        if self._count > self._limits.nodes:
            self._scan.fail(f"more than {self._limits.nodes} nodes", "Split the tree", at)

    def _words(self, begin: int, end: int) -> TextRun | None:
        """Text by the rules of white space: lines are trimmed where they meet, blank ones go, the rest is joined."""
        lines: list[tuple[int, int]] = []
        start, text = begin, self._scan.text
        for n in range(begin, end):
            if text[n] in _LINE_BREAKS:
                lines.append((start, n))
                start = n + 1
        lines.append((start, end))
        self._scan.steps += end - begin
        kept: list[str] = []
        at = begin
        for place, (first, last) in enumerate(lines):
            while place > 0 and first < last and text[first] in _BLANKS:
                first += 1
            while place < len(lines) - 1 and last > first and text[last - 1] in _BLANKS:
                last -= 1
            if first < last:
                at = at if kept else first
                kept.append(self._scan.decoded(first, last))
        return TextRun(" ".join(kept), at) if kept else None
