"""What a plugin may ask of the session that it is part of: read it, speak to it, have it compacted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from hudkit.agent.store import SessionStore
from hudkit.agent.told import Figured, Told
from hudkit.agent.transcript import SessionTranscript
from hudkit.tokens import Window
from hudkit.tokens.windows import ASSUMED
from hudkit.transcripts import Message, SessionRow, Todo


class Client:
    """Calls may come from any thread, also from within a hook: none of them waits for the session."""

    def __init__(self, store: SessionStore) -> None:
        self._transcript = SessionTranscript(store)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._prompt: Callable[[str, str], Coroutine[Any, Any, object]] | None = None
        self._compact: Callable[[str], None] | None = None
        self._window: Callable[[], Window] = lambda: Window(ASSUMED, None, None, "assumed")
        self._tell: Callable[[Told], None] = lambda told: None  # noqa: ARG005 (nobody listens yet)

    def bind(
        self,
        prompt: Callable[[str, str], Coroutine[Any, Any, object]],
        compact: Callable[[str], None],
        window: Callable[[], Window],
        tell: Callable[[Told], None],
    ) -> None:
        """For the session: where what plugins ask for is done."""
        self._window, self._tell = window, tell
        self._loop, self._prompt, self._compact = asyncio.get_running_loop(), prompt, compact

    def sessions(self) -> tuple[SessionRow, ...]:
        """All sessions, oldest first."""
        return self._transcript.sessions()

    def session(self, session_id: str) -> SessionRow | None:
        return self._transcript.session(session_id)

    def messages(self, session_id: str, *, after: str = "") -> tuple[Message, ...]:
        """A session's messages as they are stored, from behind the one with the id `after`."""
        return tuple(self._transcript.messages(session_id, after=after))

    def todos(self, session_id: str) -> tuple[Todo, ...]:
        return self._transcript.todos(session_id)

    def window(self) -> Window:
        """The window of the model that the open session uses now."""
        return self._window()

    def prompt(self, session_id: str, text: str) -> None:
        """Put a prompt into the queue of the open session; it is taken up when the turn is over."""
        if self._loop is not None and self._prompt is not None:
            asyncio.run_coroutine_threadsafe(self._prompt(session_id, text), self._loop)

    def summarise(self, session_id: str) -> None:
        """Have the open session compacted: before its next model call, or at once where it is idle."""
        if self._loop is not None and self._compact is not None:
            self._loop.call_soon_threadsafe(self._compact, session_id)

    def figures(self, session_id: str, **figures: bool | int | float | str | tuple[str, ...]) -> None:
        """Give figures of the model call that comes next to telemetry: attributes by their names, no content."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._tell, Figured(session_id, figures))
