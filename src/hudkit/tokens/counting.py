"""Counting tokens: exact where a tokenizer is installed, an upper bound that says so where none is.

**The bound.** Every token of a byte-level BPE stands for at least one byte, so a text of n bytes of UTF-8 has at most
n tokens. Where no tokenizer loads, n is what is counted: "hello world" has 2 tokens and counts as 11. Less is then
shown than could be, and no budget is ever overrun.

**Paragraphs.** Before they merge bytes, both vocabularies cut a text into words. No word reaches from the line break
at the end of a paragraph into the next one, unless that one begins with white space or (o200k takes `!\\n\\n/` as one
word) with a slash. So a long text has exactly the tokens of its paragraphs, and a frame of which one paragraph is new
is counted by counting that one. Example: `# Notes\\n\\n` and `- a\\n` have 3 and 3 tokens, and 6 together.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import cache, cached_property
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from sys import getsizeof
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

from hudkit.errors import ConfigError

if TYPE_CHECKING:
    from hudkit.tokens.rank_table import TableCounter

ENCODINGS = ("o200k_base", "cl100k_base")
"""The vocabularies that can be counted with; the first is the default."""

DEFAULT_ENCODING = ENCODINGS[0]

APPROXIMATE = "approx-utf8"
"""The name of the counter that stands in where no tokenizer can be loaded."""

MEMO_BYTES = 8 * 1024 * 1024
"""Memory that one counter's memo may hold, strings included."""

MEMO_TEXT = 16 * 1024
"""Texts, or paragraphs of longer ones, of more bytes than this are counted anew each time."""

LONG_TEXT = 1024
"""Characters from which a text is counted by paragraphs: the whole of a shorter one is met again more often."""

MAX_SPLIT = 64 * 1024
"""Characters from which a text is counted whole and not remembered: no frame is so long, and the paragraphs of a
large file would push all blocks out of the memo."""

_ENTRY_BYTES = 200  # what an entry costs beside its string: the links, the number, the table's slack

CountFunction = Callable[[str], int]
"""Takes text without lone surrogates, returns its number of tokens."""


def _rs_bpe(encoding: str) -> CountFunction:
    openai = import_module("rs_bpe.bpe").openai
    count: CountFunction = getattr(openai, encoding)().count
    return count


def _bpe_openai(encoding: str) -> CountFunction:
    count: CountFunction = _bindings().tokenizer_for_encoding(encoding).count
    return count


def _bindings() -> ModuleType:
    """Load the extension module alone: the package's `__init__` costs ten times the load of the vocabulary."""
    package = find_spec("bpe_openai")
    spec = PathFinder.find_spec("bpe_openai._bindings", package.submodule_search_locations if package else [])
    if spec is None or spec.loader is None:
        raise ImportError("bpe_openai has no extension module _bindings")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOKENIZER_PACKAGES: tuple[tuple[str, Callable[[str], CountFunction]], ...] = (
    ("rs-bpe", _rs_bpe),
    ("bpe-openai", _bpe_openai),
)
"""Tried in order; both count alike (docs/decisions/0003-token-counter.md)."""


def load_tokenizer(
    encoding: str, packages: tuple[tuple[str, Callable[[str], CountFunction]], ...] = TOKENIZER_PACKAGES
) -> tuple[str, CountFunction]:
    """Return the first package that loads and counts, and its counting function.

    Raises `ConfigError` for an encoding that is not one of `ENCODINGS`, and, naming each package and its
    reason, where none can be used.
    """
    if encoding not in ENCODINGS:
        raise ConfigError(
            f"unknown token encoding {encoding!r}", hint=f"use one of {', '.join(ENCODINGS)}", encoding=encoding
        )
    reasons: dict[str, str] = {}
    for package, loader in packages:
        try:
            count = loader(encoding)
            probe = count("a b")  # what counts this wrong has another vocabulary than it says
        except Exception as error:  # a broken binary can raise anything; the next package may still work
            reasons[package] = f"{type(error).__name__}: {error}"
            continue
        if probe == 2:
            return package, count
        reasons[package] = f"it counts 'a b' as {probe} tokens, not 2"
    raise ConfigError(
        f"no tokenizer package can count {encoding}: "
        + "; ".join(f"{package} ({reason})" for package, reason in reasons.items()),
        hint="reinstall one of them: pip install --force-reinstall rs-bpe (Python <= 3.13) or bpe-openai",
        encoding=encoding,
        reasons=reasons,
    )


class TokenCounter(Protocol):
    """Counts tokens. `count("") == 0`; any string is accepted, lone surrogates count as U+FFFD."""

    @property
    def name(self) -> str:
        """Return what is counted with: an encoding, or `approx-utf8` for an estimate (contract 8)."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`; an approximate counter never says less than the exact one."""
        ...


