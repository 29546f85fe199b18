"""The port to whoever answers for agents, and the simple players: language models, scripts, and one that cannot
answer.

Each beat, a player gets a `BeatPrompt`, which holds the agent's HUD, and gives a `BeatReply`: raw text, which
`reply_parser` reads, or the reason why there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from hudkit.compose.formats import json_text, toon
from hudkit.errors import HudkitError
from hudkit.models import (
    Completion,
    CompletionRequest,
    Model,
    ModelError,
    RequestSettings,
    TextContent,
    UserMessage,
    complete,
)
from hudkit.rooms.hud import AgentHud
from hudkit.rooms.players.closing import closing_words
from hudkit.rooms.world_events import AgentKind, AnswerSettings


class BeatPrompt(msgspec.Struct, frozen=True):
    """A beat, as a player gets it: the HUD, and what it needs to know to answer. `seed` is the world's."""

    agent: int
    number: int
    kind: AgentKind
    model: str
    output_format: Literal["json", "toon"]
    seed: int
    hud: AgentHud
    answers: AnswerSettings = AnswerSettings()


class BeatReply(msgspec.Struct, frozen=True):
    """The answer, word for word, or why there is none.

    Tokens are the provider's, `cost` is in dollars. `rest`: the seconds for which the provider wants to be left
    alone. `hopeless`: asking again will not help.
    """

    text: str = ""
    error: str = ""
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    rest: float | None = None
    hopeless: bool = False


class Player(Protocol):
    """Somebody who answers, for any number of agents at once."""

    async def reply(self, prompt: BeatPrompt) -> BeatReply:
        """Answer a HUD and return that.

        What goes wrong is in the reply; nothing is raised but the caller's own cancellation.
        """
        ...


class QuickPlayer(Protocol):
    """A player that needs no time: its beats begin and end in one transaction."""

    def reply_now(self, prompt: BeatPrompt) -> BeatReply:
        """Answer a HUD as `Player.reply` does, at once, and return the reply."""
        ...


class PlayerRegistry:
    """Players by the models' names, and `make` for those that were not given. Not for several threads."""

    def __init__(
        self,
        players: Mapping[str, Player | QuickPlayer],
        make: Callable[[str], Player | QuickPlayer] | None = None,
    ) -> None:
        """`make` raises a `HudkitError` for a model that cannot be had; its agents have that as their error."""
        self._players = dict(players)
        self._make = make

    def of(self, model: str) -> Player | QuickPlayer:
        """Return the player of a model; always the same."""
        player = self._players.get(model)
        if player is None:
            # Kept even where it is unavailable: a model that cannot be had is not connected anew in each beat.
            player = self._players[model] = self._new(model)
        return player

    def _new(self, model: str) -> Player | QuickPlayer:
        if self._make is None:
            return UnavailablePlayer(
                f"There is no model {model!r} here. There are: {', '.join(sorted(self._players))}"
            )
        try:
            return self._make(model)
        except HudkitError as error:
            return UnavailablePlayer(str(error))


class UnavailablePlayer:
    """Answers nothing, for the reason that it gives: what stands in for a model that cannot be had."""

    def __init__(self, why: str) -> None:
        """`why`: the error of its agents."""
        self.why = why
        self._reply = BeatReply(error=why, hopeless=True)

    def reply_now(self, prompt: BeatPrompt) -> BeatReply:  # noqa: ARG002
        """Return the reason; see `QuickPlayer.reply_now`."""
        return self._reply


# -- language models -----------------------------------------------------------------------------------------------

_MAX_OUTPUT = 4_000
"""Tokens of an answer, with those that a model thinks before it."""
_SERVER_SILENCE = 120.0
"""Seconds without a byte after which a model's server counts as gone."""

_CACHES_BY_BLOCKS = "anthropic:"
"""How names of models begin whose provider caches only what a request names."""

_ENDING_ERRORS = {
    "length": "the answer was longer than the model may write, and was cut off",
    "refusal": "the model's provider held the answer back",
}


