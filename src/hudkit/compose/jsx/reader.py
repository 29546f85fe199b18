"""Read JSX text: first characters to syntax, then syntax to elements.

**The parser** goes by recursive descent and knows no vocabulary and no values. The grammar (spaces between the parts
of a tag are left out):

    root       = element
    element    = "<" name attribute* "/>"
               | "<" name attribute* ">" child* "</" name ">"
               | "<>" child* "</>"
    attribute  = name | name "=" quoted text | name "=" "{" value "}" | "{..." name "}"
    child      = element | text | "{" braced "}" | "{" comment "}"
    braced     = operand | condition "&&" branch | condition "?" branch ":" branch
    operand    = value | path ".map(" ( name | "(" name ["," name] ")" ) "=>" body ")"
    condition  = "!"* value
    branch     = element | operand | "(" body ")"
    body       = element | braced | "(" body ")"
    value      = string | number | "true" | "false" | "null" | path
    path       = name ("." name)*

One character decides what comes next, so nothing is read twice: `<` begins an element or ends one, `{` begins a
value, everything else is text. A name is noted, not looked up: nothing is evaluated here.

An example: `<item priority={2}>Hi, {user.name}</item>` becomes an element `item` with the attribute `priority` of the
literal 2, the text `Hi, ` and the name `user.name`, each with its offset in the text, so that whatever turns out to
be wrong with it later can be reported with line and column.

**The builder** then looks names up, finds components, and checks every part where it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import is_dataclass
from enum import Enum
from typing import Any, ParamSpec, TypeVar, cast

import msgspec

from hudkit.compose.builder import flatten
from hudkit.compose.components import Component, ContextKey, Show
from hudkit.compose.jsx.scanner import Scanner
from hudkit.compose.nodes import ContextValue, Element, Node, freeze
from hudkit.compose.rendering import render
from hudkit.compose.validation import DEFAULT_LIMITS, TreeLimits, check_keys, check_size
from hudkit.compose.vocabulary import TAGS, check_element, check_prop, shown_value
from hudkit.errors import TreeError

_LINE_BREAKS = "\r\n"
_BLANKS = " \t"
_LITERAL_WORDS = {"true": True, "false": False, "null": None}
_VALUE_HINT = (
    "A name, a number, a string, true, false or null stands in braces, among children also a && b, a ? b : c and "
    "list.map(item => <item>{item}</item>); nothing else is evaluated"
)


class _TextRun(msgspec.Struct, frozen=True):
    """Text between tags, after the rules of white space; `offset` is its place in the source."""

    text: str
    offset: int


class _Literal(msgspec.Struct, frozen=True):
    """A value that is written out: `{3}`, `{"text"}`, `{true}`."""

    value: str | int | float | bool | None
    offset: int


class _NameLookup(msgspec.Struct, frozen=True):
    """A name to look up: `{task.summary}`."""

    names: tuple[str, ...]
    offset: int


class _Attribute(msgspec.Struct, frozen=True):
    """A prop; without a name, `{...name}`: a mapping of props."""

    name: str
    value: _Literal | _NameLookup
    offset: int


class _ElementSyntax(msgspec.Struct, frozen=True):
    """An element; without a name, `<>…</>`."""

    name: str
    attributes: tuple[_Attribute, ...]
    children: tuple[ChildSyntax, ...]
    offset: int


class _Conditional(msgspec.Struct, frozen=True):
    """`{a && b}` and `{a ? b : c}`; `negated`: with an odd number of `!` before `a`."""

    condition: _Literal | _NameLookup
    negated: bool
    then: ChildSyntax
    otherwise: ChildSyntax | None
    offset: int


class _Repetition(msgspec.Struct, frozen=True):
    """`{list.map((item, index) => body)}`; an `index` without a name is not given."""

    values: _NameLookup
    item: str
    index: str
    body: ChildSyntax
    offset: int


ChildSyntax = _TextRun | _Literal | _NameLookup | _ElementSyntax | _Conditional | _Repetition


def parse(scanner: Scanner, limits: TreeLimits) -> _ElementSyntax:
    """Return the one element of a text. Raises `TreeError` with line and column, whatever the text is."""
    check_size(len(scanner.text), limits)
    return _Parser(scanner, limits).root()


class _Parser:
    """One pass over a text; a method for each rule of the grammar, which leaves the scanner behind what it read."""

    def __init__(self, scanner: Scanner, limits: TreeLimits) -> None:
        self._scan = scanner
        self._limits = limits
        self._count = 0

    def root(self) -> _ElementSyntax:
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
            self._braces(0)
            scan.skip_space()

    def _element(self, depth: int) -> _ElementSyntax:
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
            return _ElementSyntax(name, attributes, (), offset)
        scan.position += 1
        return _ElementSyntax(name, attributes, self._children(name, offset, depth), offset)

    def _attributes(self, tag: str, tag_offset: int) -> tuple[_Attribute, ...]:
        scan = self._scan
        attributes: list[_Attribute] = []
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
            attributes.append(_Attribute(name, self._attribute_value(tag, name, offset), offset))

    def _spread(self, offset: int) -> _Attribute:
        scan = self._scan
        scan.position += 1
        scan.skip_space()
        if not scan.take("..."):
            scan.fail("braces where a prop is expected", "A mapping of props is written {...name}", offset)
        scan.skip_space()
        value = self._value()
        if not isinstance(value, _NameLookup):
            scan.fail("no name behind the dots", "A mapping of props is written {...name}", value.offset)
        self._close_braces(offset)
        return _Attribute("", value, offset)

    def _attribute_value(self, tag: str, name: str, offset: int) -> _Literal | _NameLookup:
        scan = self._scan
        scan.skip_space()
        if not scan.take("="):
            return _Literal(True, offset)
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
            return _Literal(scan.decoded(begin + 1, end), begin)
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
                value = self._braces(depth)
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

    def _braces(self, depth: int) -> ChildSyntax | None:
        """Return what stands in braces among children; `None` for a comment."""
        scan, offset = self._scan, self._scan.position
        scan.position += 1
        scan.skip_space()
        if not scan.starts("/*"):
            braced = self._braced(depth)
            self._close_braces(offset)
            return braced
        while scan.take("/*"):
            end = scan.find("*/")
            if end < 0:
                scan.fail("a comment without its end", "Close it with */}", offset)
            scan.position = end + 2
            scan.skip_space()
        if not scan.take("}"):
            scan.fail("something behind a comment", "Close it with */}")
        return None

    def _braced(self, depth: int) -> ChildSyntax:
        """Return a value, a condition with its branches, or a repetition."""
        scan, offset = self._scan, self._scan.position
        negations = 0
        while scan.take("!"):
            negations += 1
            scan.skip_space()
        value = self._value() if negations else self._operand(depth)
        if isinstance(value, _Repetition):
            return value
        scan.skip_space()
        if scan.take("&&"):
            return _Conditional(value, negations % 2 == 1, self._branch(depth), None, offset)
        if scan.take("?"):
            then = self._branch(depth)
            scan.skip_space()
            if not scan.take(":"):
                scan.fail("no : behind the first branch", "A choice is written {a ? b : c}")
            return _Conditional(value, negations % 2 == 1, then, self._branch(depth), offset)
        if negations:
            scan.fail("a ! without a choice", "Write {!a && b} or {!a ? b : c}", offset)
        return value

    def _operand(self, depth: int) -> _Literal | _NameLookup | _Repetition:
        """Return a value or a repetition."""
        value = self._value()
        if isinstance(value, _NameLookup) and value.names[-1] == "map" and self._scan.take("("):
            return self._repetition(value, value.offset, depth)
        return value

    def _branch(self, depth: int) -> ChildSyntax:
        """Return an element, a value or a repetition, or what stands in parentheses."""
        self._scan.skip_space()
        return self._operand(depth + 1) if self._scan.peek() not in ("<", "(") else self._body(depth)

    def _body(self, depth: int) -> ChildSyntax:
        """Return an element, or all that may stand in braces, with or without parentheses."""
        scan = self._scan
        scan.skip_space()
        offset = scan.position
        self._count_node(offset)
        if depth > self._limits.depth:
            scan.fail(f"more than {self._limits.depth} levels", "Split the tree", offset)
        if scan.peek() == "<":
            return self._element(depth + 1)
        if not scan.take("("):
            return self._braced(depth + 1)
        body = self._body(depth + 1)
        scan.skip_space()
        if not scan.take(")"):
            scan.fail("a ( without its end", "Close it with )", offset)
        return body

    def _repetition(self, path: _NameLookup, offset: int, depth: int) -> _Repetition:
        """Return the rest of `list.map(item => body)`, behind its first parenthesis."""
        scan = self._scan
        hint = "Write {list.map(item => <item>{item.text}</item>)} or {list.map((item, index) => …)}"
        if len(path.names) == 1:
            scan.fail("a map of nothing", hint, offset)
        scan.skip_space()
        in_parentheses = scan.take("(")
        scan.skip_space()
        item, index = scan.name(), ""
        scan.skip_space()
        if in_parentheses and scan.take(","):
            scan.skip_space()
            index = scan.name()
            scan.skip_space()
        if not item or (in_parentheses and not scan.take(")")):
            scan.fail("no name for an item of the map", hint)
        scan.skip_space()
        if not scan.take("=>"):
            scan.fail("no => in the map", hint)
        body = self._body(depth)
        scan.skip_space()
        if not scan.take(")"):
            scan.fail("a map without its end", "Close it with )", offset)
        return _Repetition(_NameLookup(path.names[:-1], path.offset), item, index, body, offset)

    def _value(self) -> _Literal | _NameLookup:
        scan, offset = self._scan, self._scan.position
        char = scan.peek()
        if char in ('"', "'") and char:
            return _Literal(scan.quoted(), offset)
        if char in tuple("-0123456789"):
            return _Literal(scan.number(), offset)
        names = [scan.name()]
        while names[-1] and scan.take("."):
            names.append(scan.name())
        if not names[-1]:
            scan.fail("no value in braces" if len(names) == 1 else "no name behind the dot", _VALUE_HINT)
        if len(names) == 1 and names[0] in _LITERAL_WORDS:
            return _Literal(_LITERAL_WORDS[names[0]], offset)
        return _NameLookup(tuple(names), offset)

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

    def _text_run(self, begin: int, end: int) -> _TextRun | None:
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
        return _TextRun(" ".join(parts), offset) if parts else None

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


_MAX_NAMES_LISTED = 12
"""How many names an error lists."""


def _field_names(value: object) -> tuple[str, ...]:
    """Return the names that are found in a value: string keys of a mapping, declared fields of anything else.

    Structs, dataclasses and named tuples declare fields. No other attribute is found, because reading one could run
    code of the program, and no private one.
    """
    if isinstance(value, Mapping):
        return tuple(name for name in value if isinstance(name, str))
    if isinstance(value, msgspec.Struct):
        names = value.__struct_fields__
    elif is_dataclass(value) and not isinstance(value, type):
        names = tuple(value.__dataclass_fields__)
    elif isinstance(value, tuple) and hasattr(type(value), "_fields"):
        names = tuple(cast(Any, value)._fields)
    else:
        return ()
    return tuple(name for name in names if not name.startswith("_"))


def _look_up(names: tuple[str, ...], values: Mapping[str, Any]) -> Any:
    """Return the value of a dotted name; raises `TreeError` that says what there is."""
    value: Any = values
    for depth, name in enumerate(names):
        available = _field_names(value)
        if name not in available:
            problem = f"{'.'.join(names[:depth])!r} has no {name!r}" if depth else f"there is no value {name!r}"
            raise TreeError(problem, hint=f"There is: {_listed(available)}" if available else "It has no fields")
        value = value[name] if isinstance(value, Mapping) else getattr(value, name)
    return value


def _listed(names: Collection[str]) -> str:
    ellipsis = ", …" if len(names) > _MAX_NAMES_LISTED else ""
    return ", ".join(sorted(names)[:_MAX_NAMES_LISTED]) + ellipsis


def _spread_props(value: object, name: str) -> dict[str, Any]:
    """Return the props that `{...name}` spreads."""
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return dict(value)
    raise TreeError(f"{name!r} cannot be spread", hint="It must be a mapping from names to values")


def _enum_value(value: Any) -> Any:
    """Return the value of a member of an enumeration, anything else as it is."""
    return value.value if isinstance(value, Enum) else value


def _check_annotation(source: Component[...], name: str, value: Any) -> Any:
    """Return a scalar as the annotation of a component's parameter wants it: text becomes a member of an enumeration.

    Raises `TreeError` where it is not of that type. What is no scalar, and what has no annotation that can be
    checked, is left as it is: it was given by the program, not by the text.
    """
    if not isinstance(value, str | int | float | bool | None):
        return value
    hint = source.hints.get(name, Any)
    try:
        return msgspec.convert(_enum_value(value), hint, strict=True)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # the latter: a lone surrogate meets fixed words
        advice = str(error)
        if isinstance(hint, type) and issubclass(hint, Enum):
            advice = f"It must be one of: {', '.join(str(member.value) for member in hint)}"
        raise TreeError(f"prop {name!r} of <{source.name}> is {shown_value(value)}", hint=advice) from None
    except TypeError:  # an annotation that msgspec cannot check
        return value


_P = ParamSpec("_P")
_T = TypeVar("_T")

_Source = Component[...] | ContextKey[Any] | Callable[..., Any]
"""What a capitalised tag may stand for: a component, a plain function, or a context key (`<Theme value="dark">`)."""

_BUILT_IN: Mapping[str, _Source] = {"Show": Show}
"""The components that every text has; one of the same name that is given counts instead."""

_IN_LINE = frozenset({"phrasing", "text"})


def jsx(text: str, components: Mapping[str, _Source] | None = None, /, **names: Any) -> Element:
    """Return the tree that a JSX text says, rendered: `jsx("<Tasks list={open} />", {"Tasks": Tasks}, open=tasks)`.

    Raises `TreeError`, with line and column in `details` where the text is wrong; also where a component has to
    prepare first: then `read_jsx`, `await prepare`, `render`.
    """
    return render(read_jsx(text, components, names))


def read_jsx(
    text: str,
    components: Mapping[str, _Source] | None = None,
    names: Mapping[str, Any] | None = None,
    limits: TreeLimits = DEFAULT_LIMITS,
) -> Element:
    """Return the tree that a JSX text says, its components not yet rendered. Raises `TreeError` for a wrong text."""
    scanner = Scanner(text)
    syntax = parse(scanner, limits)
    return _TreeBuilder(scanner, {**_BUILT_IN, **(components or {})}, names or {}, limits).element(syntax, "any")


class _TreeBuilder:
    """One walk over syntax; what is wrong is raised as an error at its place in the text."""

    def __init__(
        self, scanner: Scanner, components: Mapping[str, _Source], names: Mapping[str, Any], limits: TreeLimits
    ) -> None:
        self._scan = scanner
        self._components = dict(components)
        self._names = names
        self._limits = limits
        self._repeated = 0

    def element(self, syntax: _ElementSyntax, holds: str) -> Element:
        """Return the element of a tag.

        `holds` is what the place it stands in may hold; so may its own children where it is transparent.
        """
        tag = syntax.name or "fragment"
        if tag[:1].isupper():
            return self._component(syntax)
        spec = TAGS.get(tag)
        if spec is None:
            listed = ", ".join((*TAGS, *self._components))
            self._scan.fail(f"there is no element <{tag}>", f"There are: {listed}", syntax.offset)
        inner = holds if spec.holds == "any" else spec.holds
        props: dict[str, Any] = {}
        for attribute in syntax.attributes:
            for prop, value in self._attribute_props(attribute).items():
                props[prop] = self._located(attribute.offset, _checked_prop, tag, prop, _enum_value(value))
        return Element(tag, freeze(props), self._children(syntax, tag, inner))

    def _component(self, syntax: _ElementSyntax) -> Element:
        source = self._component_source(syntax)
        # What it renders to is not known yet, so white space is kept as in a line: its place may be one.
        children = self._children(syntax, syntax.name, "phrasing")
        props: dict[str, Any] = {}
        for attribute in syntax.attributes:
            for prop, value in self._attribute_props(attribute).items():
                if prop == "key":
                    self._located(attribute.offset, check_prop, syntax.name, "key", value)
                elif isinstance(source, Component):
                    self._located(attribute.offset, source.check_name, prop)
                    value = self._located(attribute.offset, _check_annotation, source, prop, value)
                props[prop] = value
        if isinstance(source, Component):
            return self._located(syntax.offset, source.use, *children, **props)
        if set(props) != {"value"}:
            self._scan.fail(f"<{syntax.name}> gives a value", f"Write <{syntax.name} value={{…}}>", syntax.offset)
        return ContextValue(source, syntax.name, props, children)

    def _component_source(self, syntax: _ElementSyntax) -> Component[...] | ContextKey[Any]:
        source = self._components.get(syntax.name)
        if source is None:
            names = _listed(self._components)
            self._scan.fail(f"there is no component <{syntax.name}>", f"There are: {names}", syntax.offset)
        if not isinstance(source, Component | ContextKey):
            # Made once and noted: two uses of one function are uses of one component.
            source = self._components[syntax.name] = Component(source, name=syntax.name)
        return source

    def _children(self, syntax: _ElementSyntax, name: str, holds: str) -> tuple[Node, ...]:
        children: list[Node] = []
        keys: set[object] = set()
        for part in syntax.children:
            nodes = self._nodes(part, holds)
            # Child by child, so that an error names the place of the child and not that of the whole element.
            if name in TAGS:
                self._located(part.offset, check_element, name, {}, nodes)
            self._located(part.offset, check_keys, name, nodes, keys)
            children.extend(nodes)
        return tuple(children)

    def _attribute_props(self, attribute: _Attribute) -> dict[str, Any]:
        value = self._value(attribute.value)
        if attribute.name:
            return {attribute.name: value}
        assert isinstance(attribute.value, _NameLookup)
        return self._located(attribute.offset, _spread_props, value, ".".join(attribute.value.names))

    def _value(self, part: _Literal | _NameLookup) -> Any:
        if isinstance(part, _Literal):
            return part.value
        return self._located(part.offset, _look_up, part.names, self._names)

    def _nodes(self, part: ChildSyntax, holds: str) -> tuple[Node, ...]:
        if isinstance(part, _TextRun):
            # Between elements that hold no text, blanks are only the layout of the source.
            is_layout = holds not in _IN_LINE and holds != "any" and not part.text.strip(" \t")
            return () if is_layout else (part.text,)
        if isinstance(part, _ElementSyntax):
            element = self.element(part, holds)
            return (element,) if part.name else element.children
        if isinstance(part, _Conditional):
            chosen = part.then if bool(self._value(part.condition)) is not part.negated else part.otherwise
            return () if chosen is None else self._nodes(chosen, holds)
        if isinstance(part, _Repetition):
            return self._repeated_nodes(part, holds)
        if isinstance(part, _Literal) and isinstance(part.value, str):
            return (part.value,)
        return self._located(part.offset, flatten, self._value(part))

    def _repeated_nodes(self, part: _Repetition, holds: str) -> tuple[Node, ...]:
        values = self._value(part.values)
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
            name = ".".join(part.values.names)
            self._scan.fail(f"{name!r} is no list", "A map is over a list or another collection", part.offset)
        outer, nodes = self._names, list[Node]()
        try:
            for index, value in enumerate(values):
                # Maps within maps multiply: what they make is counted, not what is written.
                self._repeated += 1
                if self._repeated > self._limits.nodes:
                    self._scan.fail(f"more than {self._limits.nodes} nodes", "Map fewer items", part.offset)
                self._names = {**outer, part.item: value, **({part.index: index} if part.index else {})}
                nodes += self._nodes(part.body, holds)
        finally:
            self._names = outer
        return tuple(nodes)

    def _located(self, offset: int, act: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Return the result of `act`; what it refuses is an error at a place in the text."""
        try:
            return act(*args, **kwargs)
        except TreeError as error:
            if "line" in error.details:  # from further in, where the place is known better
                raise
            raise self._scan.error(error.message, error.hint, offset) from error


def _checked_prop(tag: str, name: str, value: Any) -> Any:
    # The name, then the value by its rule, whose message is the better one, then its type.
    check_element(tag, {name: None}, ())
    if value is not None:
        check_prop(tag, name, value)
    check_element(tag, {name: value}, ())
    return value
