"""The same day of a coding agent through a real llama.cpp server, without and with the HUD: what its cache reuses."""

from __future__ import annotations

import json
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from bench.figures import Figure, Skipped
from bench.opencode import executable, tests_module
from bench.tiny_model import write
from hudkit.daemon import client
from hudkit.models.captured_request import CapturedRequest
from hudkit.testing.model_server import ScriptedModel

TITLE = "the same day through llama.cpp (random weights): what it reuses and processes, with the HUD ÷ without"
TURNS = 7
"""Turns of the day, of six calls each."""
CONTEXT = 65_536


class Prompted(msgspec.Struct, frozen=True):
    """What the server said of one prompt: tokens that it had, and tokens that it worked on."""

    cached: int
    processed: int

    @property
    def sent(self) -> int:
        return self.cached + self.processed


class Day(msgspec.Struct, frozen=True):
    """A day's prompts; `in_system` are the same ones with the whole HUD in the system prompt instead."""

    prompts: tuple[str, ...]
    in_system: tuple[str, ...] = ()


# -- the day in real OpenCode ----------------------------------------------------------------------------------------


def recorded(with_hud: bool) -> Day:
    """The day's chat calls as they reached the model. Raises `Skipped`."""
    executable()
    day, host = tests_module("coding_day"), tests_module("opencode_host")
    with tempfile.TemporaryDirectory(prefix="hk") as folder, ScriptedModel() as model:
        place = Path(folder)
        plugins = [tests_module("hud_plugin").written(place)] if with_hud else []
        try:
            with host.OpenCode(
                place, model.url, shape="openai", plugins=plugins, files=day.FILES, limit=day.LIMIT
            ) as one:
                chats: list[CapturedRequest] = day.lived(one, model, TURNS, with_hud)
        finally:
            client.stop(place / "run" / "d.sock")
        texts = tuple(prompt(chat) for chat in chats)
        moved = day.in_system(place / "hudkit.db") if with_hud else []
        assert len(moved) in (0, len(chats)), "each call of the day is in the log"
        return Day(texts, tuple(prompt(chat, *one) for chat, one in zip(chats, moved, strict=False)))


def prompt(chat: CapturedRequest, system: str = "", without: Sequence[str] = ()) -> str:
    """A request as one text, as a chat template has it: tools, system, messages in order, and the answer's opening.
    `system` comes behind the system texts; the texts `without` are left out."""
    tools = [piece.text for piece in chat.pieces if piece.role == "tools"]
    spoken = [("system", "\n".join([*chat.system, system] if system else chat.system)), *chat.messages]
    text = "".join(f"<|{role}|>\n{said}\n" for role, said in [("tools", "\n".join(tools)), *spoken])
    for one in without:
        head, found, end = text.partition(one)
        if found and one != system:
            text = head + end
    return f"{text}<|assistant|>\n"


# -- llama.cpp -------------------------------------------------------------------------------------------------------


@contextmanager
def server(model: Path) -> Iterator[str]:
    """The address of a llama.cpp server with one slot, whose only cache is that slot's."""
    module = import_module("xllamacpp")
    parameters = module.CommonParams()
    parameters.model.path = str(model)
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    parameters.cache_ram_mib = 0
    parameters.verbosity = 0
    parameters.cpuparams.n_threads = 2
    running = module.Server(parameters)
    yield running.listening_address
    del running


def played(address: str, prompts: Sequence[str]) -> list[Prompted]:
    """Each prompt in turn."""
    return [_timings(_ask(address, text)["timings"]) for text in prompts]


def _ask(address: str, text: str) -> dict[str, Any]:
    body = json.dumps({"prompt": text, "n_predict": 1, "cache_prompt": True}).encode()
    asked = urllib.request.Request(f"{address}/completion", body, {"content-type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(asked, timeout=120) as answer:
        return dict(json.loads(answer.read()))


def _timings(told: dict[str, Any]) -> Prompted:
    return Prompted(told["cache_n"], told["prompt_n"])


# -- figures ---------------------------------------------------------------------------------------------------------


def run() -> list[Figure]:
    """What is reused, call by call, and what is processed. Raises `Skipped`."""
    for name in ("xllamacpp", "gguf"):
        try:
            import_module(name)
        except ImportError:
            raise Skipped(f"the package {name} is not installed; it is in the dependency group `bench`") from None
    none, hud = recorded(False), recorded(True)
    told = {}
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        model = Path(folder) / "tiny.gguf"
        write(model, none.prompts[-1] + hud.prompts[-1], CONTEXT)
        for name, prompts in (("none", none.prompts), ("hud", hud.prompts), ("system", hud.in_system)):
            with server(model) as address:
                told[name] = played(address, prompts)
    return figures(told["none"], told["hud"], told["system"])


def figures(none: Sequence[Prompted], hud: Sequence[Prompted], system: Sequence[Prompted]) -> list[Figure]:
    """Of the days' prompts. The first call of a day finds an empty cache."""
    less = [n for n, (a, b) in enumerate(zip(none, hud, strict=True), 1) if b.cached < a.cached]
    found = [Figure(f"calls of {len(none)} that reuse fewer tokens than without", len(less), 0, str(less or ""))]
    for words, day in (("the HUD", hud), ("all of it in the system prompt, every call", system)):
        for what, a, b in (
            ("sent", _sum(none, "sent"), _sum(day, "sent")),
            ("processed", _sum(none, "processed"), _sum(day, "processed")),
            ("reused", _sum(none, "cached"), _sum(day, "cached")),
        ):
            note = f"{b:,} ÷ {a:,}"
            if what == "reused":
                note += f"; {_share(day):.1%} of what was sent, {_share(none):.1%} without"
            found.append(Figure(f"tokens {what}, {words}", b / a, None, note))
    return found


def _sum(day: Sequence[Prompted], name: str) -> int:
    return sum(getattr(one, name) for one in day)


def _share(day: Sequence[Prompted]) -> float:
    return _sum(day, "cached") / _sum(day, "sent")
