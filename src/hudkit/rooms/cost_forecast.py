"""What beats cost: the one place where HUDs and answers become dollars, and what a run of a world costs at most.

A run says it before its first beat, by the HUDs of now; an experiment (`experiments.forecast`) by a trial that is
played; a world of many agents (`experiments.scale`) by a sample. What models answer is not known: `OUTPUT_TOKENS` a
beat is what a published run of a hundred agents had (168), rounded up. Everything is priced without a cache, so a
forecast is rather too high.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from hudkit.errors import ConfigError
from hudkit.models.model_names import resolve_model_name
from hudkit.rooms.hud import AgentHud, CachedRenderer, build_agent_hud
from hudkit.rooms.players import IMPROVISER_MODEL, PlayerRegistry, UnavailablePlayer
from hudkit.rooms.world import World
from hudkit.tokens.model_facts import known_prices, prices_of

OUTPUT_TOKENS = 170
"""Tokens of an answer, where nobody has measured them."""
_MILLION = 1e6


class HudSizes(msgspec.Struct, frozen=True):
    """How large HUDs are as a world goes on, for all that is foretold: those that were seen, and those after them.

    `seen` HUDs have `tokens` together; later ones have `later` each. HUDs grow until they are full.
    """

    seen: float
    tokens: float
    later: float

    @classmethod
    def measured(cls, sizes: Sequence[int]) -> HudSizes:
        """Return those of a world that was played: later ones are taken to be as large as the last third."""
        last = sizes[-max(1, len(sizes) // 3) :] or [0]
        return cls(len(sizes), sum(sizes), sum(last) / len(last))

    @classmethod
    def of_now(cls, hud: AgentHud) -> HudSizes:
        """Return those of a world that was not: half of the way to a full one, on average, or what it has now."""
        return cls(0, 0, max(hud.tokens, (hud.tokens + hud.limit) // 2))

    def scaled(self, factor: float) -> HudSizes:
        """Return those of a world that is `factor` times as large in the same time."""
        return HudSizes(self.seen * factor, self.tokens * factor, self.later)

    def total(self, beats: float) -> float:
        """Return the tokens of so many HUDs; of fewer than were seen, they are taken to be like all of those."""
        if beats < self.seen:
            return self.tokens * beats / self.seen
        return self.tokens + (beats - self.seen) * self.later


class ModelForecast(msgspec.Struct, frozen=True):
    """What a model is asked; `cost` in dollars, `None`: its price is not known."""

    model: str
    beats: int
    input_tokens: int
    output_tokens: int
    cost: float | None


def forecast_model(model: str, beats: int, hud_tokens: float, *, is_free: bool = False) -> ModelForecast:
    """Return what so many beats of a model with so many tokens of HUDs in all cost; the improviser costs nothing."""
    if is_free or model == IMPROVISER_MODEL:
        return ModelForecast(model, beats, 0, 0, 0.0)
    input_tokens, output_tokens = round(hud_tokens), beats * OUTPUT_TOKENS
    prices = known_prices(model.partition(":")[2] or model)
    if prices is None:
        return ModelForecast(model, beats, input_tokens, output_tokens, None)
    cost = (input_tokens * prices.input + output_tokens * prices.output) / _MILLION
    return ModelForecast(model, beats, input_tokens, output_tokens, cost)


class CostForecast(msgspec.Struct, frozen=True):
    """What models are asked at most: `cost` is in dollars, without what a cache saves and beats that are skipped.

    `unpriced` are models without a list price, which `cost` leaves out. `cap` is where the world pauses (0: nowhere).
    """

    beats: int
    input_tokens: int
    output_tokens: int
    cost: float
    cap: float
    unpriced: tuple[str, ...]


def forecast_cost(world: World, now: int, *, seconds: float | None = None, beats: int | None = None) -> CostForecast:
    """Return what playing a world from `now` (Unix ms) costs at most, for so many seconds of its time or beats.

    Agents of the improviser cost nothing, but take their part of `beats`. HUDs are those of now, and as large as may
    be where messages will be added. Raises a `BudgetError` where one cannot be composed.
    """
    renderer = CachedRenderer()
    agents = [agent for agent in world.agents.values() if not agent.retired]
    rates = {agent.id: 1 / max(agent.interval, world.rules.tempo.min_interval) for agent in agents}
    if seconds is None:
        seconds = (beats or 0) / (sum(rates.values()) or 1)
    tokens: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for agent in agents:
        if agent.model == IMPROVISER_MODEL:
            continue
        number = max(1, round(seconds * rates[agent.id]))
        sizes = HudSizes.of_now(build_agent_hud(world, agent.id, now, renderer))
        asked[agent.model] += number
        tokens[agent.model] += round(sizes.total(number))
    models = [forecast_model(model, number, tokens[model]) for model, number in asked.items()]
    return CostForecast(
        sum(model.beats for model in models),
        sum(model.input_tokens for model in models),
        sum(model.output_tokens for model in models),
        sum(model.cost or 0.0 for model in models),
        world.rules.caps.cost,
        tuple(model.model for model in models if model.cost is None),
    )


def check_players(world: World, players: PlayerRegistry) -> None:
    """Raise `ConfigError` where a model of a living agent cannot be had: no key, no package, no such provider."""
    for model in dict.fromkeys(agent.model for agent in world.agents.values() if not agent.retired):
        check_player(model, players)


def check_player(model: str, players: PlayerRegistry) -> None:
    """Raise `ConfigError` where a model cannot be had."""
    player = players.of(model)
    if isinstance(player, UnavailablePlayer):
        raise ConfigError(
            f"{model} cannot play: {player.why}", hint="Set its key, or let --model name another: improviser"
        )


def forecast_text(forecast: CostForecast) -> str:
    """Return a forecast in one line; empty where nobody is asked who costs anything."""
    if not forecast.beats:
        return ""
    tokens = f"{forecast.input_tokens / _MILLION:.1f}M tokens in, {forecast.output_tokens / _MILLION:.2f}M out"
    priced = forecast.cost > 0 or not forecast.unpriced
    money = f"${forecast.cost:.2f} at list prices without a cache" if priced else "no list price known"
    if priced and forecast.unpriced:
        money += f", without {', '.join(forecast.unpriced)}"
    cap = f"pauses at ${forecast.cap:.2f} (caps.cost)" if forecast.cap else "no limit is set (caps.cost)"
    return f"at most {forecast.beats:,} beats, {tokens}: {money}; {cap}"


_COMMON_MODELS = (
    "claude-haiku-4-5",
    "claude-opus-4-1",
    "claude-opus-4-5",
    "claude-sonnet-4-5",
    "gemini-2.5-pro",
    "gpt-4.1",
    "gpt-4o",
    "gpt-4o-mini",
    "gpt-5",
    "gpt-5-mini",
)


def listed_models() -> list[tuple[str, str]]:
    """Return models that many use, as `provider:name`, each with its list price in words; the improviser first."""
    models = [(IMPROVISER_MODEL, "rules and chance, costs nothing")]
    for name in _COMMON_MODELS:
        prices = prices_of(name)
        text = f"${prices.input:g} in, ${prices.output:g} out, for a million tokens"
        models.append((resolve_model_name(name, ""), text))
    return models
