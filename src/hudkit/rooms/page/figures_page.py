"""The page of figures: how a world has been going as labelled plots, and a map of who talks with whom.

All of it is drawn on the server and told in tables, too, so that nobody needs a script or sees a colour only.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

import msgspec

from hudkit.compose import shorten
from hudkit.compose.formats.html.hast import HtmlElement
from hudkit.rooms import world_events as ev
from hudkit.rooms.page.side_pages import SideRequest, render_side_page
from hudkit.rooms.page.url_state import UrlState
from hudkit.rooms.page.widgets import HUES, PageData
from hudkit.web.elements import Child, classes, e
from hudkit.web.page_text import count_of, dollars
from hudkit.web.plots import Curve, time_plot

_READ_EVENTS = 50_000
"""Events that are read, the newest: of all of a very long log, a person would have to wait."""
_MINUTE = 60_000
_POINTS = 60
"""Spans of time that are drawn."""
_CURVES = 6
"""Agents with a line of their own."""
_MAP_AGENTS = 24
"""Agents on the map: those with the most connections."""
_RADIUS, _CENTRE, _FACE = 300, 400, 30
"""Of the map, in units of its own."""
_LINE_WIDTHS = (1.5, 12.0)


class _Tie(msgspec.Struct):
    """What one agent did towards another."""

    answers: int = 0
    names: int = 0
    """Messages that name the other."""
    reactions: int = 0

    @property
    def weight(self) -> int:
        return self.answers + self.names + self.reactions


class _WorldFigures(msgspec.Struct):
    """What was counted of the log. Times are Unix ms."""

    first: int = 0
    last: int = 0
    beats: list[tuple[int, int, int, int]] = []
    """Time, agent, tokens of its HUD, ms late."""
    spent: list[tuple[int, int, int, int, float]] = []
    """Time, tokens in, of them from a cache, tokens out, dollars."""
    messages: list[tuple[int, int, int]] = []
    """Time, sender, words."""
    connections: dict[tuple[int, int], _Tie] = {}


def figures_page(request: SideRequest) -> str:
    """Return the page of a world's figures."""
    page = request.page_data()
    last = page.world.seq
    figures = _count(page, max(0, last - _READ_EVENTS), last)
    note = f"Of the last {_READ_EVENTS:,} events." if last > _READ_EVENTS else ""
    if not figures.beats and not figures.messages:
        return render_side_page(page, "Figures", e("p", "Nothing has happened yet.", class_="empty"))
    return render_side_page(
        page,
        "Figures",
        e("p", note, class_="hint") if note else None,
        _map_section(page, figures),
        e("section", e("h2", "Over time"), e("div", _plots(page, figures), class_="plots")),
    )


def _count(page: PageData, after: int, upto: int) -> _WorldFigures:
    figures = _WorldFigures()
    senders: dict[int, int] = {}
    names = _name_finder(page)
    connections: defaultdict[tuple[int, int], _Tie] = defaultdict(_Tie)
    for entry, event in page.context.world_log.events(after, upto):
        time = entry.timestamp
        figures.first = figures.first or time
        figures.last = max(figures.last, time)
        match event:
            case ev.BeatBegun():
                late = max(0, event.composed_at - event.due)
                figures.beats.append((time, event.agent, event.tokens, late))
            case ev.ReplyReceived():
                spent = (event.input_tokens, event.cached_tokens, event.output_tokens, event.cost)
                figures.spent.append((time, *spent))
            case ev.MessagePosted(kind="text", sender=sender):
                senders[event.id] = sender
                figures.messages.append((time, sender, event.words))
                answered = senders.get(event.reply_to, sender)
                if answered != sender:
                    connections[sender, answered].answers += 1
                for other in names(event.content) - {sender, answered}:
                    connections[sender, other].names += 1
            case ev.ReactionAdded(agent=agent, message=message) if senders.get(message, agent) != agent:
                connections[agent, senders[message]].reactions += 1
    figures.connections = dict(connections)
    return figures


def _name_finder(page: PageData) -> Callable[[str], set[int]]:
    """Return a function from a text to the agents that it names, as `Ada` or `@3`."""
    by_word: dict[str, int] = {f"@{agent.id}": agent.id for agent in page.world.agents.values()}
    by_word |= {agent.name.casefold(): agent.id for agent in page.world.agents.values() if agent.name}
    # The longest first: of `Ada Lovelace` and `Ada`, the whole name is meant.
    words = sorted(map(re.escape, by_word), key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)") if words else None

    def find(text: str) -> set[int]:
        return {by_word[word] for word in pattern.findall(text.casefold())} if pattern else set()

    return find


