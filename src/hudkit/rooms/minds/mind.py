"""The port to whoever thinks for an agent: what is asked, what comes back, and which mind a model's name means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, Protocol, TypeGuard

import msgspec

from hudkit.errors import HudkitError
from hudkit.rooms.events import Kind
from hudkit.rooms.hud import Seen


class Asked(msgspec.Struct, frozen=True):
    """A beat, as a mind gets it: the HUD, and what it needs to know to answer. `seed` is the world's."""

    agent: int
    number: int
    kind: Kind
    model: str
    output_format: Literal["json", "toon"]
    seed: int
    seen: Seen


class Thought(msgspec.Struct, frozen=True):
    """The answer, word for word, or why there is none. Tokens are the provider's, `cost` is in dollars; `rest`: the
    seconds for which the provider wants to be left alone; `hopeless`: asking again will not help."""

    text: str = ""
    error: str = ""
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    rest: float | None = None
    hopeless: bool = False


class Mind(Protocol):
    """Somebody who thinks, for any number of agents at once."""

    async def think(self, asked: Asked) -> Thought:
        """Answer a HUD. What goes wrong is in the thought; nothing is raised but the caller's own cancellation."""
        ...


class Quick(Protocol):
    """A mind that needs no time: its beats begin and end in one commit."""

    def think_now(self, asked: Asked) -> Thought:
        """As `Mind.think`."""
        ...


def is_quick(mind: Mind | Quick) -> TypeGuard[Quick]:
    """Whether a mind answers at once."""
    return hasattr(mind, "think_now")


class Silent:
    """Thinks nothing, for the reason that it gives: what stands in for a model that cannot be had."""

    def __init__(self, why: str) -> None:
        self._thought = Thought(error=why, hopeless=True)

    def think_now(self, asked: Asked) -> Thought:  # noqa: ARG002
        return self._thought


class Minds:
    """Minds by the models' names, and `make` for those that were not given. Not for several threads."""

    def __init__(self, known: Mapping[str, Mind | Quick], make: Callable[[str], Mind | Quick] | None = None) -> None:
        """`make` raises a `HudkitError` for a model that cannot be had; its agents have that as their error."""
        self._known = dict(known)
        self._make = make

    def of(self, model: str) -> Mind | Quick:
        """The mind of a model; always the same."""
        found = self._known.get(model)
        if found is None:
            found = self._known[model] = self._made(model)
        return found

    def _made(self, model: str) -> Mind | Quick:
        if self._make is None:
            return Silent(f"There is no model {model!r} here. There are: {', '.join(sorted(self._known))}")
        try:
            return self._make(model)
        except HudkitError as error:
            return Silent(str(error))
