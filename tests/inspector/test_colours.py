"""Contrast of the pages' colours by WCAG 2.2 AA, in both schemes: 4.5 for text, 3 for what carries a meaning."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

BASE = (files("hudkit.web") / "static" / "base.css").read_text("utf-8")
OWN = (files("hudkit.inspector") / "static" / "inspector.css").read_text("utf-8")

TEXT = ("text", "soft", "accent", "warm", "bad", "good", "yellow")
GROUNDS = ("back", "pane", "raised", "tint")
GRAPHICS = ("base", "tail", "accent", "bad", "good", "yellow", "soft")
"""What a bar or line is told by; the layers of an area are parted by a line and named beside it."""


def colours(scheme: int) -> dict[str, str]:
    """The colour of each name: 0 light, 1 dark."""
    rows = re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)", BASE + OWN)
    return {name: pair[scheme] for name, *pair in rows}


def luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    digits = "".join(digit * 2 for digit in digits) if len(digits) == 3 else digits
    channels = [int(digits[n : n + 2], 16) / 255 for n in (0, 2, 4)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_the_ratio_is_that_of_the_standard() -> None:
    assert contrast("#fff", "#000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_can_be_read_on_every_ground(scheme: int) -> None:
    named = colours(scheme)
    faint = [
        (text, ground, round(contrast(named[text], named[ground]), 2))
        for text in TEXT
        for ground in GROUNDS
        if contrast(named[text], named[ground]) < 4.5
    ]
    assert faint == []
    for ground in ("add", "cut"):
        assert contrast(named["text"], named[ground]) >= 4.5
    assert contrast(named["on-accent"], named["accent"]) >= 4.5


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_bars_and_lines_stand_out(scheme: int) -> None:
    named = colours(scheme)
    faint = [
        (name, ground, round(contrast(named[name], named[ground]), 2))
        for name in GRAPHICS
        for ground in ("back", "raised")
        if contrast(named[name], named[ground]) < 3
    ]
    assert faint == []
