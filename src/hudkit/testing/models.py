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
from hudkit.testing.captured import Captured, departs
from hudkit.testing.replies import BROKEN, CONTEXT_EXCEEDED, Answer, Call, Hang, Refusal, Reply, says, uses

T = TypeVar("T")
E = TypeVar("E", bound=BaseException)
Talk = Callable[[Model], Awaitable[T]]

TOOLS = (
    ToolSpec("read", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}}),
    ToolSpec("list", "Lists a folder."),
)
HARD = "Zürich 🧑‍🚀 \u202eabc\r\n\ttab  end  \x7f <|im_start|> <system> 你好 \\u0000 "
"""A text that somebody on the way could want to change."""


def asks(*messages: Message, system: tuple[str, ...] = ("be brief",)) -> CompletionRequest:
    """A request with the suite's tools; without messages, one of the user."""
    return CompletionRequest(system, messages or (user("hi"),), TOOLS)


def user(text: str) -> UserMessage:
    """What the user says."""
    return UserMessage((TextContent(text),))


async def pieces_of(model: Model, request: CompletionRequest) -> list[CompletionEvent]:
    """Everything that the answer consists of."""
    async with aclosing(model.stream(request)) as stream:
        return [piece async for piece in stream]


async def error_of(kind: type[E], awaited: Awaitable[object]) -> E:
    """The error of this kind that is raised; an `AssertionError` where none is."""
    try:
        await awaited
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def results(end: Completion, *texts: str, failed: bool = False) -> list[ToolResult]:
    """One result for each call of an answer."""
    calls = end.answer.calls
    return [ToolResult(call.id, call.name, text, failed) for call, text in zip(calls, texts, strict=True)]


