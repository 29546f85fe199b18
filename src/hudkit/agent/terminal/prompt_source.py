"""Where prompts come from: an input line with history and completion on a terminal, lines of a pipe elsewhere."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rich.text import Text

from hudkit.agent.terminal.file_names import matching_files
from hudkit.agent.terminal.prompt_history import HistoryFile
from hudkit.agent.terminal.screen import Screen, styled_pieces
from hudkit.agent.terminal.type_ahead import TypeAhead
from hudkit.compose import visible

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.filters import Condition
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.history import InMemoryHistory
    from prompt_toolkit.key_binding import KeyBindings

_MARK = "› "
_FILE = re.compile(r"(?:^|\s)@(\S*)\Z")
"""The beginning of a file's name before the cursor."""

_MENU_LINES = 8
"""Lines that are kept free for the files that complete a name."""


class Interrupted(Exception):
    """Ctrl-C at the empty line."""


class PromptSurroundings(NamedTuple):
    """What is asked for whenever a line is up: what stands below it, in so many cells; which commands and files it
    completes."""

    toolbar: Callable[[int], Text] = lambda _: Text()
    commands: Callable[[], Sequence[str]] = tuple
    files: Callable[[], Sequence[str]] = tuple


class PromptSource(Protocol):
    """One prompt after the other."""

    @property
    def typed(self) -> TypeAhead | None:
        """Return what keeps what is typed while no prompt is up; `None` where nothing can be."""

    def remember(self, texts: Iterable[str]) -> None:
        """Earlier prompts, oldest first, to be found again with the arrow key."""

    def show(self, surroundings: PromptSurroundings) -> None:
        """Set what stands below the line, and what it completes."""

    async def read(self, default: str = "") -> str | None:
        """Return the next prompt; `None`: there are no more. Raises `Interrupted`."""

    def busy(self) -> AbstractContextManager[None]:
        """Return a context in which the agent works: what is typed meanwhile is kept."""

    def close(self) -> None:
        """Give the terminal back; return nothing."""


class PipedPrompts:
    """Prompts from the standard input, one a line."""

    typed = None

    def remember(self, texts: Iterable[str]) -> None:
        """Do nothing: nobody looks back here."""

    def show(self, surroundings: PromptSurroundings) -> None:
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

    def busy(self) -> AbstractContextManager[None]:
        """Return a context that does nothing: a pipe waits."""
        return nullcontext()

    def close(self) -> None:
        """Do nothing: a pipe is as it was."""


