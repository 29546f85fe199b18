"""A line being composed: its parts in order, text apart from markup, and what the place asks of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

UNCODABLE = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef]")
"""Characters that readers do not take as numeric references."""

_UNSPEAKABLE = re.compile("[\x00\ud800-\udfff]")
BLANK = "\x0b\x1c\x1d\x1e\x1f\x85"
"""Those of them that some reader takes for white space: left out beside markers and at the edges of lines."""

Mark = Literal["emphasis", "strong", "delete"]


@dataclass(frozen=True, slots=True)
class Shape:
    """Where the content of a block stands: which unsafe patterns count there.

    `block` chooses the rules, `breaks` says that line feeds may be written as such, and `first` whose first block
    this is (a task marker is one only at the start of an item, an alert only at the start of a quote). `notes`
    are the footnotes that the document defines, by their labels: without any no text can be a reference to one.
    """

    block: Literal["paragraph", "heading", "cell"]
    breaks: bool = True
    first: Literal["", "item", "quote", "note"] = ""
    notes: frozenset[str] = frozenset()


@dataclass(slots=True)
class Part:
    """`text` is data and may be escaped; `raw` is markup, written as it is; `open` and `close` wait for a marker.

    `head` and `tail` say that the first or last character of a text is to be written as a character reference.
    """

    kind: Literal["text", "raw", "open", "close"]
    value: str
    label: bool = False
    pair: int = -1
    head: bool = False
    tail: bool = False

    def first(self) -> str:
        """The character that its output begins with; an undecided marker counts as one."""
        return "&" if self.head else self.value[:1] or "*"

    def last(self) -> str:
        """The character that its output ends with; an undecided marker counts as one."""
        return ";" if self.tail else self.value[-1:] or "*"


@dataclass(slots=True)
class Draft:
    """What the span writers write to. `label` is how many link or image labels are open, `links` how many links.

    `code` is the code span written last: the number of parts after it, and its value.
    """

    shape: Shape
    parts: list[Part] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    label: int = 0
    links: int = 0
    code: tuple[int, str] | None = None

    def text(self, value: str) -> None:
        """Add data. What no document can hold becomes the replacement character."""
        if value:
            value = _UNSPEAKABLE.sub("\ufffd", value)
            last = self.parts[-1] if self.parts else None
            if last is not None and last.kind == "text" and last.label == (self.label > 0):
                last.value += value
            else:
                self.parts.append(Part("text", value, self.label > 0))

    def raw(self, value: str) -> None:
        """Add markup."""
        if value:
            self.parts.append(Part("raw", value))

    def open(self, mark: Mark) -> int:
        """Begin a strong, emphasised or struck stretch; the number is for `close`.

        A struck one cannot touch another: the one just closed goes on.
        """
        last = self.parts[-1] if self.parts else None
        if mark == "delete" and last is not None and last.kind == "close" and self.marks[last.pair] == mark:
            return self.parts.pop().pair
        self.marks.append(mark)
        self.parts.append(Part("open", "", pair=len(self.marks) - 1))
        return len(self.marks) - 1

    def close(self, pair: int) -> None:
        """End the stretch; one that holds nothing is taken back."""
        begin = next(n for n in range(len(self.parts) - 1, -1, -1) if self.parts[n].pair == pair) + 1
        if begin < len(self.parts) and self.parts[begin].kind == "text":
            self.parts[begin].value = self.parts[begin].value.lstrip(BLANK)
        if self.parts[-1].kind == "text":
            self.parts[-1].value = self.parts[-1].value.rstrip(BLANK)
        self.parts[begin:] = [part for part in self.parts[begin:] if part.value or part.kind != "text"]
        if len(self.parts) == begin:
            self.parts.pop()
        else:
            self.parts.append(Part("close", "", pair=pair))
