"""What providers report, field by field: the cache once, reasoning once, the request apart from the answer."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hudkit.tokens import request_tokens_of, used_tokens_of

CASES = {
    "openai: cached and reasoning are parts of the two counts": (
        {
            "prompt_tokens": 1_200,
            "completion_tokens": 300,
            "total_tokens": 1_500,
            "prompt_tokens_details": {"cached_tokens": 1_024, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 250},
        },
        1_500,
        1_200,
    ),
    "openai responses: likewise": (
        {
            "input_tokens": 1_200,
            "input_tokens_details": {"cached_tokens": 1_024},
            "output_tokens": 300,
            "output_tokens_details": {"reasoning_tokens": 250},
            "total_tokens": 1_500,
        },
        1_500,
        1_200,
    ),
    "anthropic: what was read and written is beside the input": (
        {
            "input_tokens": 76,
            "cache_read_input_tokens": 1_024,
            "cache_creation_input_tokens": 100,
            "output_tokens": 300,
        },
        1_500,
        1_200,
    ),
    "gemini: cached is part of the prompt, thoughts and tools' prompts are beside": (
        {
            "promptTokenCount": 1_200,
            "cachedContentTokenCount": 1_024,
            "toolUsePromptTokenCount": 40,
            "candidatesTokenCount": 50,
            "thoughtsTokenCount": 250,
            "totalTokenCount": 1_540,
        },
        1_540,
        1_240,
    ),
    "gemini without a total": (
        {
            "promptTokenCount": 1_200,
            "cachedContentTokenCount": 1_024,
            "toolUsePromptTokenCount": 40,
            "candidatesTokenCount": 50,
            "thoughtsTokenCount": 250,
        },
        1_540,
        1_240,
    ),
    "opencode: cached is beside the input, reasoning beside the output": (
        {"input": 76, "output": 50, "reasoning": 250, "cache": {"read": 1_024, "write": 100}},
        1_500,
        1_200,
    ),
    "opencode with a total": (
        {"total": 1_500, "input": 76, "output": 50, "reasoning": 250, "cache": {"read": 1_024, "write": 100}},
        1_500,
        1_200,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_count_is_taken_once(case: str) -> None:
    report, used, request = CASES[case]
    for told in (report, SimpleNamespace(**report)):
        assert (used_tokens_of(told), request_tokens_of(told)) == (used, request)


@pytest.mark.parametrize("report", [None, {}, {"prompt_tokens": "12"}, {"input": -1, "output": 2}])
def test_what_is_no_count_is_unknown(report: object) -> None:
    assert request_tokens_of(report) is None
