"""Which characters of text runs to escape, so that runs of `*`, `_`, `~` and backticks pair with nothing."""

from __future__ import annotations

import re

from hudkit.compose.formats.markdown.flanking import may_close, may_open

_RUNS = {"*": re.compile(r"\*+"), "_": re.compile(r"_+"), "~": re.compile(r"~+"), "`": re.compile(r"`+")}
RAW, TEXT, LABEL, MARK = range(4)
"""What a character of a line is: markup, text, text in a label, a marker of emphasis or the like."""


def escape_runs(line: str, modes: bytearray, escaped: set[int]) -> None:
    """Add to `escaped` the places in runs that might pair; places already in it are taken as escaped."""
    for marker in "*_~":
        if marker in line:
            _attention(marker, line, modes, escaped)
    if "`" in line:
        _backticks(line, modes, escaped)


def _attention(marker: str, line: str, modes: bytearray, escaped: set[int]) -> None:
    """Leave no run of text that opens before one that closes; beside real markers escape every run that does either.

    Of all places to part the line (no run before it opens, none after it closes) the cheapest is taken.
    """
    runs: list[tuple[int, int, bool, bool]] = []
    real = False
    for match in _RUNS[marker].finditer(line):
        start, end = match.span()
        while start < end and start in escaped:
            start += 1
        if start == end or modes[start] == RAW:
            continue
        places = [place for place in range(start, end) if modes[place] != MARK]
        if len(places) < end - start:
            # text that touches a marker would join its run
            real = True
            escaped.update(places)
            continue
        before = line[start - 1] if start else " "
        after = line[end] if end < len(line) else " "
        opens, closes = may_open(marker, before, after), may_close(marker, before, after)
        if "~" in (before, after):
            # cmark-gfm looks past tildes for the neighbours of a run
            opens = closes = True
        if marker == "~" and MARK in (modes[max(start - 1, 0)], modes[min(end, len(line) - 1)]):
            escaped.update(range(start, end))
        elif opens or closes:
            runs.append((start, end, opens, closes))
    if real:
        for start, end, _, _ in runs:
            escaped.update(range(start, end))
    elif len(runs) > 1:
        _part(runs, escaped)


def _part(runs: list[tuple[int, int, bool, bool]], escaped: set[int]) -> None:
    cost = sum(end - start for start, end, _, closes in runs[1:] if closes)
    best, place = cost, 0
    for n in range(1, len(runs)):
        start, end, opens, _ = runs[n - 1]
        cost += (end - start) if opens else 0
        start, end, _, closes = runs[n]
        cost -= (end - start) if closes else 0
        if cost < best:
            best, place = cost, n
    for n, (start, end, opens, closes) in enumerate(runs):
        if (n < place and opens) or (n > place and closes):
            escaped.update(range(start, end))


def _backticks(line: str, modes: bytearray, escaped: set[int]) -> None:
    """From the end: a run of text stays as it is if no run of its length follows it.

    An escape does not hide a backtick from a code span that is open, so it is the opening run that is escaped.
    """
    following: set[int] = set()
    for match in reversed(list(_RUNS["`"].finditer(line))):
        start, end = match.span()
        length = end - start
        places = [place for place in range(start, end) if modes[place] != RAW]
        if not places:
            following.add(length)
        elif len(places) < length:
            raw = length - len(places)
            escaped.update(places)
            following |= {1, raw, raw + 1}
        elif start in escaped:
            # escaped as a fence: the rest of the run opens, the whole of it closes
            if length - 1 in following:
                escaped.update(places)
                following.add(1)
            else:
                following |= {length, length - 1}
        elif length in following:
            escaped.update(places)
            following.add(1)
        else:
            following.add(length)