class EditedPrompts:
    """A line that is edited: Enter sends, Alt-Enter begins a new line, Tab completes commands, `@` completes files.

    From its making on, until it is closed, the terminal's keys are its own: those that are pressed before a line is
    up are not lost.
    """

    def __init__(self, screen: Screen, history: HistoryFile) -> None:
        # Imported late: a chat through a pipe does without it.
        from prompt_toolkit import PromptSession
        from prompt_toolkit.output import ColorDepth
        from prompt_toolkit.shortcuts import CompleteStyle
        from prompt_toolkit.styles import Style

        self.typed = TypeAhead(sys.stdin.fileno(), screen)
        self.typed.open()
        self._history, self._remember = _history_of(history)
        style = {"bottom-toolbar": "noreverse", "bottom-toolbar.text": "noreverse", "mark": "bold"}
        self._surroundings = PromptSurroundings()
        self._names: Sequence[str] | None = None
        self._session: PromptSession[str] = PromptSession(
            [("class:mark", _MARK)],
            multiline=True,
            prompt_continuation="  ",
            history=self._history,
            key_bindings=_keys(),
            completer=_completer(self._command_names, self._file_names),
            complete_while_typing=self._completes(),
            complete_style=CompleteStyle.COLUMN,
            complete_in_thread=True,
            bottom_toolbar=self._bar,
            style=Style.from_dict(style),
            color_depth=ColorDepth.DEPTH_1_BIT if os.environ.get("NO_COLOR") else ColorDepth.DEPTH_4_BIT,
            reserve_space_for_menu=_MENU_LINES,
        )

    def remember(self, texts: Iterable[str]) -> None:
        """Add earlier prompts to the history of the line; return nothing."""
        self._remember(texts)

    def show(self, surroundings: PromptSurroundings) -> None:
        """Set what the line under the prompt shows, and what is completed; return nothing."""
        self._surroundings = surroundings

    async def read(self, default: str = "") -> str | None:
        """Return what was typed ahead, or what the user writes now; `None` where the input ended.

        Raises `Interrupted` for Ctrl-C.
        """
        line = self.typed.take_line()
        if line is not None:
            self._history.append_string(line)
            return line
        self._names = None  # files come and go between two prompts
        try:
            default = "\n".join(filter(None, (default, self.typed.take_draft())))
            return await self._session.prompt_async(default=default, handle_sigint=False)
        except EOFError:
            return None
        except KeyboardInterrupt:
            raise Interrupted from None

    def busy(self) -> AbstractContextManager[None]:
        """Return a context in which what is typed goes into the queue."""
        from prompt_toolkit.input.typeahead import get_typeahead

        # what was pasted behind an Enter is still with the line that ended
        return self.typed.listening(get_typeahead(self._session.input))

    def close(self) -> None:
        """Give the terminal back as it was; return nothing."""
        self.typed.close()

    def _command_names(self) -> Sequence[str]:
        return self._surroundings.commands()

    def _file_names(self) -> Sequence[str]:
        if self._names is None:
            self._names = self._surroundings.files()
        return self._names

    def _bar(self) -> StyleAndTextTuples:
        line = self._surroundings.toolbar(self._session.output.get_size().columns - 1)
        return [(_toolkit_style(style), visible(text)) for text, style in styled_pieces(line)]

    def _completes(self) -> Condition:
        """Whether completions are shown while the user types: for files."""
        from prompt_toolkit.filters import Condition

        return Condition(lambda: bool(_FILE.search(self._session.default_buffer.document.text_before_cursor)))


def _toolkit_style(style: str) -> str:
    """Return a style in the words of prompt_toolkit: `bold red` becomes `bold ansired`."""
    colours = {"red", "green", "yellow", "blue", "magenta", "cyan"}
    words = (f"ansi{word}" if word in colours else word for word in style.split())
    return " ".join(word for word in words if word not in ("none", "dim"))


def _history_of(file: HistoryFile) -> tuple[InMemoryHistory, Callable[[Iterable[str]], None]]:
    """The history that the arrow key walks, and what adds prompts to it that are not kept in the file."""
    from prompt_toolkit.history import InMemoryHistory

    class History(InMemoryHistory):
        """Begins with what is in the file, and adds to it what is sent."""

        _kept = True

        def store_string(self, string: str) -> None:
            super().store_string(string)
            if self._kept:
                file.append(string)

        def remember(self, texts: Iterable[str]) -> None:
            self._kept = False  # these are in a session already
            for text in texts:
                self.append_string(text)
            self._kept = True

    history = History(file.read())
    return history, history.remember


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


def _completer(commands: Callable[[], Sequence[str]], files: Callable[[], Sequence[str]]) -> Completer:
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document

    class CommandsAndFiles(Completer):
        """Completes the name of a command at the beginning of a line, and that of a file behind `@`."""

        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002
            text = document.text_before_cursor
            named = _FILE.search(text)
            if text.startswith("/") and " " not in text:
                for name in commands():
                    if name.startswith(text[1:]):
                        yield Completion(f"/{name}", start_position=-len(text))
            elif named is not None:
                for name in matching_files(files(), named[1]):
                    yield Completion(f"@{quoted_name(name)}", start_position=-len(named[1]) - 1)

    return CommandsAndFiles()


def quoted_name(name: str) -> str:
    """Return a file's name as it is written behind `@`: spaces have a backslash."""
    return name.replace(" ", "\\ ")
