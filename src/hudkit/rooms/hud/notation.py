"""How a HUD is written: pieces of text that each notation makes for the same slots, in the order of the document.

A piece ends where a tokenizer always cuts (behind a line break that no white space but spaces follow; between `{"` or
`,"` and a letter), so that tokens of pieces add up to those of the whole, exactly.
"""

from __future__ import annotations

from typing import Any, Protocol


class Notation(Protocol):
    """The pieces of a HUD. `members` of `self` and of rooms are never the last there: `now`, and `messages` are."""

    name: str
    short_times: bool
    between: str
    """Behind a message, or an action, that another one follows."""
    end_actions: str
    """Behind the last recent action."""

    def system(self, value: dict[str, Any]) -> str:
        """Opens the document."""
        ...

    def meta(self, value: dict[str, Any]) -> str: ...

    def identity(self, value: dict[str, Any]) -> str:
        """Opens `self`."""
        ...

    def member(self, name: str, value: Any) -> str:
        """A member of `self`."""
        ...

    def knowledge(self, value: dict[str, Any], *, tight: bool) -> str:
        """`tight`: on one line, where a notation has more than one way."""
        ...

    def actions(self, number: int) -> str:
        """Opens the recent actions; without any, all of them."""
        ...

    def action(self, value: dict[str, Any]) -> str:
        """One, without what is behind it."""
        ...

    def now(self, value: str) -> str:
        """Closes `self`."""
        ...

    def tail(self, body: str) -> str | None:
        """The end of a message or an action, behind a place where a tokenizer always cuts, if one is known: what is
        before it costs the same, whatever follows."""
        ...

    def rooms(self, number: int) -> str:
        """Opens the rooms; without any, the document ends here."""
        ...

    def head(self, value: dict[str, Any]) -> str:
        """Opens a room."""
        ...

    def room_member(self, name: str, value: Any) -> str: ...

    def messages(self, number: int) -> str:
        """Opens the messages; without any, all of them, and `end` is behind it."""
        ...

    def message(self, value: dict[str, Any]) -> str:
        """One, without what is behind it."""
        ...

    def end(self, *, rows: bool, last: bool) -> str:
        """Behind the last message of a room (or `messages(0)`); `last`: of the last room, which ends the document."""
        ...
