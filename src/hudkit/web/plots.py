"""Plots of worlds, drawn as SVG: a strip of dots a variant, and lines over time with the spread around them.

A picture is stretched to the width that there is; its axes and names are text beside it, which keeps its size. What a
plot shows is in its label, too, for readers who do not see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

import msgspec

from hudkit.compose.formats.html.hast import HtmlElement
from hudkit.web.elements import classes, e

_WIDTH, _HEIGHT = 1_000, 200
_STYLES = 6


class Curve(msgspec.Struct, frozen=True):
    """A line over time: its name, the number of its style, and at each of the plot's times a value and its spread."""

    name: str
    style: int
    values: tuple[float, ...]
    spread: tuple[float, ...] = ()


def style_name(number: int) -> str:
    """Return the class of the colour and dash of a variant, or of a choice."""
    return f"v{number % _STYLES}"


def amount(value: float) -> str:
    """Return a number as people read it: `44,000`, `12.5`, `0.034`."""
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    if value == int(value):
        return f"{value:.0f}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3g}"


def strip_plot(title: str, unit: str, rows: Sequence[tuple[str, int, Sequence[float], float, float]]) -> HtmlElement:
    """Return a figure with a row for each variant: name, style, values of its runs as dots, mean and deviation."""
    top = _round_top(max([value for _, _, values, _, _ in rows for value in values]))
    cells = []
    for name, style, values, mean, deviation in rows:
        low, high = max(0.0, mean - deviation), min(top, mean + deviation)
        words = f"{name}: mean {amount(mean)}, standard deviation {amount(deviation)}, of {len(values)} runs"
        picture = e(
            "svg",
            e("line", x1=0, x2=_WIDTH, y1=10, y2=10, class_="base"),
            e("rect", x=_n(_x(low, top)), y=2, width=_n(_x(high, top) - _x(low, top)), height=16, class_="spread"),
            [e("path", d=f"M{_n(_x(value, top))} 10h.01", class_="dot") for value in sorted(values)],
            e("line", x1=_n(_x(mean, top)), x2=_n(_x(mean, top)), y1=0, y2=20, class_="mean"),
            viewBox=f"0 0 {_WIDTH} 20",
            preserveAspectRatio="none",
            role="img",
            aria_label=words,
            class_=style_name(style),
        )
        value = e("span", amount(mean), e("small", f" ± {amount(deviation)}"), class_="value")
        cells += [e("span", name, class_="who", title=name), picture, value]
    ends = e("span", e("span", "0"), e("span", amount(top)), class_="ends", aria_hidden="true")
    return e(
        "figure",
        e("figcaption", e("b", title), e("span", unit)),
        e("div", cells, ends, class_="strip"),
    )


def time_plot(
    title: str,
    unit: str,
    minutes: Sequence[float],
    curves: Sequence[Curve],
    events: Sequence[tuple[float, str]] = (),
) -> HtmlElement:
    """Return a figure of curves over the world's minutes; `events` are drawn as lines across, with their words."""
    highest = [
        value + (curve.spread[n] if curve.spread else 0) for curve in curves for n, value in enumerate(curve.values)
    ]
    top = _round_top(max(highest))
    end = max(minutes[-1], 1e-9)
    drawn = [
        e("line", e("title", words), x1=_n(_x(minute, end)), x2=_n(_x(minute, end)), y1=0, y2=_HEIGHT, class_="event")
        for minute, words in events
        if minute <= end
    ]
    for curve in curves:
        if curve.spread:
            up = [(minute, curve.values[n] + curve.spread[n]) for n, minute in enumerate(minutes)]
            down = [(minute, max(0.0, curve.values[n] - curve.spread[n])) for n, minute in enumerate(minutes)]
            path = "L".join(_point(minute, value, end, top) for minute, value in [*up, *reversed(down)])
            drawn.append(e("path", d=f"M{path}Z", class_=classes("band", style_name(curve.style))))
    for curve in curves:
        path = "L".join(_point(minute, curve.values[n], end, top) for n, minute in enumerate(minutes))
        drawn.append(e("path", d=f"M{path}", class_=classes("curve", style_name(curve.style))))
    last = ", ".join(f"{curve.name} {amount(curve.values[-1])}" for curve in curves)
    picture = e(
        "svg",
        e("line", x1=0, x2=_WIDTH, y1=_HEIGHT / 2, y2=_HEIGHT / 2, class_="base"),
        drawn,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"{title}, {unit}, over {amount(end)} minutes; at the end: {last}",
    )
    up_axis = e(
        "span", [e("span", amount(value)) for value in (top, top / 2, 0)], class_="axis up", aria_hidden="true"
    )
    along = e(
        "span",
        [e("span", label) for label in ("0", f"{amount(end / 2)}", f"{amount(end)} minutes")],
        class_="axis along",
        aria_hidden="true",
    )
    legend = [
        e(
            "li",
            e("span", class_=classes("key", style_name(curve.style))),
            f"{curve.name} ",
            e("b", amount(curve.values[-1])),
        )
        for curve in curves
    ]
    return e(
        "figure",
        e("figcaption", e("b", title), e("span", unit)),
        e("div", up_axis, picture, along, class_="plot"),
        e("ul", legend, class_="legend"),
    )


def _round_top(highest: float) -> float:
    """Return the end of an axis: the next number above that is easy to halve; 1 where there is nothing."""
    if highest <= 0:
        return 1.0
    unit = 10.0 ** floor(log10(highest))
    return next(step * unit for step in (1, 2, 4, 6, 8, 10) if step * unit >= highest * 0.999_999)


def _x(value: float, end: float) -> float:
    return _WIDTH * value / end


def _point(minute: float, value: float, end: float, top: float) -> str:
    return f"{_n(_x(minute, end))} {_n(_HEIGHT - _HEIGHT * value / top)}"


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
