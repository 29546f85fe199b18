"""Scripts of a scripted model as files: TOML for people, JSON lines for programs.

Each answer is one `[[answer]]` table of TOML or one line of JSON, in the order in which the chat calls get them:

    [[answer]]
    text = "I look at it first."
    calls = [{ name = "read", arguments = { path = "a.py" } }]

    [[answer]]
    refuse = { status = 429, headers = { retry-after = "2" } }

    [[answer]]
    for = "compaction"
    text = "Goal: ..."

Fields: `text`, `reasoning`, `calls` (`name`, `arguments` as an object or as a text that is sent as it is, `id`),
`usage` (`read`, `written`, `fresh`, `output` in tokens), `delay` and `pace` in seconds, `cut`, `finish`; or `refuse`
(`status`, `kind`, `code`, `message`, `headers`); or `hang` in seconds. `for` is `chat` (or left out), `title`,
`compaction`, or `otherwise` for what comes when the script is at its end; of these the last one counts.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal

import msgspec

from hudkit.context.caching import CallCost
from hudkit.errors import ConfigError
from hudkit.testing.in_process import InProcessModel
from hudkit.testing.replies import Answer, Call, Hang, Refusal, Reply

MOST = 16_000_000
"""Bytes of a script file."""


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"role": "for"}):
    role: Literal["chat", "title", "compaction", "otherwise"] = "chat"
    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    usage: CallCost | None = None
    delay: float = 0.0
    pace: float = 0.0
    cut: bool = False
    finish: Literal["", "length", "refusal", "compact"] = ""
    refuse: Refusal | None = None
    hang: float | None = None

    def answer(self) -> Answer:
        if self.hang is not None:
            return Hang(self.hang)
        return self.refuse or Reply(
            self.text, self.calls, self.usage, self.delay, self.pace, self.cut, self.reasoning, self.finish
        )


def read_script(path: Path) -> InProcessModel:
    """The model that a script file describes; the ending of the name says which form it has (`.toml`, `.jsonl`).

    Raises `ConfigError`, naming the answer and the field, for a file that cannot be read.
    """
    lines = [_line(path, number, value) for number, value in _values(path)]
    own = {line.role: line.answer() for line in lines if line.role != "chat"}
    script = [line.answer() for line in lines if line.role == "chat"]
    return InProcessModel(script, name=f"script:{path.name}", **own)  # type: ignore[arg-type]


def _values(path: Path) -> list[tuple[int, Any]]:
    """Each answer with its number: of the table in TOML, of the line in JSON lines, from 1."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST + 1)
    except OSError as error:
        raise ConfigError(f"the script {path} cannot be read: {error.strerror}") from error
    if len(raw) > MOST:
        raise ConfigError(f"the script {path} is larger than {MOST} bytes", hint="split it")
    try:
        text = raw.decode()
        if path.suffix == ".toml":
            return _tables(path, tomllib.loads(text))
        numbered = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"the script {path} is no TOML: {error}", hint="see hudkit.testing.script_file") from error
    return [(number, _json(path, number, line)) for number, line in numbered]


def _tables(path: Path, found: dict[str, Any]) -> list[tuple[int, Any]]:
    answers = found.get("answer", [])
    if set(found) - {"answer"} or not isinstance(answers, list):
        raise ConfigError(f"the script {path} holds more than [[answer]] tables", hint="write [[answer]] before each")
    return list(enumerate(answers, 1))


def _json(path: Path, number: int, line: str) -> Any:
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        raise ConfigError(f"line {number} of the script {path} is no JSON: {error}") from error


def _line(path: Path, number: int, value: Any) -> _Line:
    try:
        return msgspec.convert(value, _Line)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"answer {number} of the script {path}: {error}", hint="see hudkit.testing.script_file"
        ) from error
