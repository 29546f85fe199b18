"""Why a model did not answer: typed errors, and the tables that tell them from a server's words."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from hudkit.compose.visible_text import shorten, visible
from hudkit.errors import HudkitError
from hudkit.log.redact import redact

SAID = 400
"""Characters of a server's own words that an error repeats."""


class ModelError(HudkitError):
    """A model gave no answer.

    `retry` says whether the same request may succeed later, `after` in how many seconds (`None`: not told).
    """

    code = "model"
    retry = False

    def __init__(self, message: str, *, hint: str = "", after: float | None = None, **details: object) -> None:
        super().__init__(message, hint=hint, **details)
        self.after = after


class TooLong(ModelError):
    """The request is longer than the window: compact, then send it again."""

    code = "model-too-long"


class RateLimited(ModelError):
    """Too many requests or tokens in a while."""

    code = "model-rate-limited"
    retry = True


class QuotaSpent(ModelError):
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


class Unreadable(ModelError):
    """The answer broke off, or is not what such a server answers."""

    code = "model-unreadable"
    retry = True


class Rejected(ModelError):
    """The server does not take this request (or does not know this model), however often it is sent."""

    code = "model-rejected"


class Signs(msgspec.Struct, frozen=True):
    """What a failed call shows: the HTTP status (0: none), the server's code, type and words, seconds to wait."""

    status: int = 0
    code: str = ""
    kind: str = ""
    words: str = ""
    after: float | None = None


# The words of servers for a request that is longer than the window.
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

_CODES: tuple[tuple[type[ModelError], frozenset[str]], ...] = (
    (
        TooLong,
        frozenset({"context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded"}),
    ),
    (
        QuotaSpent,
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
    (Rejected, frozenset({"model_not_found", "not_found_error"})),
    (Unreachable, frozenset({"overloaded_error", "api_error", "server_error", "timeout_error"})),
)

_STATUSES: dict[int, type[ModelError]] = {
    401: Unauthorised,
    402: QuotaSpent,
    403: Unauthorised,
    408: Unreachable,
    409: Unreachable,
    413: TooLong,
    429: RateLimited,
}

_SAYS: dict[type[ModelError], tuple[str, str]] = {
    TooLong: ("the request is longer than the window of {who}", "compact the session, or take a larger model"),
    RateLimited: ("{who} is asked too often", "try again{after}"),
    QuotaSpent: ("the quota of {who} is used up", "top up the account, or take another model"),
    RefusedBySafety: ("{who} refused the request for safety", "say it otherwise, or take another model"),
    Unauthorised: ("{who} does not accept the key", "set the key of this provider, with access to this model"),
    Unreachable: ("{who} does not answer", "try again{after}"),
    Unreadable: ("the answer of {who} cannot be read", "try again"),
    Rejected: ("{who} does not take the request", "the words of the server say what is wrong"),
}


def kind_of(signs: Signs) -> type[ModelError]:
    """Which error these signs mean: the server's code, then its words, then the status decide.

    A limit of tokens per minute uses the words of a window that is too small: with status 429 it is a rate limit.
    """
    named = {signs.code.lower(), signs.kind.lower()} - {""}
    for kind, codes in _CODES[:-1]:
        if named & codes:
            return kind
    if signs.status not in (429, 529) and _TOO_LONG.search(signs.words):
        return TooLong
    if signs.status in _STATUSES:
        return _STATUSES[signs.status]
    if signs.status >= 500 or named & _CODES[-1][1]:
        return Unreachable
    return Rejected


def failure(
    signs: Signs, who: str, *, kind: type[ModelError] | None = None, secrets: Iterable[str] = ()
) -> ModelError:
    """The error for these signs; `who` names the model, `secrets` are taken out of the server's words.

    `kind` is what is known better than the signs tell.
    """
    chosen = kind or kind_of(signs)
    said, hint = _SAYS[chosen]
    after = f" in {signs.after:g} s" if signs.after else ""
    words = clean(signs.words, secrets)
    status = f" ({signs.status})" if signs.status else ""
    return chosen(
        said.format(who=who) + status + (f": {words}" if words else ""),
        hint=hint.format(after=after),
        after=signs.after,
        model=who,
        status=signs.status,
        words=words,
    )


def clean(words: str, secrets: Iterable[str] = ()) -> str:
    """A server's words on one line, bounded, without control characters, keys, or what looks like one."""
    for secret in secrets:
        if len(secret) >= 6:
            words = words.replace(secret, "[key]")
    quoted = msgspec.json.encode(words.encode("utf-8", "replace").decode())
    return shorten(visible(msgspec.json.decode(redact(quoted), type=str)), SAID).strip().rstrip(".")
