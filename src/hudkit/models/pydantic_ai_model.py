"""One model of pydantic-ai behind the port: its stream, its errors, and the connection."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, cast

import msgspec
from pydantic_ai import exceptions
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import Model as PydanticAiModel
from pydantic_ai.models import ModelRequestParameters, infer_model
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from hudkit.errors import ConfigError
from hudkit.installation import install_hint
from hudkit.models.local_server import LocalServer
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
    clean_words,
    model_failure,
)
from hudkit.models.port import (
    AssistantMessage,
    CallUsage,
    Completion,
    CompletionEvent,
    CompletionRequest,
    FinishReason,
    Media,
    Message,
    Reasoning,
    ReasoningDelta,
    TextContent,
    TextDelta,
    ToolCall,
    ToolResult,
    UserMessage,
    with_cost,
)
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

    @classmethod
    def connect(
        cls,
        name: str,
        options: Mapping[str, Any],
        window: Callable[[int | None], Window],
        prices: Prices | None,
        *,
        secrets: Iterable[str],
        asks_server: bool = False,
    ) -> PydanticModel:
        """Return the model `provider:name`; `options` go to its provider.

        `window` gives its window, told what a server on this machine says where `asks_server`.

        Raises `ConfigError` where there is none, or something that it needs is missing.
        """
        model = _connect(name, options)
        server = LocalServer(model.base_url or "", key=str(options.get("api_key", "")))
        return cls(name, model, window(server.window() if asks_server else None), prices, secrets=secrets)

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[CompletionEvent, None]:
        """Yield the answer as `hudkit.models.Model.stream` describes."""
        breaks = request.settings.cache and _needs_breakpoints(self._model.system, self._model.model_name)
        breaks_within = breaks and request.settings.cache_messages
        messages = request_messages(request, self._model.system, breaks=breaks_within, joins=self._joins)
        settings = _request_settings(request, self._model.system, breaks=breaks, joins=self._joins)
        parameters = _request_parameters(request, breaks=breaks, joins=self._joins)
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
                    if piece := _text_delta(event):
                        yield piece
                end = completion(events.get(), self.name, self.prices)
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


def _connect(name: str, options: Mapping[str, Any]) -> PydanticAiModel:
    try:
        model = infer_model(name, lambda asked: _provider(asked, options))
        # Constructed once more, because only the constructor takes settings that hold for every request.
        constructor: Any = type(model)
        return cast(PydanticAiModel, constructor(model.model_name, provider=model.provider, settings=_PLAIN))
    except Exception as error:
        # Every client has errors of its own for a missing key, region or package.
        secrets = (str(options.get("api_key", "")), *_keys(os.environ))
        words = clean_words(_ADVICE.split(str(error))[0], secrets)
        raise ConfigError(
            f"the model {name!r} cannot be opened: {words}", hint=_hint(name.partition(":")[0], error)
        ) from None


def _hint(provider: str, error: Exception) -> str:
    if isinstance(error, ImportError) and (group := _GROUP.search(str(error))):
        ours = EXTRAS.get(group[1])
        return install_hint(ours) if ours else f"pip install 'pydantic-ai-slim[{group[1]}]'"
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
    failure = model_failure(signs, who, kind=kind, secrets=secrets)
    # The client's own class knows better than signs that say nothing.
    if kind is None and type(failure) is RequestRejected and isinstance(error, exceptions.ModelAuthenticationError):
        return model_failure(signs, who, kind=Unauthorised, secrets=secrets)
    return failure


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


# --- Between the port and pydantic-ai: requests to its messages and settings, its responses to events of the port.

# Cache breakpoints, for the providers that cache only what a request names. Anthropic takes four in all; OpenCode
# spends them the same way, and its cache figures are ours.
_SYSTEM_BREAKPOINTS = 2
_MESSAGE_BREAKPOINTS = 2


def _needs_breakpoints(system: str, model: str) -> bool:
    """Return whether breakpoints help: with Anthropic's models, whoever serves them; others cache by themselves."""
    return system == "anthropic" or (system in ("bedrock", "openrouter") and "claude" in model.lower())


