"""The element tree: what everything that a model sees is made of."""

from hudkit.document.build import Child, flatten, fragment, h
from hudkit.document.codec import read_json, write_json
from hudkit.document.component import Component, Show, component
from hudkit.document.context import Context, ContextKey
from hudkit.document.density import DENSITIES, Band, Density, band_of, denser
from hudkit.document.memo import Memo
from hudkit.document.nodes import Element, Node, Prop, freeze, locate, text_of
from hudkit.document.outside import LIMITS, Limits, validate
from hudkit.document.pending import Pending
from hudkit.document.prepare import PrepareError, prepare
from hudkit.document.render import Prepared, render
from hudkit.document.schema import tree_schema
from hudkit.document.syntax.build import jsx, read_jsx
from hudkit.document.syntax.write import write_jsx
from hudkit.document.visible import shorten, visible
from hudkit.document.vocabulary import TAGS, Tag

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
