"""A process of the stand-in for OpenCode 2, and its conversations."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

SCRIPT = Path(__file__).with_name("mock_host.mjs")


class MockHost:
    """The stand-in, with a plugin (or none) and its sessions in `store`. Raises `RuntimeError` where it fails."""

    def __init__(
        self,
        directory: Path,
        store: Path,
        url: str,
        limit: tuple[int, int],
        plugin: Path | None,
        *,
        absent: Sequence[str] = (),
        lacking: Sequence[str] = (),
    ) -> None:
        node = shutil.which("node")
        if node is None:
            pytest.skip("node is not on PATH")
        given = {
            "plugin": str(plugin) if plugin else None,
            "url": f"{url}/v1" if not url.endswith("/v1") else url,
            "directory": str(directory),
            "store": str(store),
            "limit": limit,
            "absent": absent,
            "lacking": lacking,
        }
        self._process = subprocess.Popen(
            [node, str(SCRIPT), json.dumps(given)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.ready = self._read()["ready"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def ask(self, command: str, **arguments: object) -> Any:
        """What a command of the stand-in answers."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": command, **arguments}) + "\n")
        self._process.stdin.flush()
        answer = self._read()
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["answer"]

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the stand-in ended with code {self._process.wait()}")
        return dict(json.loads(line))
