"""What a person looks at: the address of a page is all of it, so that links, history and reloading work."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta

from hudkit.errors import ConfigError

AgentTab: TypeAlias = Literal["hud", "memory", "activity", "edit"]

_Number = Annotated[int, Meta(ge=0, le=2**53)]
"""A number that a browser's script holds exactly, too."""


class UrlState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query of a page's address: each field is a parameter, and one that has its default is left out.

    For example `UrlState(room=3, seq=120).href()` is `/?room=3&at=120`: room 3 as it was after event 120.
    """

    room: _Number = 0
    agent: _Number = 0
    tab: AgentTab = "hud"
    format: Literal["", "json", "compact", "toon"] = ""
    """The notation of the HUD; empty: as people read it."""
    when: Literal["now", "beat"] = "now"
    """Whether the HUD is the one of this moment, or the one that the agent had in its last beat."""
    seq: _Number = msgspec.field(default=0, name="at")
    """The event up to which the world is shown; 0: as it is now."""
    reply: _Number = 0
    """The message that the composer answers."""
    thread: _Number = 0
    """The message whose thread is shown alone."""
    before: _Number = 0
    """Only messages before this one."""
    new: bool = False
    """Whether an agent is being made."""
    view: Literal["rooms", "talk", "agent"] = "talk"
    """Which of the three columns a narrow screen shows."""

    def copy_with(self, **changes: object) -> UrlState:
        """Return the same with changes."""
        return msgspec.structs.replace(self, **changes)

    def href(self, **changes: object) -> str:
        """Return the address, with changes, from its `/` on."""
        state = self.copy_with(**changes) if changes else self
        # Values are numbers and words of the fields above: nothing that an address would spell otherwise.
        pairs = [
            f"{parameter}={'true' if value is True else value}"
            for name, parameter, default in _PARAMETERS
            if (value := getattr(state, name)) != default
        ]
        return f"/?{'&'.join(pairs)}" if pairs else "/"


_PARAMETERS = [(field.name, field.encode_name, field.default) for field in msgspec.structs.fields(UrlState)]


def parse_query(query: str) -> UrlState:
    """Return what an address's query says. Raises `ConfigError` where it is not one of these pages'."""
    try:
        pairs = dict(parse_qsl(query, max_num_fields=20, errors="strict"))
        return msgspec.convert(pairs, UrlState, strict=False)
    except ValueError as error:  # msgspec's errors are such, too
        raise ConfigError(f"no page has the address ?{query[:80]}", hint=str(error)[:200]) from None
