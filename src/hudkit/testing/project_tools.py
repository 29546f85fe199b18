"""Plain tools of a coding agent, for tests and examples of hosts that bring none: read, write, edit, run."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hudkit.errors import ToolError

_OUTPUT_CHARACTERS = 30_000
"""Only the end of a command's output is given back: there it says how it went."""


class ProjectTools:
    """The tools over one folder. Paths lead nowhere else; commands are not confined."""

    def __init__(self, folder: Path, seconds: float = 60.0) -> None:
        self.folder = folder.resolve()
        self._seconds = seconds

    def read_file(self, path: str) -> str:
        """Return the text of a file of the project."""
        file = self._file(path)
        if not file.is_file():
            raise ToolError(f"there is no file {path!r}", hint="Name a file of the project")
        return file.read_text("utf-8", "replace")

    def write_file(self, path: str, content: str) -> str:
        """Write a text file of the project, whole."""
        file = self._file(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
        return f"wrote {path}"

    def edit_file(self, path: str, old: str, new: str) -> str:
        """Replace a piece of a text file that occurs once."""
        text = self.read_file(path)
        if text.count(old) != 1:
            raise ToolError(
                f"{text.count(old)} places in {path!r} have this text", hint="Give a piece that is there once"
            )
        self._file(path).write_text(text.replace(old, new), encoding="utf-8")
        return f"edited {path}"

    def run_command(self, command: str) -> str:
        """Run a shell command in the project; return what it printed, and its exit status where that is not 0."""
        try:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=self._seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ToolError(f"timed out after {self._seconds:g} s", hint="Run something shorter") from None
        output = done.stdout.decode("utf-8", "replace")[-_OUTPUT_CHARACTERS:]
        return output if done.returncode == 0 else f"{output}\n[exit status {done.returncode}]"

    def _file(self, path: str) -> Path:
        file = (self.folder / path).resolve()
        if not file.is_relative_to(self.folder):
            raise ToolError(f"{path!r} leads out of the project", hint="Give a path inside it")
        return file
