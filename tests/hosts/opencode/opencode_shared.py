"""One OpenCode process for many tests: each works in a project of its own, whose configuration is its own too.

A start costs a process seconds, a new project in a running one a tenth of that. What the process has is shared: its
home, database, environment and way out. A test that ends the process, looks at what it reaches or leaves, or runs the
command line asks for its own (`opencode(own=True)`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from opencode_host import OpenCode, Refused

from hudkit.testing.model_server import ScriptedModel


class Shared:
    """A serving OpenCode, started with the first project that asks for it, and again where it has died.

    `env` is laid over the environment of the process, which is also that of the daemons that plugins start.
    """

    def __init__(self, place: Path, env: Mapping[str, str] = {}) -> None:
        self._place = place
        self._env = env
        self._way_out = ScriptedModel()
        self._host: OpenCode | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._host is not None:
            self._host.close()
        self._way_out.close()

    def serves(self, url: str) -> bool:
        """Whether the server at this address still runs."""
        return self._host is not None and self._host.url == url and self._host.alive

    @property
    def host(self) -> OpenCode:
        """The process, serving."""
        if self._host is not None and self._host.alive:
            return self._host
        if self._host is not None:
            self._host.close()
        self._host = OpenCode(self._place, self._way_out.url, env=self._env)
        self._host.serve()
        return self._host


class Guest(OpenCode):
    """A project in a shared process, with the methods of an OpenCode of one's own but `run` and `stop`."""

    def __init__(self, shared: Shared, place: Path, model_url: str, **options: Any) -> None:
        super().__init__(place, model_url, **options)
        self._shared = shared

    def serve(self, *, timeout: float = 60.0) -> str:
        """The address of the shared server. Requests name the project's folder."""
        self.url = self._shared.host.url
        return self.url

    def headers(self) -> dict[str, str]:
        return super().headers() | {"x-opencode-directory": str(self.project)}

    def close(self) -> None:
        """Ends the project in the server: its plugins, its watchers, its open calls."""
        if self._shared.serves(self.url):
            with contextlib.suppress(Refused, OSError):
                self.post("/instance/dispose")
        self.url = ""

    def run(self, *args: Any, **more: Any) -> Any:
        raise NotImplementedError("`opencode run` is a process: opencode(own=True)")

    def stop(self, *, kill: bool = False) -> None:
        raise NotImplementedError("others use this process: opencode(own=True)")

    @property
    def db(self) -> Path:
        return self._shared.host.db

    def sessions(self) -> list[str]:
        mine = "select id from session where directory = ? order by time_created, id"
        return [row[0] for row in self.rows(mine, str(self.project))]

    def tail_of_logs(self, characters: int = 1500) -> str:
        return self._shared.host.tail_of_logs(characters)
