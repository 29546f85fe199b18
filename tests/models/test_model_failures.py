"""Why a model did not answer: the words of servers, and what an error repeats of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.models import (
    ContextTooLong,
    ModelError,
    QuotaExhausted,
    RateLimited,
    RefusedBySafety,
    RequestRejected,
    Unauthorised,
    Unreachable,
)
from hudkit.models.model_errors import MAX_WORDS, FailureSigns, clean_words, model_failure

FULL = [
    FailureSigns(
        400, "context_length_exceeded", "invalid_request_error", "This model's maximum context length is 8192 tokens."
    ),
    FailureSigns(
        400, "", "invalid_request_error", "Your input exceeds the context window of this model. Adjust your input."
    ),
    FailureSigns(400, "", "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
    FailureSigns(
        400, "", "invalid_request_error", "input length and `max_tokens` exceed context limit: 195000 + 8192 > 200000"
    ),
    FailureSigns(413, "", "request_too_large", "Request exceeds the maximum size"),
    FailureSigns(400, "ValidationException", "", "Input is too long for requested model."),
    FailureSigns(
        400, "INVALID_ARGUMENT", "", "The input token count (1048577) exceeds the maximum number of tokens allowed"
    ),
    FailureSigns(400, "", "", "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
    FailureSigns(400, "", "", "Please reduce the length of the messages or completion."),
    FailureSigns(400, "", "", "Prompt contains 65673 tokens, too large for model with 32768 maximum context length"),
    FailureSigns(400, "", "", "too many tokens: total number of tokens in the prompt cannot exceed 4081"),
    FailureSigns(
        400, "", "exceed_context_size_error", "the request exceeds the available context size, try increasing it"
    ),
    FailureSigns(400, "", "", "tokens to keep from the initial prompt is greater than the context length"),
    FailureSigns(500, "", "", "prompt too long; exceeded max context length by 12 tokens"),
    FailureSigns(400, "", "", "Invalid request: Your request exceeded model token limit: 262144"),
    FailureSigns(400, "", "", "invalid params, context window exceeds limit"),
    FailureSigns(422, "", "", "`inputs` tokens + `max_new_tokens` must be <= 4096"),
    FailureSigns(0, "model_context_window_exceeded", "", ""),
]

OTHERS = [
    (
        FailureSigns(429, "rate_limit_exceeded", "tokens", "Rate limit reached: too many tokens per min (TPM)"),
        RateLimited,
    ),
    (FailureSigns(429, "", "tokens", "Request too large. Please reduce the length of the messages."), RateLimited),
    (
        FailureSigns(429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota"),
        QuotaExhausted,
    ),
    (FailureSigns(402, "", "", "Payment Required"), QuotaExhausted),
    (FailureSigns(400, "", "billing_error", "Your credit balance is too low"), QuotaExhausted),
    (FailureSigns(400, "content_filter", "", "The response was filtered"), RefusedBySafety),
    (
        FailureSigns(400, "content_policy_violation", "", "Your request was rejected by our safety system"),
        RefusedBySafety,
    ),
    (FailureSigns(401, "invalid_api_key", "", "Incorrect API key provided"), Unauthorised),
    (FailureSigns(403, "", "permission_error", "not allowed"), Unauthorised),
    (FailureSigns(404, "model_not_found", "", "The model `x` does not exist"), RequestRejected),
    (
        FailureSigns(400, "", "invalid_request_error", "max_tokens: must be positive; the context of tool x is long"),
        RequestRejected,
    ),
    (FailureSigns(503, "", "", "upstream connect error"), Unreachable),
    (FailureSigns(529, "", "overloaded_error", "Overloaded: prompt is too long to serve now"), Unreachable),
    (FailureSigns(0, "", "api_error", "Internal server error"), Unreachable),
]


@pytest.mark.parametrize("signs", FULL, ids=lambda signs: signs.words[:30])
def test_a_full_window_is_known_by_the_words_of_many_servers(signs: FailureSigns) -> None:
    error = model_failure(signs, "m")
    assert type(error) is ContextTooLong and not error.retry


@pytest.mark.parametrize(("signs", "kind"), OTHERS, ids=lambda value: getattr(value, "words", "")[:30])
def test_other_failures(signs: FailureSigns, kind: type[ModelError]) -> None:
    error = model_failure(signs, "a:b")
    assert type(error) is kind and "a:b" in str(error) and clean_words(signs.words)[:20] in str(error)


def test_codes_tell_the_kinds_apart() -> None:
    kinds = [ModelError, *ModelError.__subclasses__()]
    assert len({kind.code for kind in kinds}) == len(kinds)
    assert {kind.__name__ for kind in kinds if kind.retry} == {"RateLimited", "Unreachable", "UnreadableAnswer"}


def test_the_wait_is_said() -> None:
    error = model_failure(FailureSigns(429, after=2.5), "m")
    assert error.after == 2.5 and "2.5 s" in str(error)


@pytest.mark.slow
@given(st.text(max_size=2000), st.text(st.characters(codec="ascii", min_codepoint=33), min_size=8, max_size=60))
def test_words_are_bounded_visible_and_without_the_key(words: str, key: str) -> None:
    told = clean_words(f"{words} {key} {words}", [key])
    assert len(told) <= MAX_WORDS
    assert not re.search(r"[\x00-\x1f\x7f\u202a-\u202e\ud800-\udfff]", told)
    assert key not in told or key in clean_words("[key]") or key in words


@pytest.mark.parametrize(
    "key", ["sk-" + "ant-api03-" + "Ab1" * 12, "AIza" + "Sy" + "B3x" * 11, "gh" + "p_" + "a1B2" * 9]
)
def test_what_looks_like_a_key_is_taken_out_unasked(key: str) -> None:
    assert key not in clean_words(f"Incorrect API key provided: {key}. Look at the page.")
