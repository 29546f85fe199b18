"""The table of patterns in text that a Markdown reader would take for markup, and where each counts.

Sources: CommonMark 0.31.2, GFM 0.29 with the readings of cmark-gfm, micromark and markdown-it. A pattern may cover
more than the construct (an escape too many costs a token, one too few breaks the document), never less. Runs of `*`,
`_`, `~` and backticks pair with each other and are in `runs`.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Scope = Literal[
    "any", "block", "continued", "paragraph", "heading", "cell", "label", "item", "quote", "markup", "noted", "call"
]


class Unsafe(NamedTuple):
    """`pattern` marks the character to escape: its group `at`, or its first one.

    `char` is one that every match has; a line without it is not searched. Scopes: `any` place; the start of the
    `block`, of a `continued` line, of any line of a `paragraph`; in a `heading` or `cell`; in the `label` of a link
    or image; at the start of an `item` or `quote`; before `markup` (the next character is not text); in a document
    with footnotes (`noted`), and there right after the `call` of one (the character before is not text). With
    `earlier`, that character must stand somewhere before.
    """

    char: str
    scope: Scope
    pattern: re.Pattern[str]
    earlier: str = ""


_ATTRIBUTE = r"""\s+[A-Za-z_:][\w:.-]*(?:\s*=\s*(?:[^ \t\n"'=<>`]+|'[^']*'|"[^"]*"))?"""
_INLINE_HTML = rf"""
    [A-Za-z][A-Za-z0-9-]*(?:{_ATTRIBUTE})*\s*/?>          # an open tag
    | /[A-Za-z][A-Za-z0-9-]*\s*>                          # a closing tag
    | (?:!--|!\[CDATA\[|![A-Za-z]|\?)[\s\S]*>             # a comment, CDATA, a declaration, an instruction
    | [A-Za-z][A-Za-z0-9+.-]{{1,31}}:[^<>\x00-\x20]*>     # a link in angle brackets
    | [^ \t\n<>@]+@[A-Za-z0-9][A-Za-z0-9.-]*>                # an address in angle brackets
"""
_TITLE_CANNOT_FOLLOW = r"""[ \t]*[^\s<>()\\&"'`]+[ \t]+[^\s"'()]"""


def _rule(char: str, scope: Scope, pattern: str, earlier: str = "", flags: int = re.ASCII) -> Unsafe:
    return Unsafe(char, scope, re.compile(pattern, re.MULTILINE | flags), earlier)


UNSAFE: tuple[Unsafe, ...] = (
    _rule("\\", "any", r"\\(?=[!-/:-@\[-`{-~\n])"),
    _rule("&", "any", r"&(?=\#\d{1,7};|\#[xX][0-9A-Fa-f]{1,6};|[A-Za-z][A-Za-z0-9]{1,31};)"),
    _rule("<", "any", rf"<(?={_INLINE_HTML})", flags=re.VERBOSE),
    _rule("]", "any", rf"\](?=\()(?!\({_TITLE_CANNOT_FOLLOW})", earlier="["),
    _rule("!", "markup", r"!(?=\[)"),
    _rule("[", "label", r"\["),
    _rule("]", "label", r"\]"),
    _rule("|", "cell", r"\|"),
    # GFM finds links in plain text
    _rule(
        ":",
        "any",
        r"(?<![A-Za-z])(?:https?|ftp)(?P<at>:)//(?=[^ \t\n\f!-/:-@\[-`{-~])",
        flags=re.ASCII | re.IGNORECASE,
    ),
    _rule(".", "any", r"(?<![A-Za-z0-9])www(?P<at>\.)", flags=re.ASCII | re.IGNORECASE),
    _rule("@", "any", r"(?<=[A-Za-z0-9_.+-])@(?=[A-Za-z0-9_-]+\.[A-Za-z0-9_.-]*[A-Za-z])"),
    # lines that are blocks of their own
    _rule("#", "paragraph", r"^\#{1,6}(?=[ \t]|$)"),
    _rule(">", "paragraph", r"^>"),
    _rule("-", "paragraph", r"^-(?=[ \t]|$)"),
    _rule("-", "paragraph", r"^-(?=[- \t]*$)"),
    _rule("+", "paragraph", r"^\+(?=[ \t]|$)"),
    _rule("*", "paragraph", r"^\*(?=[ \t]|$)"),
    _rule("*", "paragraph", r"^\*(?=[ \t]*\*[ \t]*\*[* \t]*$)"),
    _rule("_", "paragraph", r"^_(?=[ \t]*_[ \t]*_[_ \t]*$)"),
    _rule(".", "paragraph", r"^\d{1,9}(?P<at>\.)(?=[ \t]|$)"),
    _rule(")", "paragraph", r"^\d{1,9}(?P<at>\))(?=[ \t]|$)"),
    _rule("`", "paragraph", r"^`(?=``)"),
    _rule("~", "paragraph", r"^~(?=~~)"),
    _rule("<", "paragraph", r"^<(?=/?[A-Za-z][A-Za-z0-9-]*(?:[^!-~]|>|/>|$)|!--|\?|![A-Za-z\[])"),
    _rule("[", "paragraph", r"^\[(?=\^[^\n]*\]:)"),
    # lines that change what is above them: setext headings, the second row of a table
    _rule("=", "continued", r"(?<=\n)=(?==*[ \t]*$)"),
    _rule("-", "continued", r"(?<=\n)[|:-](?=[-:| \t]*$)"),
    # the start of a block
    _rule("[", "block", r"\A\[(?=[\s\S]*\]:(?![ \t]*[^\s<]\S*[ \t]+[^\s\"'(]))"),
    _rule("[", "item", r"\A\[(?=[ \txX\n]\](?:\s|\Z))"),
    _rule("[", "quote", r"\A\[(?=![A-Za-z]+\])"),
    # calls of footnotes: text that looks like one, and what would make a link or a definition of a real one
    _rule("[", "noted", r"\[(?=\^[^\s\[\]]+\])"),
    _rule("(", "call", r"(?<=\])\("),
    _rule(":", "call", r"^\[\^[^\n\]]+\](?P<at>:)"),
    _rule("#", "heading", r"(?:\A|(?<=[ \t]))\#(?=\#*\Z)"),
)

_BY_PLACE: dict[tuple[str, str, bool], tuple[Unsafe, ...]] = {}


def rules_for(block: str, first: str, notes: bool) -> tuple[Unsafe, ...]:
    """The rules that count in a block of this kind that stands first in an item, in a quote, or in neither, of a
    document with or without footnotes."""
    key = (block, first, notes)
    if key not in _BY_PLACE:
        scopes = {"any", "markup", "label", block, first}
        if block == "paragraph":
            scopes |= {"block", "continued"}
        if notes:
            scopes |= {"noted", "call"}
        _BY_PLACE[key] = tuple(rule for rule in UNSAFE if rule.scope in scopes)
    return _BY_PLACE[key]
