"""The window of a model, and the arithmetic of the overflow (A1, A2)."""

from __future__ import annotations

import pytest
from genai_prices.data_snapshot import get_snapshot
from hypothesis import given, settings
from hypothesis import strategies as st

from hudkit.context.compaction.cooldown import is_overflow
from hudkit.errors import ConfigError
from hudkit.tokens import OverflowRule, Window, usable_of, window_of
from hudkit.tokens.model_facts import FAMILIES, is_small_model

UNKNOWN = "acme-7-large"


@pytest.mark.parametrize(
    ("model", "given", "limit", "source"),
    [
        ("claude-sonnet-4-5", {"host": 1_000_000, "user": 50_000}, 1_000_000, "host"),
        ("claude-sonnet-4-5", {"user": 50_000}, 200_000, "table"),
        (UNKNOWN, {"host": 64_000, "user": 50_000}, 64_000, "host"),
        (UNKNOWN, {"user": 50_000}, 50_000, "user"),
        (UNKNOWN, {}, 200_000, "assumed"),
        ("", {}, 200_000, "assumed"),
        (UNKNOWN, {"host": 0, "user": 50_000}, 50_000, "user"),
        (UNKNOWN, {"host": -1}, 200_000, "assumed"),
        (UNKNOWN, {"observed": 41_000}, 41_000, "observed"),
        (UNKNOWN, {"observed": 41_000, "user": 50_000}, 50_000, "user"),
        ("claude-sonnet-4-5", {"observed": 41_000}, 200_000, "table"),
    ],
)
def test_who_is_believed(model, given, limit, source):
    found = window_of(model, **given)
    assert (found.limit_tokens, found.source) == (limit, source)


def test_what_the_user_says_of_a_model_comes_before_host_and_table():
    own = {"qwen3": 8_192, "qwen3-coder": 16_384, "claude-sonnet-4-5": 1_000_000}
    found = window_of("claude-sonnet-4-5-20250929", host=200_000, user=5, by_model=own)
    assert (found.limit_tokens, found.source) == (1_000_000, "user")
    assert window_of("qwen/Qwen3-Coder-30B-A3B", by_model=own).limit_tokens == 16_384, "the longest name that fits"
    assert window_of("qwen3-32b", by_model=own).limit_tokens == 8_192
    assert window_of("gpt-5", by_model=own) == window_of("gpt-5")


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        ("deepseek-chat", 64_000),
        ("Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf", 32_768),
        ("llama3.1:8b-instruct-q4_0", 131_072),
        ("meta-llama/Llama-3.3-70B-Instruct", 131_072),
        ("moonshotai/kimi-k2-instruct", 131_072),
        ("z-ai/glm-4.6", 200_000),
        ("mistralai/devstral-2512", 262_144),
        ("google/gemma-3-27b-it", 131_072),
        ("grok-3-mini", 131_072),
    ],
)
def test_open_families(model, limit):
    assert (window_of(model).limit_tokens, window_of(model).source) == (limit, "table")


@pytest.mark.parametrize("user", [0, -5])
def test_a_window_without_tokens_is_refused(user):
    with pytest.raises(ConfigError, match=f"{user} tokens"):
        window_of(UNKNOWN, user=user)
    with pytest.raises(ConfigError):
        Window(user, None, None, "user")


def test_output_and_input_limits():
    assert window_of("gpt-5") == Window(400_000, 128_000, 272_000, "table")
    assert window_of("gpt-5", host=400_000) == Window(400_000, 128_000, 272_000, "host")
    assert window_of("gpt-5", host=40_000) == Window(40_000, None, None, "host"), "another model in fact"
    assert window_of("m", host=40_000, host_output=4_000, host_input=0) == Window(40_000, 4_000, None, "host")


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4-20250514", "claude-sonnet-4"),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet"),
        ("openrouter/openai/GPT-5.1-codex", "gpt-5.1"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o"),
        ("gpt-4.1-nano", "gpt-4.1"),
        ("o3-mini", "o3"),
        ("models/gemini-2.5-pro-preview-05-06", "gemini-2.5-pro"),
        ("claude-sonnet-4-9", None),
        ("gpt-5.9", None),
        ("gpt-45", None),
        ("my-claude", None),
        ("", None),
    ],
)
def test_families(model, family):
    windows = {name: Window(*limits, "table") for name, *limits in FAMILIES}
    assert window_of(model) == windows.get(family, Window(200_000, None, None, "assumed"))


