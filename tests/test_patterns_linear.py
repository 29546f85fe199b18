"""Every pattern of the package takes time in proportion to its text, whatever run of characters the text is.

A tool's output may be 50 kB of one letter. A pattern that is tried from each place of such a run, and each time looks
through the rest of it, holds the daemon for seconds.
"""

from __future__ import annotations

import importlib
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import hudkit
from hudkit.ingest.extraction import KnownStatements, any_case, count_tests, extract
from hudkit.lazy import lazy_pattern

PATTERNS = (re.Pattern, type(lazy_pattern("")), type(any_case("")))
"""A pattern, and what stands for one until it is used."""

RUNS = [
    *"aA0 \t\n-_./\\*`~#\"'=:<>([{@$%&|,;!?+^",
    *("\u200b", "é", "ab ", "a-", "a_", "a.", "a/", "a: ", "- ", "* ", "| ", "a@", "<a", "://", "a=", '\\"', '{"'),
    *("](", "1.", "a, ", "a\n", "http://a"),
]
SMALL, LARGEST = 500, 8_000
"""Characters of the texts that are compared: the small one, doubled until one takes long enough to be timed."""
CLEAR = 0.002
"""Seconds from which a time says something; who needs less for the largest text is not quadratic."""

ELSEWHERE = {
    ("hudkit.compose.formats.urls", "_BEHIND"): "matched behind a link, never looked for",
    ("hudkit.ingest.extraction.clause_parts", "_WHOLE"): "of a clause of at most 400 characters",
    ("hudkit.hosts.installing.jsonc", "_STRING"): "matched at one place, never looked for",
    ("hudkit.compose.formats.json_text", "_TOKEN"): "reads JSON that we wrote: each text in it ends",
    ("hudkit.hosts.mcp.client_install", "_TOKEN"): "reads what tomllib has read before: each text in it ends",
}


def module_names() -> list[str]:
    root = Path(hudkit.__file__).parent
    # By their files: to walk packages imports them all, and each run that collects these tests would pay for it.
    paths = (path.relative_to(root).with_suffix("").parts for path in root.rglob("*.py"))
    names = (".".join(("hudkit", *parts)).removesuffix(".__init__") for parts in paths)
    return sorted(name for name in names if not name.endswith("__main__"))


def patterns_of(name: str) -> Iterator[tuple[str, re.Pattern[str], bool]]:
    """Name and pattern of all that a module has in its globals, and whether it looks for the pattern anywhere."""
    module = importlib.import_module(name)
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    for variable, value in vars(module).items():
        single = isinstance(value, PATTERNS)
        uses = set(re.findall(rf"\b{re.escape(variable)}\.(\w+)\(", source)) if single else set()
        for pattern in _within(value):
            own = not single or re.search(rf"^{re.escape(variable)}\b.*=", source, re.MULTILINE)
            if isinstance(pattern.pattern, str) and own:
                yield variable, pattern, not uses or not uses <= {"match", "fullmatch"}


def _within(value: object, depth: int = 0) -> Iterator[re.Pattern[str]]:
    if isinstance(value, PATTERNS):
        yield cast("re.Pattern[str]", value)
    elif isinstance(value, dict) and depth < 3:
        for inner in value.values():
            yield from _within(inner, depth + 1)
    elif isinstance(value, (tuple, list)) and depth < 3:
        for inner in value:
            yield from _within(inner, depth + 1)


def seconds(pattern: re.Pattern[str], text: str, anywhere: bool) -> float:
    begin = time.thread_time()
    if anywhere:
        for _match in pattern.finditer(text):
            pass
    else:
        pattern.match(text)
        pattern.fullmatch(text)
    return time.thread_time() - begin


