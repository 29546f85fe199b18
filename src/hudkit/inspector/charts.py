"""Plots as SVG that was drawn on the server: an area of each layer, and lines. No script is needed to read them.

The picture is stretched to the width that there is; axes and names are text of the page beside it, which keeps its
size. Each plot is told in words and numbers, too: a legend in the order of the layers, and a table behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import floor, log10

import msgspec

from hudkit.compose.formats.html.hast import HtmlElement
from hudkit.web.elements import Child, classes, e

WIDTH, HEIGHT = 1_000, 200
"""The units of a picture; it is stretched."""

MAX_COLUMNS = 240
"""Calls that are drawn apart: of more, neighbours share a column, and the largest of them is drawn."""


MAX_HEADROOM = 4
"""How many times the highest value a limit may be to be drawn."""


class Series(msgspec.Struct, frozen=True):
    """One layer or line: its name, a class for its style, and a value for each call."""

    name: str
    style: str
    values: tuple[float, ...]


class CallMark(msgspec.Struct, frozen=True):
    """What stands under a column: the call's number, the words that are shown at a touch, and where it leads."""

    number: int
    words: str
    href: str


def stacked_plot(
    title: str,
    unit: str,
    series: Sequence[Series],
    marks: Sequence[CallMark],
    *,
    limit: int | None = None,
    rules: Sequence[int] = (),
) -> HtmlElement:
    """Return a plot of layers on one another, the first at the bottom, one column a call.

    `limit` is drawn as a line across, `rules` are the indices of calls before which a line stands.
    """
    columns = _kept_columns([sum(each.values[n] for each in series) for n in range(len(marks))])
    totals = [sum(each.values[n] for each in series) for n in columns]
    highest = max([*totals, 1])
    # A limit that is far above all of them would leave them no height.
    shows_limit = limit is not None and highest <= limit <= MAX_HEADROOM * highest
    top = float(limit) if shows_limit and limit is not None else _round_top(highest)
    edge = [0.0] * len(columns)
    areas = []
    for each in series:
        ceiling = [low + each.values[n] for low, n in zip(edge, columns, strict=True)]
        areas.append(e("path", d=_area(edge, ceiling, top), class_=classes("area", each.style)))
        edge = ceiling
    lines: list[Child] = [_rule(columns, index) for index in rules]
    if shows_limit and limit is not None:
        unit += f"; dashed: the limit of {limit:,}"
        lines.append(_level(limit, top, "limit"))
    elif limit is not None:
        unit += f"; the limit is {limit:,}"
    legend = [(each.name, each.style, f"{each.values[-1]:,.0f}") for each in reversed(series)]
    return _figure(title, unit, top, [areas, lines, _columns(columns, marks)], legend, marks, _table(series, marks))


def line_plot(title: str, unit: str, series: Sequence[Series], marks: Sequence[CallMark]) -> HtmlElement:
    """Return a plot of lines over the calls; each has its own dash."""
    columns = _kept_columns([max(each.values[n] for each in series) for n in range(len(marks))])
    top = _round_top(max([value for each in series for value in each.values] + [1e-9]))
    paths = [
        e("path", d=_line([each.values[n] for n in columns], top), class_=classes("curve", each.style))
        for each in series
    ]
    legend = [(each.name, each.style, _amount(each.values[-1])) for each in series]
    return _figure(title, unit, top, [paths, _columns(columns, marks)], legend, marks, _table(series, marks))


def share_bar(parts: Sequence[tuple[str, str, int]], whole: int) -> HtmlElement:
    """Return a bar of parts (name, style, tokens) that stand side by side in a whole."""
    left, rects = 0.0, []
    for name, style, tokens in parts:
        width = WIDTH * tokens / max(1, whole)
        rects.append(
            e(
                "rect",
                e("title", f"{name}: {tokens:,}"),
                x=_n(left),
                y=0,
                width=_n(width),
                height=10,
                class_=classes("slab", style),
            )
        )
        left += width
    return e("svg", rects, viewBox=f"0 0 {WIDTH} 10", preserveAspectRatio="none", class_="share", aria_hidden="true")


