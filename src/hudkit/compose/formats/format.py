"""What a format is: a name, what it carries, and the two ways between that and text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec


class Format(msgspec.Struct, frozen=True):
    """A named text format.

    `carries` says what `write` takes and `read` gives: a `tree` (an `Element`) or plain `data` (`formats.plain`).
    `read` is `None` where there is no way back. Both raise `FormatError` for what they cannot carry. `media` is the
    media type of the text (RFC 6838), `doc` one sentence.
    """

    name: str
    carries: Literal["tree", "data"]
    write: Callable[[Any], str]
    read: Callable[[str], Any] | None = None
    media: str = "text/plain"
    doc: str = ""
