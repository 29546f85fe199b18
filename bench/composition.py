"""Fitting trees beside vscode-prompt-tsx and priompt, and fitting again after one node changed.

The same chunks, priorities and limit; the same words, or the same o200k counts. priompt runs in this process with the
same counter; vscode-prompt-tsx in node is given the o200k count of each chunk, so that counting costs it nothing.
"""

from __future__ import annotations

import functools
import gc
import importlib
import json
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from bench.figures import Figure, Skipped
from hudkit.compose import Element, Node, h
from hudkit.compose.fitting import Fitter, fit
from hudkit.tokens.counting import load_tokenizer

TITLE = "fitting trees beside vscode-prompt-tsx and priompt"
SIZES = (1_000, 8_000, 100_000)
PROMPT_TSX = "@vscode/prompt-tsx@0.4.0-alpha.9"
LIMIT = 1000
PATIENCE = 40.0
"""Seconds after which an anchor is stopped; it counts as that slow."""

_WORDS = (
    "report",
    "column",
    "table",
    "finance",
    "staging",
    "request",
    "budget",
    "never",
    "change",
    "keep",
    "the",
    "of",
)


class Chunk(msgspec.Struct, frozen=True):
    """A text and its priority, which no other has."""

    text: str
    priority: int


def chunks(size: int) -> list[Chunk]:
    """Texts of 5 to 30 words with priorities in random order."""
    draw = random.Random(size)
    ranks = draw.sample(range(1, size + 1), size)
    return [
        Chunk(f"{n} " + " ".join(draw.choice(_WORDS) for _ in range(draw.randrange(4, 30))), rank)
        for n, rank in enumerate(ranks)
    ]


def words(text: str) -> int:
    """One token per word."""
    return len(text.split())


class Sum:
    """The cost of a document of texts: that of each text, counted once."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self.count = count
        self.known: dict[Node, int] = {}

    def __call__(self, element: Element) -> int:
        if element.tag == "document":
            try:
                return sum(map(self.known.__getitem__, element.children))
            except KeyError:
                return sum([self(one) for one in element.children if isinstance(one, Element)])
        found = self.known.get(element)
        if found is None:
            found = self.known[element] = sum([self.count(one) for one in element.children if isinstance(one, str)])
        return found


def _tree(parts: list[Chunk]) -> Element:
    return h.document[[h.text(priority=one.priority)[one.text] for one in parts]]


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    start = perf_counter()
    found = work()
    return perf_counter() - start, found


def ours(parts: list[Chunk], count: Callable[[str], int]) -> tuple[float, float, int]:
    """Seconds of the first fit, the tree made of the chunks included, and of one after a change; and its tokens."""
    first = again = float("inf")
    tokens = 0
    for n in range(3):
        fitter = Fitter(Sum(count))
        seconds, found = _timed(lambda fitter=fitter: fitter.fit(_tree(parts), LIMIT))  # type: ignore[misc]
        first, tokens = min(first, seconds), found.tokens
        made = list(_tree(parts).children)
        fitter.fit(Element("document", (), tuple(made)), LIMIT)
        made[len(made) // 2] = h.text(priority=parts[len(made) // 2].priority)[f"changed {n}"]
        changed = Element("document", (), tuple(made))
        seconds, found = _timed(lambda fitter=fitter, changed=changed: fitter.fit(changed, LIMIT))  # type: ignore[misc]
        again = min(again, seconds)
        assert found == fit(changed, LIMIT, Sum(count))
    return first, again, tokens


def _priompt() -> Any:
    try:
        return importlib.import_module("priompt")
    except ImportError as error:
        raise Skipped("the Python package priompt is not installed") from error


@functools.cache
def _modules() -> Path:
    """The folder that holds vscode-prompt-tsx; npm installs it the first time."""
    place = Path(__file__).parent.parent / ".cache" / "bench"
    if not (place / "node_modules" / "@vscode" / "prompt-tsx").is_dir():
        npm = shutil.which("npm")
        if npm is None:
            raise Skipped("npm is not installed")
        place.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(place), PROMPT_TSX]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Skipped(f"npm cannot install {PROMPT_TSX}")
    return place / "node_modules"


class _Counter:
    """What priompt asks of a tokenizer."""

    name = "bench"
    should_add_eos_token_to_each_message = False

    def __init__(self, count: Callable[[str], int]) -> None:
        self.num_tokens = count

    def estimate_tokens_using_char_count(self, text: str) -> tuple[int, int]:
        return 0, len(text)


def priompt(parts: list[Chunk], count: Callable[[str], int]) -> tuple[float, int]:
    """Seconds and tokens of priompt."""
    room = _priompt()
    make = room.Scope

    def work() -> Any:
        scopes = [make(one.text + "\n", p=one.priority) for one in parts]
        return room.render(make(*scopes), {"token_limit": LIMIT, "tokenizer": _Counter(count)})

    seconds, found = _timed(work)
    return seconds, int(found["token_count"])


def prompt_tsx(parts: list[Chunk], counts: list[int] | None) -> tuple[float, int]:
    """Seconds and tokens of vscode-prompt-tsx."""
    node, modules = shutil.which("node"), _modules()
    if node is None:
        raise Skipped("node is not installed")
    script = str(Path(__file__).with_suffix(".mjs"))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "chunks.json"
        file.write_text(json.dumps({"chunks": msgspec.to_builtins(parts), "counts": counts}))
        runs = "2" if len(parts) <= 1000 else "1"
        try:
            done = subprocess.run(
                [node, script, str(modules.resolve()), str(file), str(LIMIT), runs],
                check=True,
                capture_output=True,
                timeout=PATIENCE,
            )
        except subprocess.TimeoutExpired:
            return PATIENCE, 0
    found = json.loads(done.stdout)
    return float(found["seconds"]), int(found["tokens"])


def run() -> list[Figure]:
    """Ratios of times in one run: ours divided by each anchor's, and a fit after a change by the first."""
    _priompt()
    _, tally = load_tokenizer("o200k_base")
    figures: list[Figure] = []
    for size in SIZES:
        parts = chunks(size)
        for name, count in (("words", words), ("o200k", tally)):
            first, again, tokens = ours(parts, count)
            counts = None if name == "words" else [tally(one.text) for one in parts]
            beside = {"prompt-tsx": prompt_tsx(parts, counts), "priompt": priompt(parts, count)}
            for anchor, (seconds, kept) in beside.items():
                most = 1 / 20 if anchor == "prompt-tsx" and size == 8_000 else 1.0
                theirs = f"stopped after {seconds:.0f} s" if not kept else f"{seconds * 1000:.0f} ms, {kept} tokens"
                note = f"{first * 1000:.1f} ms, {tokens} tokens; theirs {theirs}"
                figures.append(Figure(f"{size:,} chunks, {name}: first fit ÷ {anchor}", first / seconds, most, note))
            figures.append(
                Figure(
                    f"{size:,} chunks, {name}: fit again ÷ first fit", again / first, 0.1, f"{again * 1000:.2f} ms"
                )
            )
    return figures
