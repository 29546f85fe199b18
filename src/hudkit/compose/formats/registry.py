"""Every format by its name: those of hudkit, and those that other packages bring by the entry point `hudkit.formats`.

An entry point names a `Format`. It is loaded when its format is asked for, not before; a name of hudkit's own is
never taken from it (docs/adding-a-format.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

import msgspec

from hudkit.compose import Element, read_json, write_json
from hudkit.compose.formats import columns, compact, graph, html, json_text, markdown, toon
from hudkit.compose.formats.mdast_tree import from_mdast
from hudkit.compose.formats.transform import hinted
from hudkit.errors import ConfigError, FormatError

ENTRY_POINT_GROUP = "hudkit.formats"


class Format(msgspec.Struct, frozen=True):
    """A named text format.

    `carries` says what `write` takes and `read` gives: a `tree` (an `Element`) or plain `data` (`formats.plain`).
    `read` is `None` where there is no way back. Both raise `FormatError` for what they cannot carry. `media` is the
    media type of the text (RFC 6838), `doc` one sentence.
    """

    name: str
    carries: Literal["tree", "data"]
    write: Callable[[Any], str]
    read: Callable[[str], Any] | None = None
    media: str = "text/plain"
    doc: str = ""


def _write_markdown(tree: Element) -> str:
    return markdown.render(hinted(tree))


def _read_markdown(text: str) -> Element:
    return from_mdast(markdown.parse(text, gfm=True))


def _write_html(tree: Element) -> str:
    return html.render(hinted(tree))


_OWN: Mapping[str, Format] = {
    own.name: own
    for own in (
        Format("markdown", "tree", _write_markdown, _read_markdown, "text/markdown", "CommonMark with GFM."),
        Format("html", "tree", _write_html, html.read, "text/html", "Sanitised HTML."),
        Format(
            "graph",
            "tree",
            graph.write,
            graph.read,
            "text/vnd.mermaid",
            "The outline of a tree as a Mermaid flowchart.",
        ),
        Format("json", "data", json_text.encode, json_text.decode, "application/json", "JSON, indented by two."),
        Format(
            "minified",
            "data",
            partial(json_text.encode, indent=None),
            json_text.decode,
            "application/json",
            "JSON without white space.",
        ),
        Format(
            "compact",
            "data",
            compact.encode,
            compact.decode,
            "application/json",
            "JSON without white space, with short keys.",
        ),
        Format(
            "columns",
            "data",
            columns.encode,
            columns.decode,
            "application/json",
            "JSON without white space, arrays of like objects as columns and rows.",
        ),
        Format("toon", "data", toon.encode, toon.decode, "text/toon", "TOON, as the specification has it."),
        Format(
            "toon-even",
            "data",
            partial(toon.encode, even=True),
            partial(toon.decode, even=True),
            "text/toon",
            "TOON with rows made even, so that more arrays are tables.",
        ),
    )
}
"""The formats of hudkit. A tree in Markdown or HTML is read in normal form (`formats.mdast_tree`)."""


def names() -> tuple[str, ...]:
    """Return the names of all formats, those of hudkit first."""
    return (*_OWN, *sorted(_entry_points().keys() - _OWN.keys()))


def format_of(name: str) -> Format:
    """Return the format of a name; `ConfigError` where there is none, or another package's cannot be loaded."""
    if name in _OWN:
        return _OWN[name]
    entry = _entry_points().get(name)
    if entry is None:
        raise ConfigError(f"there is no format {name!r}", hint=f"There are: {', '.join(names())}")
    # Whatever a stranger's package raises while it is loaded, the error says which entry point it was.
    try:
        loaded: Any = entry.load()
    except Exception as error:
        raise ConfigError(f"format {name!r} cannot be loaded from {entry.value}: {error}") from error
    if not isinstance(loaded, Format) or loaded.name != name:
        raise ConfigError(
            f"{entry.value} is not the format {name!r}", hint="An entry point names a Format of the same name"
        )
    return loaded


def _entry_points() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}


def write_tree(name: str, tree: Element) -> str:
    """Return a tree as the text of any format; one that carries data carries the tree as data (`compose.write_json`).

    Raises `ConfigError` where there is no such format, `FormatError` for what it cannot carry.
    """
    target = format_of(name)
    if target.carries == "tree":
        return target.write(tree)
    return target.write(json_text.decode(write_json(tree).decode(), name=name))


def read_tree(name: str, text: str) -> Element:
    """Return the tree that a text of any format says; `FormatError` where the format has no way back."""
    source = format_of(name)
    if source.read is None:
        raise FormatError(f"{name}: there is no way back from it", hint="Keep the tree", format=name)
    value = source.read(text)
    tree: Element = value if source.carries == "tree" else read_json(json_text.encode(value, indent=None, name=name))
    return tree


def tokens_of(value: object, count: Callable[[str], int], *, carries: str = "data") -> dict[str, int]:
    """Return what a value costs in each of hudkit's formats that carry it, by the format's name.

    `count` says how many tokens a text has. A format that cannot say the value is left out.
    """
    costs: dict[str, int] = {}
    for own in _OWN.values():
        if own.carries == carries:
            try:
                costs[own.name] = count(own.write(value))
            except FormatError:
                continue
    return costs
