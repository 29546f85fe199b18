"""Agents over the OpenAI and the Anthropic SDK whose only way to a HUD is their base URL: a gateway."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from anthropic import Anthropic
from openai import OpenAI

from hudkit import Hud, paths
from hudkit.errors import HudkitError
from hudkit.hosts.gateway.conversations import ConversationBook
from hudkit.hosts.gateway.hud_calls import HOST
from hudkit.ingest.first_seen import entry_key
from hudkit.models.scripted_answers import Answer, ScriptedReply, says, uses
from hudkit.testing.host_conformance import HostConformance, HostWorkspace
from hudkit.testing.project_tools import ProjectTools
from hudkit.tools.task_handover import hand_on
from running_gateway import running_gateway

Json = dict[str, Any]

COMPACTED = "This session is being continued from a previous conversation that ran out of context. "
SUMMARY_SYSTEM = "You are a context summarization agent."
ANY = {"type": "object", "additionalProperties": True}


class Reply(NamedTuple):
    text: str
    calls: list[tuple[str, str, str]]
    """Id, name, arguments."""
    used: int
    items: list[Json]
    """As they go into the next call."""


class Agent:
    """An agent loop whose messages are a JSON file. It compacts where its window is full."""

    def __init__(self, place: HostWorkspace, url: str, session: str, tools: dict[str, Callable[..., str]]) -> None:
        self.session = session
        self._file = place.folder / f"{session}.json"
        self._place = place
        self._url = url
        self._tools = tools
        self.find_id: Callable[[], str] = lambda: session

    @property
    def id(self) -> str:
        return self.find_id()

    @property
    def history(self) -> list[Json]:
        return json.loads(self._file.read_text()) if self._file.exists() else []

    def keep(self, history: list[Json]) -> None:
        self._file.write_text(json.dumps(history))

    def say(self, text: str) -> str:
        history = [*self.history, self.prompt(text)]
        while True:
            reply = self.ask(self._place.instructions, history, self._tools)
            history += reply.items
            self.keep(history)
            if reply.calls:
                history += self.results([(id, self._run(name, text)) for id, name, text in reply.calls])
            if reply.used > self._place.limit[0] * 0.88:
                history = self._compacted(history, text)
            self.keep(history)
            if not reply.calls:
                return reply.text

    def _run(self, name: str, arguments: str) -> str:
        try:
            return self._tools[name](**json.loads(arguments))
        except (HudkitError, KeyError, TypeError, ValueError) as error:
            return f"not available: {error}"

    def _compacted(self, history: list[Json], prompt: str) -> list[Json]:
        reply = self.ask(SUMMARY_SYSTEM, [*history, self.prompt("Summarize.")], {})
        return [self.prompt(COMPACTED + reply.text), self.prompt(prompt)]

    def take_back(self) -> None:
        history = self.history
        self.keep(history[: max(n for n, item in enumerate(history) if self.is_prompt(item))])

    def is_prompt(self, item: Json) -> bool:
        return item.get("role") == "user" and isinstance(item["content"], str)

    def prompt(self, text: str) -> Json:
        return {"role": "user", "content": text}

    def ask(self, system: str, history: list[Json], tools: dict[str, Callable[..., str]]) -> Reply:
        raise NotImplementedError

    def results(self, answers: list[tuple[str, str]]) -> list[Json]:
        raise NotImplementedError

    @property
    def headers(self) -> dict[str, str]:
        return {"x-session-id": self.session}


class ChatAgent(Agent):
    """Chat completions, as streams."""

    def ask(self, system: str, history: list[Json], tools: dict[str, Callable[..., str]]) -> Reply:
        client = OpenAI(base_url=f"{self._url}/v1", api_key="sk-test-000000", default_headers=self.headers)
        offered = [
            {"type": "function", "function": {"name": name, "description": tool.__doc__ or "", "parameters": ANY}}
            for name, tool in tools.items()
        ]
        text, calls, used = "", dict[int, list[str]](), 0
        for chunk in client.chat.completions.create(
            model="gpt-5",
            messages=[{"role": "system", "content": system}, *history],
            stream=True,
            stream_options={"include_usage": True},
            **({"tools": offered} if offered else {}),
        ):
            used = chunk.usage.total_tokens if chunk.usage else used
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for part in choice.delta.tool_calls or ():
                    call = calls.setdefault(part.index, ["", "", ""])
                    call[0] = call[0] or part.id or ""
                    call[1] += part.function.name or ""
                    call[2] += part.function.arguments or ""
        assert sorted(calls) == list(range(len(calls))), "calls are numbered without a gap"
        message: Json = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = [
                {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
                for id, name, arguments in calls.values()
            ]
        return Reply(text, [tuple(call) for call in calls.values()], used, [message])

    def results(self, answers: list[tuple[str, str]]) -> list[Json]:
        return [{"role": "tool", "tool_call_id": id, "content": text} for id, text in answers]


class ResponsesAgent(Agent):
    """Responses, with the whole conversation in each call."""

    def ask(self, system: str, history: list[Json], tools: dict[str, Callable[..., str]]) -> Reply:
        client = OpenAI(base_url=f"{self._url}/v1", api_key="sk-test-000000", default_headers=self.headers)
        offered = [
            {"type": "function", "name": name, "description": tool.__doc__ or "", "parameters": ANY, "strict": False}
            for name, tool in tools.items()
        ]
        with client.responses.stream(
            model="gpt-5", instructions=system, input=history, store=False, **({"tools": offered} if offered else {})
        ) as stream:
            response = stream.until_done().get_final_response()
        items = [item.model_dump(exclude_none=True) for item in response.output]
        for item in items:
            item.pop("parsed_arguments", None)
            for part in item.get("content") or ():
                part.pop("parsed", None)
        calls = [
            (item["call_id"], item["name"], item["arguments"]) for item in items if item["type"] == "function_call"
        ]
        return Reply(response.output_text, calls, response.usage.total_tokens, items)

    def results(self, answers: list[tuple[str, str]]) -> list[Json]:
        return [{"type": "function_call_output", "call_id": id, "output": text} for id, text in answers]


class MessagesAgent(Agent):
    """Messages of Anthropic, as streams, with all four marks for the cache: a marked message is a list of blocks."""

    def ask(self, system: str, history: list[Json], tools: dict[str, Callable[..., str]]) -> Reply:
        client = Anthropic(base_url=self._url, api_key="sk-test-000000", default_headers=self.headers)
        mark = {"cache_control": {"type": "ephemeral"}}
        offered = [
            {"name": name, "description": tool.__doc__ or "", "input_schema": ANY} for name, tool in tools.items()
        ]
        if offered:
            offered[-1] |= mark
        messages = [dict(message) for message in history]
        for message in messages[-2:]:
            if isinstance(message["content"], str):
                message["content"] = [{"type": "text", "text": message["content"]}]
            message["content"] = [*message["content"][:-1], message["content"][-1] | mark]
        with client.messages.stream(
            model="claude-sonnet-4-6",
            max_tokens=4_000,
            system=[{"type": "text", "text": system} | mark],
            messages=messages,
            **({"tools": offered} if offered else {}),
        ) as stream:
            response = stream.get_final_message()
        usage = response.usage
        used = usage.input_tokens + usage.output_tokens
        used += (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
        content: list[Json] = []
        for block in response.content:
            if block.type == "text":
                content.append({"type": "text", "text": block.text})
            elif block.type == "tool_use":
                content.append({"type": "tool_use", "id": block.id, "name": block.name, "input": block.input})
        calls = [
            (block["id"], block["name"], json.dumps(block["input"]))
            for block in content
            if block["type"] == "tool_use"
        ]
        text = "".join(block["text"] for block in content if block["type"] == "text")
        return Reply(text, calls, used, [{"role": "assistant", "content": content}])

    def results(self, answers: list[tuple[str, str]]) -> list[Json]:
        results = [{"type": "tool_result", "tool_use_id": id, "content": text} for id, text in answers]
        return [{"role": "user", "content": results}]


AGENTS: dict[str, type[Agent]] = {"openai": ChatAgent, "responses": ResponsesAgent, "anthropic": MessagesAgent}


def session_of(log: Path, name: str) -> str:
    """Return the session of the conversation that a client calls `name`, as the newest of it is."""
    book = ConversationBook(paths.gateway_path(log))
    try:
        own = (each for each in reversed(book.all()) if each.hint == entry_key(name) and not each.parent)
        return next((each.session for each in own), name)
    finally:
        book.close()


class GatewayHost(HostConformance):
    host = HOST

    @contextmanager
    def open(self, place: HostWorkspace, session: str, *, hud: bool = True, resume: str = "") -> Iterator[Agent]:
        if resume:
            with Hud.open(place.log) as board:
                key = next(key for key in board.sessions() if resume in key)
                hand_on(board.project(place.project), key, board.session(key).state)
        with running_gateway(place.url, place.log, place.project, limit=place.limit, hud=hud) as url:
            yield self._begin(place, url, session)

    def _begin(self, place: HostWorkspace, url: str, session: str) -> Agent:
        own = ProjectTools(place.project)
        tools: dict[str, Callable[..., str]] = {
            tool.__name__: tool for tool in (own.read_file, own.write_file, own.edit_file, own.run_command)
        }

        def delegate(prompt: str) -> str:
            """Gives a task to a helper."""
            return self._begin(place, url, f"{session}-child").say(prompt)

        if not session.endswith("-child"):
            tools["delegate"] = delegate
        agent = AGENTS[self.shape](place, url, session, tools)
        agent.find_id = lambda: session_of(place.log, session)
        return agent

    def fill_window(self, reply: ScriptedReply) -> Sequence[Answer]:
        """The client sees how full its window is with what it is asked to do, so not where only the HUD is called."""
        if any(call.name in ("hud", "memory") for call in reply.calls):
            return (reply, *super().fill_window(uses(self.call("run", command="echo full"))))
        return super().fill_window(reply)

    def summary(self, text: str) -> Any:
        """A model does not say the same twice; a conversation that began like another would go on where that was."""
        numbers = count()
        return lambda _: says(f"{text} ({next(numbers)})")

    def take_back(self, talk: Any) -> bool:
        with suppress(ValueError):
            talk.take_back()
            return True
        return False
