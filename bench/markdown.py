"""Markdown: writing beside mdformat, the cost of escapes, and what a warm render saves."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from bench.figures import Figure
from hudkit.compose import Element, h
from hudkit.compose.formats.markdown import parse, render, write
from hudkit.compose.formats.mdast import Paragraph, Text
from hudkit.compose.formats.mdast_tree import to_mdast

TITLE = "writing Markdown, and what its escapes cost"
_TEXTS = Path(__file__).parents[1] / "tests" / "compose" / "formats" / "hud_texts.txt"


def _optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _best(work: Callable[[], object], times: int = 15) -> float:
    """Seconds of the fastest of several runs."""
    seconds = []
    for _ in range(times):
        start = perf_counter()
        work()
        seconds.append(perf_counter() - start)
    return min(seconds)


def _document(texts: list[str], changed: int = -1) -> Element:
    """Six sections of ten items; `changed` makes one item another."""
    return h.document[
        (
            h.section(title=f"Section {n}")[
                h.list[
                    (
                        h.item[f"{texts[(10 * n + m) % len(texts)]} ({n}.{m}{changed if (n, m) == (2, 3) else ''})"]
                        for m in range(10)
                    )
                ]
            ]
            for n in range(6)
        )
    ]


def _speed(texts: list[str]) -> list[Figure]:
    document = _document(texts)
    text = write(to_mdast(document))
    ours = _best(lambda: write(parse(text)))
    cold = _best(lambda: write(to_mdast(document)))
    render(document)
    warm = []
    for n in range(30):
        tree = _document(texts, n)
        start = perf_counter()
        render(tree)
        warm.append(perf_counter() - start)
    changed = median(warm)
    note = f"{changed * 1e6:.0f} µs beside {cold * 1e3:.1f} ms"
    figures = [Figure("60 items of which one changed, beside all of them", changed / cold, 0.1, note)]
    if mdformat := _optional("mdformat"):
        theirs = _best(lambda: mdformat.text(text), 5)
        figures.append(Figure("reading and writing, beside mdformat", ours / theirs, 1.0))
    return figures


def _escapes(texts: list[str]) -> list[Figure]:
    bpe = _optional("rs_bpe.bpe")
    if bpe is None:
        return []
    written = [write(Paragraph((Text(text),)))[:-1] for text in texts]
    mdformat = _optional("mdformat")
    figures = []
    for encoding in ("o200k_base", "cl100k_base"):
        count = getattr(bpe.openai, encoding)().count
        raw = sum(map(count, texts))
        note = ""
        if mdformat:
            theirs = sum(count(mdformat.text(text + "\n").rstrip("\n")) for text in written)
            note = f"mdformat {theirs / raw:.3f}"
        figures.append(
            Figure(f"tokens with escapes, beside none, {encoding}", sum(map(count, written)) / raw, 1.032, note)
        )
    return figures


def run() -> list[Figure]:
    """Those that compare with mdformat, or count tokens, only where the packages are there."""
    texts = _TEXTS.read_text().splitlines()
    return _speed(texts) + _escapes(texts)