def _figure(
    title: str,
    unit: str,
    top: float,
    drawn: Child,
    legend: Sequence[tuple[str, str, str]],
    marks: Sequence[CallMark],
    table: HtmlElement,
) -> HtmlElement:
    middle = marks[len(marks) // 2].number
    return e(
        "figure",
        e("figcaption", e("b", title), e("span", unit, class_="unit")),
        e(
            "div",
            e(
                "div",
                e("span", _amount(top)),
                e("span", _amount(top / 2)),
                e("span", "0"),
                class_="axis up",
                aria_hidden="true",
            ),
            e(
                "svg",
                _level(top / 2, top, "grid"),
                drawn,
                viewBox=f"0 0 {WIDTH} {HEIGHT}",
                preserveAspectRatio="none",
                role="img",
                aria_label=f"{title}, {unit}: " + ", ".join(f"{name} {value}" for name, _, value in legend),
            ),
            e(
                "div",
                e("span", f"call {marks[0].number:,}"),
                e("span", f"{middle:,}") if len(marks) > 2 else None,
                e("span", f"{marks[-1].number:,}") if len(marks) > 1 else None,
                class_="axis along",
                aria_hidden="true",
            ),
            class_="plot",
        ),
        e(
            "ul",
            [e("li", e("span", class_=classes("key", style)), name, e("b", value)) for name, style, value in legend],
            class_="legend",
        ),
        e("details", e("summary", "The numbers"), e("div", table, class_="scroll"), class_="numbers"),
        class_="chart",
    )


def _table(series: Sequence[Series], marks: Sequence[CallMark]) -> HtmlElement:
    """The values behind a plot; of very many calls, those of each n-th."""
    step = max(1, len(marks) // 60)
    rows = sorted({*range(0, len(marks), step), len(marks) - 1})
    head = e("tr", e("th", "call", scope="col"), [e("th", each.name, scope="col") for each in series])
    return e(
        "table",
        e("thead", head),
        e(
            "tbody",
            [
                e(
                    "tr",
                    e("th", f"{marks[n].number:,}", scope="row"),
                    [e("td", _amount(each.values[n])) for each in series],
                )
                for n in rows
            ],
        ),
    )


def _kept_columns(sizes: Sequence[float]) -> list[int]:
    """The indices that are drawn: all, or of each group of neighbours the largest."""
    count = len(sizes)
    if count <= MAX_COLUMNS:
        return list(range(count))
    edges = [count * n // MAX_COLUMNS for n in range(MAX_COLUMNS + 1)]
    return [max(range(low, high), key=lambda n: sizes[n]) for low, high in pairwise(edges)]


def _area(lower: Sequence[float], ceiling: Sequence[float], top: float) -> str:
    """The outline of a layer in steps: along the upper edge and back along the lower."""
    width = WIDTH / len(lower)
    up = [f"L{_n(n * width)} {_y(value, top)}H{_n((n + 1) * width)}" for n, value in enumerate(ceiling)]
    back = [
        f"L{_n((n + 1) * width)} {_y(value, top)}H{_n(n * width)}" for n, value in reversed(list(enumerate(lower)))
    ]
    return f"M{''.join(up)[1:]}{''.join(back)}Z"


def _line(values: Sequence[float], top: float) -> str:
    width = WIDTH / len(values)
    points = [f"{_n((n + 0.5) * width)} {_y(value, top)}" for n, value in enumerate(values)]
    if len(points) == 1:
        return f"M0 {_y(values[0], top)}H{WIDTH}"
    return "M" + "L".join(points)


def _columns(columns: Sequence[int], marks: Sequence[CallMark]) -> list[HtmlElement]:
    """An unseen link over each column, with its words for who points at it."""
    width = WIDTH / len(columns)
    return [
        e(
            "a",
            e(
                "rect",
                e("title", marks[index].words),
                x=_n(n * width),
                y=0,
                width=_n(width),
                height=HEIGHT,
                class_="column",
            ),
            href=marks[index].href,
            tabindex=-1,
            aria_label=marks[index].words,
        )
        for n, index in enumerate(columns)
    ]


def _rule(columns: Sequence[int], index: int) -> HtmlElement:
    place = sum(each < index for each in columns)
    x = _n(WIDTH * place / max(1, len(columns)))
    return e("line", x1=x, x2=x, y1=0, y2=HEIGHT, class_="rule")


def _level(value: float, top: float, style: str) -> HtmlElement:
    y = _y(value, top)
    return e("line", x1=0, x2=WIDTH, y1=y, y2=y, class_=style)


def _round_top(highest: float) -> float:
    """The end of an axis: the next number above that is easy to halve, such as 200, 400, 600, 800 or 1,000."""
    unit = 10.0 ** floor(log10(highest))
    return next(step * unit for step in (1, 2, 4, 6, 8, 10) if step * unit >= highest)


def _y(value: float, top: float) -> str:
    return _n(HEIGHT - HEIGHT * value / top)


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _amount(value: float) -> str:
    """A number of an axis: `44,000`, or with digits where it is small."""
    return f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.3g}"
