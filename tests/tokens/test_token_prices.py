"""Prices: as the catalogue has them, which is asked without its package; never guessed."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files
from types import SimpleNamespace

import pytest
from genai_prices.data_snapshot import get_snapshot

from hudkit.context.caching import CallCost, usd_cost
from hudkit.errors import ConfigError
from hudkit.tokens import known_prices, model_facts, price_copy, prices_of, window_of

MOMENTS = (1_704_067_200_000, 1_762_016_400_000, 1_795_662_000_000)
"""Times (Unix ms) before and after prices changed, at noon and at night: some are lower at some hours."""


@pytest.fixture
def package(monkeypatch):
    """As if the package that is installed were of another version than the one that was copied."""
    monkeypatch.setattr(price_copy, "is_copy_current", lambda: False)
    for remembered in (model_facts._catalogue, known_prices):
        remembered.cache_clear()
    yield monkeypatch
    for remembered in (model_facts._catalogue, known_prices):
        remembered.cache_clear()


def everything_said(model):
    """The window of a model and its prices at some times; `None` for what is not listed."""
    prices = []
    for moment in MOMENTS:
        try:
            prices.append(prices_of(model, timestamp=moment))
        except ConfigError:
            prices.append(None)
    window = window_of(model, use_catalogue=True)
    return prices, window.known_tokens


def spellings():
    sellers = get_snapshot().providers
    yield from (
        "gpt-5-20250807",
        "claude-sonnet-4-5-20250929",
        "litellm/anthropic/claude-sonnet-4-5",
        "azure/gpt-5",
        "",
    )
    yield from ("Anthropic/Claude-Sonnet-4.5", "google-vertex/gemini-2.5-pro", "acme/gpt-5", "orchid-1", "bedrock/x")
    for number, seller in enumerate(sellers):
        for model in seller.models[number % 3 :: 3]:
            yield from (model.id, f"{seller.id}/{model.id}")


@pytest.mark.slow
def test_the_copy_says_what_the_package_says(package):
    names = list(dict.fromkeys(spellings()))
    package.setattr("difflib.get_close_matches", lambda *words, **settings: [])  # takes minutes for so many
    by_package = {name: everything_said(name) for name in names}
    package.setattr(price_copy, "is_copy_current", lambda: True)
    model_facts._catalogue.cache_clear()
    by_copy = {name: everything_said(name) for name in names}
    assert model_facts._catalogue() is price_copy.load_price_copy()
    assert {name: (by_copy[name], by_package[name]) for name in names if by_copy[name] != by_package[name]} == {}
    assert sum(prices[-1] is not None for prices, _ in by_copy.values()) > 800


def test_the_copy_is_of_the_version_that_is_installed():
    """`python scripts/copy_prices.py` writes it anew."""
    assert price_copy.load_price_copy().version == version("genai-prices")
    assert price_copy.is_copy_current()


def test_the_packages_licence_goes_with_the_copy():
    licence = files("hudkit.tokens").joinpath("prices-LICENSE.txt").read_text(encoding="utf-8")
    assert "Pydantic Services" in licence and "Permission is hereby granted" in licence


def test_prices_are_had_without_the_package():
    code = "import sys; from hudkit.tokens import prices_of; prices_of('gpt-5'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"genai_prices", "pydantic", "httpx2", "importlib.metadata"} & set(done.stdout.split())


def test_another_version_is_asked_itself(package):
    listed = SimpleNamespace(id="gpt-9", get_prices=lambda moment: SimpleNamespace(input_mtok=1, output_mtok=2))
    newer = SimpleNamespace(find_provider_model=lambda *asked: (None, listed))
    package.setattr("genai_prices.data_snapshot.get_snapshot", lambda: newer)
    found = prices_of("gpt-9")
    assert (found.model, found.input, found.cached_read, found.output) == ("gpt-9", 1, 1, 2)


def test_a_package_that_is_broken_costs_nothing(package):
    package.setitem(sys.modules, "genai_prices.data_snapshot", None)
    assert prices_of("gpt-5").source == f"genai-prices {price_copy.load_price_copy().version}"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("Claude-Sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-mini", "gpt-4o-mini"),
        ("openrouter/openai/gpt-5", "openai/gpt-5"),
    ],
)
def test_names_as_hosts_spell_them(model, name):
    assert prices_of(model).model == name


@pytest.mark.parametrize("model", ["acme-7", "gpt-4oo", ""])
def test_prices_are_not_guessed(model):
    with pytest.raises(ConfigError, match="no token prices"):
        prices_of(model)


def test_near_matches_are_named():
    with pytest.raises(ConfigError, match=r"near matches: .*claude-sonnet-4-5"):
        prices_of("claude-sonet-4-5")


def test_what_is_known_of_a_model_without_prices_is_none():
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


def test_prices_fit_the_cost_model():
    assert usd_cost([CallCost(1_000_000, 0, 0)], prices_of("claude-sonnet-4-5")) == pytest.approx(0.3)
