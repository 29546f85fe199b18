"""Custom sections: what users and agents defined as text, and what came of it when it last ran.

They stand after the built-in ones. A program is run by `sections/sandboxed/` before a frame is composed; here is only
what the log says of it, so that a replay runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import msgspec

from hudkit.compose import (
    Density,
    Element,
    Node,
    TreeLimits,
    fragment,
    freeze,
    h,
    read_json,
    shorten,
    text_of,
    visible,
)
from hudkit.compose.visible_text import LINE_SEPARATOR
from hudkit.errors import TreeError
from hudkit.log.event import Event
from hudkit.log.payloads import SectionDefine, SectionPrepared, SectionRemove
from hudkit.sections.items import ItemMark, mark_of
from hudkit.sections.section import KeyedRow, SectionLogic, ShownBlock

PAUSED_FROM = 3
"""Failures in a row after which a section is not run again before its text changes."""

MAX_LINE = 200
"""Characters of a section that is told in one line, and of the line that says why it failed."""

TREE_LIMITS = TreeLimits(depth=24, nodes=2_000, chars=64_000)
"""How large a recorded tree is read: more than a section may return, less than would hurt."""


class CustomSection(msgspec.Struct, frozen=True, omit_defaults=True):
    """A custom section as the log knows it.

    `source` and `reads` are there where an operation defined it (a file's text is not in the log). `definition` and
    `inputs` are digests of the text that last ran and of what it was given; `full`, `compact` and `minimal` are the
    trees that came of it as JSON, `error` why none did. `package` is the installed one that brings it.
    """

    name: str
    title: str = ""
    priority: int = 30
    source: str = ""
    reads: tuple[str, ...] = ()
    definition: str = ""
    inputs: str = msgspec.field(default="", name="given")
    full: str = ""
    compact: str = ""
    minimal: str = ""
    error: str = ""
    package: str = ""
    failures: int = 0
    mark: ItemMark = ItemMark()

    @property
    def paused(self) -> bool:
        """Return whether it failed so often that it is not run again."""
        return self.failures >= PAUSED_FROM


class CustomState(msgspec.Struct, frozen=True, omit_defaults=True):
    """Custom sections in the order in which they were first defined; iteration works."""

    sections: tuple[CustomSection, ...] = ()

    def __iter__(self) -> Iterator[CustomSection]:
        return iter(self.sections)

    def __len__(self) -> int:
        return len(self.sections)

    def get(self, name: str) -> CustomSection | None:
        """Return the section of this name, or `None`."""
        return next((section for section in self.sections if section.name == name), None)


def _reduce(custom: CustomState, event: Event) -> CustomState:
    match event.payload:
        case SectionDefine() as new:
            section = custom.get(new.name) or CustomSection(new.name)
            defined = msgspec.structs.replace(
                section,
                title=new.title,
                priority=new.priority,
                source=new.source,
                reads=new.reads,
                mark=mark_of(event),
            )
            return _with_section(custom, defined)
        case SectionRemove(name=name):
            remaining = tuple(section for section in custom.sections if section.name != name)
            return custom if len(remaining) == len(custom.sections) else CustomState(remaining)
        case SectionPrepared() as run:
            section = custom.get(run.name) or CustomSection(run.name, mark=mark_of(event))
            # Another text is another program: what the one before did wrong does not count.
            failures = section.failures if section.definition == run.definition else 0
            prepared = msgspec.structs.replace(
                section,
                title=run.title,
                priority=run.priority,
                definition=run.definition,
                inputs=run.input_digest,
                full=run.full,
                compact=run.compact,
                minimal=run.minimal,
                error=run.error,
                package=run.package,
                failures=failures + 1 if run.error else 0,
            )
            return _with_section(custom, prepared)
    return custom


def _with_section(custom: CustomState, new: CustomSection) -> CustomState:
    # A new definition of a name keeps its place: the order is that of the first ones.
    if custom.get(new.name) is None:
        return CustomState((*custom.sections, new))
    return CustomState(tuple(new if section.name == new.name else section for section in custom.sections))


def show_custom_sections(custom: CustomState, density: Density) -> Element:
    """Return all custom sections as one fragment, the highest priority first."""
    return fragment(*(block.elements for block in _show(custom, density)))


def _show(custom: CustomState, density: Density) -> tuple[ShownBlock, ...]:
    ranked = sorted(custom.sections, key=lambda section: (-section.priority, section.name))
    blocks = []
    for section in ranked:
        elements = _blocks(section, density)
        words = "\n".join(text_of(element) for element in elements)
        blocks.append(ShownBlock(f"custom {section.name}", section.priority, elements, words))
    return tuple(blocks)


def _rows(custom: CustomState) -> tuple[KeyedRow, ...]:
    # A failure is no row: a delta tells what a section says, not that it says nothing.
    # It has the separator that earlier versions have recorded in deltas: a delta has an item a line.
    lines = ((section.name, _one_line(section, "; ")) for section in custom.sections if not section.error)
    return tuple(KeyedRow(name, line) for name, line in lines if line)


def _one_line(section: CustomSection, separator: str = LINE_SEPARATOR) -> str:
    """A section in one line, cut to `MAX_LINE`; empty where it has nothing to say."""
    try:
        blocks = _read_blocks(section.compact or section.full)
    except TreeError:
        return ""
    parts = [part for block in blocks for part in _texts(block)]
    # A part that holds the separator of a line would pass for two: then the first one stands alone.
    alone = separator == LINE_SEPARATOR and len(parts) > 1 and any(separator.strip() in part for part in parts)
    words = f"{parts[0]} …" if alone else separator.join(parts)
    return shorten(f"{section.title}: {words}", MAX_LINE) if words else ""


@lru_cache(maxsize=256)
def _read_blocks(tree: str) -> tuple[Element, ...]:
    """The blocks of a recorded tree. Raises `TreeError` where it is none."""
    blocks = read_json(tree, TREE_LIMITS).children if tree else ()
    return tuple(h.text[block] if isinstance(block, str) else block for block in blocks)


def _blocks(section: CustomSection, density: Density) -> tuple[Element, ...]:
    if section.error:
        often = f"paused after {section.failures} failures" if section.paused else "failed"
        # At the smallest density a failure is not worth its line.
        return () if density is Density.MINIMAL else _message(section, f"{often}: {section.error}")
    try:
        if density is Density.FULL:
            return _headed(section, _read_blocks(section.full))
        if density is Density.COMPACT and not section.compact:
            line = _one_line(section)
            return (h.text(key=f"custom {section.name}", priority=section.priority)[line],) if line else ()
        blocks = _read_blocks(section.compact if density is Density.COMPACT else section.minimal)
    except TreeError as error:
        return _message(section, f"failed: {error.message}")
    key = f"custom {section.name}"
    return tuple(block.with_props(key=f"{key} {n}", priority=section.priority) for n, block in enumerate(blocks))


def _headed(section: CustomSection, blocks: tuple[Element, ...]) -> tuple[Element, ...]:
    if not blocks:
        return ()
    priority = section.priority
    props = freeze({"title": section.title, "level": 2, "priority": priority, "key": f"custom {section.name}"})
    return (Element("section", props, tuple(_ranked(block, priority) for block in blocks)),)


def _message(section: CustomSection, words: str) -> tuple[Element, ...]:
    text = shorten(f"custom section {section.name}: {visible(words)}", MAX_LINE)
    return (h.text(key=f"custom {section.name}", priority=section.priority)[text],)


def _ranked(block: Element, priority: float) -> Element:
    """A list with its items ranked: the earlier one stays longer."""
    if block.tag != "list":
        return block
    step = 1 / (len(block.children) + 1)
    items = [
        child.with_props(priority=priority + 1 - n * step) if isinstance(child, Element) else child
        for n, child in enumerate(block.children, 1)
    ]
    return block.with_children(tuple(items))


def _texts(block: Node) -> list[str]:
    if isinstance(block, Element) and block.tag in ("list", "table", "row"):
        return [text for child in block.children for text in _texts(child)]
    text = " ".join(text_of(block).split())
    return [text] if text else []


LOGIC = SectionLogic(handles=(SectionDefine, SectionRemove, SectionPrepared), reduce=_reduce, show=_show, rows=_rows)
