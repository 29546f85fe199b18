"""What a section is: its row in the table, the functions of its module, and how a list of items is shown.

A section's module (`sections/decisions.py`) holds its state, its reducer and its view, and gives them as one
`SectionLogic`. Its row in `sections/table.py` (a `SectionSpec`) holds every number and word about it. The view gets
the row as part of its `SectionView`, so that no module repeats its own title, priority or limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeVar

import msgspec

from hudkit.compose import Density, Element, freeze, h, shorten
from hudkit.config import SectionLimits, StalenessSettings
from hudkit.log.event import Event, Origin

T = TypeVar("T")

ITEM_CHARS: dict[Density, int] = {Density.FULL: 400, Density.COMPACT: 90, Density.MINIMAL: 60}
"""Characters of one item that are shown; the tools show all of it."""

CLOSED_RANK = 5
"""The rank of what is done or resolved: below that of every section."""

SECONDARY_PENALTY = 3
"""By how much a live item of less weight ranks below the others of its section."""


class KeyedRow(msgspec.Struct, frozen=True):
    """One thing that a section says, for telling changes: the same `key` is the same thing."""

    key: str
    text: str
    closed: bool = False


class ShownItem(msgspec.Struct, frozen=True):
    """One item as a view shows it: its key, its text, the label behind the text.

    A `closed` item is done or resolved; a `secondary` one is live, but of less weight than others of its section.
    """

    key: str
    text: str
    closed: bool = False
    label: str = ""
    secondary: bool = False


class SectionLogic(msgspec.Struct, frozen=True):
    """The functions of a section's module.

    `handles` are the payloads that `reduce(state, event)` is asked about. `reads` are the fields of `HudState` that
    the view is made of, in the order of the arguments of `show(*fields, view)`, `rows(*fields)` and
    `summarize(*fields)`; empty: the section's own field. `summarize` tells a section in one line where many of its
    rows changed at once; `live` picks what is counted where the section itself is not shown.
    """

    handles: tuple[type[Any], ...]
    reduce: Callable[[Any, Event], Any]
    show: Callable[..., Element | None]
    rows: Callable[..., tuple[KeyedRow, ...]]
    reads: tuple[str, ...] = ()
    summarize: Callable[..., str] | None = None
    live: Callable[[Any], Sequence[Any]] = tuple


class SectionSpec(msgspec.Struct, frozen=True):
    """A row of the table of sections.

    `title` is the heading (a list's count behind it), `noun` what a change calls an item.

    - `priority`: what stays longest under pressure, 100 at most. Within a section the newer item stays longer, and
      closed items go before all that is live.
    - `limit`: items shown at full density, where the settings say nothing else; `preview`: items named in one line.
    - `named_at_minimal`: its items are named at the smallest density, too.
    - `counted`: the noun under which the smallest density counts the section; empty: it is not counted.
    - `pace`: when a change is told: `now` in the next call, `turn` with the next one that is told or at the start of
      a turn, `never` only with the next epoch.
    - `closing`: the word for an item that left; `ordered`: a change of order is told.
    - `readable`: custom sections may read it.
    """

    name: str
    logic: SectionLogic
    title: str
    noun: str
    priority: int = 30
    limit: int = 10
    preview: int = 3
    named_at_minimal: bool = False
    counted: str = ""
    pace: Literal["now", "turn", "never"] = "now"
    closing: str = "removed"
    ordered: bool = False
    readable: bool = False

    @property
    def reads(self) -> tuple[str, ...]:
        """Return the fields of the state that the view is made of."""
        return self.logic.reads or (self.name,)

    def rows(self, state: object) -> tuple[KeyedRow, ...]:
        """Return what the section says in a `HudState`, row by row."""
        fields = [getattr(state, name) for name in self.reads]
        return self.logic.rows(*fields)


class ViewOptions(msgspec.Struct, frozen=True):
    """How the whole state is looked at."""

    density: Density = Density.FULL
    limits: SectionLimits = SectionLimits()
    staleness: StalenessSettings = StalenessSettings()


class SectionView(msgspec.Struct, frozen=True):
    """How one section is looked at: its row of the table, and the options of the whole view."""

    spec: SectionSpec
    options: ViewOptions = ViewOptions()

    @property
    def density(self) -> Density:
        """Return the density of the whole view."""
        return self.options.density

    @property
    def limit(self) -> int:
        """Return how many items are shown at most: the user's setting of this name, else the table's."""
        # A section without a setting of its own has the table's limit.
        limit = int(getattr(self.options.limits, self.spec.name, self.spec.limit))
        return limit if self.density is Density.FULL else min(limit, self.spec.preview)

    def cut(self, text: str) -> str:
        """Return a text as long as the density allows."""
        return shorten(text, ITEM_CHARS[self.density])


def origin_label(origin: Origin, derived: bool = False) -> str:
    """Return the suffix that tells where an item comes from, where it is not the agent or the user."""
    if origin is Origin.TOOL:
        return " [from a tool]"
    return " (derived)" if derived else ""


def _newest_in_view(items: Sequence[T], limit: int, closed: Callable[[T], bool]) -> tuple[T, ...]:
    """Return at most `limit` items in their order: the newest live ones, closed ones only where room is left."""
    if len(items) <= limit:
        return tuple(items)
    places = [n for n, item in enumerate(items) if not closed(item)][-limit:] if limit else []
    room = limit - len(places)
    if room:
        places += [n for n, item in enumerate(items) if closed(item)][-room:]
    return tuple(items[n] for n in sorted(places))


def _first_open(items: Sequence[T], limit: int, closed: Callable[[T], bool]) -> tuple[T, ...]:
    """Return at most `limit` items in their order: the first open ones, closed ones only where room is left."""
    places = [n for n, item in enumerate(items) if not closed(item)][:limit]
    if len(places) < limit:
        # A slice from a negative place: the last closed ones, as many as there is room for.
        places += [n for n, item in enumerate(items) if closed(item)][len(places) - limit :]
    return tuple(items[n] for n in sorted(places))


def item_list(
    items: Iterable[ShownItem], view: SectionView, *, plan: bool = False, ordered: bool = False, see: str = ""
) -> Element | None:
    """Return a section of items at the density of `view`: a list under a heading, or one line; `None` where it is
    empty or only counted.

    In a `plan` the first open item matters most, elsewhere the newest; `ordered` numbers the items. `see` is the
    operation that shows what is left out (default: the section's `list`).
    """
    spec = view.spec
    every = tuple(items)
    # At the smallest density the counts stand for it.
    if not every or (view.density is Density.MINIMAL and not spec.named_at_minimal):
        return None
    shown = every
    if len(every) > view.limit:
        shown = (_first_open if plan else _newest_in_view)(every, view.limit, _yields)
    start = every.index(shown[0]) if ordered and shown else 0
    if ordered and shown != every[start : start + len(shown)]:
        # Numbers with gaps are no numbers of a list: each item tells its own.
        places = {item.key: n for n, item in enumerate(every, 1)}
        shown = tuple([_numbered(item, places[item.key]) for item in shown])
        ordered = False
    hidden = len(every) - len(shown)
    if view.density is not Density.FULL:
        return _one_line(shown, len(every), hidden, view)
    # Made without `h`: items are valid by construction, and this is done again whenever one of them changes.
    more = _more(hidden, "more" if plan else "older", see or f"{spec.name}.list")
    ranks = _ranks(shown, spec.priority, plan)
    elements = tuple([_item(item, rank) for item, rank in zip(shown, ranks, strict=True)])
    title = f"{spec.title} ({len(every)})"
    heading = freeze({"title": title, "level": 2, "priority": spec.priority, "key": spec.name})
    if ordered:
        numbered = Element("list", freeze({"ordered": True, "start": start + 1}), elements)
        return Element("section", heading, (numbered, more))
    return Element("section", heading, (Element("list", (), (*elements, more)),))


def _numbered(item: ShownItem, place: int) -> ShownItem:
    return msgspec.structs.replace(item, label=f"{item.label} (no. {place})")


@lru_cache(maxsize=256)
def _more(hidden: int, noun: str, see: str) -> Element:
    return h.more(hidden=hidden, noun=noun, see=see).element()


def _yields(item: ShownItem) -> bool:
    """Whether an item gives way to others where there is no room for all."""
    return item.closed or item.secondary


def _ranks(shown: tuple[ShownItem, ...], priority: int, plan: bool) -> Iterator[float]:
    """The newer item stays longer, in a plan the earlier one; what is closed gives way to all that is live in any
    section."""
    step = 1 / (len(shown) + 1)
    for n, item in enumerate(shown):
        place = (n + 1) * step
        if item.closed:
            yield CLOSED_RANK + (priority + place) / 100
        else:
            gain = 1 - place if plan else place
            yield priority + gain - (SECONDARY_PENALTY if item.secondary else 0)


# An item's element is asked for again in every base in which it stands, mostly with the same rank.
@lru_cache(maxsize=4096)
def _item(item: ShownItem, rank: float) -> Element:
    text = shorten(item.text, ITEM_CHARS[Density.FULL])
    return h.item(key=item.key, priority=rank)[h.strike[text] if item.closed else text, item.label]


def _one_line(shown: tuple[ShownItem, ...], total: int, hidden: int, view: SectionView) -> Element:
    parts: list[Any] = []
    for item in shown:
        text = view.cut(item.text)
        parts += ["; " if parts else "", h.strike[text] if item.closed else text, item.label]
    more = f"; +{hidden}" if hidden else ""
    head = f"{view.spec.title} ({total}): "
    return h.text(key=view.spec.name, priority=view.spec.priority)[head, parts, more]