class ModelPlayer:
    """A model that answers HUDs, each with one call through the port to models.

    The part that is the same for all agents of a kind goes as the system prompt, so that a provider's prefix cache
    serves them all; the rest is the user's message, of which a cache has all that the agent's last beat had, too.
    Together they are the HUD; behind it come `closing_words`.
    """

    says_closing_words = True
    """The event of a beat says so."""

    def __init__(self, model: Model, settings: RequestSettings | None = None) -> None:
        """Without `settings`, an answer has 4,000 tokens at most, and a server 120 seconds."""
        self._model = model
        # The rest of a HUD never comes again: writing it into a provider's cache would cost and never pay.
        base = settings or RequestSettings(max_output=_MAX_OUTPUT, silence=_SERVER_SILENCE)
        self._settings = msgspec.structs.replace(base, cache_messages=False)

    async def reply(self, prompt: BeatPrompt) -> BeatReply:
        """Call the model once and return its reply; see `Player.reply`. Whom somebody asked is told so once more."""
        return await self._ask(prompt, *filter(None, (closing_words(prompt.hud.document, prompt.output_format),)))

    async def answer_aside(self, prompt: BeatPrompt, question: str) -> BeatReply:
        """Ask something besides a beat, behind the HUD of `prompt`, and return the answer as it is."""
        return await self._ask(prompt, question)

    async def _ask(self, prompt: BeatPrompt, *more: str) -> BeatReply:
        hud = prompt.hud
        # Providers that cache by themselves find how far a request is like the one before. Where a cache must be
        # asked for, the base is a block of its own, at whose end it is.
        end = hud.anchors[0] if hud.anchors and self._model.name.startswith(_CACHES_BY_BLOCKS) else hud.stable
        blocks = tuple(text for text in (hud.text[: hud.stable], hud.text[hud.stable : end]) if text)
        message = UserMessage(tuple(TextContent(text) for text in (hud.text[end:], *more)))
        # What an agent says of itself goes before the player's own settings.
        own = {name: value for name, value in msgspec.structs.asdict(prompt.answers).items() if value}
        if prompt.answers.temperature is not None:
            own["temperature"] = prompt.answers.temperature
        settings = msgspec.structs.replace(self._settings, **own)
        request = CompletionRequest(blocks, (message,), (), settings)
        try:
            return _as_reply(await complete(self._model, request))
        except ModelError as error:
            return BeatReply(error=f"{error.code}: {error}", rest=error.after, hopeless=not error.retry)

    async def close(self) -> None:
        """Give up connections."""
        await self._model.close()


def _as_reply(end: Completion) -> BeatReply:
    if end.reason in ("stop", "other"):
        error = ""
    else:
        error = _ENDING_ERRORS.get(end.reason, f"the answer ended with {end.reason}")
    spent = end.spent
    if spent is None:
        return BeatReply(end.answer.text, error)
    input_tokens = spent.fresh + spent.read + spent.written
    return BeatReply(end.answer.text, error, input_tokens, spent.read, spent.output, spent.cost or 0.0)


# -- scripts -------------------------------------------------------------------------------------------------------

_ScriptLine: TypeAlias = str | Mapping[str, Any] | BeatReply
"""A text as it is, a reply as plain data (`responses`, `actions`), or a whole reply."""
_ScriptLines: TypeAlias = Iterable[_ScriptLine] | Callable[[BeatPrompt], _ScriptLine]

_NO_RESPONSE = "[no response]"


class ScriptedPlayer:
    """Each agent says its own lines, one a beat, and then is silent: for tests and demonstrations."""

    def __init__(self, scripts: Mapping[int, _ScriptLines] | Callable[[BeatPrompt], _ScriptLine]) -> None:
        """`scripts`: lines by agent, or one function for all that makes a line from what is asked."""
        self._for_all = scripts if callable(scripts) else None
        self._by_agent = {} if callable(scripts) else {id: _line_source(lines) for id, lines in scripts.items()}
        self.prompts: list[BeatPrompt] = []
        """Everything that it was asked."""

    def reply_now(self, prompt: BeatPrompt) -> BeatReply:
        """Return the next line of the agent that is asked."""
        self.prompts.append(prompt)
        say = self._for_all or self._by_agent.get(prompt.agent)
        # A script that is used up is silence, so that a world plays on past it.
        line = _NO_RESPONSE if say is None else say(prompt)
        if isinstance(line, BeatReply):
            return line
        return BeatReply(line if isinstance(line, str) else encode_reply(line, prompt.output_format))


class DelayedPlayer:
    """The same as a scripted player, with time to think: `pause(prompt)` is awaited before each answer."""

    def __init__(self, player: ScriptedPlayer, pause: Callable[[BeatPrompt], Any]) -> None:
        """`pause` returns what is awaited."""
        self._player = player
        self._pause = pause

    async def reply(self, prompt: BeatPrompt) -> BeatReply:
        """Return the scripted player's answer, later."""
        reply = self._player.reply_now(prompt)
        await self._pause(prompt)
        return reply


def encode_reply(reply: Mapping[str, Any], output_format: str) -> str:
    """Return a reply as text: JSON, or TOON."""
    return toon.encode(dict(reply)) if output_format == "toon" else json_text.encode(dict(reply), indent=None)


def _line_source(lines: _ScriptLines) -> Callable[[BeatPrompt], _ScriptLine]:
    if callable(lines):
        return lines
    rest = iter(lines)
    return lambda _: next(rest, _NO_RESPONSE)
