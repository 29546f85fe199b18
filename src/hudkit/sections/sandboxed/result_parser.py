"""What a source returned, as JSON text, to elements of the core vocabulary: texts are data, structure is checked."""

from __future__ import annotations

from typing import Any

import msgspec

from hudkit.compose import Element, Node, TreeLimits, h, read_jsx, render, text_of, write_json
from hudkit.compose.vocabulary import may_contain
from hudkit.errors import TreeError

JSX_LIMITS = TreeLimits(depth=16, nodes=400, chars=8_000)
"""How large a JSX text and its tree may be."""

MAX_OUTPUT_CHARS = 16_000
"""Characters of JSON that a source may return."""

MAX_CHARS = {"full": 2_000, "compact": 400, "minimal": 120}
"""Characters of text that a section may show, by density."""

MAX_ITEMS = 60
"""Items of a list, rows of a table, lines of a text."""

_MAX_CELLS = 12
"""Cells of a row of a table."""

_BLOCK_TAGS = frozenset(
    {"fragment", "paragraph", "text", "list", "item", "quote", "pre", "rule", "table", "row", "cell"}
)
_TAGS = _BLOCK_TAGS | {"strong", "emphasis", "strike", "code", "link"}
"""Elements of a custom section. Headings are not among them (the document's are fixed), nor what speaks to `fit`."""

_PROPS = {"list": ("ordered", "start"), "pre": ("lang",), "table": ("align",), "link": ("href",)}
"""Props that stay; all others, and what speaks to `fit` above all, are refused."""


class SectionTrees(msgspec.Struct, frozen=True):
    """The trees of a section as JSON by density; an empty one says nothing."""

    full: str = ""
    compact: str = ""
    minimal: str = ""


def parse_result(output: str) -> SectionTrees:
    """Return the trees of what a source returned: one form, or a dict of forms by density. Raises `TreeError`."""
    try:
        value = msgspec.json.decode(output)
    except (msgspec.DecodeError, RecursionError):
        raise TreeError("it did not return a plain value", hint="Return text, lists and dicts of texts") from None
    forms = value if isinstance(value, dict) and value and set(value) <= set(MAX_CHARS) else {"full": value}
    return SectionTrees(**{name: _tree(name, form) for name, form in forms.items()})


def _tree(density: str, form: Any) -> str:
    return write_tree(density, _blocks(form))


def write_tree(density: str, blocks: tuple[Element, ...]) -> str:
    """Return the blocks of a density as JSON, empty where there are none. Raises `TreeError` where it is too much."""
    chars = sum(len(text_of(block)) for block in blocks)
    if chars > MAX_CHARS[density]:
        raise TreeError(f"it has {chars} characters at density {density}", hint=f"At most {MAX_CHARS[density]}")
    return write_json(Element("fragment", (), blocks), JSX_LIMITS).decode() if blocks else ""


def _blocks(form: Any) -> tuple[Element, ...]:
    """The blocks of a form: text, a list, a dict of values by name, `{"rows": [[…]]}`, `{"jsx": …, "values": …}`."""
    if form in (None, False, "", [], {}):
        return ()
    match form:
        case str():
            lines = _few([line for line in form.split("\n") if line.strip()], "lines")
            return tuple(h.text[line] for line in lines)
        case int() | float():
            return (h.text[_words(form)],)
        case list():
            return (h.list[[_item(item) for item in _few(form, "items") if item is not None]],)
        case {"jsx": str(text), **rest} if set(rest) <= {"values"}:
            return _written(text, rest.get("values") or {})
        case {"rows": list(rows), **rest} if not rest:
            return (h.table[[_table_row(row) for row in _few(rows, "rows")]],)
        case dict():
            return (h.list[[h.item[f"{name}: {_words(each)}"] for name, each in _few(list(form.items()), "items")]],)
    raise TreeError(f"it returned {type(form).__name__}", hint="Return text, a list or a dict")


def _few(values: list[Any], what: str) -> list[Any]:
    if len(values) > MAX_ITEMS:
        raise TreeError(f"it has {len(values)} {what}", hint=f"At most {MAX_ITEMS}")
    return values


def _item(value: Any) -> Element:
    match value:
        case {"text": text, **rest} if set(rest) <= {"done"}:
            words = _words(text)
            return h.item[h.strike[words]] if rest.get("done") is True else h.item[words]
    return h.item[_words(value)]


def _table_row(value: Any) -> Element:
    if not isinstance(value, list) or len(value) > _MAX_CELLS:
        hint = 'Write {"rows": [["head", …], ["cell", …]]}'
        raise TreeError(f"a row is not a list of at most {_MAX_CELLS} texts", hint=hint)
    return h.row[[h.cell[_words(cell)] for cell in value]]


def _words(value: Any) -> str:
    """A text or a number as one line."""
    if isinstance(value, str):
        return " ".join(value.split("\n"))
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    raise TreeError(f"a text is {type(value).__name__}", hint="Texts and numbers can be shown; join lists first")


def _written(text: str, values: Any) -> tuple[Element, ...]:
    if not isinstance(values, dict):
        raise TreeError("the values of a JSX text are no dict", hint='Call jsx("…{name}…", name=value)')
    tree = _checked(render(read_jsx(text, {}, values, JSX_LIMITS)))
    top = tree.children if tree.tag == "fragment" else (tree,)
    blocks: list[Element] = []
    for block in top:
        if isinstance(block, str) or not may_contain("section", block.tag):
            if isinstance(block, Element) and not may_contain("text", block.tag):
                raise TreeError(f"<{block.tag}> stands alone", hint="Put it into its list or table")
            blocks.append(h.text[block])
        else:
            blocks.append(block)
    return tuple(blocks)


def _checked(tree: Element) -> Element:
    check_elements((tree,))
    return tree


def check_elements(nodes: tuple[Node, ...]) -> None:
    """Raise `TreeError` for an element or a prop that a custom section may not have."""
    stack: list[Node] = [*nodes]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            continue
        # No headings, no `more`, no priorities: a program cannot pass for the document around it.
        if node.tag not in _TAGS:
            raise TreeError(f"<{node.tag}> may not stand in a custom section", hint=f"There are: {_NAMES}")
        for name, _ in node.props:
            if name not in _PROPS.get(node.tag, ()):
                raise TreeError(f"<{node.tag}> takes no prop {name!r} in a custom section", hint="Leave it out")
        stack.extend(node.children)


_NAMES = ", ".join(sorted(_TAGS))