def grows_faster_than_its_text(pattern: re.Pattern[str], run: str, anywhere: bool) -> bool:
    """Whether twice the text takes clearly more than twice the time, two doublings in a row."""
    size, before, steep = SMALL, 0.0, 0
    while size <= LARGEST and steep < 2:
        taken = min(seconds(pattern, run * (size // len(run)), anywhere) for _ in range(3))
        steep = steep + 1 if before > CLEAR / 16 and taken > 3 * before else 0
        if taken > 20 * CLEAR:
            return steep > 0
        size, before = 2 * size, taken
    return steep >= 2


def is_suspect(pattern: re.Pattern[str], run: str, anywhere: bool) -> bool:
    """Whether the pattern takes long for half of the largest text: a quick look, for there are many patterns."""
    return seconds(pattern, run * (LARGEST // 2 // len(run)), anywhere) > CLEAR


@pytest.mark.slow
@pytest.mark.parametrize("name", module_names())
def test_every_pattern_is_linear(name: str) -> None:
    try:
        patterns = list(patterns_of(name))
    except ImportError as error:
        pytest.skip(str(error))
    steep = [
        (variable, run)
        for variable, pattern, anywhere in patterns
        if (name, variable) not in ELSEWHERE
        for run in RUNS
        # a busy machine may make one measure wrong, not three
        if is_suspect(pattern, run, anywhere)
        and all(grows_faster_than_its_text(pattern, run, anywhere) for _ in range(3))
    ]
    assert not steep


LONGEST = {
    "hudkit.ingest.extraction.tool_outputs": 400,  # a longer line is passed over
    "hudkit.ingest.extraction.extractor": 240,  # a longer sentence takes nothing back
    "hudkit.ingest.extraction.reversals": 240,
    "hudkit.ingest.extraction.decisions": 600,  # a longer run of characters without an end is no sentence
    "hudkit.ingest.extraction.values": 600,
}
"""Characters of the longest text that the patterns of a module are given: those need not be linear, but quick."""

SAID = (
    "Nothing of this says a thing that holds.",
    "Never push to main. You may push to main now. Port 80 is free.",
    "We decided to use tabs. I prefer short answers.",
)
STANDING = KnownStatements(
    rules=("never push to main", "keep it small"),
    decisions=("Let's use Redis",),
    preferences=("short answers",),
    facts=("The port is 8080",),
)


def caches_of_patterns() -> dict[tuple[str, str], Any]:
    """The functions that compile patterns when a first message is read, by module and name."""
    caches = {}
    for name in module_names():
        if name.startswith("hudkit.ingest"):
            for variable, value in vars(importlib.import_module(name)).items():
                made_of = str(getattr(value, "__annotations__", {}).get("return", ""))
                if hasattr(value, "cache_info") and "Pattern" in made_of and value.__module__ == name:
                    caches[name, variable] = value
    return caches


def user_of_pattern() -> str:
    """The module whose use of a pattern has it compiled now."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals["__name__"] in ("functools", any_case.__module__):
        frame = frame.f_back
    return str(frame.f_globals["__name__"])


@pytest.fixture(scope="module")
def late_patterns() -> dict[tuple[str, str], re.Pattern[str]]:
    """Every pattern that is compiled while messages are read, by the module that compiles it and its text."""
    caches = caches_of_patterns()
    for cache in caches.values():
        cache.cache_clear()
    compiled: dict[tuple[str, str], re.Pattern[str]] = {}
    compile_as_ever = re.compile

    def compile_and_keep(pattern, flags=0):
        made = compile_as_ever(pattern, flags)
        if isinstance(made.pattern, str):
            compiled[user_of_pattern(), made.pattern] = made
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(re, "compile", compile_and_keep)
        for said in SAID:
            extract(said, STANDING)
            extract(said, STANDING, by_agent=True)
        count_tests("pytest -q", "nothing that a runner prints")
    # a cache that nothing was asked of would hide its patterns from this test
    assert {name for name, cache in caches.items() if not cache.cache_info().misses} == set()
    return compiled


@pytest.mark.slow
def test_every_pattern_that_is_compiled_late_is_linear(late_patterns) -> None:
    assert len(late_patterns) > 150
    steep = [
        (module, text[:80], run)
        for (module, text), pattern in late_patterns.items()
        for run in RUNS
        # a busy machine may make one measure wrong, not three
        if all(takes_long(module, pattern, run) for _ in range(3))
    ]
    assert not steep, steep


def takes_long(module: str, pattern: re.Pattern[str], run: str) -> bool:
    """Whether a pattern is slow for the longest text that it is given, or grows faster than any text."""
    if module in LONGEST:
        return seconds(pattern, run * (LONGEST[module] // len(run)), True) > 2.5 * CLEAR
    return is_suspect(pattern, run, True) and grows_faster_than_its_text(pattern, run, True)


@pytest.mark.slow
@pytest.mark.parametrize("pattern", [r"a+b", r"\s+x", r"(?:a|b)*c", r"\w+=\w"])
def test_the_measure_sees_what_is_quadratic(pattern: str) -> None:
    compiled = re.compile(pattern)
    # a busy machine may hide it once
    assert any(
        is_suspect(compiled, run, True) and grows_faster_than_its_text(compiled, run, True)
        for run in ("a", " ")
        for _ in range(5)
    )
