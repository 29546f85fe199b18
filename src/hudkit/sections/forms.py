"""The ways to write a section: as a list or as one line, each item at several lengths, with what each of them costs.

`whole_section` is a section with everything in it; `section_forms` has what a fit chooses from where there is not
room for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from hudkit.compose import Density, Element, Node
from hudkit.compose.fitting.result import Measure
from hudkit.compose.fitting.sections import (
    BlockForm,
    BlockForms,
    ItemForm,
    ItemForms,
    Layout,
    SectionForms,
    line_element,
    line_marker,
    list_element,
    list_marker,
)
from hudkit.compose.visible_text import LINE_SEPARATOR
from hudkit.sections.section import (
    COMMON_LABELS,
    CURRENT_PRIORITY,
    ITEM_CHARS,
    SectionSpec,
    ShownBlock,
    ShownItem,
    ViewOptions,
    item_element,
    item_nodes,
    item_priorities,
)

WHOLE_CHARS = 160
"""Characters of a rule, blocker or current step that are shown before anything of less worth is: half a rule is
none."""

WHOLE_PRIORITY = 84
"""The priority with which such a text is written at `WHOLE_CHARS`: behind all rules, blockers, errors and the current
step, before all else."""

TEXT_TURN = -100
"""What is added to a priority for writing the whole text: every item is shown before any is shown at length."""

REASON_TURN = -150
"""What is added to a priority for writing the whole of a long reason."""

LAYOUT_TURN = -200
"""What is added to a priority for writing a section as a list: looks come last."""


_MAX_FORMS = 8192
"""Forms that are remembered; beyond, the memory starts anew."""


class SectionItems(msgspec.Struct, frozen=True):
    """The items of a section with their priorities; those beyond the user's limit are not shown (`limit`)."""

    spec: SectionSpec
    items: tuple[ShownItem, ...]
    priorities: tuple[float, ...]
    limit: int | None = None
    label: str = ""
    """What all items have in common: said once, in the heading."""

    @property
    def title(self) -> str:
        """Return the heading, with the number of items."""
        return f"{self.spec.title} ({len(self.items)}{self.label})"

    @property
    def short_title(self) -> str:
        """Return the heading where only the current item is named."""
        return self.spec.noun.capitalize()

    @property
    def see(self) -> str:
        """Return the operation that shows all items."""
        return self.spec.see or f"{self.spec.name}.list"

    @property
    def holds_separator(self) -> bool:
        """Return whether a text has what separates the items of a line."""
        mark = LINE_SEPARATOR.strip()
        return any(mark in text for item in self.items for text in (item.text, item.label, item.reason or ""))

    @property
    def is_cut(self) -> bool:
        """Return whether something of it is not shown, however much room there is."""
        over_limit = self.limit is not None and len(self.items) > self.limit
        longest = ITEM_CHARS[Density.FULL]
        return over_limit or any(max(len(item.text), len(item.reason or "")) > longest for item in self.items)

    def named_at(self, density: Density) -> list[int]:
        """Return the places of the items that may be shown at a density: the most important ones, in their order."""
        places: Sequence[int] = range(len(self.items))
        if density is Density.MINIMAL and not self.spec.named_at_minimal:
            places = [n for n in places if self.items[n].priority == CURRENT_PRIORITY]
        if self.limit is None or len(self.items) <= self.limit:
            return list(places)
        ranked = sorted(places, key=lambda n: -self.priorities[n])
        return sorted(ranked[: self.limit])


def section_items(spec: SectionSpec, fields: Any, options: ViewOptions) -> SectionItems | None:
    """Return the items of a section, or `None` where it has none."""
    assert spec.logic.items is not None
    shown = spec.logic.items(*fields) if len(spec.reads) > 1 else spec.logic.items(fields)
    items = tuple(shown)
    if not items:
        return None
    # A section without a setting of its own has no limit.
    limit = getattr(options.limits, spec.name, None)
    priorities = tuple(item_priorities(spec, items))
    label = items[0].label
    if len(items) > 1 and label in COMMON_LABELS and all(item.label == label for item in items):
        items = tuple(msgspec.structs.replace(item, label="") for item in items)
        return SectionItems(spec, items, priorities, limit, f", {label.strip(' ()')}")
    return SectionItems(spec, items, priorities, limit)


def section_elements(section: SectionItems, density: Density) -> tuple[Element, ...]:
    """Return a section with all its items at a density: a list under a heading, one line, or nothing."""
    spec, chars = section.spec, ITEM_CHARS[density]
    places = section.named_at(density)
    if not places:
        return ()
    hidden = len(section.items) - len(places)
    if density is Density.MINIMAL and not spec.named_at_minimal:
        return (line_element(spec.name, section.short_title, [item_nodes(section.items[places[0]], chars)], 0, ""),)
    if (spec.one_line or density is not Density.FULL) and not section.holds_separator:
        shown = [item_nodes(section.items[n], chars, in_line=True) for n in places]
        return (line_element(spec.name, section.title, shown, hidden, section.see),)
    reason_chars = chars if density is Density.FULL else 0
    elements = [(n, item_element(section.items[n], chars, section.priorities[n], reason_chars)) for n in places]
    numbered = spec.ordered
    return (list_element(spec.name, section.title, spec.priority, elements, hidden, section.see, numbered=numbered),)


