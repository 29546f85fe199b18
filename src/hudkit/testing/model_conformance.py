"""What every `hudkit.models.Model` must do, as plain methods that any test runner can collect.

Subclass `ModelConformance`, give `play`, and let pytest collect the subclass:

    class TestMyModel(ModelConformance):
        def play(self, answers, talk): ...
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from itertools import pairwise
from typing import TypeVar

import msgspec

from hudkit.context.caching import CallCost
from hudkit.errors import ToolError
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.model_errors import (
    ContextTooLong,
    ModelError,
    RateLimited,
    RequestRejected,
    Unauthorised,
    Unreachable,
    UnreadableAnswer,
)
from hudkit.models.port import (
    AssistantMessage,
    Completion,
    CompletionEvent,
    CompletionRequest,
    Media,
    Message,
    Model,
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
from hudkit.models.scripted_answers import (
    BROKEN,
    CONTEXT_EXCEEDED,
    Answer,
    Hang,
    Refusal,
    ScriptedCall,
    ScriptedReply,
    says,
    uses,
)
from hudkit.testing.assertions import expect_async_error, prefix_difference

T = TypeVar("T")
ModelExchange = Callable[[Model], Awaitable[T]]

TOOLS = (
    ToolSpec("read", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}}),
    ToolSpec("list", "Lists a folder."),
)
HARD = "Zürich 🧑‍🚀 \u202eabc\r\n\ttab  end  \x7f <|im_start|> <system> 你好 \\u0000 "
"""A text that somebody on the way could want to change."""


def make_request(*messages: Message, system: tuple[str, ...] = ("be brief",)) -> CompletionRequest:
    """Return a request with the suite's tools; without messages, with one of the user."""
    return CompletionRequest(system, messages or (user_message("hi"),), TOOLS)


def user_message(text: str) -> UserMessage:
    """Return a message of the user."""
    return UserMessage((TextContent(text),))


async def collect_events(model: Model, request: CompletionRequest) -> list[CompletionEvent]:
    """Return every event of the answer."""
    async with aclosing(model.stream(request)) as stream:
        return [piece async for piece in stream]


def _tool_results(end: Completion, *texts: str, failed: bool = False) -> list[ToolResult]:
    """Return one result for each call of an answer."""
    calls = end.answer.calls
    return [ToolResult(call.id, call.name, text, failed) for call, text in zip(calls, texts, strict=True)]


