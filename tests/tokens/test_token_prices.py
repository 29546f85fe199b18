"""Prices: from the catalogue, else from the bundled table; never guessed."""

from __future__ import annotations

import sys

import pytest

from hudkit.context.caching import CallCost, usd_cost
from hudkit.errors import ConfigError
from hudkit.tokens import known_prices, model_facts, prices_of
from hudkit.tokens.model_facts import BUNDLED


@pytest.fixture
def bare(monkeypatch):
    """As if the data of genai-prices could not be loaded."""
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", None)
    for remembered in (model_facts._snapshot, known_prices):
        remembered.cache_clear()
    yield
    for remembered in (model_facts._snapshot, known_prices):
        remembered.cache_clear()


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("Claude-Sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-mini", "gpt-4o-mini"),
        ("openrouter/openai/gpt-5", "gpt-5"),
    ],
)
def test_bundled_names(bare, model, name):
    found = prices_of(model)
    assert (found.model, found.input, found.cached_read, found.cache_write, found.output) == (name, *BUNDLED[name])
    assert "2026-11-21" in found.source


@pytest.mark.parametrize("model", ["gpt-5.1", "gpt-4o-audio-preview", "claude-sonnet-4-5-1", "acme-7", ""])
def test_bundled_prices_are_not_guessed(bare, model):
    with pytest.raises(ConfigError, match="no token prices"):
        prices_of(model)


def test_near_matches_are_named(bare):
    with pytest.raises(ConfigError, match=r"near matches: .*claude-sonnet-4-5"):
        prices_of("claude-sonet-4-5")


@pytest.mark.parametrize("model", sorted(BUNDLED))
def test_the_table_agrees_with_the_catalogue(model):
    """As of the day on which the table was read."""
    found = prices_of(model, timestamp=1_795_219_200_000)
    assert (found.input, found.cached_read, found.cache_write, found.output) == BUNDLED[model]
    assert found.source.startswith("genai-prices ")


def test_what_is_known_of_a_model_without_prices_is_none(bare):
    assert known_prices("acme-7") is None
    assert known_prices("gpt-5") == prices_of("gpt-5")


def test_near_matches_are_looked_for_only_to_name_them(monkeypatch):
    def look(*words, **settings):
        raise AssertionError(f"looked for names near {words[0]!r}")

    monkeypatch.setattr("difflib.get_close_matches", look)
    assert known_prices("orchid-without-a-price") is None
    with pytest.raises(AssertionError, match="orchid-without"):
        prices_of("orchid-without-a-price")


def test_prices_change_with_time():
    assert prices_of("o3", timestamp=1_735_689_600_000).input > prices_of("o3", timestamp=1_764_547_200_000).input


def test_sellers_in_front_of_the_name():
    assert prices_of("anthropic/claude-sonnet-4-20250514").input == 3.0


def test_unknown_in_the_catalogue():
    with pytest.raises(ConfigError, match=r"'gpt-4oo'.*near matches: .*gpt-4o"):
        prices_of("gpt-4oo")


def test_models_without_a_token_price_are_refused():
    with pytest.raises(ConfigError):
        prices_of("whisper-1")


def test_prices_fit_the_cost_model(bare):
    assert usd_cost([CallCost(1_000_000, 0, 0)], prices_of("claude-sonnet-4-5")) == pytest.approx(0.3)
