"""Custom sections: what came of them when they last ran, after the built-in ones; a failure is one line."""

from __future__ import annotations

from functools import lru_cache

from hudkit.compose import (
    Density,
    Element,
    Node,
    TreeLimits,
    component,
    fragment,
    freeze,
    h,
    read_json,
    shorten,
    text_of,
    visible,
)
from hudkit.errors import TreeError
from hudkit.sections.custom import Custom, CustomSection
from hudkit.sections.views.section import Row, Section, View

LONGEST = 200
"""Characters of a section that is told in one line, and of the line that says why it failed."""

READ = TreeLimits(depth=24, nodes=2_000, chars=64_000)
"""How large a recorded tree is read."""


@component
def CustomSections(custom: Custom, view: View) -> Element:
    ranked = sorted(custom, key=lambda one: (-one.priority, one.name))
    return fragment(*(_section(one, view.density) for one in ranked))


def rows(custom: Custom) -> tuple[Row, ...]:
    return tuple(Row(one.name, text) for one in custom if not one.error and (text := brief(one)))


def brief(section: CustomSection) -> str:
    """A section in one line, cut to `LONGEST`; empty where it has nothing to say."""
    try:
        blocks = read(section.compact or section.full)
    except TreeError:
        return ""
    words = "; ".join(part for block in blocks for part in _parts(block))
    return shorten(f"{section.title}: {words}", LONGEST) if words else ""


@lru_cache(maxsize=256)
def read(tree: str) -> tuple[Element, ...]:
    """The blocks of a recorded tree. Raises `TreeError` where it is none."""
    blocks = read_json(tree, READ).children if tree else ()
    return tuple(h.text[one] if isinstance(one, str) else one for one in blocks)


def _section(section: CustomSection, density: Density) -> tuple[Element, ...]:
    if section.error:
        often = f"paused after {section.failures} failures" if section.paused else "failed"
        return () if density is Density.MINIMAL else _said(section, f"{often}: {section.error}")
    try:
        if density is Density.FULL:
            return _whole(section, read(section.full))
        if density is Density.COMPACT and not section.compact:
            line = brief(section)
            return (h.text(key=f"custom {section.name}", priority=section.priority)[line],) if line else ()
        blocks = read(section.compact if density is Density.COMPACT else section.minimal)
    except TreeError as error:
        return _said(section, f"failed: {error.message}")
    key = f"custom {section.name}"
    return tuple(one.with_props(key=f"{key} {n}", priority=section.priority) for n, one in enumerate(blocks))


def _whole(section: CustomSection, blocks: tuple[Element, ...]) -> tuple[Element, ...]:
    if not blocks:
        return ()
    rank = section.priority
    props = freeze({"title": section.title, "level": 2, "priority": rank, "key": f"custom {section.name}"})
    return (Element("section", props, tuple(_ranked(block, rank) for block in blocks)),)


def _said(section: CustomSection, words: str) -> tuple[Element, ...]:
    text = shorten(f"custom section {section.name}: {visible(words)}", LONGEST)
    return (h.text(key=f"custom {section.name}", priority=section.priority)[text],)


def _ranked(block: Element, rank: float) -> Element:
    """A list with its items ranked: the earlier one stays longer."""
    if block.tag != "list":
        return block
    step = 1 / (len(block.children) + 1)
    items = [
        one.with_props(priority=rank + 1 - n * step) if isinstance(one, Element) else one
        for n, one in enumerate(block.children, 1)
    ]
    return block.with_children(tuple(items))


def _parts(block: Node) -> list[str]:
    if isinstance(block, Element) and block.tag in ("list", "table", "row"):
        return [part for child in block.children for part in _parts(child)]
    text = " ".join(text_of(block).split())
    return [text] if text else []


SECTION = Section("custom", "Custom sections", "custom section", ("custom",), CustomSections, rows, pace="turn")