def section_forms(section: SectionItems, density: Density, measures: PartMeasures) -> SectionForms:
    """Return the ways to write a section at a density or at those that say less, each with its costs."""
    spec = section.spec
    places = section.named_at(density)
    allowed = set(places)
    is_counted_only = density is Density.MINIMAL and not spec.named_at_minimal
    reason = (
        "the smallest density does not name it" if is_counted_only else f"[limits] {spec.name} is {section.limit}"
    )
    forms = []
    for n, item in enumerate(section.items):
        if n in allowed:
            lengths = _item_lengths(item, section.priorities[n], spec, density)
            forms.append(ItemForms(item.key, item.text, tuple([measures.form(*length) for length in lengths])))
        else:
            cost = measures.block(item_element(item, ITEM_CHARS[density], section.priorities[n]))
            forms.append(ItemForms(item.key, item.text, (), reason, cost))
    layouts: tuple[Layout, ...] = ("line", "list") if density is Density.FULL and not spec.one_line else ("line",)
    if section.holds_separator and not is_counted_only:
        layouts = ("list",)
    heading = Element("section", (("level", 2), ("title", section.title)), ())
    number = len(section.items)
    title = section.short_title if is_counted_only and places else section.title
    return SectionForms(
        key=spec.name,
        title=title,
        priority=LAYOUT_TURN + spec.priority,
        items=tuple(forms),
        layouts=layouts,
        see=section.see,
        noun=spec.counted or spec.noun,
        line_head=measures.block(Element("text", (), (f"{title}:",))),
        list_head=measures.block(heading),
        line_marker=measures.inline((line_marker(number, section.see),)),
        list_marker=measures.block(Element("list", (), (list_marker(number, section.see),))),
        numbered=spec.ordered,
        always=spec.always,
        favoured=spec.favoured,
        counted=bool(spec.counted),
        marked=not is_counted_only,
    )


def _item_lengths(
    item: ShownItem, priority: float, spec: SectionSpec, density: Density
) -> Iterator[tuple[ShownItem, int, float, int]]:
    """The lengths at which an item is written, the shortest first: characters of its text, its priority, characters
    of its reason."""
    shortest, longest = ITEM_CHARS[Density.COMPACT], ITEM_CHARS[density]
    is_whole = not item.closed and (spec.whole or priority >= WHOLE_PRIORITY)
    if is_whole or density is Density.MINIMAL:
        shortest = ITEM_CHARS[Density.MINIMAL]
    yield item, shortest, priority, 0
    if is_whole and density is not Density.MINIMAL and len(item.text) > shortest:
        yield item, WHOLE_CHARS, min(WHOLE_PRIORITY + priority / 1000, priority), 0
        shortest = WHOLE_CHARS
    if len(item.text) > shortest and longest > shortest:
        yield item, longest, TEXT_TURN + priority, 0
    if item.reason and density is Density.FULL:
        # A reason is worth as much as the end of its text: every item of all sections is shown before it.
        brief = ITEM_CHARS[Density.COMPACT]
        yield item, longest, TEXT_TURN + priority, brief
        if len(item.reason) > brief:
            yield item, longest, REASON_TURN + priority, longest


def block_forms(shown: Sequence[Sequence[ShownBlock]], measures: PartMeasures) -> list[BlockForms]:
    """Return the forms of blocks of which each is given at several densities, the one that says least first."""
    by_key: dict[str, list[ShownBlock]] = {}
    for blocks in shown:
        for block in blocks:
            forms = by_key.setdefault(block.key, [])
            if block.elements and (not forms or forms[-1].elements != block.elements):
                forms.append(block)
    return [_block_forms(key, forms, measures) for key, forms in by_key.items() if forms]


def _block_forms(key: str, blocks: Sequence[ShownBlock], measures: PartMeasures) -> BlockForms:
    forms: list[BlockForm] = []
    for block in blocks:
        priority = TEXT_TURN + block.priority if forms else block.priority
        cost = sum([measures.block(element) for element in block.elements])
        is_whole = block.is_whole and blocks[-1].text in block.text
        forms.append(BlockForm(priority, block.elements, cost, is_whole))
    return BlockForms(key, blocks[-1].text, tuple(forms))


class PartMeasures:
    """What parts of a document cost, each measured once: `measure` has the tokens of an element that stands alone,
    `inline` those of nodes within a line, behind a separator."""

    def __init__(self, measure: Measure, inline: Measure) -> None:
        self.block = measure
        self._inline = inline
        self._forms: dict[tuple[ShownItem, int, float, int], ItemForm] = {}

    def inline(self, nodes: tuple[Node, ...]) -> int:
        """Return the tokens that nodes add to a line, with the separator before them."""
        return self._inline(Element("text", (), (LINE_SEPARATOR.lstrip(), *nodes)))

    def form(self, item: ShownItem, chars: int, priority: float, reason_chars: int) -> ItemForm:
        """Return an item with so many characters of its text and of its reason, with what that costs."""
        form = self._forms.get((item, chars, priority, reason_chars))
        if form is None:
            if len(self._forms) >= _MAX_FORMS:
                self._forms.clear()
            nodes = item_nodes(item, chars, reason_chars, in_line=True)
            element = item_element(item, chars, priority, reason_chars)
            form = ItemForm(priority, nodes, element, self.inline(nodes), self.block(element))
            self._forms[(item, chars, priority, reason_chars)] = form
        return form
