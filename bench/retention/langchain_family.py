"""LangChain's, langmem's and deepagents' summarisation on a scripted session, each by its own public entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from tempfile import TemporaryDirectory
from typing import Any

from bench.retention.measure import KEEP, TRIGGER, WINDOW, System, needed
from bench.retention.sessions import Fact
from bench.retention.spoken import SYSTEM, Message, sizes, written
from bench.retention.summariser import MOST

Summarise = Callable[[str], str]

FOUND = 8000
"""Characters of what a search in an offloaded history brings that are read: about what hudkit's search may answer."""


def text_of(message: Any) -> str:
    """A LangChain message as the model gets it."""
    calls = [(one["name"], one["args"]) for one in getattr(message, "tool_calls", ())]
    return written(str(message.text), calls)


def counted(messages: Sequence[Any]) -> int:
    """What LangChain calls a token counter: exact here, so that every system's trigger is the same."""
    return sizes(text_of(one) for one in messages)


def model(summarise: Summarise) -> Any:
    """A chat model that answers each prompt with its summary."""
    chats, messages = needed("langchain_core.language_models.chat_models"), needed("langchain_core.messages")
    outputs = needed("langchain_core.outputs")

    def generate(self: Any, prompt: Sequence[Any], *_: Any, **__: Any) -> Any:  # noqa: ARG001 (of the protocol)
        answer = messages.AIMessage(content=summarise("\n".join(map(text_of, prompt))))
        return outputs.ChatResult(generations=[outputs.ChatGeneration(message=answer)])

    kind = type(
        "Scripted", (chats.BaseChatModel,), {"_generate": generate, "_llm_type": property(lambda _: "scripted")}
    )
    return kind()


def message_of(one: Message) -> Any:
    """A message as LangChain has it."""
    messages = needed("langchain_core.messages")
    if one.role == "user":
        return messages.HumanMessage(content=one.text, id=one.id)
    if one.role == "tool":
        return messages.ToolMessage(content=one.text, tool_call_id=one.call, name=one.tool, id=one.id)
    call = {"name": one.tool, "args": one.input, "id": one.call}
    return messages.AIMessage(content=one.text, tool_calls=[call], id=one.id)


class _Chain(System):
    """A conversation of LangChain messages."""

    def __init__(self) -> None:
        self.messages: list[Any] = []

    def hear(self, message: Message) -> None:
        self.messages.append(message_of(message))


class Middleware(_Chain):
    """`SummarizationMiddleware`; `settings` are laid over its defaults."""

    def __init__(self, summarise: Summarise, **settings: Any) -> None:
        super().__init__()
        kind = needed("langchain.agents.middleware").SummarizationMiddleware
        self._middleware = kind(model(summarise), trigger=("tokens", TRIGGER), token_counter=counted, **settings)

    def ask(self) -> list[str]:
        changed = self._middleware.before_model({"messages": self.messages}, None)
        if changed is not None:
            self.compactions += 1
            _, *self.messages = changed["messages"]  # the first one removes all
        return [SYSTEM, *map(text_of, self.messages)]


class Node(_Chain):
    """langmem's `SummarizationNode`: it gets the whole history at each call and remembers its running summary."""

    def __init__(self, summarise: Summarise) -> None:
        super().__init__()
        kind = needed("langmem.short_term").SummarizationNode
        self._node = kind(
            model=model(summarise),
            max_tokens=WINDOW,
            max_tokens_before_summary=TRIGGER,
            max_summary_tokens=MOST,
            token_counter=counted,
        )
        self._context: dict[str, Any] = {}

    def ask(self) -> list[str]:
        found = self._node.invoke({"messages": self.messages, "context": self._context})
        before, self._context = self._context, found.get("context", self._context)
        if self._context.get("running_summary") is not before.get("running_summary"):
            self.compactions += 1
        return [SYSTEM, *map(text_of, found["summarized_messages"])]


class Offloading(_Chain):
    """deepagents' `SummarizationMiddleware`: what leaves the window is kept in a file that the agent can search."""

    def __init__(self, summarise: Summarise) -> None:
        super().__init__()
        kind = needed("deepagents.middleware.summarization").SummarizationMiddleware
        files = needed("deepagents.backends").FilesystemBackend
        self._folder = TemporaryDirectory(prefix="hk")
        self._backend = files(root_dir=self._folder.name, virtual_mode=True)
        self._model = model(summarise)
        self._middleware = kind(
            self._model,
            backend=self._backend,
            trigger=("tokens", TRIGGER),
            keep=("messages", KEEP),
            token_counter=counted,
            trim_tokens_to_summarize=None,  # as its factory sets it
        )
        self._state: dict[str, Any] = {}

    def ask(self) -> list[str]:
        types = needed("langchain.agents.middleware.types")
        sent: list[Any] = []

        def handler(request: Any) -> Any:
            sent[:] = request.messages
            return types.ModelResponse(result=[])

        state = {**self._state, "messages": self.messages}
        asked = types.ModelRequest(model=self._model, messages=self.messages, state=state, runtime=None)
        answer = self._middleware.wrap_model_call(asked, handler)
        command = getattr(answer, "command", None)
        if command is not None and command.update:
            self._state |= {name: value for name, value in command.update.items() if name != "messages"}
            self.compactions += 1
        return [SYSTEM, *map(text_of, sent)]

    def recovers(self, fact: Fact) -> bool:
        """By `grep` in the offloaded history for the longest word that is known of the fact."""
        longest = max(fact.topic.split(), key=len)
        found = self._backend.grep(longest, path="/conversation_history")
        lines = "\n".join(str(one["text"]) for one in found.matches or ())
        return fact.word in lines[:FOUND]

    def close(self) -> None:
        self._folder.cleanup()
