"""The port to whoever thinks for an agent: what is asked, what comes back, and which mind a model's name means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Protocol, TypeAlias, TypeGuard

import msgspec

from hudkit.compose.formats import json_text, toon
from hudkit.errors import HudkitError
from hudkit.models import Finished, Model, ModelError, Request, Settings, Text, User, finished
from hudkit.rooms.hud import AgentHud
from hudkit.rooms.world_events import AgentKind


class BeatPrompt(msgspec.Struct, frozen=True):
    """A beat, as a mind gets it: the HUD, and what it needs to know to answer. `seed` is the world's."""

    agent: int
    number: int
    kind: AgentKind
    model: str
    output_format: Literal["json", "toon"]
    seed: int
    seen: AgentHud


class BeatReply(msgspec.Struct, frozen=True):
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


class Player(Protocol):
    """Somebody who thinks, for any number of agents at once."""

    async def think(self, asked: BeatPrompt) -> BeatReply:
        """Answer a HUD. What goes wrong is in the thought; nothing is raised but the caller's own cancellation."""
        ...


class QuickPlayer(Protocol):
    """A mind that needs no time: its beats begin and end in one commit."""

    def think_now(self, asked: BeatPrompt) -> BeatReply:
        """As `Mind.think`."""
        ...


def is_quick(mind: Player | QuickPlayer) -> TypeGuard[QuickPlayer]:
    """Whether a mind answers at once."""
    return hasattr(mind, "think_now")


class UnavailablePlayer:
    """Thinks nothing, for the reason that it gives: what stands in for a model that cannot be had."""

    def __init__(self, why: str) -> None:
        self._thought = BeatReply(error=why, hopeless=True)

    def think_now(self, asked: BeatPrompt) -> BeatReply:  # noqa: ARG002
        return self._thought


class PlayerRegistry:
    """Minds by the models' names, and `make` for those that were not given. Not for several threads."""

    def __init__(
        self, known: Mapping[str, Player | QuickPlayer], make: Callable[[str], Player | QuickPlayer] | None = None
    ) -> None:
        """`make` raises a `HudkitError` for a model that cannot be had; its agents have that as their error."""
        self._known = dict(known)
        self._make = make

    def of(self, model: str) -> Player | QuickPlayer:
        """The mind of a model; always the same."""
        found = self._known.get(model)
        if found is None:
            found = self._known[model] = self._made(model)
        return found

    def _made(self, model: str) -> Player | QuickPlayer:
        if self._make is None:
            return UnavailablePlayer(f"There is no model {model!r} here. There are: {', '.join(sorted(self._known))}")
        try:
            return self._make(model)
        except HudkitError as error:
            return UnavailablePlayer(str(error))


ScriptLine: TypeAlias = str | Mapping[str, Any] | BeatReply
"""A text as it is, a reply as plain data (`responses`, `actions`), or a whole thought."""
ScriptLines: TypeAlias = Iterable[ScriptLine] | Callable[[BeatPrompt], ScriptLine]

NO_RESPONSE = "[no response]"


class ScriptedPlayer:
    """Each agent says its own lines, one a beat, and then is silent. A function makes them from what is asked."""

    name = "scripted"

    def __init__(self, scripts: Mapping[int, ScriptLines] | Callable[[BeatPrompt], ScriptLine]) -> None:
        """`scripts`: lines by agent, or one function for all."""
        self._all = scripts if callable(scripts) else None
        self._lines = {} if callable(scripts) else {id: _caller(lines) for id, lines in scripts.items()}
        self.asked: list[BeatPrompt] = []

    def think_now(self, asked: BeatPrompt) -> BeatReply:
        """The next line of the agent that is asked."""
        self.asked.append(asked)
        say = self._all or self._lines.get(asked.agent)
        return reply_from_line(NO_RESPONSE if say is None else say(asked), asked)


class DelayedPlayer:
    """The same as another mind, with time to think: `pause(asked)` is awaited before each answer."""

    def __init__(self, mind: ScriptedPlayer, pause: Callable[[BeatPrompt], Any]) -> None:
        self._mind = mind
        self._pause = pause

    async def think(self, asked: BeatPrompt) -> BeatReply:
        """The other mind's answer, later."""
        thought = self._mind.think_now(asked)
        await self._pause(asked)
        return thought


def reply_from_line(line: ScriptLine, asked: BeatPrompt) -> BeatReply:
    """A line as a thought, in the format that was asked for."""
    if isinstance(line, BeatReply):
        return line
    return BeatReply(line if isinstance(line, str) else encode_reply(line, asked.output_format))


def encode_reply(reply: Mapping[str, Any], output_format: str) -> str:
    """A reply as text: JSON, or TOON."""
    return toon.encode(dict(reply)) if output_format == "toon" else json_text.encode(dict(reply), indent=None)


def _caller(lines: ScriptLines) -> Callable[[BeatPrompt], ScriptLine]:
    if callable(lines):
        return lines
    left = iter(lines)
    return lambda _: next(left, NO_RESPONSE)


MAX_OUTPUT = 4_000
"""Tokens of an answer, with those that a model thinks before it."""
SERVER_SILENCE = 120.0
"""Seconds without a byte after which a model's server counts as gone."""


class ModelPlayer:
    """A model that answers HUDs. The part that is the same for all agents of a kind goes as the system prompt, so
    that a provider's prefix cache serves them all; the rest is the user's message, which no later beat repeats and no
    cache should keep. Together they are the HUD."""

    def __init__(self, model: Model, settings: Settings | None = None) -> None:
        """Without `settings`, an answer has 4,000 tokens at most, and a server 120 seconds."""
        self._model = model
        given = settings or Settings(max_output=MAX_OUTPUT, silence=SERVER_SILENCE)
        self._settings = msgspec.structs.replace(given, cache_messages=False)

    async def think(self, asked: BeatPrompt) -> BeatReply:
        """One call; see `Mind.think`."""
        seen = asked.seen
        request = Request((seen.text[: seen.stable],), (User((Text(seen.text[seen.stable :]),)),), (), self._settings)
        try:
            return _thought(await finished(self._model, request))
        except ModelError as error:
            return BeatReply(error=f"{error.code}: {error}", rest=error.after, hopeless=not error.retry)

    async def close(self) -> None:
        """Give up connections."""
        await self._model.close()


def _thought(end: Finished) -> BeatReply:
    error = "" if end.reason in ("stop", "other") else _WHY.get(end.reason, f"the answer ended with {end.reason}")
    spent = end.spent
    if spent is None:
        return BeatReply(end.answer.text, error)
    return BeatReply(
        end.answer.text,
        error,
        spent.fresh + spent.read + spent.written,
        spent.read,
        spent.output,
        spent.cost or 0.0,
    )


_WHY = {
    "length": "the answer was longer than the model may write, and was cut off",
    "refusal": "the model's provider held the answer back",
}
