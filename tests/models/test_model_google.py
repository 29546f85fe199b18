"""Google's and Amazon's models: opened with what they need, typed errors without, and Google's wire on loopback."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from typing import Any

import pytest

from hudkit.errors import ConfigError
from hudkit.models import (
    AssistantMessage,
    Completion,
    CompletionRequest,
    ContextTooLong,
    Media,
    ModelError,
    RateLimited,
    RequestRejected,
    RequestSettings,
    TextContent,
    ToolCall,
    ToolResult,
    ToolSpec,
    Unauthorised,
    Unreachable,
    UserMessage,
    complete,
    open_model,
)
from hudkit.models.scripted_answers import BROKEN, CONTEXT_EXCEEDED, Refusal, ScriptedCall, ScriptedReply, says, uses
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow
KEY = "a-key-of-the-test"
GOOGLE = "google:gemini-2.5-pro"
BEDROCK = "bedrock:anthropic.claude-sonnet-4-5"
SIGNING = {"aws_access_key_id": "id", "aws_secret_access_key": KEY, "region_name": "eu-west-1"}
TOOL = ToolSpec("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})


@pytest.fixture(autouse=True)
def nothing_around(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No key, no region and no credentials of the machine."""
    import os

    for name in tuple(os.environ):
        if name.endswith("_API_KEY") or name.startswith(("AWS_", "GOOGLE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))


def asks(*messages: Any, **given: Any) -> CompletionRequest:
    return CompletionRequest(
        ("Be brief.", "Be kind."), messages or (UserMessage((TextContent("hi"),)),), (TOOL,), RequestSettings(**given)
    )


async def answered(name: str, request: CompletionRequest, **options: Any) -> Completion | ModelError:
    model = open_model(name, **options)
    try:
        return await complete(model, request)
    except ModelError as error:
        return error
    finally:
        await model.close()


def test_a_conversation_with_google_s_model() -> None:
    talk = [
        UserMessage((TextContent("what is it?"), Media(b"\x89PNG\r\n\x1a\n", "image/png"))),
        AssistantMessage((TextContent("I look."), ToolCall("one", "look", '{"at":"a"}'))),
        ToolResult("one", "look", "a cat"),
        UserMessage((TextContent("and?"),)),
    ]
    script = [says("a cat"), ScriptedReply("I look.", (ScriptedCall("look", {"at": "b"}),))]
    with ScriptedModel(script) as server:
        given = {"key": KEY, "base_url": server.url}
        first = asyncio.run(answered(GOOGLE, asks(*talk, temperature=0.5, max_output=99), **given))
        second = asyncio.run(answered(GOOGLE, asks(), **given))
        request = server.requests[0]
    assert isinstance(first, Completion) and isinstance(second, Completion)
    assert (first.reason, first.answer.text) == ("stop", "a cat") and first.spent is not None and first.spent.cost
    assert second.reason == "tool-calls" and second.answer.calls[0].parse_arguments() == {"at": "b"}
    assert request.shape == "gemini" and request.system == ("Be brief.\n\nBe kind.",)
    assert request.headers["x-goog-api-key"] == KEY
    assert [role for role, _ in request.messages] == ["user", "assistant", "tool", "user"]
    assert "iVBORw0KGgo" in request.raw.decode() and "a cat" in request.messages[2][1]
    generation = request.body["generationConfig"]
    assert (generation["temperature"], generation["maxOutputTokens"]) == (0.5, 99)
    tool = request.body["tools"][0]["functionDeclarations"][0]
    assert (tool["name"], tool["description"]) == ("look", "Looks.") and tool[
        "parameters_json_schema"
    ] == TOOL.parameters


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Refusal(429, headers={"retry-after": "3"}), RateLimited),
        (CONTEXT_EXCEEDED, ContextTooLong),
        (Refusal(401), Unauthorised),
        (Refusal(404), RequestRejected),
        (BROKEN, Unreachable),
    ],
)
def test_what_google_s_server_refuses(answer: Refusal, kind: type[ModelError]) -> None:
    with ScriptedModel([answer]) as server:
        error = asyncio.run(answered(GOOGLE, asks(), key=KEY, base_url=server.url))
        assert type(error) is kind and KEY not in str(error)
        assert len(server.requests) == 1, "the client does not try again by itself"


