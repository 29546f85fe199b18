"""Debian's Chromium for tests of pages, and what they measure in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
NAMES = ("chromium", "chromium-browser", "google-chrome")


def _missing(what: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(f"CI needs {what}")
    pytest.skip(f"{what} is not here")


@contextmanager
def chromium(*flags: str) -> Iterator[Any]:
    """Debian's Chromium, started with these flags; without it a test is skipped, and fails in CI."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        _missing("Chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("playwright")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=flags)
        yield opened
        opened.close()


CONTRAST = """() => {
    const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const seen = (colour) => {
        pen.clearRect(0, 0, 1, 1); pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);
        return [...pen.getImageData(0, 0, 1, 1).data];
    };
    const light = (rgb) => rgb.slice(0, 3).map((v) => v / 255)
        .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
    const under = (one) => {
        for (; one; one = one.parentElement) {
            const colour = seen(getComputedStyle(one).backgroundColor);
            if (colour[3] > 250) return colour;
        }
        return seen(getComputedStyle(document.documentElement).backgroundColor);
    };
    const faint = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const one = texts.currentNode.parentElement;
        if (!texts.currentNode.textContent.trim() || one.closest(":disabled, .off, svg")) continue;
        if (!one.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
        const [a, b] = [light(seen(getComputedStyle(one).color)), light(under(one))];
        if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5) faint.push(`${one.tagName}.${one.className}`);
    }
    return faint;
}"""
"""A script that returns the elements whose text has a contrast below 4.5 with what is under it (WCAG 2.2 AA)."""
