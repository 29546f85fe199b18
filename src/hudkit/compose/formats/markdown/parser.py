"""Markdown to nodes: markdown-it-py reads, its flat list of tokens becomes a tree.

A token with `nesting` 1 opens a block or a stretch, the next one on its level with -1 closes it; the tokens between
are what is in it. With `gfm` three things are added that the library lacks: footnotes are rules of its parser, task
items and links in plain text are found in its tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.normalize_url import normalizeLink
from markdown_it.common.utils import normalizeReference, unescapeAll
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from hudkit.compose.formats import urls
from hudkit.compose.formats.mdast import (
    Align,
    BareUrl,
    Break,
    Cell,
    CodeBlock,
    Delete,
    Emphasis,
    Flow,
    FootnoteDefinition,
    FootnoteReference,
    Heading,
    HtmlBlock,
    Image,
    InlineCode,
    InlineHtml,
    Link,
    List,
    ListItem,
    Paragraph,
    Phrasing,
    Quote,
    Root,
    Row,
    Strong,
    Table,
    Text,
    ThematicBreak,
)

_DEEPEST = 100
"""How deep quotes and lists may nest; what is deeper is left out by the library."""


def parse(text: str, *, gfm: bool = False) -> Root:
    """Return the document that a text is, by CommonMark 0.31.

    With `gfm` also tables, strikethrough, task items, footnotes and literal links. Any text is Markdown to its
    reader. References to links are resolved, and their definitions are no nodes. A literal link that can be written
    as it stands is a `BareUrl` (in text that is no link to a reader, only if the writer would leave it so), any other
    a `Link`.
    """
    return Root(_blocks(_library(gfm).parse(text), gfm))


@cache
def _library(gfm: bool) -> MarkdownIt:
    library = MarkdownIt("commonmark", {"maxNesting": _DEEPEST, "strikethrough_single_tilde": gfm})
    # Escapes stay tokens of their own: an escaped character is no part of a literal link.
    library.disable("text_join")
    if gfm:
        library.enable(["table", "strikethrough"])
        _add_footnotes(library)
    return library


def _blocks(tokens: Sequence[Token], gfm: bool) -> tuple[Flow, ...]:
    """Return the nodes of a sequence of whole blocks."""
    nodes: list[Flow] = []
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.nesting == 1:
            end = _closing(tokens, position)
            nodes.append(_BRANCHES[token.type](token, tokens[position + 1 : end], gfm))
            position = end + 1
        else:
            nodes.append(_LEAVES[token.type](token))
            position += 1
    return tuple(nodes)


def _closing(tokens: Sequence[Token], position: int) -> int:
    """Return the position of the token that closes what the one at `position` opens."""
    depth = 0
    for n in range(position, len(tokens)):
        depth += tokens[n].nesting
        if depth == 0:
            return n
    return len(tokens)


def _containers(tokens: Sequence[Token]) -> Iterator[tuple[Token, Sequence[Token]]]:
    """Yield the containers in a sequence, each with what is in it."""
    position = 0
    while position < len(tokens):
        end = _closing(tokens, position)
        yield tokens[position], tokens[position + 1 : end]
        position = end + 1


def _content(inner: Sequence[Token], gfm: bool) -> tuple[Phrasing, ...]:
    return _join(_inline(inner[0].children or [], gfm, linked=False, outermost=True)) if inner else ()


def _paragraph(_token: Token, inner: Sequence[Token], gfm: bool) -> Paragraph:
    return Paragraph(_content(inner, gfm))


def _heading(token: Token, inner: Sequence[Token], gfm: bool) -> Heading:
    return Heading(int(token.tag[1:]), _content(inner, gfm))


def _quote(_token: Token, inner: Sequence[Token], gfm: bool) -> Quote:
    return Quote(_blocks(inner, gfm))


def _list(token: Token, inner: Sequence[Token], gfm: bool) -> List:
    # The library hides the paragraphs of a tight list, and says of the list itself nothing.
    level = token.level + 2
    spread = any(part.type == "paragraph_open" and part.level == level and not part.hidden for part in inner)
    items = tuple(_item(body, gfm) for _, body in _containers(inner))
    # The library says it only where it is not 1.
    start = token.attrGet("start")
    return List(items, token.type == "ordered_list_open", 1 if start is None else int(start), spread)


_TASK = re.compile(r"\[([ xX])\][ \t\n]")


def _item(inner: Sequence[Token], gfm: bool) -> ListItem:
    """Return an item; its box, with `gfm`, is no part of its text."""
    checked = None
    if gfm and len(inner) > 1 and inner[0].type == "paragraph_open":
        match = _TASK.match(inner[1].content)
        children = inner[1].children or []
        if match and children and children[0].type == "text":
            checked = match.group(1) != " "
            children[0].content = children[0].content[len(match.group()) :]
            if children[0].content == "" and len(children) > 1 and children[1].type == "softbreak":
                del children[1]
    return ListItem(_blocks(inner, gfm), checked)


def _footnote(token: Token, inner: Sequence[Token], gfm: bool) -> FootnoteDefinition:
    return FootnoteDefinition(token.info, _blocks(inner, gfm))


_ALIGN: dict[str, Align] = {"left": "left", "center": "center", "right": "right"}


def _table(_token: Token, inner: Sequence[Token], gfm: bool) -> Table:
    rows: list[Row] = []
    align: list[Align] = []
    for _, section in _containers(inner):
        for _, body in _containers(section):
            cells = list(_containers(body))
            if not rows:
                styles = (str(cell.attrGet("style") or "") for cell, _ in cells)
                align = [_ALIGN.get(style.removeprefix("text-align:"), "") for style in styles]
            rows.append(Row(tuple(Cell(_content(cell, gfm)) for _, cell in cells)))
    return Table(tuple(rows), tuple(align))


def _code(token: Token) -> CodeBlock:
    value = token.content
    # The line feed before the fence is not its own; where there are line feeds only, each is an empty line.
    return CodeBlock(value[:-1] if value.strip("\n") else value, unescapeAll(token.info.strip()))


_BRANCHES: dict[str, Callable[[Token, Sequence[Token], bool], Any]] = {
    "blockquote_open": _quote,
    "bullet_list_open": _list,
    "footnote_open": _footnote,
    "heading_open": _heading,
    "ordered_list_open": _list,
    "paragraph_open": _paragraph,
    "table_open": _table,
}
_LEAVES: dict[str, Callable[[Token], Any]] = {
    "code_block": _code,
    "fence": _code,
    "hr": lambda _: ThematicBreak(),
    "html_block": lambda token: HtmlBlock(token.content),
}

_STRETCHES: dict[str, type[Strong] | type[Emphasis] | type[Delete]] = {
    "strong_open": Strong,
    "em_open": Emphasis,
    "s_open": Delete,
}


def _inline(tokens: Sequence[Token], gfm: bool, *, linked: bool, outermost: bool) -> list[Phrasing]:
    """Return the nodes of a line, or of a part of one; a soft line break is a line feed in a text.

    `linked` says that they are in a link, `outermost` that the line ends with them.
    """
    nodes: list[Phrasing] = []
    position = 0
    brackets = 0
    while position < len(tokens):
        token = tokens[position]
        if token.nesting == 1:
            end = _closing(tokens, position)
            inner = tokens[position + 1 : end]
            is_link = token.type == "link_open"
            children = _join(_inline(inner, gfm, linked=linked or is_link, outermost=False))
            if is_link:
                nodes.append(Link(str(token.attrGet("href") or ""), children, _title(token)))
            else:
                nodes.append(_STRETCHES[token.type](children))
            position = end + 1
            continue
        # Links do not nest: in one a URL is words. Without `gfm` only a URL can be bare.
        if token.type == "text" and not linked and (gfm or "http" in token.content):
            before = _character_before(tokens[position - 1] if position else None)
            after = tokens[position + 1].type if position + 1 < len(tokens) else ""
            last = after == "softbreak" or (outermost and not after)
            nodes.extend(_literal_links(token.content, before, last, brackets, gfm))
            brackets = _open_brackets(token.content, brackets)
        else:
            nodes.append(_leaf(token))
        position += 1
    return nodes


def _character_before(token: Token | None) -> str:
    """Return the character before a text, as far as it matters to literal links: a space at the start of a line."""
    if token is None or token.type in ("softbreak", "hardbreak"):
        return " "
    return token.content[-1:] or token.markup[-1:] or "."


def _leaf(token: Token) -> Phrasing:
    match token.type:
        case "text" | "text_special":
            return Text(token.content)
        case "softbreak":
            return Text("\n")
        case "hardbreak":
            return Break()
        case "code_inline":
            return InlineCode(token.content)
        case "html_inline":
            return InlineHtml(token.content)
        case "footnote_call":
            return FootnoteReference(token.info)
        case _:
            alt = "".join(_alt(child) for child in token.children or [])
            return Image(str(token.attrGet("src") or ""), alt, _title(token))


def _alt(token: Token) -> str:
    """Return what a token in the label of an image is as plain text."""
    if token.type in ("softbreak", "hardbreak"):
        return "\n"
    if token.type == "image":
        return "".join(_alt(child) for child in token.children or [])
    return token.content if token.type in ("text", "text_special", "code_inline", "html_inline") else ""


def _title(token: Token) -> str | None:
    title = token.attrGet("title")
    return None if title is None else str(title)


def _join(nodes: list[Phrasing]) -> tuple[Phrasing, ...]:
    """Return nodes with texts that touch as one, and without empty ones."""
    joined: list[Phrasing] = []
    pending: list[str] = []
    for node in nodes:
        if isinstance(node, Text):
            pending.append(node.value)
            continue
        if pending:
            joined.append(Text("".join(pending)))
            pending.clear()
        joined.append(node)
    if pending:
        joined.append(Text("".join(pending)))
    return tuple(node for node in joined if not isinstance(node, Text) or node.value)


# Links in plain text: `www.`, `http://`, `https://`, `ftp://` and addresses. Source: GFM 0.29, "Autolinks
# (extension)".
_CANDIDATE = re.compile(r"(?:https?|ftp)://|www\.|(?<![A-Za-z0-9._+-])[A-Za-z0-9._+-]+@", re.IGNORECASE)
_URL = re.compile(r"(?P<lead>(?:https?|ftp)://|www\.)(?P<rest>[^\s<]+)", re.IGNORECASE)
_ADDRESS = re.compile(r"[A-Za-z0-9._+-]+@[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)++(?<=[A-Za-z])")
_DOMAIN = re.compile(r"(?!-)[^\s!-,/:-@\[-^`{-~]+")
_TRAILING = re.compile(r"(?:[]?!.,:*_~'\"]|&[A-Za-z0-9]+;)\Z")


def _literal_links(text: str, before: str, last: bool, brackets: int, gfm: bool) -> list[Phrasing]:
    """Return a text parted into texts and links, bare ones where they can be written as they stand.

    `before` is the character before it, a space at the start of a line; `last` says that it ends the block;
    `brackets` is how many square ones are open before it: in one there is no literal link, as it may be the text of
    another. There, and without `gfm`, a URL that the writer would leave as it stands is bare all the same.
    """
    nodes: list[Phrasing] = []
    done = 0
    position = 0
    while match := _CANDIDATE.search(text, position):
        start = match.start()
        link = None
        if gfm and not _open_brackets(text[:start], brackets):
            neighbour = text[start - 1] if start else before
            link = _url_at(text, start, neighbour) or _address_at(text, start, neighbour)
        value = link[1] if link else urls.bare_url_at(text, start, last)
        if not value:
            position = start + 1
            continue
        if start > done:
            nodes.append(Text(text[done:start]))
        position = done = start + len(value)
        if link and not urls.is_bare(value, text, done, last):
            nodes.append(Link(link[0], (Text(value),)))
        else:
            nodes.append(BareUrl(value))
    if done < len(text):
        nodes.append(Text(text[done:]))
    return nodes


def _open_brackets(text: str, brackets: int) -> int:
    """Return how many square brackets are open after a text, of `brackets` that were before it."""
    if "[" in text or brackets:
        for char in text:
            brackets += (char == "[") - (char == "]" and brackets > 0)
    return brackets


def _url_at(text: str, start: int, before: str) -> tuple[str, str] | None:
    """Return where the URL that begins here leads, and its characters; `None` where there is none."""
    match = _URL.match(text, start)
    if match is None:
        return None
    lead, rest = match["lead"], match["rest"]
    www = lead[0] in "wW"
    # As cmark-gfm has it: `www.` follows white space or an opening sign, a scheme does not go on with a word.
    if (www and not (before.isspace() or before in "*_~(")) or (not www and before.isascii() and before.isalpha()):
        return None
    domain = _DOMAIN.match(rest)
    if domain is None or not _is_domain(("www." if www else "") + domain.group(), www):
        return None
    whole = lead + _trim(rest)
    if len(whole) <= len(lead):
        return None
    return normalizeLink(urls.literal_target(whole)), whole


def _is_domain(domain: str, dotted: bool) -> bool:
    parts = domain.rstrip(".").split(".")
    # GFM: no underscore in the last two segments.
    return (len(parts) > 1 or not dotted) and all(parts) and not any("_" in part for part in parts[-2:])


def _trim(rest: str) -> str:
    """Return a URL without the punctuation, references and closing brackets at its end that are not part of it."""
    while rest:
        # A closing bracket is a part of the link where the link opened it.
        if rest[-1] == ")" and rest.count(")") > rest.count("("):
            rest = rest[:-1]
        elif trailing := _TRAILING.search(rest):
            rest = rest[: trailing.start()]
        else:
            break
    return rest


def _address_at(text: str, start: int, before: str) -> tuple[str, str] | None:
    match = _ADDRESS.match(text, start)
    if match is None or before == "/" or before.isalnum():
        return None
    return urls.literal_target(match.group()), match.group()


# Footnotes: `[^label]: …` on lines of its own, and `[^label]` where it is called. Source: cmark-gfm and micromark,
# which agree where GFM 0.29 is silent: a definition is a block that may interrupt a paragraph, goes on where lines
# are indented by four spaces, and makes its label a reference in the whole document.
_CALL = re.compile(r"\[\^(?P<label>(?:[^\s\[\]\\]|\\[\[\]\\])+)\]")
_DEFINITION = re.compile(_CALL.pattern + r":[ \t]*")
_LABELS = "footnotes"
_FOOTNOTE_INDENT = 4


def _add_footnotes(library: MarkdownIt) -> None:
    """Add the two rules: tokens `footnote_open` and `footnote_close`, and `footnote_call`, with the label."""
    library.block.ruler.before(
        "reference", "footnote", _define_footnote, {"alt": ["paragraph", "reference", "blockquote"]}
    )
    library.inline.ruler.before("link", "footnote", _call_footnote)


def _define_footnote(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.is_code_block(start):
        return False
    match = _DEFINITION.match(state.src, state.bMarks[start] + state.tShift[start], state.eMarks[start])
    if match is None or silent:
        return match is not None
    label = match["label"]
    state.env.setdefault(_LABELS, set()).add(normalizeReference(label))
    state.push("footnote_open", "", 1).info = label
    before = state.bMarks[start], state.tShift[start], state.sCount[start], state.blkIndent, state.parentType
    # Its first line begins where the content does, as if that were the indent of the others.
    state.blkIndent += _FOOTNOTE_INDENT
    state.bMarks[start], state.tShift[start], state.sCount[start] = match.end(), 0, state.blkIndent
    state.parentType = "footnote"
    state.md.block.tokenize(state, start, end)
    state.bMarks[start], state.tShift[start], state.sCount[start], state.blkIndent, state.parentType = before
    state.push("footnote_close", "", -1)
    return True


def _call_footnote(state: StateInline, silent: bool) -> bool:
    labels = state.env.get(_LABELS)
    # A silent look is for the end of a label: to the parser a whole token in one would be a link within a link.
    if silent or not labels or state.src[state.pos] != "[":
        return False
    match = _CALL.match(state.src, state.pos, state.posMax)
    if match is None or normalizeReference(match["label"]) not in labels:
        return False
    state.push("footnote_call", "", 0).info = match["label"]
    state.pos = match.end()
    return True
