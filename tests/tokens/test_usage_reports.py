"""Tokens in use, from what hosts and model servers report: cache tokens once."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudkit.tokens import used_tokens_of

OPENCODE = {"input": 600, "output": 20, "reasoning": 0, "cache": {"read": 600, "write": 0}}


@pytest.mark.parametrize(
    ("report", "tokens"),
    [
        (
            {"prompt_tokens": 1_200, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 600}},
            1_220,
        ),
        ({"prompt_tokens": 1_200, "completion_tokens": 20, "total_tokens": 1_220}, 1_220),
        ({"prompt_tokens": 1_200}, 1_200),
        (
            {
                "input_tokens": 1_200,
                "output_tokens": 20,
                "total_tokens": 1_220,
                "input_tokens_details": {"cached_tokens": 600},
            },
            1_220,
        ),
        (
            {
                "input_tokens": 1_200,
                "output_tokens": 20,
                "total_tokens": 1_220,
                "input_token_details": {"cache_read": 600},
            },
            1_220,
        ),
        (
            {
                "input_tokens": 100,
                "output_tokens": 20,
                "cache_read_input_tokens": 900,
                "cache_creation_input_tokens": 200,
                "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 0},
            },
            1_220,
        ),
        ({"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": None}, 120),
        ({**OPENCODE, "total": 1_220}, 1_220),
        (OPENCODE, 1_220),
        ({**OPENCODE, "total": 0}, 1_220),
        (
            {
                "promptTokenCount": 1_200,
                "cachedContentTokenCount": 600,
                "candidatesTokenCount": 20,
                "totalTokenCount": 1_220,
            },
            1_220,
        ),
    ],
    ids=[
        *("openai", "openai with total", "openai without answer", "responses", "langchain", "anthropic"),
        *("anthropic without cache", "opencode with total", "opencode", "opencode before the total", "gemini"),
    ],
)
def test_shapes(report, tokens):
    assert used_tokens_of(report) == tokens
    assert used_tokens_of(SimpleNamespace(**report)) == tokens


@pytest.mark.parametrize(
    "report",
    [
        None,
        {},
        [],
        "12",
        {"used": 12},
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": -5, "completion_tokens": 20},
        {"prompt_tokens": "1200"},
        {"prompt_tokens": 12.5},
        {"prompt_tokens": True},
        {"prompt_tokens": float("nan")},
        {"prompt_tokens": float("inf")},
        {**OPENCODE, "total": -1},
        {**OPENCODE, "cache": {"read": "many"}},
    ],
    ids=repr,
)
def test_what_is_not_a_count_is_unknown(report):
    assert used_tokens_of(report) is None


def test_a_whole_number_written_as_a_fraction_is_a_count():
    assert used_tokens_of({"prompt_tokens": 1200.0}) == 1_200


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["read", "write", "x"]), inner),
    max_leaves=4,
)
FIELDS = st.sampled_from(
    ["input", "output", "cache", "total", "input_tokens", "output_tokens", "total_tokens", "prompt_tokens"]
)


@pytest.mark.slow
@given(report=JUNK | st.dictionaries(FIELDS, JUNK, max_size=5))
@settings(deadline=None)
def test_never_raises_and_never_says_less_than_one(report):
    tokens = used_tokens_of(report)
    assert tokens is None or (isinstance(tokens, int) and tokens >= 1)