def test_the_client_of_each() -> None:
    google, bedrock = open_model(GOOGLE, key=KEY), open_model(BEDROCK, **SIGNING)
    assert google.window.limit_tokens == 1_048_576 and bedrock.window.limit_tokens == 200_000
    assert "googleapis.com" in str(google._model.base_url)
    assert "bedrock-runtime.eu-west-1" in str(bedrock._model.base_url)


@pytest.mark.parametrize(
    ("name", "options", "says_so"),
    [
        (GOOGLE, {}, r"GOOGLE_API_KEY.*check the provider 'google' and its key"),
        ("google-cloud:gemini-2.5-pro", {}, "credentials"),
        (BEDROCK, {}, "region"),
        (BEDROCK, {"key": KEY}, "region"),
        (BEDROCK, {"region_name": "eu-west-1", "profile_name": "nobody"}, "nobody"),
    ],
)
def test_what_is_missing_is_said(name: str, options: dict[str, str], says_so: str) -> None:
    with pytest.raises(ConfigError, match=says_so) as caught:
        open_model(name, **options)
    assert KEY not in str(caught.value) and "Agent(" not in str(caught.value)


@pytest.mark.parametrize(
    ("module", "name", "extra"),
    [
        ("google.genai.client", GOOGLE, "[google]"),
        ("boto3", BEDROCK, "[bedrock]"),
        ("anthropic", "anthropic:claude-sonnet-4-5", "[session]"),
        ("groq", "groq:m", "pydantic-ai-slim[groq]"),
        ("pydantic_ai", "openai:gpt-5", "[session]"),
    ],
)
def test_a_package_that_is_not_installed_is_named_with_its_extra(module: str, name: str, extra: str) -> None:
    code = f"""
import sys
sys.modules[{module!r}] = None
from hudkit.errors import ConfigError
from hudkit.models import open_model
try:
    open_model({name!r}, key="k")
except ConfigError as error:
    print(error.hint)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert extra in told.stdout


def test_amazon_s_without_credentials_is_not_tried_again(recwarn: pytest.WarningsRecorder) -> None:
    error = asyncio.run(answered(BEDROCK, asks(), region_name="eu-west-1", base_url="http://127.0.0.1:9"))
    assert type(error) is Unauthorised and not error.retry
    assert not [one for one in recwarn if "not supported" in str(one.message)]


@pytest.mark.parametrize(("name", "options"), [(GOOGLE, {"key": KEY}), (BEDROCK, SIGNING)])
def test_nobody_at_the_other_end(name: str, options: dict[str, str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    error = asyncio.run(answered(name, asks(), base_url=f"http://127.0.0.1:{port}", **options))
    assert isinstance(error, Unreachable) and KEY not in str(error)


def test_marks_without_words_go_to_their_own_server_alone() -> None:
    from hudkit.models.pydantic_ai_model import request_messages

    seal = '{"provider":"google","details":{"thought_signature":"c2ln"}}'
    request = asks(
        UserMessage((TextContent("hi"),)),
        AssistantMessage((TextContent("hello"), TextContent("", seal))),
        UserMessage((TextContent("on"),)),
    )

    def words(system: str) -> list[str]:
        said = request_messages(request, system, breaks=False)[1]
        return [part.content for part in said.parts]  # type: ignore[union-attr]

    assert words("google") == ["hello", ""] and words("bedrock") == words("anthropic") == ["hello"]


def test_calls_in_one_response_keep_their_ids() -> None:
    with ScriptedModel(
        [uses(ScriptedCall("look", {"at": "a"}, id="x"), ScriptedCall("look", {"at": "b"}, id="y"))]
    ) as server:
        end = asyncio.run(answered(GOOGLE, asks(), key=KEY, base_url=server.url))
    assert isinstance(end, Completion) and [call.id for call in end.answer.calls] == ["x", "y"]