def _breakpoint_places(messages: Sequence[Message]) -> frozenset[int]:
    """Return the indices of the messages whose end is a breakpoint: the last two that can carry one.

    A breakpoint cannot stand after reasoning, which is not a cacheable block, nor after an empty message.
    """
    following = (*messages[1:], None)
    pairs = enumerate(zip(messages, following, strict=True))
    able = [place for place, (message, after) in pairs if _carries(message, after)]
    return frozenset(able[-_MESSAGE_BREAKPOINTS:])


def _carries(message: Message, after: Message | None) -> bool:
    if isinstance(message, AssistantMessage):
        return bool(message.parts) and not isinstance(message.parts[-1], Reasoning)
    # The results of parallel calls are one message on the wire.
    return not (isinstance(message, ToolResult) and isinstance(after, ToolResult))


OWN_FAILURES = frozenset({"anthropic", "bedrock"})
"""Providers whose tool results have a flag for failure; for others pydantic-ai would put words into the text."""

OWN_MEDIA = frozenset({"anthropic", "bedrock"})
"""Providers whose tool results may hold media; for others the media follow as a message of the user's."""

OWN_PATIENCE = frozenset({"bedrock"})
"""Providers whose clients take time-outs and retries when they are constructed, not with a request."""

_BOUNDARIES = ("bedrock_cache_instructions", "openrouter_cache_instructions")


