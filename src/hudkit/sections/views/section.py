"""What a section is: how it is shown at a density, and which rows a change of it is told by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeVar

import msgspec

from hudkit.compose import Density, Element, freeze, h, shorten
from hudkit.config import SectionLimits, StalenessSettings
from hudkit.log.event import Origin

T = TypeVar("T")

LENGTHS: dict[Density, int] = {Density.FULL: 400, Density.COMPACT: 90, Density.MINIMAL: 60}
"""Characters of one item that are shown; the tools show all of it."""

PREVIEWS: dict[str, int] = {"decisions": 5, "files": 5, "notes": 3, "steps": 3}
"""Items that a compact section names (000); sections that are not in the table name three."""

ALWAYS = ("constraints", "blockers")
"""Lists that are named at the smallest density too; the others are counted there."""

PRIORITIES: dict[str, int] = {
    "blockers": 90,
    "constraints": 85,
    "steps": 80,
    "decisions": 75,
    "errors": 70,
    "shared": 62,
    "todos": 60,
    "notes": 50,
    "progress": 45,
    "files": 40,
    "project": 35,
    "custom": 30,
    "session": 20,
    "compacted": 15,
}
"""What stays longest under pressure; the task and the preamble have no priority and always stay. Within a section the
newer item stays longer, and closed items go before all that is live. The summary of a compaction stands in the
transcript, too. A section that is not in the table has 30."""

CLOSED = 5
"""The rank of what is done or resolved: below that of every section."""

ASIDE = 3
"""By how much a live item of less weight ranks below the others of its section."""


class View(msgspec.Struct, frozen=True):
    """How the state is looked at."""

    density: Density = Density.FULL
    limits: SectionLimits = SectionLimits()
    staleness: StalenessSettings = StalenessSettings()

    def limit(self, name: str) -> int:
        """Items of a section that are shown at most."""
        most = int(getattr(self.limits, name, 10))
        return most if self.density is Density.FULL else min(most, PREVIEWS.get(name, 3))

    def cut(self, text: str) -> str:
        """A text as long as the density allows."""
        return shorten(text, LENGTHS[self.density])


class Row(msgspec.Struct, frozen=True):
    """One thing that a section says, for telling changes: the same `key` is the same thing."""

    key: str
    text: str
    closed: bool = False


def untold(*_slices: object) -> tuple[Row, ...]:
    """The rows of a section whose changes are told by the next base only."""
    return ()


class Section(msgspec.Struct, frozen=True):
    """A section of the HUD; `title` is its heading (a list's count behind it), `noun` what a change calls an item.

    `reads` are the fields of the state that it is made of, in the order of `show`'s arguments. `pace` says when a
    change is told: `now` in the next call, `turn` with the next one that is told or at the start of a turn, `never`
    only with the next epoch. `brief` tells a section whole, in one line, where many of its rows changed at once.
    """

    name: str
    title: str
    noun: str
    reads: tuple[str, ...]
    show: Callable[..., Element | None]
    rows: Callable[..., tuple[Row, ...]]
    pace: Literal["now", "turn", "never"] = "now"
    closing: str = "removed"
    ordered: bool = False
    brief: Callable[..., str] | None = None


class Line(msgspec.Struct, frozen=True):
    """One item as it is shown: its key, its phrasing, and whether it is closed (done, resolved)."""

    key: str
    words: str
    closed: bool = False
    label: str = ""
    aside: bool = False
    """Live, but of less weight than the others of its section."""


def label(origin: Origin, derived: bool = False) -> str:
    """The suffix that tells where an item comes from, where it is not the agent or the user."""
    if origin is Origin.TOOL:
        return " [from a tool]"
    return " (derived)" if derived else ""


def in_view(items: Sequence[T], limit: int, closed: Callable[[T], bool]) -> tuple[T, ...]:
    """At most `limit` items in their order: the newest live ones first, closed ones only where room is left."""
    if len(items) <= limit:
        return tuple(items)
    places = [n for n, item in enumerate(items) if not closed(item)][-limit:] if limit else []
    room = limit - len(places)
    if room:
        places += [n for n, item in enumerate(items) if closed(item)][-room:]
    return tuple(items[n] for n in sorted(places))


def next_up(items: Sequence[T], limit: int, closed: Callable[[T], bool]) -> tuple[T, ...]:
    """At most `limit` items in their order: the first open ones, closed ones only where room is left."""
    places = [n for n, item in enumerate(items) if not closed(item)][:limit]
    if len(places) < limit:
        places += [n for n, item in enumerate(items) if closed(item)][len(places) - limit :]
    return tuple(items[n] for n in sorted(places))


def listed(
    name: str,
    title: str,
    lines: Iterable[Line],
    view: View,
    *,
    plan: bool = False,
    ordered: bool = False,
    see: str = "",
) -> Element | None:
    """A section of items at the density of `view`: a list under a heading, or one line; `None` where it is empty.

    In a `plan` the first open item matters most, elsewhere the newest; `ordered` numbers the items.
    """
    every = tuple(lines)
    if not every or (view.density is Density.MINIMAL and name not in ALWAYS):
        return None
    kept = every
    if len(every) > view.limit(name):
        kept = (next_up if plan else in_view)(every, view.limit(name), _yields)
    start = every.index(kept[0]) if ordered and kept else 0
    if ordered and kept != every[start : start + len(kept)]:  # numbers with gaps are no numbers of a list
        places = {line.key: n for n, line in enumerate(every, 1)}
        kept = tuple([msgspec.structs.replace(one, label=f"{one.label} (no. {places[one.key]})") for one in kept])
        ordered = False
    if view.density is not Density.FULL:
        return _line(name, f"{title} ({len(every)}): ", kept, len(every) - len(kept), view)
    rank = PRIORITIES.get(name, 30)
    # Made without `h`: items are valid by construction, and this is done again whenever one of them changes.
    more = _more(len(every) - len(kept), "more" if plan else "older", see or f"{name}.list")
    items = tuple([_item(line, priority) for line, priority in zip(kept, _ranks(kept, rank, plan), strict=True)])
    heading = freeze({"title": f"{title} ({len(every)})", "level": 2, "priority": rank, "key": name})
    if ordered:
        numbered = Element("list", freeze({"ordered": True, "start": start + 1}), items)
        return Element("section", heading, (numbered, more))
    return Element("section", heading, (Element("list", (), (*items, more)),))


@lru_cache(maxsize=256)
def _more(hidden: int, noun: str, see: str) -> Element:
    return h.more(hidden=hidden, noun=noun, see=see).element()


def _yields(line: Line) -> bool:
    return line.closed or line.aside


def _ranks(kept: tuple[Line, ...], rank: int, plan: bool) -> Iterator[float]:
    """The newer item stays longer, in a plan the earlier one; what is closed gives way to all that is live in any
    section."""
    step = 1 / (len(kept) + 1)
    for n, line in enumerate(kept):
        place = (n + 1) * step
        if line.closed:
            yield CLOSED + (rank + place) / 100
        else:
            yield rank + (1 - place if plan else place) - (ASIDE if line.aside else 0)


@lru_cache(maxsize=4096)
def _item(line: Line, priority: float) -> Element:
    text = shorten(line.words, LENGTHS[Density.FULL])
    return h.item(key=line.key, priority=priority)[h.strike[text] if line.closed else text, line.label]


def _line(name: str, head: str, kept: tuple[Line, ...], hidden: int, view: View) -> Element:
    parts: list[Any] = []
    for line in kept:
        text = view.cut(line.words)
        parts += ["; " if parts else "", h.strike[text] if line.closed else text, line.label]
    more = f"; +{hidden}" if hidden else ""
    return h.text(key=name, priority=PRIORITIES.get(name, 30))[head, parts, more]