# -- plots ---------------------------------------------------------------------------------------------------------


def _plots(page: PageData, figures: _WorldFigures) -> list[HtmlElement]:
    span = max(1, figures.last - figures.first)
    minutes = [span * (n + 1) / _POINTS / _MINUTE for n in range(_POINTS)]

    def bins(values: Iterable[tuple[int, float]]) -> list[list[float]]:
        filled: list[list[float]] = [[] for _ in range(_POINTS)]
        for time, value in values:
            filled[min(_POINTS - 1, max(0, time - figures.first) * _POINTS // span)].append(value)
        return filled

    def growing(values: Iterable[tuple[int, float]]) -> tuple[float, ...]:
        total, line = 0.0, []
        for part in bins(values):
            total += sum(part)
            line.append(total)
        return tuple(line)

    def holding(values: Iterable[tuple[int, float]]) -> tuple[float, ...]:
        """Return the largest value of each span; where there is none, the one before."""
        line: list[float] = []
        for part in bins(values):
            line.append(max(part) if part else line[-1] if line else 0.0)
        return tuple(line)

    speakers = Counter(sender for _, sender, _ in figures.messages)
    most = [agent for agent, _ in speakers.most_common(_CURVES)]
    messages = [
        Curve(page.name(agent), n, growing((time, 1) for time, sender, _ in figures.messages if sender == agent))
        for n, agent in enumerate(most)
    ]
    beating = [agent for agent, _ in Counter(agent for _, agent, _, _ in figures.beats).most_common(_CURVES)]
    seen = [
        Curve(
            page.name(agent), n, holding((time, tokens) for time, other, tokens, _ in figures.beats if other == agent)
        )
        for n, agent in enumerate(beating)
    ]
    per_minute = tuple(len(part) * _POINTS * _MINUTE / span for part in bins((time, 1) for time, *_ in figures.beats))
    late = tuple(max(part, default=0) / 1000 for part in bins((time, late) for time, _, _, late in figures.beats))
    plots = []
    if messages:
        plots.append(time_plot("Messages", "so far, by who said them", minutes, messages))
    if seen:
        plots.append(time_plot("HUDs", "tokens of an agent's largest", minutes, seen))
        plots.append(time_plot("Beats", "a minute", minutes, [Curve("beats a minute", 0, per_minute)]))
        plots.append(
            time_plot("Lateness", "seconds after a beat was due, the most", minutes, [Curve("late", 3, late)])
        )
    if any(tokens for _, tokens, *_ in figures.spent):
        spent = [
            Curve("in", 0, growing((row[0], row[1]) for row in figures.spent)),
            Curve("of them cached", 1, growing((row[0], row[2]) for row in figures.spent)),
            Curve("out", 2, growing((row[0], row[3]) for row in figures.spent)),
        ]
        plots.append(time_plot("Tokens", "that models read and wrote, so far", minutes, spent))
    if cost := sum(row[4] for row in figures.spent):
        line = growing((row[0], row[4]) for row in figures.spent)
        plots.append(time_plot(f"Cost: {dollars(cost)}", "dollars so far", minutes, [Curve("dollars", 4, line)]))
    return plots


# -- the map -------------------------------------------------------------------------------------------------------


def _map_section(page: PageData, figures: _WorldFigures) -> HtmlElement | None:
    connections = {pair: each for pair, each in figures.connections.items() if each.weight}
    if not connections:
        return e(
            "section",
            e("h2", "Who talks with whom"),
            e("p", "Nobody has answered or named anybody yet.", class_="empty"),
        )
    weights: Counter[int] = Counter()
    for (speaker, other), each in connections.items():
        weights[speaker] += each.weight
        weights[other] += each.weight
    people = sorted(id for id, _ in weights.most_common(_MAP_AGENTS))
    shown = {pair: each for pair, each in connections.items() if set(pair) <= set(people)}
    left_out = len(weights) - len(people)
    rows = sorted(connections.items(), key=lambda item: -item[1].weight)[:40]
    return e(
        "section",
        e("h2", "Who talks with whom"),
        e(
            "p",
            "A line is as wide as there are answers, names and reactions from one to the other.",
            f" {count_of(left_out, 'agent')} with less are not on it." if left_out else "",
            class_="hint",
        ),
        e(
            "div",
            _map(page, people, shown),
            e(
                "table",
                e("thead", e("tr", [e("th", text, scope="col") for text in _TABLE_HEAD])),
                e("tbody", [_connection_row(page, pair, each) for pair, each in rows]),
                class_="list",
            ),
            class_="map",
        ),
    )


_TABLE_HEAD = ("from", "to", "answers", "names", "reactions")


def _connection_row(page: PageData, pair: tuple[int, int], each: _Tie) -> HtmlElement:
    counts = [
        e("td", f"{count:,}" if count else "–", class_="number")
        for count in (each.answers, each.names, each.reactions)
    ]
    return e("tr", e("th", page.name(pair[0]), scope="row"), e("td", page.name(pair[1])), counts)


def _map(page: PageData, people: Sequence[int], connections: dict[tuple[int, int], _Tie]) -> HtmlElement:
    places = {
        id: (
            _CENTRE + _RADIUS * math.sin(2 * math.pi * n / len(people)),
            _CENTRE - _RADIUS * math.cos(2 * math.pi * n / len(people)),
        )
        for n, id in enumerate(people)
    }
    highest = max(each.weight for each in connections.values())
    lines = [
        _line(page, pair, each, places, highest)
        for pair, each in sorted(connections.items(), key=lambda item: item[1].weight)
    ]
    strongest = max(connections.items(), key=lambda item: item[1].weight)[0]
    words = (
        f"A map of {count_of(len(people), 'person', 'people')}; the strongest line leads from "
        f"{page.name(strongest[0])} to {page.name(strongest[1])}. The table has all of it."
    )
    size = 2 * _CENTRE
    return e(
        "svg",
        lines,
        [_person(page, id, places[id]) for id in people],
        viewBox=f"0 0 {size} {size}",
        role="img",
        aria_label=words,
        class_="people",
    )


def _line(
    page: PageData,
    pair: tuple[int, int],
    each: _Tie,
    places: dict[int, tuple[float, float]],
    highest: int,
) -> HtmlElement:
    (x, y), (to_x, to_y) = places[pair[0]], places[pair[1]]
    length = math.hypot(to_x - x, to_y - y) or 1.0
    # To the left of its direction, so that both directions of a pair are seen.
    bend = 0.12
    middle_x = (x + to_x) / 2 + bend * (to_y - y)
    middle_y = (y + to_y) / 2 - bend * (to_x - x)
    end_x, end_y = to_x - (to_x - middle_x) * 2 * _FACE / length, to_y - (to_y - middle_y) * 2 * _FACE / length
    thin, thick = _LINE_WIDTHS
    width = thin + (thick - thin) * each.weight / highest
    words = (
        f"{page.name(pair[0])} to {page.name(pair[1])}: {count_of(each.answers, 'answer')}, named {each.names} times"
    )
    return e(
        "path",
        e("title", f"{words}, {count_of(each.reactions, 'reaction')}"),
        d=f"M{x:.0f} {y:.0f}Q{middle_x:.0f} {middle_y:.0f} {end_x:.0f} {end_y:.0f}",
        class_=classes("tie", _hue(pair[0])),
        stroke_width=f"{width:.1f}",
    )


def _person(page: PageData, id: int, place: tuple[float, float]) -> list[Child]:
    x, y = place
    below = y + _FACE + 26
    name = shorten(page.name(id), 18)
    circle = e("circle", cx=f"{x:.0f}", cy=f"{y:.0f}", r=_FACE, class_=classes("person", _hue(id)))
    initial = e("text", name[:1].upper(), x=f"{x:.0f}", y=f"{y + 9:.0f}", text_anchor="middle", class_="initial")
    label = e("text", name, x=f"{x:.0f}", y=f"{below:.0f}", text_anchor="middle", class_="person-name")
    if id <= 0:
        return [circle, initial, label]
    return [
        e(
            "a",
            circle,
            initial,
            label,
            href=UrlState(agent=id, room=id, view="agent").href(),
            aria_label=page.name(id),
        )
    ]


def _hue(id: int) -> str:
    return f"hue-{id * 5 % HUES}" if id > 0 else "architect"