class _Seal(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a provider needs to know its own part again, as our part keeps it in one opaque text."""

    provider: str = ""
    id: str | None = None
    signature: str | None = None
    details: dict[str, Any] | None = None


def _seal_of(part: TextPart | ThinkingPart | ToolCallPart) -> str:
    # Not every part has marks, and an empty seal keeps records of conversations small.
    signature = part.signature if isinstance(part, ThinkingPart) else None
    if part.id is None and signature is None and not part.provider_details:
        return ""
    seal = _Seal(part.provider_name or "", part.id, signature, part.provider_details)
    return msgspec.json.encode(seal, enc_hook=str).decode()


def request_messages(
    request: CompletionRequest, system: str, *, breaks: bool, joins: bool = False
) -> list[ModelMessage]:
    """Return a request's messages as pydantic-ai's; `breaks` puts cache breakpoints into them.

    What stands between two answers becomes one `ModelRequest`, tool results and the user's words in order. `joins`
    says that pydantic-ai trims the instructions of this provider: the system text is a message then, byte for byte.
    """
    marks = _breakpoint_places(request.messages) if breaks else frozenset[int]()
    blocks = _system_texts(request, breaks=False) if joins else []
    out: list[ModelMessage] = [ModelRequest(parts=[SystemPromptPart(text) for text in blocks])] if blocks else []
    numbered = enumerate(request.messages)
    open_mark = False
    for answers, group in groupby(numbered, key=lambda pair: isinstance(pair[1], AssistantMessage)):
        if answers:
            for place, message in group:
                out.append(ModelResponse(parts=_response_parts(cast(AssistantMessage, message), system)))
                open_mark = place in marks
        else:
            parts = _request_parts(list(group), system, marks)
            # pydantic-ai has no breakpoint at the end of an answer; at the start of the next request it means the
            # same.
            before = [UserPromptPart([CachePoint()])] if open_mark else []
            out.append(ModelRequest(parts=[*before, *parts]))
            open_mark = False
    return out


def _response_parts(message: AssistantMessage, system: str) -> list[ModelResponsePart]:
    # An empty text part carries marks that only its own provider takes; others refuse an empty text.
    parts = (
        part for part in message.parts if not isinstance(part, TextContent) or part.text or _is_own(part, system)
    )
    return [_response_part(part) for part in parts]


def _is_own(part: TextContent, system: str) -> bool:
    return _parse_seal(part.seal).provider == system


def _response_part(part: TextContent | Reasoning | ToolCall) -> ModelResponsePart:
    seal = _parse_seal(part.seal)
    marks: dict[str, Any] = {"id": seal.id, "provider_name": seal.provider or None, "provider_details": seal.details}
    match part:
        case TextContent():
            return TextPart(part.text, **marks)
        case Reasoning():
            return ThinkingPart(part.text, signature=seal.signature, **marks)
        case ToolCall():
            return ToolCallPart(part.name, part.arguments, tool_call_id=part.id, **marks)


def _parse_seal(text: str) -> _Seal:
    # A seal that somebody else wrote cannot be read: the part then goes out without marks.
    try:
        return msgspec.json.decode(text, type=_Seal) if text else _Seal()
    except msgspec.DecodeError:
        return _Seal()


def _request_parts(group: Sequence[tuple[int, Message]], system: str, marks: Iterable[int]) -> list[ModelRequestPart]:
    parts: list[ModelRequestPart] = []
    late_media: list[UserContent] = []
    for place, message in group:
        if isinstance(message, ToolResult):
            parts.append(_result(message, system))
            if message.media and system not in OWN_MEDIA:
                late_media += [f"Media from {message.name} ({message.call_id}):", *map(_binary, message.media)]
        elif isinstance(message, UserMessage):
            parts.append(UserPromptPart([_content(part) for part in message.parts]))
        if place in marks:
            parts.append(UserPromptPart([CachePoint()]))
    if late_media:
        # Behind the last result, because providers refuse anything else between a call and its results.
        last = max(index for index, part in enumerate(parts) if isinstance(part, ToolReturnPart))
        parts.insert(last + 1, UserPromptPart(late_media))
    return parts


def _result(message: ToolResult, system: str) -> ToolReturnPart:
    with_media = message.media and system in OWN_MEDIA
    content = [message.text, *map(_binary, message.media)] if with_media else message.text
    failed = message.failed and system in OWN_FAILURES
    return ToolReturnPart(
        message.name, content, tool_call_id=message.call_id, outcome="failed" if failed else "success"
    )


def _content(part: TextContent | Media) -> UserContent:
    return part.text if isinstance(part, TextContent) else _binary(part)


def _binary(part: Media) -> BinaryContent:
    return BinaryContent(part.data, media_type=part.media_type)


def _request_parameters(request: CompletionRequest, *, breaks: bool, joins: bool) -> ModelRequestParameters:
    """Return a request's tools and system texts as pydantic-ai's parameters."""
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                parameters_json_schema=dict(tool.parameters),
                description=tool.description,
                strict=False,
            )
            for tool in request.tools
        ],
        # pydantic-ai puts its breakpoint after the last block that is not dynamic.
        instruction_parts=[
            InstructionPart(text, dynamic=place >= _SYSTEM_BREAKPOINTS)
            for place, text in enumerate([] if joins else _system_texts(request, breaks=breaks))
        ],
    )


def _system_texts(request: CompletionRequest, *, breaks: bool) -> list[str]:
    """Return the system texts to send: the blocks where they carry breakpoints, else all of them as one text.

    Chat templates of open models take one system message: of 60 in use 5 refuse a request with two, and 8 drop the
    second without a word. Joining costs no cache: an earlier block is a prefix of the text as it was one before.
    """
    blocks = [text for text in request.system if text]
    return blocks if breaks or not blocks else ["\n\n".join(blocks)]


def _request_settings(request: CompletionRequest, system: str, *, breaks: bool, joins: bool = False) -> ModelSettings:
    """Return a request's settings under pydantic-ai's names.

    Its clients do not retry, because the caller does and counts. With breakpoints, Anthropic's system blocks are
    written here, because pydantic-ai marks only one of them. OpenAI is asked to store nothing: each request says
    everything.
    """
    wanted, options = request.settings, dict(request.settings.options)
    effort = {"": None, "off": False}.get(wanted.effort, wanted.effort)
    named = {
        "max_tokens": wanted.max_output,
        "temperature": wanted.temperature,
        "top_p": wanted.top_p,
        "thinking": effort,
        "extra_headers": dict(wanted.headers) or None,
    }
    return cast(
        ModelSettings,
        {
            **{name: value for name, value in named.items() if value is not None},
            **(_boundaries(request, system, options.pop("extra_body", {})) if breaks else {}),
            **({"timeout": wanted.silence, "max_retries": 0} if system not in OWN_PATIENCE else {}),
            **({"openai_store": False} if joins else {}),
            # Last, so that a user's option wins over everything of ours.
            **options,
        },
    )


def _boundaries(request: CompletionRequest, system: str, body: Mapping[str, Any]) -> dict[str, Any]:
    texts = _system_texts(request, breaks=True)
    if system != "anthropic" or not texts:
        return {**dict.fromkeys(_BOUNDARIES, True), **({"extra_body": dict(body)} if body else {})}
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
    for block in blocks[:_SYSTEM_BREAKPOINTS]:
        block["cache_control"] = {"type": "ephemeral"}
    return {"extra_body": {"system": blocks, **body}}


# --- Responses

# The provider's own word for the end, where pydantic-ai's says less.
_RAW: dict[str, FinishReason] = {
    "model_context_window_exceeded": "compact",
    "compaction": "compact",
    "compact": "compact",
    "refusal": "refusal",
}

_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_call": "tool-calls",
    "content_filter": "refusal",
    "error": "other",
}


def _text_delta(event: ModelResponseStreamEvent | object) -> TextDelta | ReasoningDelta | None:
    """Return the text in an event; `None` for an event without text."""
    match event:
        case PartStartEvent(part=TextPart(content=text)) if text:
            return TextDelta(text)
        case PartStartEvent(part=ThinkingPart(content=text)) if text:
            return ReasoningDelta(text)
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
            return TextDelta(text)
        case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text)) if text:
            return ReasoningDelta(text)
        case _:
            return None


def completion(response: ModelResponse, who: str, prices: Prices | None) -> Completion:
    """Return the end of an answer whose stream ended by itself.

    Raises `UnreadableAnswer` where the stream ended without a reason to finish, which is how a broken connection
    looks to some clients.
    """
    answer = AssistantMessage(tuple(piece for part in response.parts if (piece := _content_of(part)) is not None))
    reason = _reason(response, answer)
    if reason is None:
        raise UnreadableAnswer(f"the answer of {who} broke off", hint="try again")
    named = response.model_name or "", response.provider_response_id or ""
    return Completion(reason, answer, _spent(response.usage, prices), *named)


def _content_of(part: object) -> TextContent | Reasoning | ToolCall | None:
    match part:
        case TextPart():
            return TextContent(part.content, _seal_of(part)) if part.content or part.provider_details else None
        case ThinkingPart():
            return Reasoning(part.content, _seal_of(part))
        case ToolCallPart():
            raw = part.args if isinstance(part.args, str) else part.args_as_json_str()
            return ToolCall(part.tool_call_id, part.tool_name, raw or "{}", _seal_of(part))
        case _:
            return None


def _reason(response: ModelResponse, answer: AssistantMessage) -> FinishReason | None:
    raw = str((response.provider_details or {}).get("finish_reason", ""))
    if not raw and response.finish_reason is None:
        return None
    reason = _RAW.get(raw) or _REASONS.get(response.finish_reason or "", "other")
    # Servers that imitate OpenAI's say `stop` behind tool calls, too.
    return "tool-calls" if reason in ("stop", "other") and answer.calls else reason


def _spent(usage: RequestUsage, prices: Prices | None) -> CallUsage | None:
    """Return the tokens of a call: pydantic-ai's total includes the cached ones, whatever the provider's own does."""
    if usage.unmeasured_requests or not (usage.input_tokens or usage.output_tokens):
        return None
    read, written = usage.cache_read_tokens, usage.cache_write_tokens
    fresh = max(usage.input_tokens - read - written, 0)
    thought = usage.output_reasoning_tokens or int(usage.details.get("reasoning_tokens", 0))
    return with_cost(CallUsage(fresh, read, written, usage.output_tokens, thought), prices)
