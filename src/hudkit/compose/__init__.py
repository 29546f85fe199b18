r"""Trees of elements: build them, render their components, fit them to a budget, write them in any format.

Everything that a model sees is such a tree. This package knows no agent, no log and no tokens: the caller gives the
`measure` that says what something costs.

```python
from hudkit.compose import fit, h, markdown

tree = h.document[h.text["Make the tests pass"], h.text(priority=1)["the API limits uploads"]]
result = fit(tree, 5, lambda element: len(markdown.render(element).split()))
assert markdown.render(result.tree) == "Make the tests pass\n"
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hudkit.compose.builder import Child, flatten, fragment, h
from hudkit.compose.components import Component, ContextKey, RenderContext, Show, component
from hudkit.compose.density import DENSITIES, Band, Density, band_of, denser
from hudkit.compose.jsx.reader import jsx, read_jsx
from hudkit.compose.jsx.writer import write_jsx
from hudkit.compose.nodes import Element, ElementCache, Node, Pending, Prop, freeze, locate, text_of
from hudkit.compose.rendering import PreparedResults, PrepareError, prepare, render
from hudkit.compose.tree_json import read_json, tree_schema, write_json
from hudkit.compose.validation import DEFAULT_LIMITS, TreeLimits, validate
from hudkit.compose.visible_text import shorten, shorten_middle, visible
from hudkit.compose.vocabulary import TAGS, Tag

if TYPE_CHECKING:
    from hudkit.compose.fitting import fit
    from hudkit.compose.formats import markdown, toon

__all__ = [
    "DEFAULT_LIMITS",
    "DENSITIES",
    "TAGS",
    "Band",
    "Child",
    "Component",
    "ContextKey",
    "Density",
    "Element",
    "ElementCache",
    "Node",
    "Pending",
    "PrepareError",
    "PreparedResults",
    "Prop",
    "RenderContext",
    "Show",
    "Tag",
    "TreeLimits",
    "band_of",
    "component",
    "denser",
    "fit",
    "flatten",
    "fragment",
    "freeze",
    "h",
    "jsx",
    "locate",
    "markdown",
    "prepare",
    "read_json",
    "read_jsx",
    "render",
    "shorten",
    "shorten_middle",
    "text_of",
    "toon",
    "tree_schema",
    "validate",
    "visible",
    "write_json",
    "write_jsx",
]


def __getattr__(name: str) -> Any:
    """Return `fit`, `markdown` or `toon`, loaded when it is first asked for."""
    # Fitting and the formats cost more to import than all the rest, and most who make trees need neither: a section's
    # view, or an error message that is shortened.
    if name == "fit":
        from hudkit.compose.fitting import fit

        return fit
    if name == "markdown":
        from hudkit.compose.formats import markdown

        return markdown
    if name == "toon":
        from hudkit.compose.formats import toon

        return toon
    raise AttributeError(f"module 'hudkit.compose' has no attribute {name!r}")
