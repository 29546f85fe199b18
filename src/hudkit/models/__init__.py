"""Language models: the port, the errors, and the adapter to the providers that pydantic-ai knows.

pydantic-ai is loaded when a model is opened and not before.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hudkit.errors import ConfigError
from hudkit.installation import install_hint
from hudkit.models.model_errors import (
    ContextTooLong,
    ModelError,
    QuotaExhausted,
    RateLimited,
    RefusedBySafety,
    RequestRejected,
    Unauthorised,
    Unreachable,
    UnreadableAnswer,
)
from hudkit.models.port import (
    AssistantMessage,
    CallUsage,
    Completion,
    CompletionEvent,
    CompletionRequest,
    Effort,
    FinishReason,
    Media,
    Message,
    Model,
    Reasoning,
    ReasoningDelta,
    RequestSettings,
    TextContent,
    TextDelta,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
    complete,
)
from hudkit.tokens import Prices, Window, known_prices, window_of

if TYPE_CHECKING:
    from hudkit.models.pydantic_ai_model import PydanticModel

__all__ = [
    "AssistantMessage",
    "CallUsage",
    "Completion",
    "CompletionEvent",
    "CompletionRequest",
    "ContextTooLong",
    "Effort",
    "FinishReason",
    "Media",
    "Message",
    "Model",
    "ModelError",
    "QuotaExhausted",
    "RateLimited",
    "Reasoning",
    "ReasoningDelta",
    "RefusedBySafety",
    "RequestRejected",
    "RequestSettings",
    "TextContent",
    "TextDelta",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Unauthorised",
    "Unreachable",
    "UnreadableAnswer",
    "UserMessage",
    "complete",
    "open_model",
]


def open_model(
    name: str,
    *,
    key: str = "",
    base_url: str = "",
    window: Window | None = None,
    windows: Mapping[str, int] = MappingProxyType({}),
    asks_server: bool = False,
    prices: Prices | None = None,
    **options: Any,
) -> PydanticModel:
    """Return a model by `provider:name`: `anthropic:claude-sonnet-4-5`, `openai:gpt-5`, `google:gemini-2.5-pro`.

    `openai:` speaks OpenAI's responses, `openai-chat:` its chat completions: the second is what other servers imitate
    (give their `base_url`, with its `/v1`). Without `key` and `base_url` the provider's own environment variables
    count. `window` and `prices` are looked up where they are not given: the window in `windows` (the user's, in
    tokens by the name of a model or family), else in the tables. With `asks_server` a server of llama.cpp on this
    machine says how large its own is, before the tables. `options` go to pydantic-ai's provider.

    Loads pydantic-ai and the provider's client: one to three seconds, the first time. Raises `ConfigError` for a
    name without its provider, an unknown provider, a missing key or a package that is not installed.
    """
    provider, colon, model = name.partition(":")
    if not (provider and colon and model):
        raise ConfigError(
            f"{name!r} is not a model", hint="write it as provider:name, e.g. anthropic:claude-sonnet-4-5"
        )
    try:
        from hudkit.models.pydantic_ai_model import PydanticModel
    except ImportError as error:
        raise ConfigError(f"models need the package pydantic-ai ({error})", hint=install_hint("session")) from error
    named = {"api_key": key, "base_url": base_url}
    # What is empty is left out, so that the provider's environment variables count.
    provider_options = {name: value for name, value in named.items() if value} | options

    def find_window(tokens: int | None) -> Window:
        return window or window_of(model, host=tokens, by_model=windows, use_catalogue=True)

    return PydanticModel.connect(
        name,
        provider_options,
        find_window,
        prices or known_prices(model),
        secrets=(key,),
        asks_server=asks_server and window is None,
    )