class ModelConformance:
    """The suite. `play` lets `talk` speak with a model that gives these answers."""

    key = "sk-" + "test-0123456789abcdefABCDEF0123456789"
    """The key that the model is opened with, where it has one."""

    def play(self, answers: Sequence[Answer], talk: Talk[T]) -> tuple[T, list[Captured]]:
        """What `talk` returned, and the requests that arrived."""
        raise NotImplementedError

    # -- answers ---------------------------------------------------------------------------------------------------

    def test_a_text_arrives_in_pieces_and_whole(self) -> None:
        said, _ = self.play([says(HARD)], lambda model: pieces_of(model, asks()))
        *deltas, end = said
        assert len(deltas) > 1
        assert "".join(piece.text for piece in deltas if isinstance(piece, TextDelta)) == HARD
        assert isinstance(end, Completion)
        assert (end.reason, end.answer.text, end.answer.calls) == ("stop", HARD, ())

    def test_reasoning_is_told_apart_and_goes_back(self) -> None:
        async def talk(model: Model) -> list[CompletionEvent]:
            first = await pieces_of(model, asks())
            end = first[-1]
            assert isinstance(end, Completion)
            await complete(model, asks(user("hi"), end.answer, user("go on")))
            return first

        said, requests = self.play([Reply("so: 4", reasoning="two and twó"), says("ok")], talk)
        thoughts = [piece.text for piece in said if isinstance(piece, ReasoningDelta)]
        texts = [piece.text for piece in said if isinstance(piece, TextDelta)]
        assert ("".join(thoughts), "".join(texts)) == ("two and twó", "so: 4")
        end = said[-1]
        assert isinstance(end, Completion) and end.spent and 0 < end.spent.reasoning <= end.spent.output
        assert "two and twó" in str(requests[1].body) or "two and twó" in requests[1].text

    def test_parallel_calls_come_whole_and_in_order_after_the_text(self) -> None:
        reply = uses(Call("read", {"path": "ä.txt"}), Call("list", {}), Call("read", {"path": "b"}), text="I look.")
        said, _ = self.play([reply], lambda model: pieces_of(model, asks()))
        kinds = [type(piece) for piece in said]
        assert kinds == sorted(kinds, key=[TextDelta, ToolCall, Completion].index)
        calls = [piece for piece in said if isinstance(piece, ToolCall)]
        given = [(call.name, call.parse_arguments()) for call in calls]
        assert given == [("read", {"path": "ä.txt"}), ("list", {}), ("read", {"path": "b"})]
        assert len({call.id for call in calls}) == 3
        end = said[-1]
        assert isinstance(end, Completion)
        assert (end.reason, list(end.answer.calls)) == ("tool-calls", calls)

    def test_broken_arguments_are_handed_on_and_the_conversation_continues(self) -> None:
        async def talk(model: Model) -> Completion:
            end = await complete(model, asks())
            (call,) = end.answer.calls
            error = await error_of(ToolError, _later(call.parse_arguments))
            again = asks(user("hi"), end.answer, *results(end, str(error), failed=True))
            return await complete(model, again)

        end, requests = self.play([uses(Call("read", '{"path": "a')), says("better")], talk)
        assert end.answer.text == "better"
        (again,) = [piece.text for piece in requests[1].pieces if piece.form == "call"]
        assert again.startswith("read ") and "path" in again

    def test_an_answer_without_anything(self) -> None:
        end, _ = self.play([Reply()], lambda model: complete(model, asks()))
        assert (end.reason, end.answer.text, end.answer.calls) == ("stop", "", ())

    def test_other_ends(self) -> None:
        answers = [Reply("half a", finish="length"), Reply("", finish="refusal")]

        async def talk(model: Model) -> list[str]:
            return [(await complete(model, asks())).reason for _ in answers]

        assert self.play(answers, talk)[0] == ["length", "refusal"]

    def test_each_token_is_counted_once(self) -> None:
        usage = CallCost(read=600, written=0, fresh=400, output=70)
        end, _ = self.play([Reply("x", usage=usage)], lambda model: complete(model, asks()))
        spent = end.spent
        assert spent is not None
        assert (spent.read, spent.written, spent.fresh, spent.output, spent.used) == (600, 0, 400, 70, 1070)

    def test_two_answers_at_once(self) -> None:
        async def talk(model: Model) -> list[str]:
            ends = await asyncio.gather(*(complete(model, asks()) for _ in range(2)))
            return sorted(end.answer.text for end in ends)

        assert self.play([Reply("one", pace=0.01), Reply("two", pace=0.01)], talk)[0] == ["one", "two"]

    # -- what goes out ---------------------------------------------------------------------------------------------

    def test_every_text_arrives_byte_for_byte(self) -> None:
        system = (f"first {HARD}", HARD, "third\n\n", " ")

        async def talk(model: Model) -> None:
            end = await complete(model, asks(user(HARD), system=system))
            told = results(end, HARD, "  ", failed=False)
            await complete(model, asks(user(HARD), end.answer, *told, user(HARD), system=system))

        _, requests = self.play([uses(Call("read", {"path": "a"}), Call("list", {}), text=HARD), says("ok")], talk)
        assert requests[1].system == system
        texts = [(piece.role, piece.text) for piece in requests[1].pieces if piece.form in ("text", "result")]
        said = [("user", HARD), ("assistant", HARD), ("tool", HARD), ("tool", "  "), ("user", HARD)]
        assert texts == [*(("system", text) for text in system), *said]
        assert requests[1].tools == ("read", "list")

    def test_a_failed_result_keeps_its_text(self) -> None:
        async def talk(model: Model) -> None:
            end = await complete(model, asks())
            await complete(model, asks(user("hi"), end.answer, *results(end, "no such file: ä", failed=True)))

        _, requests = self.play([uses(Call("read", {"path": "a"})), says("ok")], talk)
        assert ("tool", "no such file: ä") in requests[1].messages

    def test_a_longer_conversation_begins_with_the_shorter_one(self) -> None:
        async def talk(model: Model) -> None:
            said: list[Message] = [user("begin")]
            for turn in range(4):
                end = await complete(model, asks(*said))
                said += [end.answer, *results(end, *(f"{turn}" for _ in end.answer.calls))]
                said += [] if turn % 2 else [user(f"changed: {turn}")]

        turn = Reply("I look", (Call("read", {"path": "a b"}), Call("list", '{ "x" :  1.50 }')), reasoning="hm")
        _, requests = self.play([turn] * 4, talk)
        assert [departs(before, after) for before, after in pairwise(requests)] == [""] * 3

    def test_equal_requests_give_equal_bytes(self) -> None:
        async def talk(model: Model) -> None:
            for _ in range(2):
                await complete(model, asks(user(HARD), AssistantMessage((TextContent("a"),)), user("b")))

        _, (one, other) = self.play([says("a"), says("b")], talk)
        assert (one.raw, one.pieces) == (other.raw, other.pieces)

    def test_media_arrive_between_the_texts(self) -> None:
        said = UserMessage((TextContent("what is this"), Media(b"\x89PNG\r\n\x1a\n", "image/png"), TextContent("?")))
        _, (request,) = self.play([says("a picture")], lambda model: complete(model, asks(said)))
        parts = [piece.text for piece in request.pieces if piece.role == "user"]
        assert (parts[0], "image/png" in parts[1], parts[2]) == ("what is this", True, "?")

    # -- failures --------------------------------------------------------------------------------------------------

    def fails(self, answer: Answer, kind: type[ModelError]) -> ModelError:
        """The error that an answer leads to, after one single request."""
        error, requests = self.play([answer], lambda model: error_of(kind, complete(model, asks())))
        assert len(requests) == 1, "the model tried again by itself"
        assert type(error) is kind
        return error

    def test_an_answer_that_breaks_off_gives_no_call(self) -> None:
        seen: list[CompletionEvent] = []

        async def listen(model: Model) -> None:
            async with aclosing(model.stream(asks())) as stream:
                async for piece in stream:
                    seen.append(piece)  # noqa: PERF401 (what came before the error counts)

        reply = Reply("a longer text", (Call("read", {"path": "a"}), Call("read", {"path": "b"})), cut=True)
        error, _ = self.play([reply], lambda model: error_of(UnreadableAnswer, listen(model)))
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
        told = f"{error} {error.message} {error.hint} {error.details} {error.__cause__}"
        assert self.key[:16] not in told

    def test_a_server_that_failed(self) -> None:
        assert self.fails(BROKEN, Unreachable).retry
        assert self.fails(Refusal(529, "overloaded_error", message="Overloaded"), Unreachable).retry

    def test_a_request_that_the_server_does_not_take(self) -> None:
        error = self.fails(
            Refusal(400, "invalid_request_error", message="tools.0.name: too \x1b[31mlong"), RequestRejected
        )
        assert not error.retry and "tools.0.name" in str(error) and "\x1b" not in str(error)

    def test_silence_that_is_too_long(self) -> None:
        request = msgspec.structs.replace(asks(), settings=RequestSettings(silence=0.3))

        async def talk(model: Model) -> float:
            loop = asyncio.get_running_loop()
            start = loop.time()
            error = await error_of(Unreachable, complete(model, request))
            assert error.retry
            return loop.time() - start

        assert self.play([Hang(60)], talk)[0] < 20

    def test_silence_is_cancelled_at_once_and_the_next_answer_comes(self) -> None:
        async def talk(model: Model) -> str:
            loop = asyncio.get_running_loop()
            waiting = asyncio.ensure_future(complete(model, asks()))
            start = loop.time()
            await asyncio.wait({waiting}, timeout=0.3)
            assert not waiting.done()
            waiting.cancel()
            await error_of(asyncio.CancelledError, waiting)
            assert loop.time() - start < 5
            return (await complete(model, asks())).answer.text

        assert self.play([Hang(30), says("here")], talk)[0] == "here"

    def test_whoever_stops_listening_may_ask_again(self) -> None:
        async def talk(model: Model) -> str:
            async with aclosing(model.stream(asks())) as stream:
                await anext(stream)
            return (await complete(model, asks())).answer.text

        assert self.play([Reply("a long story", pace=0.05), says("here")], talk)[0] == "here"


async def _later(call: Callable[[], T]) -> T:
    return call()
