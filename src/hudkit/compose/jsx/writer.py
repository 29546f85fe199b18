"""Write elements as JSX text that reads back as the same tree."""

from __future__ import annotations

from collections.abc import Iterator

from hudkit.compose.nodes import Element, Node, Prop
from hudkit.compose.validation import DEFAULT_LIMITS, TreeLimits, validate

_TEXT_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "{": "&#123;", "}": "&#125;"})
_QUOTED_ESCAPES = str.maketrans({"&": "&amp;", '"': "&quot;"})
_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_INDENT = "  "


def write_jsx(tree: Element, limits: TreeLimits = DEFAULT_LIMITS) -> str:
    """Return JSX text that `read_jsx` reads as an equal tree, every text of it included; it ends in a line break.

    Blocks stand on lines of their own, lines stay lines. Characters that do not print are written as escapes, lone
    surrogates too, so that the text can be encoded. Raises `TreeError` for a tree that `read_jsx` would refuse, and
    for one with components that are not rendered.
    """
    # Only what the reader takes is written, so that what is stored can always be read.
    validate(tree, limits)
    return "\n".join(_lines(tree, "")) + "\n"


def _lines(element: Element, indent: str) -> Iterator[str]:
    # Line breaks may stand only where they are not text: between elements of a block that holds no text itself.
    has_text = any(isinstance(child, str) for child in element.children)
    if not element.children or has_text or _is_in_line(element):
        yield indent + _inline(element)
        return
    opening, closing = _tags(element)
    yield f"{indent}<{opening}>"
    for child in element.children:
        assert isinstance(child, Element)
        yield from _lines(child, indent + _INDENT)
    yield f"{indent}</{closing}>"


def _is_in_line(element: Element) -> bool:
    return element.tag in ("strong", "emphasis", "strike", "code", "link")


def _inline(element: Element) -> str:
    opening, closing = _tags(element)
    if not element.children:
        return f"<{opening} />"
    parts: list[str] = []
    # Two texts in a row would read back as one: the second is written in braces.
    before: Node | None = None
    for child in element.children:
        if isinstance(child, Element):
            parts.append(_inline(child))
        else:
            parts.append(_string(child, bare=not isinstance(before, str)))
        before = child
    return f"<{opening}>{''.join(parts)}</{closing}>"


def _tags(element: Element) -> tuple[str, str]:
    opening = element.tag + "".join(f" {_prop(name, value)}" for name, value in element.props)
    return opening, element.tag


def _prop(name: str, value: Prop) -> str:
    if value is True:
        return name
    if isinstance(value, str):
        return (
            f'{name}="{value.translate(_QUOTED_ESCAPES)}"' if value.isprintable() else f"{name}={{{_literal(value)}}}"
        )
    return f"{name}={{{'false' if value is False else repr(value)}}}"


def _string(text: str, bare: bool) -> str:
    """Return text as itself where it reads back so, else (behind another text, blank, not printable) a string in
    braces.
    """
    if bare and text.isprintable() and text.strip(" "):
        return text.translate(_TEXT_ESCAPES)
    return f"{{{_literal(text)}}}"


def _literal(text: str) -> str:
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(_char(char) for char in text)}"'


def _char(char: str) -> str:
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    if char.isprintable():
        return char
    # From the surrogates on in the long form: two short ones in a row would read back as one character.
    return f"\\u{code:04x}" if code < 0xD800 else f"\\u{{{code:x}}}"
