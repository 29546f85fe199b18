"""Where prompts come from: an input line with history and completion on a terminal, lines of a pipe elsewhere."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from hudkit.compose import visible
from hudkit.errors import ConfigError

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.key_binding import KeyBindings

_MARK = "› "


class Interrupted(Exception):
    """Ctrl-C at the empty line."""


class PromptSource(Protocol):
    """One prompt after the other."""

    def remember(self, texts: Iterable[str]) -> None:
        """Earlier prompts, oldest first, to be found again with the arrow key."""

    def show(self, toolbar: Callable[[int], str], commands: Callable[[], Sequence[str]]) -> None:
        """Set what stands below the line, in so many cells, and which commands it completes; return nothing."""

    async def read(self, default: str = "") -> str | None:
        """Return the next prompt; `None`: there are no more. Raises `Interrupted`."""


class PipedPrompts:
    """Prompts from the standard input, one a line."""

    def remember(self, texts: Iterable[str]) -> None:
        """Do nothing: nobody looks back here."""

    def show(self, toolbar: Callable[[int], str], commands: Callable[[], Sequence[str]]) -> None:
        """Do nothing: nobody looks here."""

    async def read(self, default: str = "") -> str | None:  # noqa: ARG002 (nobody edits here)
        """Return the next line of the input; `None` at its end."""
        loop = asyncio.get_running_loop()
        line: asyncio.Future[str] = loop.create_future()

        def tell(text: str) -> None:
            if not line.done():
                line.set_result(text)

        def work() -> None:
            text = sys.stdin.readline()
            with suppress(RuntimeError):  # the program has ended meanwhile
                loop.call_soon_threadsafe(tell, text)

        threading.Thread(target=work, name="hudkit-input", daemon=True).start()
        text = await line
        return text.rstrip("\r\n") if text else None


class EditedPrompts:
    """A line that is edited: Enter sends, Alt-Enter begins a new line, Tab completes commands."""

    def __init__(self) -> None:
        try:
            from prompt_toolkit import PromptSession
        except ImportError as error:
            hint = "pip install 'hudkit[terminal]'; `hudkit run` does without"
            raise ConfigError(f"hudkit chat needs the package {error.name}", hint=hint) from None
        from prompt_toolkit.history import InMemoryHistory
        from prompt_toolkit.output import ColorDepth
        from prompt_toolkit.shortcuts import CompleteStyle
        from prompt_toolkit.styles import Style

        self._history = InMemoryHistory()
        style = {"bottom-toolbar": "noreverse", "bottom-toolbar.text": "noreverse", "mark": "bold"}
        self._toolbar: Callable[[int], str] = lambda _: ""
        self._commands: Callable[[], Sequence[str]] = tuple
        self._session: PromptSession[str] = PromptSession(
            [("class:mark", _MARK)],
            multiline=True,
            prompt_continuation="  ",
            history=self._history,
            key_bindings=_keys(),
            completer=_completer(self._names),
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            bottom_toolbar=self._bar,
            style=Style.from_dict(style),
            color_depth=ColorDepth.DEPTH_1_BIT if os.environ.get("NO_COLOR") else ColorDepth.DEPTH_4_BIT,
            reserve_space_for_menu=0,
        )

    def remember(self, texts: Iterable[str]) -> None:
        """Add earlier prompts to the history of the line; return nothing."""
        for text in texts:
            self._history.append_string(text)

    def show(self, toolbar: Callable[[int], str], commands: Callable[[], Sequence[str]]) -> None:
        """Set what the line under the prompt shows and which commands it completes; return nothing."""
        self._toolbar, self._commands = toolbar, commands

    async def read(self, default: str = "") -> str | None:
        """Return what the user wrote; `None` where the input ended. Raises `Interrupted` for Ctrl-C."""
        try:
            return await self._session.prompt_async(default=default, handle_sigint=False)
        except EOFError:
            return None
        except KeyboardInterrupt:
            raise Interrupted from None

    def _names(self) -> Sequence[str]:
        return self._commands()

    def _bar(self) -> str:
        return visible(self._toolbar(self._session.output.get_size().columns - 1))


def _keys() -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    keys = KeyBindings()

    @keys.add("enter")
    def _send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    @keys.add("c-j")
    def _line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-c")
    def _stop(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt)

    return keys


def _completer(commands: Callable[[], Sequence[str]]) -> Completer:
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document

    class Commands(Completer):
        """Completes the name of a command at the begin of a line."""

        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002
            text = document.text_before_cursor
            if text.startswith("/") and " " not in text:
                for name in commands():
                    if name.startswith(text[1:]):
                        yield Completion(f"/{name}", start_position=-len(text))

    return Commands()
