"""HTML: element trees to sanitised HTML and back, through mdast and hast."""

from hudkit.compose import Element
from hudkit.compose.formats.html.from_mdast import to_hast
from hudkit.compose.formats.html.hast import HtmlRoot
from hudkit.compose.formats.html.markup import parse, write
from hudkit.compose.formats.html.sanitize import sanitize
from hudkit.compose.formats.html.to_mdast import from_hast
from hudkit.compose.formats.mdast_tree import from_mdast, to_mdast

__all__ = ["HtmlRoot", "from_hast", "parse", "read", "render", "sanitize", "to_hast", "write"]


def render(tree: Element) -> str:
    """Return the sanitised HTML of a tree; raises `TreeError` for a tag that is not in the vocabulary."""
    return write(to_hast(to_mdast(tree)))


def read(text: str) -> Element:
    """Return the tree, in normal form (`formats.mdast_tree`), that an HTML text says, whoever wrote it.

    It is always a document. Raises `FormatError` only where elements are nested too deeply, `ConfigError` without the
    library.
    """
    return from_mdast(from_hast(parse(text)))
