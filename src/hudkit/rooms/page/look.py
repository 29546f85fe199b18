"""What a person looks at: the address of a page is all of it, so that links, history and reloading work."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta

from hudkit.errors import ConfigError

Number = Annotated[int, Meta(ge=0, le=2**53)]
Tab: TypeAlias = Literal["hud", "memory", "activity", "edit"]
View: TypeAlias = Literal["rooms", "talk", "agent"]


class Look(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`at`: the event up to which the world is shown, 0: as it is now. `view` is what a narrow screen shows."""

    room: Number = 0
    agent: Number = 0
    tab: Tab = "hud"
    format: Literal["", "json", "compact", "toon", "markdown"] = ""
    """The notation of the HUD; empty: the agent's own."""
    when: Literal["now", "beat"] = "now"
    """Whether the HUD is the one of this moment, or the one that the agent had in its last beat."""
    at: Number = 0
    reply: Number = 0
    """The message that the composer answers."""
    thread: Number = 0
    """The message whose thread is shown alone."""
    before: Number = 0
    """Only messages before this one."""
    new: bool = False
    """Whether an agent is being made."""
    view: View = "talk"

    def but(self, **changes: object) -> Look:
        """The same with changes."""
        return msgspec.structs.replace(self, **changes)

    def url(self, **changes: object) -> str:
        """The address, with changes."""
        look = self.but(**changes) if changes else self
        given = [  # numbers and words of the fields above: nothing that an address would spell otherwise
            f"{name}={'true' if value is True else value}"
            for name, value in msgspec.structs.asdict(look).items()
            if value != _PLAIN[name]
        ]
        return f"/?{'&'.join(given)}" if given else "/"


_PLAIN = msgspec.structs.asdict(Look())


def read(query: str) -> Look:
    """What an address's query says. Raises `ConfigError` where it is not one of these pages'."""
    try:
        given = dict(parse_qsl(query, max_num_fields=20, errors="strict"))
        return msgspec.convert(given, Look, strict=False)
    except ValueError as error:  # msgspec's errors are such, too
        raise ConfigError(f"no page has the address ?{query[:80]}", hint=str(error)[:200]) from None
