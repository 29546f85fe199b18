"""What goes wrong in pydantic-ai and the clients below it, as errors of the port."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic_ai import exceptions

from hudkit.models.failures import (
    ModelError,
    QuotaSpent,
    RefusedBySafety,
    Rejected,
    Signs,
    TooLong,
    Unauthorised,
    Unreachable,
    Unreadable,
    failure,
    kind_of,
)

# What pydantic-ai is sure of; the rest is told from the signs. The first that fits counts.
_KNOWN: tuple[tuple[type[BaseException], type[ModelError]], ...] = (
    (exceptions.ModelContextWindowExceededError, TooLong),
    (exceptions.ModelQuotaExceededError, QuotaSpent),
    (exceptions.ModelRequestTimeout, Unreachable),
    (exceptions.ModelConnectionError, Unreachable),
    (exceptions.ContentFilterError, RefusedBySafety),
    (exceptions.UnexpectedModelBehavior, Unreadable),
    (exceptions.UserError, Rejected),
    (NotImplementedError, Rejected),
    (OSError, Unreachable),
)


_UNKNOWN_CALLERS = frozenset(
    {"NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "TokenRetrievalError"}
    | {"DefaultCredentialsError", "RefreshError"}
)
"""Errors of the clients of Amazon and Google, by their names: nothing was found to sign a request with."""


def model_error(error: Exception, who: str, secrets: Iterable[str], *, begun: bool) -> ModelError:
    """The error of the port for what was raised; `begun` says that the answer had begun to arrive.

    What nobody expects is `Unreadable`: an answer that the client cannot make sense of.
    """
    if isinstance(error, ModelError):
        return error
    signs = signs_of(error)
    known = next((kind for type_, kind in _KNOWN if isinstance(error, type_)), None)
    if type(error).__name__ in _UNKNOWN_CALLERS:
        known = Unauthorised
    if known is TooLong and signs.status in (429, 529):
        known = None
    if known is Unreachable and begun:
        known = Unreadable
    if known is None and not isinstance(error, exceptions.ModelAPIError):
        known = Unreadable
    elif known is None:
        known = kind_of(signs)
        if known is Rejected and isinstance(error, exceptions.ModelAuthenticationError):
            known = Unauthorised
    return failure(signs, who, kind=known, secrets=secrets)


def signs_of(error: Exception) -> Signs:
    """Status, code, type, words and waiting time, wherever the error keeps them."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, Mapping) else {}
    inner = inner if isinstance(inner, Mapping) else {"message": inner}
    words = inner.get("message") or (body if isinstance(body, str) else "") or str(error)
    return Signs(
        status=int(getattr(error, "status_code", 0) or 0),
        code=_text(inner.get("code") or getattr(error, "provider_error_code", "")),
        kind=_text(inner.get("type") or getattr(error, "provider_error_type", "")),
        words=_text(words),
        after=getattr(error, "retry_after", None),
    )


def _text(value: Any) -> str:
    return "" if value is None else str(value)
