"""Counting tokens: exact where a tokenizer is installed, an upper bound that says so where none is."""

from __future__ import annotations

from collections import OrderedDict
from functools import cache
from sys import getsizeof
from threading import Lock
from typing import Protocol

from hudkit.errors import ConfigError
from hudkit.tokens.vocabularies import ENCODINGS, Tally, load

DEFAULT_ENCODING = ENCODINGS[0]

APPROXIMATE = "approx-utf8"
"""The name of the counter that stands in where no tokenizer can be loaded."""

MEMO_BYTES = 8 * 1024 * 1024
"""Memory that one counter's memo may hold, strings included."""

MEMO_TEXT = 16 * 1024
"""Texts of more bytes than this are counted anew each time: frames and files, not blocks."""

_ENTRY_BYTES = 200  # what an entry costs beside its string: the links, the number, the table's slack


class Counter(Protocol):
    """Counts tokens. `count("") == 0`; any string is accepted, lone surrogates count as U+FFFD."""

    @property
    def name(self) -> str:
        """What was counted with: an encoding, or `approx-utf8` for an estimate (contract 8)."""
        ...

    def count(self, text: str) -> int:
        """The number of tokens of `text`; an approximate counter never says less than the exact one."""
        ...


def sendable(text: str) -> str:
    """The text as it can leave the process: surrogate pairs joined, a lone surrogate as U+FFFD."""
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
        try:
            return len(text.encode())
        except UnicodeEncodeError:
            return len(sendable(text).encode())


class ExactCounter:
    """Exact counts of one encoding, remembered by content within `memo_bytes` of memory; safe with threads.

    Loads its vocabulary when it is made (about 0.1 s, 65 MB); raises `ConfigError` where it cannot.
    """

    reason = ""

    def __init__(self, encoding: str = DEFAULT_ENCODING, *, memo_bytes: int = MEMO_BYTES) -> None:
        self.package, self._tally = load(encoding)
        self.name = encoding
        self._memo = Memo(self._tally, memo_bytes)

    def count(self, text: str) -> int:
        return self._memo.count(text)


class Memo:
    """A bounded memory of counts by content, the least recently used forgotten first."""

    def __init__(self, tally: Tally, limit: int = MEMO_BYTES) -> None:
        self._tally = tally
        self._limit = limit
        self._known: OrderedDict[str, int] = OrderedDict()
        self._lock = Lock()
        self.held = 0
        """Bytes in use; never more than the limit."""

    def count(self, text: str) -> int:
        with self._lock:
            found = self._known.get(text)
            if found is not None:
                self._known.move_to_end(text)
                return found
        number = _tally_any(self._tally, text)
        weight = getsizeof(text) + _ENTRY_BYTES
        if weight <= min(MEMO_TEXT, self._limit):
            self._keep(text, number, weight)
        return number

    def _keep(self, text: str, number: int, weight: int) -> None:
        with self._lock:
            if text in self._known:
                return
            while self.held + weight > self._limit:
                oldest, _ = self._known.popitem(last=False)
                self.held -= getsizeof(oldest) + _ENTRY_BYTES
            self._known[text] = number
            self.held += weight


def _tally_any(tally: Tally, text: str) -> int:
    try:
        return tally(text)
    except UnicodeEncodeError:
        return tally(sendable(text))


@cache
def counter(encoding: str = DEFAULT_ENCODING) -> ExactCounter | Utf8Counter:
    """The process's counter for an encoding, loaded at the first call.

    Where no tokenizer package works it is a `Utf8Counter`: the agent's call goes on, and the name and the
    `reason` say what is wrong (contract 6). Raises `ConfigError` for an unknown encoding.
    """
    try:
        return ExactCounter(encoding)
    except ConfigError as error:
        if encoding not in ENCODINGS:
            raise
        return Utf8Counter(str(error))


def count(text: str, encoding: str = DEFAULT_ENCODING) -> int:
    """The number of tokens of `text`. Raises `ConfigError` for an unknown encoding."""
    return counter(encoding).count(text)
