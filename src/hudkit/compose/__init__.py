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

from typing import TYPE_CHECKING

import hudkit.compose.jsx  # noqa: F401
from hudkit.lazy import lazy_names

if TYPE_CHECKING:
    from hudkit.compose.builder import Child, flatten, fragment, h
    from hudkit.compose.components import Component, ContextKey, RenderContext, Show, component
    from hudkit.compose.density import DENSITIES, Band, Density, band_of, denser
    from hudkit.compose.fitting import fit
    from hudkit.compose.formats import markdown, toon
    from hudkit.compose.jsx.reader import jsx, read_jsx
    from hudkit.compose.jsx.writer import write_jsx
    from hudkit.compose.nodes import Element, ElementCache, Node, Pending, Prop, freeze, locate, text_of
    from hudkit.compose.rendering import PreparedResults, PrepareError, prepare, render
    from hudkit.compose.tree_json import read_json, tree_schema, write_json
    from hudkit.compose.validation import DEFAULT_LIMITS, TreeLimits, validate
    from hudkit.compose.visible_text import shorten, shorten_middle, visible
    from hudkit.compose.vocabulary import TAGS, Tag

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

# Most who import this package need little of it: an error message that is shortened, a section's view.
__getattr__ = lazy_names(
    __name__,
    {
        "builder": ("Child", "flatten", "fragment", "h"),
        "components": ("Component", "ContextKey", "RenderContext", "Show", "component"),
        "density": ("DENSITIES", "Band", "Density", "band_of", "denser"),
        "fitting": ("fit",),
        "formats": ("markdown", "toon"),
        "jsx.reader": ("jsx", "read_jsx"),
        "jsx.writer": ("write_jsx",),
        "nodes": ("Element", "ElementCache", "Node", "Pending", "Prop", "freeze", "locate", "text_of"),
        "rendering": ("PreparedResults", "PrepareError", "prepare", "render"),
        "tree_json": ("read_json", "tree_schema", "write_json"),
        "validation": ("DEFAULT_LIMITS", "TreeLimits", "validate"),
        "visible_text": ("shorten", "shorten_middle", "visible"),
        "vocabulary": ("TAGS", "Tag"),
    },
)

# The function `jsx` has the name of a folder. Its import, above, sets that name here, once and for all.
globals().pop("jsx", None)
