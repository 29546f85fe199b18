"""Answers that a log has, given again for the same HUDs, and models that are made to fail.

A HUD has the time in it, so the same digest means the same beat of a world that went the same way so far. What has no
recorded answer is asked of the player behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias, cast

from hudkit.log import Event
from hudkit.rooms import world_events as e
from hudkit.rooms.players.player import BeatPrompt, BeatReply, Player, PlayerRegistry, QuickPlayer

RecordedAnswers: TypeAlias = Mapping[tuple[int, str], BeatReply]
"""Answers by agent and digest of the HUD that it saw."""

_FAILURE = "the experiment lets this model fail"


def recorded_answers(
    events: Iterable[tuple[Event, e.WorldEvent]], lost: Iterable[str]
) -> dict[tuple[int, str], BeatReply]:
    """Return the answers of a log's events; `lost` are the errors that stand for an answer that never came."""
    never_came = frozenset(lost)
    digests: dict[int, str] = {}
    answers: dict[tuple[int, str], BeatReply] = {}
    for _, event in events:
        if isinstance(event, e.BeatBegun):
            digests[event.agent] = event.hud
        elif isinstance(event, e.ReplyReceived) and event.error not in never_came and digests.get(event.agent):
            answers[event.agent, digests[event.agent]] = BeatReply(
                event.text,
                event.error,
                event.input_tokens,
                event.cached_tokens,
                event.output_tokens,
                event.cost,
            )
    return answers


def failures_in(events: Iterable[tuple[Event, e.WorldEvent]]) -> int:
    """Return how many answers of a log are failures that an experiment asked for."""
    return sum(isinstance(event, e.ReplyReceived) and event.error == _FAILURE for _, event in events)


class ReplayingPlayers(PlayerRegistry):
    """The players of another registry, behind recorded answers; models may be made to fail."""

    def __init__(self, players: PlayerRegistry, answers: RecordedAnswers) -> None:
        """`answers` go before those of `players`."""
        super().__init__({})
        self._behind = players
        self.answers = answers
        self.replayed = 0
        """Answers that were given from the record."""
        self.failing: dict[str, int] = {}
        """How many of its next answers are errors, by model."""

    def of(self, model: str) -> Player | QuickPlayer:
        """Return the player of a model; see `PlayerRegistry.of`."""
        if model not in self._players:
            player = self._behind.of(model)
            turn = _QuickTurn if hasattr(player, "reply_now") else _SlowTurn
            self._players[model] = turn(self, player)
        return self._players[model]

    def known_reply(self, prompt: BeatPrompt) -> BeatReply | None:
        """Return what is answered without asking the player: a failure, or what the log has; `None`: nothing."""
        if self.failing.get(prompt.model, 0) > 0:
            self.failing[prompt.model] -= 1
            return BeatReply(error=_FAILURE)
        reply = self.answers.get((prompt.agent, prompt.hud.digest))
        self.replayed += reply is not None
        return reply


class _QuickTurn:
    """A player that answers at once."""

    def __init__(self, registry: ReplayingPlayers, player: Player | QuickPlayer) -> None:
        self._registry = registry
        self._player = cast(QuickPlayer, player)

    def reply_now(self, prompt: BeatPrompt) -> BeatReply:
        return self._registry.known_reply(prompt) or self._player.reply_now(prompt)


class _SlowTurn:
    """A player that takes its time."""

    def __init__(self, registry: ReplayingPlayers, player: Player | QuickPlayer) -> None:
        self._registry = registry
        self._player = cast(Player, player)
        self.says_closing_words = getattr(player, "says_closing_words", False)

    async def reply(self, prompt: BeatPrompt) -> BeatReply:
        return self._registry.known_reply(prompt) or await self._player.reply(prompt)
