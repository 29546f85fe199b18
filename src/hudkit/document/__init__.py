"""The element tree: what everything that a model sees is made of."""

from hudkit.document.build import Child, Component, component, fragment, h
from hudkit.document.density import DENSITIES, Band, Density, band_of, denser
from hudkit.document.memo import Memo
from hudkit.document.nodes import Element, Node, Prop, freeze, locate, text_of
from hudkit.document.visible import shorten, visible
from hudkit.document.vocabulary import TAGS, Tag, validate

__all__ = [
    "DENSITIES",
    "TAGS",
    "Band",
    "Child",
    "Component",
    "Density",
    "Element",
    "Memo",
    "Node",
    "Prop",
    "Tag",
    "band_of",
    "component",
    "denser",
    "fragment",
    "freeze",
    "h",
    "locate",
    "shorten",
    "text_of",
    "validate",
    "visible",
]
