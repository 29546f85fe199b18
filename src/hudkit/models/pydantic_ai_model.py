"""One model of pydantic-ai behind the port: its stream, its errors, and the connection."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import Any, cast

from pydantic_ai import exceptions
from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import Model as PydanticAiModel
from pydantic_ai.models import infer_model
from pydantic_ai.providers import Provider, infer_provider_class

from hudkit.errors import ConfigError
from hudkit.models import pydantic_ai_messages
from hudkit.models.model_errors import (
    ContextTooLong,
    FailureSigns,
    ModelError,
    QuotaExhausted,
    RefusedBySafety,
    RequestRejected,
    Unauthorised,
    Unreachable,
    UnreadableAnswer,
    classify_failure,
    clean_words,
    model_failure,
)
from hudkit.models.port import CompletionEvent, CompletionRequest
from hudkit.tokens import Prices, Window

# Models of pydantic-ai that make one text of all instructions, and trim it.
_JOINING = frozenset({"OpenAIResponsesModel"})

EXTRAS: Mapping[str, str] = {"anthropic": "session", "openai": "session", "google": "google", "bedrock": "bedrock"}
"""The extras of hudkit that install a provider's client; other clients come with pydantic-ai's own extras."""

_GROUP = re.compile(r"pydantic-ai-slim\[([\w-]+)\]")
# Where a message about a missing package turns into advice for users of pydantic-ai, which would mislead ours.
_ADVICE = re.compile(r" To try Pydantic AI without|, you can use the ")

# Nothing is put before our own system texts.
_PLAIN: Any = {"framing_announcement": "never"}


class PydanticModel:
    """A `hudkit.models.Model` over a model of pydantic-ai; see `open_model`."""

    def __init__(
        self, name: str, model: PydanticAiModel, window: Window, prices: Prices | None, *, secrets: Iterable[str] = ()
    ) -> None:
        self.name = name
        self.window = window
        self.prices = prices
        self._model = model
        self._secrets = (*secrets, *_keys(os.environ))
        self._joins = any(kind.__name__ in _JOINING for kind in type(model).__mro__)
        self._entered = False

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[CompletionEvent, None]:
        """Yield the answer as `hudkit.models.Model.stream` describes."""
        breaks = request.settings.cache and pydantic_ai_messages.needs_breakpoints(
            self._model.system, self._model.model_name
        )
        breaks_within = breaks and request.settings.cache_messages
        messages = pydantic_ai_messages.request_messages(
            request, self._model.system, breaks=breaks_within, joins=self._joins
        )
        settings = pydantic_ai_messages.request_settings(
            request, self._model.system, breaks=breaks, joins=self._joins
        )
        parameters = pydantic_ai_messages.request_parameters(request, joins=self._joins)
        begun = False
        try:
            if not self._entered:
                self._entered = True
                await self._model.__aenter__()
            async with model_request_stream(
                self._model, messages, model_settings=settings, model_request_parameters=parameters
            ) as events:
                async for event in events:
                    begun = True
                    if piece := pydantic_ai_messages.text_delta(event):
                        yield piece
                end = pydantic_ai_messages.completion(events.get(), self.name, self.prices)
        except Exception as error:
            # Not chained: the messages of clients may repeat a key, and a traceback prints the whole chain.
            raise _model_error(error, self.name, self._secrets, begun=begun) from None
        for call in end.answer.calls:
            yield call
        yield end

    async def close(self) -> None:
        """Close the connection, if there is one."""
        if self._entered:
            self._entered = False
            await self._model.__aexit__(None, None, None)


def connect(name: str, provider: str, options: Mapping[str, Any]) -> PydanticAiModel:
    """Return the model of pydantic-ai for `provider:name`; `options` go to its provider.

    Raises `ConfigError` where there is none, or something that it needs is missing.
    """
    try:
        model = infer_model(name, lambda asked: _provider(asked, options))
        # Constructed once more, because only the constructor takes settings that hold for every request.
        constructor: Any = type(model)
        return cast(PydanticAiModel, constructor(model.model_name, provider=model.provider, settings=_PLAIN))
    except Exception as error:
        # Every client has errors of its own for a missing key, region or package.
        secrets = (str(options.get("api_key", "")), *_keys(os.environ))
        words = clean_words(_ADVICE.split(str(error))[0], secrets)
        raise ConfigError(f"the model {name!r} cannot be opened: {words}", hint=_hint(provider, error)) from None


def _hint(provider: str, error: Exception) -> str:
    if isinstance(error, ImportError) and (group := _GROUP.search(str(error))):
        ours = EXTRAS.get(group[1])
        return f'install "hudkit[{ours}]"' if ours else f'install "pydantic-ai-slim[{group[1]}]"'
    region = ", its region" if provider == "bedrock" else ""
    return f"check the provider {provider!r}{region} and its key"


def _provider(asked: str, options: Mapping[str, Any]) -> Provider[Any]:
    return infer_provider_class(asked)(**options)


def _keys(environment: Mapping[str, str]) -> tuple[str, ...]:
    # They are taken out of every error text: a server may repeat the key that it refuses.
    return tuple(value for name, value in environment.items() if name.endswith(("_API_KEY", "_TOKEN")) and value)


# --- Errors

# What pydantic-ai is sure of. The first that fits counts; everything else is classified by status, code and words.
_KNOWN: tuple[tuple[type[BaseException], type[ModelError]], ...] = (
    (exceptions.ModelContextWindowExceededError, ContextTooLong),
    (exceptions.ModelQuotaExceededError, QuotaExhausted),
    (exceptions.ModelRequestTimeout, Unreachable),
    (exceptions.ModelConnectionError, Unreachable),
    (exceptions.ContentFilterError, RefusedBySafety),
    (exceptions.UnexpectedModelBehavior, UnreadableAnswer),
    (exceptions.UserError, RequestRejected),
    (NotImplementedError, RequestRejected),
    (OSError, Unreachable),
)


# Errors of Amazon's and Google's clients, by their names (the packages may be absent): no credentials were found.
_MISSING_CREDENTIALS = frozenset(
    {"NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "TokenRetrievalError"}
    | {"DefaultCredentialsError", "RefreshError"}
)


def _model_error(error: Exception, who: str, secrets: Iterable[str], *, begun: bool) -> ModelError:
    """Return the error of the port for what was raised; `begun` says that the answer had begun to arrive.

    An exception that nobody expects is `UnreadableAnswer`: an answer that the client could not make sense of.
    """
    if isinstance(error, ModelError):
        return error
    signs = _signs_of(error)
    kind = next((kind for type_, kind in _KNOWN if isinstance(error, type_)), None)
    if type(error).__name__ in _MISSING_CREDENTIALS:
        kind = Unauthorised
    # pydantic-ai takes a limit of tokens per minute for a window that is too small: the status knows better.
    if kind is ContextTooLong and signs.status in (429, 529):
        kind = None
    # Once words have arrived, the server was reached; the same request may end otherwise.
    if kind is Unreachable and begun:
        kind = UnreadableAnswer
    if kind is None and not isinstance(error, exceptions.ModelAPIError):
        kind = UnreadableAnswer
    elif kind is None:
        kind = classify_failure(signs)
        if kind is RequestRejected and isinstance(error, exceptions.ModelAuthenticationError):
            kind = Unauthorised
    return model_failure(signs, who, kind=kind, secrets=secrets)


def _signs_of(error: Exception) -> FailureSigns:
    """Return status, code, type, words and seconds to wait, wherever the error keeps them."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, Mapping) else {}
    inner = inner if isinstance(inner, Mapping) else {"message": inner}
    words = inner.get("message") or (body if isinstance(body, str) else "") or str(error)
    return FailureSigns(
        status=int(getattr(error, "status_code", 0) or 0),
        code=_text(inner.get("code") or getattr(error, "provider_error_code", "")),
        kind=_text(inner.get("type") or getattr(error, "provider_error_type", "")),
        words=_text(words),
        after=getattr(error, "retry_after", None),
    )


def _text(value: Any) -> str:
    return "" if value is None else str(value)
