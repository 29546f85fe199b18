"""The chat templates of open models, and what a server makes of a request with them.

The templates are those that llama.cpp tests itself with. They come with the source package of `llama-cpp-python`,
from PyPI, once into the checkout's git-ignored cache; none is copied into the tree.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import SandboxedEnvironment

VERSION = "0.3.36"
SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
"""Of the source package, which pip checks."""
TEMPLATES = 70
CACHE = Path(__file__).resolve().parents[1] / ".cache" / "chat_templates"
SECONDS = 600.0

_FOLDER = f"llama_cpp_python-{VERSION}/vendor/llama.cpp/models/templates/"
_LOOK = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Looks.",
        "parameters": {"type": "object", "properties": {"place": {"type": "string", "description": "Where."}}},
    },
}
_NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)

Json = dict[str, Any]


class Unavailable(Exception):
    """The templates cannot be had here; the message says why."""


class Refused(Exception):
    """A server would answer with an error: the message is the template's own."""


@functools.cache
def template_sources() -> Mapping[str, str]:
    """The templates by name, loaded where they are missing (76 MB, of which 0.4 stay). Raises `Unavailable`.

    Processes that ask at the same time wait for the first.
    """
    folder = CACHE / VERSION
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _load(folder)
    return {file.stem: file.read_text("utf-8") for file in sorted(folder.glob("*.jinja"))}


def _load(folder: Path) -> None:
    work = folder.with_suffix(".part")
    work.mkdir(exist_ok=True)
    wanted = work / "requirement.txt"
    wanted.write_text(f"llama-cpp-python=={VERSION} --hash=sha256:{SHA256}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "llama-cpp-python"]
    try:
        done = subprocess.run(
            [*command, "--require-hashes", "--dest", str(work), "--requirement", str(wanted)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"pip did not bring llama-cpp-python {VERSION} within {SECONDS:.0f} s") from error
    archive = next(work.glob("*.tar.gz"), None)
    if done.returncode or archive is None:
        raise Unavailable(
            f"pip brought no source package of llama-cpp-python {VERSION}: {done.stderr.strip()[-400:]}"
        )
    templates = work / "templates"
    templates.mkdir(exist_ok=True)
    with tarfile.open(archive) as tar:
        for member in tar:
            file = tar.extractfile(member) if member.name.startswith(_FOLDER) and member.isfile() else None
            if file is not None and member.name.endswith(".jinja"):
                (templates / Path(member.name).name).write_bytes(file.read())
    templates.rename(folder)
    archive.unlink()
    wanted.unlink()
    work.rmdir()


class ChatTemplate:
    """A template as llama.cpp's server applies it: what it can take is found out with small conversations.

    Some want content as a list of parts, some the arguments of calls as an object; where one takes no system message,
    the server puts its text into the first message.
    """

    def __init__(self, source: str) -> None:
        environment = SandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _Generation]
        )
        environment.filters["tojson"] = _to_json
        environment.globals |= {"raise_exception": _refuse, "strftime_now": _NOW.strftime}
        self._template = environment.from_string(source)
        self._takes_text = self._shows("WORD", [_user("WORD")])
        self._takes_parts = self._shows("WORD", [_user([{"type": "text", "text": "WORD"}])])
        self._takes_system = self._shows("WORD", [{"role": "system", "content": self._content("WORD")}, _user("hi")])
        self._takes_objects = self._shows("WORD", self._call({"place": "WORD"}))

    def prompt(self, body: Json) -> str:
        """The prompt of a chat-completions request. Raises `Refused` where the template does."""
        messages = [self._message(message) for message in body["messages"]]
        if not self._takes_system and messages[0]["role"] == "system" and len(messages) > 1:
            system, first = messages[0], messages[1]
            joined = f"{text_of(system['content'])}\n{text_of(first['content'])}"
            messages = [{**first, "content": self._content(joined)}, *messages[2:]]
        return self._render(messages, body.get("tools") or None)

    def _message(self, message: Json) -> Json:
        role = "system" if message["role"] == "developer" else message["role"]
        copy = {**message, "role": role, "content": self._content(message.get("content") or "")}
        if message.get("tool_calls"):
            copy["tool_calls"] = [self._tool_call(call) for call in message["tool_calls"]]
        return copy

    def _content(self, content: Any) -> Any:
        if self._takes_text and not self._takes_parts:
            return text_of(content)
        if self._takes_parts and not self._takes_text and isinstance(content, str):
            return [{"type": "text", "text": content}]
        return content

    def _tool_call(self, call: Json) -> Json:
        function = call["function"]
        arguments = json.loads(function["arguments"]) if self._takes_objects else function["arguments"]
        return {**call, "function": {**function, "arguments": arguments}}

    def _call(self, arguments: Any) -> list[Json]:
        call = {"id": "call00001", "type": "function", "function": {"name": "look", "arguments": arguments}}
        asked, answered = {"role": "assistant", "content": "", "tool_calls": [call]}, "done"
        result = {"role": "tool", "name": "look", "tool_call_id": "call00001", "content": self._content(answered)}
        return [_user(self._content("hi")), asked, result]

    def _shows(self, word: str, messages: list[Json]) -> bool:
        for tools in (None, [_LOOK]):  # some templates are for requests with tools alone
            with contextlib.suppress(Refused):
                prompt = self._render(messages, tools)
                return word in prompt and "[{'type'" not in prompt  # a list that was printed was not understood
        return False

    def _render(self, messages: list[Json], tools: Any) -> str:
        try:
            return self._template.render(
                messages=messages,
                tools=tools,
                add_generation_prompt=True,
                bos_token="<s>",
                eos_token="</s>",
                date_string=f"{_NOW:%d %b %Y}",
                datetime=f"{_NOW:%b %d %Y}",
            )
        except (TemplateError, TypeError, ValueError, AttributeError, KeyError, IndexError) as error:
            raise Refused(f"{type(error).__name__}: {error}") from error


def text_of(content: Any) -> str:
    """The text of a message's content, as servers join it where a template takes no parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if part.get("type") == "text")


def _user(content: Any) -> Json:
    return {"role": "user", "content": content}


def _to_json(value: Any, indent: int | None = None, **_: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, default=list)  # filters give generators


def _refuse(message: str) -> Any:
    raise TemplateError(message)


class _Generation(Extension):
    """`{% generation %}`, which marks the model's own words for training and changes no prompt."""

    tags: ClassVar[set[str]] = {"generation"}

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)