@pytest.mark.slow
@pytest.mark.parametrize("row", FAMILIES, ids=lambda row: row[0])
def test_the_table_is_consistent(row):
    name, window, output, inputs = row
    assert window_of(name) == Window(window, output, inputs, "table")
    assert window >= (inputs or 0) + (output or 0) or inputs is None
    assert output is None or output <= window


def test_the_table_agrees_with_the_catalogue():
    snapshot = get_snapshot()
    off = {}
    for name, window, _, _ in FAMILIES:
        try:
            listed = snapshot.find_provider_model(name, None, None, None)[1].context_window
        except LookupError:
            continue
        if listed and abs(window - listed) > 0.1 * listed:
            off[name] = (window, listed)
    assert off == {}


def test_the_catalogue_is_asked_only_on_request():
    assert window_of("command-light") == Window(200_000, None, None, "assumed")
    assert window_of("command-light", use_catalogue=True) == Window(4_096, None, None, "table")
    assert window_of(UNKNOWN, user=50_000, use_catalogue=True).source == "user"


@pytest.mark.parametrize(
    ("window", "rule", "usable"),
    [
        (Window(40_000, 4_000, None, "host"), OverflowRule(), 36_000),  # seen in OpenCode
        (Window(200_000, 64_000, None, "table"), OverflowRule(), 136_000),
        (Window(200_000, 64_000, None, "table"), OverflowRule(output_cap=32_000), 168_000),
        (Window(400_000, 128_000, 272_000, "table"), OverflowRule(), 252_000),
        (Window(400_000, 8_000, 272_000, "table"), OverflowRule(), 264_000),
        (Window(400_000, 8_000, 272_000, "table"), OverflowRule(reserved=50_000), 222_000),
        (Window(400_000, 8_000, 272_000, "table"), OverflowRule(reserved=0), 272_000),
        (Window(200_000, None, None, "assumed"), OverflowRule(), 180_000),
        (Window(8_000, None, None, "user"), OverflowRule(), 7_200),
        (Window(8_000, 8_000, None, "table"), OverflowRule(), 0),
        (Window(8_000, 9_000, None, "table"), OverflowRule(), 0),
        (Window(200_000, 64_000, None, "table"), OverflowRule(automatic=False), None),
    ],
)
def test_usable(window, rule, usable):
    assert usable_of(window, rule) == usable
    if usable is None:
        assert not is_overflow(10**9, window, rule)
    else:
        assert is_overflow(usable, window, rule)
        assert not is_overflow(usable - 1, window, rule)


def test_unknown_usage_is_no_overflow():
    assert not is_overflow(None, Window(8_000, 8_000, None, "table"))


@pytest.mark.parametrize("settings_", [{"reserved": -1}, {"output_cap": -1}])
def test_negative_settings_are_refused(settings_):
    with pytest.raises(ConfigError, match="-1 tokens"):
        OverflowRule(**settings_)


@given(
    limit=st.integers(1, 2_000_000),
    output=st.none() | st.integers(1, 2_000_000),
    inputs=st.none() | st.integers(1, 2_000_000),
    reserved=st.none() | st.integers(0, 100_000),
)
@settings(deadline=None)
def test_usable_lies_within_the_window(limit, output, inputs, reserved):
    window = Window(limit, output, inputs, "host")
    usable = usable_of(window, OverflowRule(reserved=reserved))
    assert 0 <= usable <= max(limit, inputs or 0)


@pytest.mark.parametrize(
    ("model", "small"),
    [
        ("qwen2.5-coder-7b-instruct", True),
        ("qwen3:4b", True),
        ("mistral-7b-v0.3", True),
        ("ollama/llama3", True),
        ("qwen3-30b-a3b", False),
        ("gpt-oss-120b", False),
        ("claude-sonnet-4-5", False),
        ("openrouter/anthropic/claude-sonnet-4.5", False),
        ("qwen3-coder", False),
        ("our-fine-tune-v3", True),
        ("", True),
    ],
)
def test_a_models_name_says_whether_it_must_be_taken_for_a_small_one(model: str, small: bool) -> None:
    assert is_small_model(model) is small
