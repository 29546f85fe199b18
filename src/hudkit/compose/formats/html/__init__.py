"""HTML: element trees to sanitised HTML and back, through mdast and hast."""

from hudkit.compose import Element
from hudkit.compose.formats.elements import from_mdast
from hudkit.compose.formats.html.hast import Root
from hudkit.compose.formats.html.parse import parse
from hudkit.compose.formats.html.reading import from_hast
from hudkit.compose.formats.html.sanitize import sanitize
from hudkit.compose.formats.html.saying import to_hast
from hudkit.compose.formats.html.write import write
from hudkit.compose.formats.tree import to_mdast

__all__ = ["Root", "from_hast", "parse", "read", "render", "sanitize", "to_hast", "write"]


def render(tree: Element) -> str:
    """The sanitised HTML of a tree; raises `TreeError` for a tag that is not in the vocabulary."""
    return write(to_hast(to_mdast(tree)))


def read(text: str) -> Element:
    """The tree, in normal form (`formats.elements`), that an HTML text says, whoever wrote it; always a document.

    Raises `FormatError` only where elements are nested too deeply, `ConfigError` without the library.
    """
    return from_mdast(from_hast(parse(text)))