class ModelConformance:
    """The suite. `play` lets `talk` speak with a model that gives these answers."""

    key = "sk-" + "test-0123456789abcdefABCDEF0123456789"
    """The key that the model is opened with, where it has one."""

    def play(self, answers: Sequence[Answer], talk: ModelExchange[T]) -> tuple[T, list[CapturedRequest]]:
        """Return what `talk` returned, and the requests that arrived."""
        raise NotImplementedError

    # -- answers ---------------------------------------------------------------------------------------------------

    def test_a_text_arrives_in_pieces_and_whole(self) -> None:
        events, _ = self.play([says(HARD)], lambda model: collect_events(model, make_request()))
        *deltas, end = events
        assert len(deltas) > 1
        assert "".join(piece.text for piece in deltas if isinstance(piece, TextDelta)) == HARD
        assert isinstance(end, Completion)
        assert (end.reason, end.answer.text, end.answer.calls) == ("stop", HARD, ())

    def test_reasoning_is_told_apart_and_goes_back(self) -> None:
        async def talk(model: Model) -> list[CompletionEvent]:
            first = await collect_events(model, make_request())
            end = first[-1]
            assert isinstance(end, Completion)
            await complete(model, make_request(user_message("hi"), end.answer, user_message("go on")))
            return first

        events, requests = self.play([ScriptedReply("so: 4", reasoning="two and twó"), says("ok")], talk)
        thoughts = [piece.text for piece in events if isinstance(piece, ReasoningDelta)]
        texts = [piece.text for piece in events if isinstance(piece, TextDelta)]
        assert ("".join(thoughts), "".join(texts)) == ("two and twó", "so: 4")
        end = events[-1]
        assert isinstance(end, Completion) and end.spent and 0 < end.spent.reasoning <= end.spent.output
        assert "two and twó" in str(requests[1].body) or "two and twó" in requests[1].text

    def test_parallel_calls_come_whole_and_in_order_after_the_text(self) -> None:
        reply = uses(
            ScriptedCall("read", {"path": "ä.txt"}),
            ScriptedCall("list", {}),
            ScriptedCall("read", {"path": "b"}),
            text="I look.",
        )
        events, _ = self.play([reply], lambda model: collect_events(model, make_request()))
        kinds = [type(piece) for piece in events]
        assert kinds == sorted(kinds, key=[TextDelta, ToolCall, Completion].index)
        calls = [piece for piece in events if isinstance(piece, ToolCall)]
        received = [(call.name, call.parse_arguments()) for call in calls]
        assert received == [("read", {"path": "ä.txt"}), ("list", {}), ("read", {"path": "b"})]
        assert len({call.id for call in calls}) == 3
        end = events[-1]
        assert isinstance(end, Completion)
        assert (end.reason, list(end.answer.calls)) == ("tool-calls", calls)

    def test_broken_arguments_are_handed_on_and_the_conversation_continues(self) -> None:
        async def talk(model: Model) -> Completion:
            end = await complete(model, make_request())
            (call,) = end.answer.calls
            error = await expect_async_error(ToolError, _later(call.parse_arguments))
            again = make_request(user_message("hi"), end.answer, *_tool_results(end, str(error), failed=True))
            return await complete(model, again)

        end, requests = self.play([uses(ScriptedCall("read", '{"path": "a')), says("better")], talk)
        assert end.answer.text == "better"
        (again,) = [piece.text for piece in requests[1].pieces if piece.form == "call"]
        assert again.startswith("read ") and "path" in again

    def test_an_answer_without_anything(self) -> None:
        end, _ = self.play([ScriptedReply()], lambda model: complete(model, make_request()))
        assert (end.reason, end.answer.text, end.answer.calls) == ("stop", "", ())

    def test_other_ends(self) -> None:
        answers = [ScriptedReply("half a", finish="length"), ScriptedReply("", finish="refusal")]

        async def talk(model: Model) -> list[str]:
            return [(await complete(model, make_request())).reason for _ in answers]

        assert self.play(answers, talk)[0] == ["length", "refusal"]

    def test_each_token_is_counted_once(self) -> None:
        usage = CallCost(read=600, written=0, fresh=400, output=70)
        end, _ = self.play([ScriptedReply("x", usage=usage)], lambda model: complete(model, make_request()))
        spent = end.spent
        assert spent is not None
        assert (spent.read, spent.written, spent.fresh, spent.output, spent.used) == (600, 0, 400, 70, 1070)

    def test_two_answers_at_once(self) -> None:
        async def talk(model: Model) -> list[str]:
            ends = await asyncio.gather(*(complete(model, make_request()) for _ in range(2)))
            return sorted(end.answer.text for end in ends)

        assert self.play([ScriptedReply("one", pace=0.01), ScriptedReply("two", pace=0.01)], talk)[0] == [
            "one",
            "two",
        ]

    # -- what goes out ---------------------------------------------------------------------------------------------

    def test_every_text_arrives_byte_for_byte(self) -> None:
        system = (f"first {HARD}", HARD, "third\n\n", " ")

        async def talk(model: Model) -> None:
            end = await complete(model, make_request(user_message(HARD), system=system))
            answers = _tool_results(end, HARD, "  ", failed=False)
            await complete(
                model, make_request(user_message(HARD), end.answer, *answers, user_message(HARD), system=system)
            )

        _, requests = self.play(
            [uses(ScriptedCall("read", {"path": "a"}), ScriptedCall("list", {}), text=HARD), says("ok")], talk
        )
        # one system message, or a block for each that can end a cached prefix
        assert requests[1].system in (system, ("\n\n".join(system),))
        texts = [(piece.role, piece.text) for piece in requests[1].pieces if piece.form in ("text", "result")]
        sent = [("user", HARD), ("assistant", HARD), ("tool", HARD), ("tool", "  "), ("user", HARD)]
        assert texts == [*(("system", text) for text in requests[1].system), *sent]
        assert requests[1].tools == ("read", "list")

    def test_a_failed_result_keeps_its_text(self) -> None:
        async def talk(model: Model) -> None:
            end = await complete(model, make_request())
            await complete(
                model,
                make_request(user_message("hi"), end.answer, *_tool_results(end, "no such file: ä", failed=True)),
            )

        _, requests = self.play([uses(ScriptedCall("read", {"path": "a"})), says("ok")], talk)
        assert ("tool", "no such file: ä") in requests[1].messages

    def test_a_longer_conversation_begins_with_the_shorter_one(self) -> None:
        async def talk(model: Model) -> None:
            messages: list[Message] = [user_message("begin")]
            for turn in range(4):
                end = await complete(model, make_request(*messages))
                messages += [end.answer, *_tool_results(end, *(f"{turn}" for _ in end.answer.calls))]
                messages += [] if turn % 2 else [user_message(f"changed: {turn}")]

        turn = ScriptedReply(
            "I look", (ScriptedCall("read", {"path": "a b"}), ScriptedCall("list", '{ "x" :  1.50 }')), reasoning="hm"
        )
        _, requests = self.play([turn] * 4, talk)
        assert [prefix_difference(before, after) for before, after in pairwise(requests)] == [""] * 3

    def test_equal_requests_give_equal_bytes(self) -> None:
        async def talk(model: Model) -> None:
            for _ in range(2):
                await complete(
                    model, make_request(user_message(HARD), AssistantMessage((TextContent("a"),)), user_message("b"))
                )

        _, (first, second) = self.play([says("a"), says("b")], talk)
        assert (first.raw, first.pieces) == (second.raw, second.pieces)

    def test_media_arrive_between_the_texts(self) -> None:
        question = UserMessage(
            (TextContent("what is this"), Media(b"\x89PNG\r\n\x1a\n", "image/png"), TextContent("?"))
        )
        _, (request,) = self.play([says("a picture")], lambda model: complete(model, make_request(question)))
        parts = [piece.text for piece in request.pieces if piece.role == "user"]
        assert (parts[0], "image/png" in parts[1], parts[2]) == ("what is this", True, "?")

    # -- failures --------------------------------------------------------------------------------------------------

    def fails(self, answer: Answer, kind: type[ModelError]) -> ModelError:
        """Return the error that an answer leads to, after one single request."""
        error, requests = self.play([answer], lambda model: expect_async_error(kind, complete(model, make_request())))
        assert len(requests) == 1, "the model tried again by itself"
        assert type(error) is kind
        return error

    def test_an_answer_that_breaks_off_gives_no_call(self) -> None:
        seen: list[CompletionEvent] = []

        async def listen(model: Model) -> None:
            async with aclosing(model.stream(make_request())) as stream:
                async for piece in stream:
                    seen.append(piece)  # noqa: PERF401 (what came before the error counts)

        reply = ScriptedReply(
            "a longer text", (ScriptedCall("read", {"path": "a"}), ScriptedCall("read", {"path": "b"})), cut=True
        )
        error, _ = self.play([reply], lambda model: expect_async_error(UnreadableAnswer, listen(model)))
        assert error.retry
        assert not [piece for piece in seen if isinstance(piece, ToolCall | Completion)]

    def test_a_rate_limit_says_how_long(self) -> None:
        error = self.fails(Refusal(429, "rate_limit_error", headers={"Retry-After": "17"}), RateLimited)
        assert (error.retry, error.after) == (True, 17.0)

    def test_a_limit_per_minute_is_no_full_window(self) -> None:
        words = "Request too large on tokens per min (TPM): Limit 30000. Please reduce the length of the messages."
        assert self.fails(Refusal(429, "tokens", message=words), RateLimited).retry

    def test_a_request_longer_than_the_window(self) -> None:
        assert not self.fails(CONTEXT_EXCEEDED, ContextTooLong).retry

    def test_a_wrong_key_is_not_repeated(self) -> None:
        words = f"Incorrect API key provided: {self.key}, see {self.key[:-1]}."
        error = self.fails(Refusal(401, "authentication_error", "invalid_api_key", words), Unauthorised)
        assert not error.retry
        shown = f"{error} {error.message} {error.hint} {error.details} {error.__cause__}"
        assert self.key[:16] not in shown

    def test_a_server_that_failed(self) -> None:
        assert self.fails(BROKEN, Unreachable).retry
        assert self.fails(Refusal(529, "overloaded_error", message="Overloaded"), Unreachable).retry

    def test_a_request_that_the_server_does_not_take(self) -> None:
        error = self.fails(
            Refusal(400, "invalid_request_error", message="tools.0.name: too \x1b[31mlong"), RequestRejected
        )
        assert not error.retry and "tools.0.name" in str(error) and "\x1b" not in str(error)

    def test_silence_that_is_too_long(self) -> None:
        request = msgspec.structs.replace(make_request(), settings=RequestSettings(silence=0.3))

        async def talk(model: Model) -> float:
            loop = asyncio.get_running_loop()
            start = loop.time()
            error = await expect_async_error(Unreachable, complete(model, request))
            assert error.retry
            return loop.time() - start

        assert self.play([Hang(60)], talk)[0] < 20

    def test_silence_is_cancelled_at_once_and_the_next_answer_comes(self) -> None:
        async def talk(model: Model) -> str:
            loop = asyncio.get_running_loop()
            waiting = asyncio.ensure_future(complete(model, make_request()))
            start = loop.time()
            await asyncio.wait({waiting}, timeout=0.3)
            assert not waiting.done()
            waiting.cancel()
            await expect_async_error(asyncio.CancelledError, waiting)
            assert loop.time() - start < 5
            return (await complete(model, make_request())).answer.text

        assert self.play([Hang(30), says("here")], talk)[0] == "here"

    def test_whoever_stops_listening_may_ask_again(self) -> None:
        async def talk(model: Model) -> str:
            async with aclosing(model.stream(make_request())) as stream:
                await anext(stream)
            return (await complete(model, make_request())).answer.text

        assert self.play([ScriptedReply("a long story", pace=0.05), says("here")], talk)[0] == "here"


async def _later(call: Callable[[], T]) -> T:
    return call()
