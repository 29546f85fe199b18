"""Minds of language models: a HUD is one call through the port to models, of whatever provider."""

from __future__ import annotations

import msgspec

from hudkit.models import Finished, Model, ModelError, Request, Settings, Text, User, finished
from hudkit.rooms.minds.mind import Asked, Thought

MAX_OUTPUT = 4_000
"""Tokens of an answer, with those that a model thinks before it."""
SILENCE = 120.0
"""Seconds without a byte after which a model's server counts as gone."""


class ModelMind:
    """A model that answers HUDs. The part that is the same for all agents of a kind goes as the system prompt, so
    that a provider's prefix cache serves them all; the rest is the user's message, which no later beat repeats and no
    cache should keep. Together they are the HUD."""

    def __init__(self, model: Model, settings: Settings | None = None) -> None:
        """Without `settings`, an answer has 4,000 tokens at most, and a server 120 seconds."""
        self._model = model
        given = settings or Settings(max_output=MAX_OUTPUT, silence=SILENCE)
        self._settings = msgspec.structs.replace(given, cache_messages=False)

    async def think(self, asked: Asked) -> Thought:
        """One call; see `Mind.think`."""
        seen = asked.seen
        request = Request((seen.text[: seen.stable],), (User((Text(seen.text[seen.stable :]),)),), (), self._settings)
        try:
            return _thought(await finished(self._model, request))
        except ModelError as error:
            return Thought(error=f"{error.code}: {error}", rest=error.after, hopeless=not error.retry)

    async def close(self) -> None:
        """Give up connections."""
        await self._model.close()


def _thought(end: Finished) -> Thought:
    error = "" if end.reason in ("stop", "other") else _WHY.get(end.reason, f"the answer ended with {end.reason}")
    spent = end.spent
    if spent is None:
        return Thought(end.answer.text, error)
    return Thought(
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
