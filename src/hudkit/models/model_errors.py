"""Why a model did not answer: typed errors, and the tables that tell them from a server's words."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from hudkit.compose.visible_text import shorten, visible
from hudkit.errors import HudkitError
from hudkit.log.secret_patterns import without_secrets

MAX_WORDS = 400
"""Characters of a server's own words that an error repeats at most."""


class ModelError(HudkitError):
    """A model gave no answer.

    `retry` says whether the same request may succeed later, `after` in how many seconds (`None`: unknown).
    """

    code = "model"
    retry = False

    def __init__(self, message: str, *, hint: str = "", after: float | None = None, **details: object) -> None:
        super().__init__(message, hint=hint, **details)
        self.after = after


class ContextTooLong(ModelError):
    """The request is longer than the window: compact, then send it again."""

    code = "model-too-long"


class RateLimited(ModelError):
    """Too many requests or tokens in a period of time."""

    code = "model-rate-limited"
    retry = True


class QuotaExhausted(ModelError):
    """The account's credit or quota is used up; waiting does not help."""

    code = "model-quota"


class RefusedBySafety(ModelError):
    """The request was refused for safety before an answer began."""

    code = "model-refused"


class Unauthorised(ModelError):
    """The key is missing, wrong, or not allowed to use this model."""

    code = "model-unauthorised"


class Unreachable(ModelError):
    """No connection, no answer in time, or a server that failed or is overloaded."""

    code = "model-unreachable"
    retry = True


class UnreadableAnswer(ModelError):
    """The answer broke off, or is not what such a server answers."""

    code = "model-unreadable"
    retry = True


class RequestRejected(ModelError):
    """The server does not take this request (or does not know this model), however often it is sent."""

    code = "model-rejected"


class FailureSigns(msgspec.Struct, frozen=True):
    """What a failed call shows: the HTTP status (0: none), the server's code, type and words, the seconds to wait."""

    status: int = 0
    code: str = ""
    kind: str = ""
    words: str = ""
    after: float | None = None


# How servers say that a request is longer than the window: most have no code for it, and the loop must know, because
# compacting mends it and nothing else does.
# OpenAI: "This model's maximum context length is 128000 tokens", "Your input exceeds the context window".
# Anthropic: "prompt is too long: 210000 tokens > 200000 maximum", "input length and `max_tokens` exceed
# context limit".
# Bedrock: "Input is too long for requested model". Gemini: "The input token count (N) exceeds the maximum number".
# xAI: "This model's maximum prompt length is". Groq: "Please reduce the length of the messages".
# Mistral: "too large for model with N maximum context length". Cohere: "too many tokens: total number of tokens".
# llama.cpp: "exceeds the available context size". LM Studio: "greater than the context length".
# Ollama: "prompt too long; exceeded max context length". Moonshot: "exceeded model token limit".
# MiniMax: "context window exceeds limit". TGI: "`inputs` tokens + `max_new_tokens` must be <=".
_TOO_LONG = re.compile(
    r"maximum context length|exceeds? the context window|context window exceeds|exceeds? (?:the )?context limit"
    r"|prompt (?:is )?too long|input is too long|input tokens? exceed|input token count|number of tokens allowed"
    r"|maximum prompt length|reduce the length of the (?:messages|prompt)|too many tokens: total number"
    r"|available context size|greater than the context length|max(?:imum)? context length|exceeded model token limit"
    r"|`?inputs`? tokens \+ `?max_new_tokens`? must be|input (?:is )?longer than the (?:model's )?context",
    re.IGNORECASE,
)

# The codes and types that servers give, in the order in which they are looked for. The last row is looked for only
# after the words and the status: `api_error` says little beside them.
_CODES: tuple[tuple[type[ModelError], frozenset[str]], ...] = (
    (
        ContextTooLong,
        frozenset({"context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded"}),
    ),
    (
        QuotaExhausted,
        frozenset(
            {"insufficient_quota", "billing_error", "billing_hard_limit_reached", "exceeded_current_quota_error"}
        ),
    ),
    (
        RefusedBySafety,
        frozenset({"content_filter", "content_policy_violation", "invalid_prompt", "responsibleaipolicyviolation"}),
    ),
    (RateLimited, frozenset({"rate_limit_exceeded", "rate_limit_error", "throttlingexception"})),
    (Unauthorised, frozenset({"invalid_api_key", "authentication_error", "permission_error"})),
    (RequestRejected, frozenset({"model_not_found", "not_found_error"})),
    (Unreachable, frozenset({"overloaded_error", "api_error", "server_error", "timeout_error"})),
)

_STATUSES: dict[int, type[ModelError]] = {
    401: Unauthorised,
    402: QuotaExhausted,
    403: Unauthorised,
    408: Unreachable,
    409: Unreachable,
    413: ContextTooLong,
    429: RateLimited,
}

_MESSAGES: dict[type[ModelError], tuple[str, str]] = {
    ContextTooLong: ("the request is longer than the window of {who}", "compact the session, or take a larger model"),
    RateLimited: ("{who} is asked too often", "try again{after}"),
    QuotaExhausted: ("the quota of {who} is used up", "top up the account, or take another model"),
    RefusedBySafety: ("{who} refused the request for safety", "say it otherwise, or take another model"),
    Unauthorised: ("{who} does not accept the key", "set the key of this provider, with access to this model"),
    Unreachable: ("{who} does not answer", "try again{after}"),
    UnreadableAnswer: ("the answer of {who} cannot be read", "try again"),
    RequestRejected: ("{who} does not take the request", "the words of the server say what is wrong"),
}


def _classify_failure(signs: FailureSigns) -> type[ModelError]:
    """Return the error that these signs mean: the server's code decides, then its words, then the status.

    Example: status 400 with "prompt is too long: 210000 tokens" is `ContextTooLong`; with status 429 the same words
    mean a limit of tokens per minute, which is `RateLimited`.
    """
    named = {signs.code.lower(), signs.kind.lower()} - {""}
    for kind, codes in _CODES[:-1]:
        if named & codes:
            return kind
    if signs.status not in (429, 529) and _TOO_LONG.search(signs.words):
        return ContextTooLong
    if signs.status in _STATUSES:
        return _STATUSES[signs.status]
    if signs.status >= 500 or named & _CODES[-1][1]:
        return Unreachable
    return RequestRejected


def model_failure(
    signs: FailureSigns, who: str, *, kind: type[ModelError] | None = None, secrets: Iterable[str] = ()
) -> ModelError:
    """Return the error for these signs; `who` names the model, `secrets` are taken out of the server's words.

    `kind` is given where the caller knows better than the signs do.
    """
    chosen = kind or _classify_failure(signs)
    message, hint = _MESSAGES[chosen]
    after = f" in {signs.after:g} s" if signs.after else ""
    words = clean_words(signs.words, secrets)
    status = f" ({signs.status})" if signs.status else ""
    return chosen(
        message.format(who=who) + status + (f": {words}" if words else ""),
        hint=hint.format(after=after),
        after=signs.after,
        model=who,
        status=signs.status,
        words=words,
    )


def clean_words(words: str, secrets: Iterable[str] = ()) -> str:
    """Return a server's words on one line, bounded, without control characters, keys, or what looks like a key."""
    for secret in secrets:
        # A shorter one is no key, and would cut holes into ordinary words.
        if len(secret) >= 6:
            words = words.replace(secret, "[key]")
    words = without_secrets(words.encode("utf-8", "replace").decode())
    return shorten(visible(words), MAX_WORDS).strip().rstrip(".")
