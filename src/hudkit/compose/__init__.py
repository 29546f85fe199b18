"""The element tree: what everything that a model sees is made of."""

from hudkit.compose.build import Child, flatten, fragment, h
from hudkit.compose.codec import read_json, write_json
from hudkit.compose.component import Component, Show, component
from hudkit.compose.context import Context, ContextKey
from hudkit.compose.density import DENSITIES, Band, Density, band_of, denser
from hudkit.compose.jsx.build import jsx, read_jsx
from hudkit.compose.jsx.write import write_jsx
from hudkit.compose.memo import Memo
from hudkit.compose.nodes import Element, Node, Prop, freeze, locate, text_of
from hudkit.compose.outside import LIMITS, Limits, validate
from hudkit.compose.pending import Pending
from hudkit.compose.prepare import PrepareError, prepare
from hudkit.compose.render import Prepared, render
from hudkit.compose.schema import tree_schema
from hudkit.compose.visible import shorten, visible
from hudkit.compose.vocabulary import TAGS, Tag

__all__ = [
    "DENSITIES",
    "LIMITS",
    "TAGS",
    "Band",
    "Child",
    "Component",
    "Context",
    "ContextKey",
    "Density",
    "Element",
    "Limits",
    "Memo",
    "Node",
    "Pending",
    "PrepareError",
    "Prepared",
    "Prop",
    "Show",
    "Tag",
    "band_of",
    "component",
    "denser",
    "flatten",
    "fragment",
    "freeze",
    "h",
    "jsx",
    "locate",
    "prepare",
    "read_json",
    "read_jsx",
    "render",
    "shorten",
    "text_of",
    "tree_schema",
    "validate",
    "visible",
    "write_json",
    "write_jsx",
]
