"""Every format by its name: those of hudkit, and those that other packages bring by the entry point `hudkit.formats`.

An entry point names a `Format`. It is loaded when its format is asked for, not before; a name of hudkit's own is
never taken from it (docs/adding-a-format.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from hudkit.compose import Element, read_json, write_json
from hudkit.compose.formats import columns, compact, graph, html, json_text, markdown, toon
from hudkit.compose.formats.elements import from_mdast
from hudkit.compose.formats.format import Format
from hudkit.compose.formats.transform import hinted
from hudkit.errors import ConfigError, FormatError

GROUP = "hudkit.formats"


def _markdown(tree: Element) -> str:
    return markdown.render(hinted(tree))


def _read_markdown(text: str) -> Element:
    return from_mdast(markdown.parse(text, gfm=True))


def _html(tree: Element) -> str:
    return html.render(hinted(tree))


OWN: Mapping[str, Format] = {
    one.name: one
    for one in (
        Format("markdown", "tree", _markdown, _read_markdown, "text/markdown", "CommonMark with GFM."),
        Format("html", "tree", _html, html.read, "text/html", "Sanitised HTML."),
        graph.FORMAT,
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
"""The formats of hudkit. A tree in Markdown or HTML is read in normal form (`formats.elements`)."""


def names() -> tuple[str, ...]:
    """The names of all formats, those of hudkit first."""
    return (*OWN, *sorted(_others().keys() - OWN.keys()))


def format_of(name: str) -> Format:
    """The format of a name; `ConfigError` where there is none, or another package's cannot be loaded."""
    if name in OWN:
        return OWN[name]
    entry = _others().get(name)
    if entry is None:
        raise ConfigError(f"there is no format {name!r}", hint=f"There are: {', '.join(names())}")
    try:
        found: Any = entry.load()
    except Exception as error:
        raise ConfigError(f"format {name!r} cannot be loaded from {entry.value}: {error}") from error
    if not isinstance(found, Format) or found.name != name:
        raise ConfigError(
            f"{entry.value} is not the format {name!r}", hint="An entry point names a Format of the same name"
        )
    return found


def _others() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def write_tree(name: str, tree: Element) -> str:
    """A tree as the text of any format; one that carries data carries the tree as data (`document.write_json`)."""
    found = format_of(name)
    if found.carries == "tree":
        return found.write(tree)
    return found.write(json_text.decode(write_json(tree).decode(), name=name))


def read_tree(name: str, text: str) -> Element:
    """The tree that a text of any format says; `FormatError` where the format has no way back."""
    found = format_of(name)
    if found.read is None:
        raise FormatError(f"{name}: there is no way back from it", hint="Keep the tree", format=name)
    value = found.read(text)
    tree: Element = value if found.carries == "tree" else read_json(json_text.encode(value, indent=None, name=name))
    return tree


def tokens_of(value: object, count: Callable[[str], int], *, carries: str = "data") -> dict[str, int]:
    """What a value costs in each of hudkit's formats that carry it, by `count`, which says how many tokens a text
    has.

    A format that cannot say the value is left out.
    """
    found: dict[str, int] = {}
    for one in OWN.values():
        if one.carries == carries:
            try:
                found[one.name] = count(one.write(value))
            except FormatError:
                continue
    return found