def encodable(text: str) -> str:
    """Return the text as it can leave the process: surrogate pairs joined, a lone surrogate as U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Utf8Counter:
    """An upper bound for every byte-level BPE: no token is shorter than one byte of UTF-8.

    English text comes out about four times too high, so less is shown and no budget is overrun. `reason`
    says why it is in use.
    """

    name = APPROXIMATE
    package = ""

    def __init__(self, reason: str = "") -> None:
        self.reason = reason

    def count(self, text: str) -> int:
        """Return the bytes of UTF-8 that `text` has."""
        try:
            return len(text.encode())
        except UnicodeEncodeError:
            return len(encodable(text).encode())


class ExactCounter:
    """Exact counts of one encoding, remembered by content within `memo_bytes` of memory; safe with threads.

    Loads its vocabulary when it is made (about 0.1 s, 65 MB); raises `ConfigError` where it cannot.
    """

    reason = ""

    def __init__(self, encoding: str = DEFAULT_ENCODING, *, memo_bytes: int = MEMO_BYTES) -> None:
        self.package, count = load_tokenizer(encoding)
        self.name = encoding
        self._memo = CountMemo(count, memo_bytes)

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        if LONG_TEXT <= len(text) <= MAX_SPLIT:
            return sum(map(self._memo.count, _paragraphs(text)))
        return self._memo.count(text)


def _paragraphs(text: str) -> list[str]:
    """The parts of a text, cut behind blank lines where no word of either vocabulary reaches across the cut."""
    parts = []
    start, end = 0, text.find("\n\n") + 2
    while 2 <= end < len(text):
        if text[end] != "/" and not text[end].isspace():
            parts.append(text[start:end])
            start = end
        end = text.find("\n\n", end) + 2
    parts.append(text[start:])
    return parts


class CountMemo:
    """A bounded memory of counts by content, the least recently used forgotten first."""

    def __init__(self, count: CountFunction, limit: int = MEMO_BYTES) -> None:
        self._count = count
        self._limit = limit
        self._counts: OrderedDict[str, int] = OrderedDict()
        self._lock = Lock()
        self.held = 0
        """Bytes in use; never more than the limit."""

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`, counted once while it is remembered."""
        with self._lock:
            remembered = self._counts.get(text)
            if remembered is not None:
                self._counts.move_to_end(text)
                return remembered
        # Counted without the lock: two threads may count the same text, none waits for another's long one.
        number = _count_any(self._count, text)
        weight = getsizeof(text) + _ENTRY_BYTES
        if weight <= min(MEMO_TEXT, self._limit):
            self._remember(text, number, weight)
        return number

    def _remember(self, text: str, number: int, weight: int) -> None:
        with self._lock:
            if text in self._counts:
                return
            while self.held + weight > self._limit:
                oldest, _ = self._counts.popitem(last=False)
                self.held -= getsizeof(oldest) + _ENTRY_BYTES
            self._counts[text] = number
            self.held += weight


def _count_any(count: CountFunction, text: str) -> int:
    try:
        return count(text)
    except UnicodeEncodeError:  # rare, and looked for only then: a check of every text would cost more
        return count(encodable(text))


class DeferredCounter:
    """The process's counter for the default encoding, loaded when something is first counted.

    Who only reads a log or appends to one counts nothing. With `small_first`, for a command that shows a frame and
    ends, small texts are counted without the vocabulary, exactly (`rank_table`), until that would take longer.
    """

    def __init__(self, *, small_first: bool = False) -> None:
        self._small_first = small_first

    @cached_property
    def _counter(self) -> ExactCounter | Utf8Counter:
        return shared_counter()

    @cached_property
    def _table(self) -> TableCounter | None:
        if not self._small_first:
            return None
        from hudkit.tokens.rank_table import TableCounter

        try:
            return TableCounter()
        except (OSError, ValueError):
            return None

    @property
    def name(self) -> str:
        """Return what is counted with; it is loaded for that."""
        return self._counter.name if self._table is None else DEFAULT_ENCODING

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        table = self._table  # another thread may take it away
        if table is not None:
            tokens = table.count(text)
            if tokens is not None:
                return tokens
            self._table = None
        return self._counter.count(text)


@cache
def shared_counter(encoding: str = DEFAULT_ENCODING) -> ExactCounter | Utf8Counter:
    """Return the process's counter for an encoding, loaded at the first call.

    Where no tokenizer package works it is a `Utf8Counter`: the agent's call goes on, and the name and the
    `reason` say what is wrong (contract 6). Raises `ConfigError` for an unknown encoding.
    """
    try:
        return ExactCounter(encoding)
    except ConfigError as error:
        if encoding not in ENCODINGS:
            raise
        return Utf8Counter(str(error))


def count_tokens(text: str, encoding: str = DEFAULT_ENCODING) -> int:
    """Count the tokens of `text` and return their number. Raises `ConfigError` for an unknown encoding."""
    return shared_counter(encoding).count(text)
