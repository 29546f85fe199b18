"""What a real llama.cpp server reads of agents' HUDs from its prefix cache, over a run of the island's improvisers.

Each agent has a slot of the server, as it would have a prefix of a provider's cache. The model is a tiny one with
random weights: what is reused is a matter of the prompts alone.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import urllib.request
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.figures import Figure, Skipped
from bench.rooms_pacing import common_beginning
from bench.tiny_model import write
from hudkit.rooms.players import Improviser, PlayerRegistry
from hudkit.rooms.players.improviser import IMPROVISER_MODEL
from hudkit.rooms.players.player import BeatPrompt, BeatReply
from hudkit.rooms.scheduler import SimulatedClock, WorldRunner
from hudkit.rooms.world_file import island_world, populate_world
from hudkit.rooms.world_log import WorldLog

TITLE = "rooms: what a llama.cpp server reads of HUDs from its cache, five improvisers"
START, BEATS, CONTEXT = 1_800_000_000_000, 60, 12_288


class _Listening:
    """The improviser, and all that it was asked."""

    def __init__(self) -> None:
        self.prompts: list[BeatPrompt] = []
        self._player = Improviser()

    def reply_now(self, prompt: BeatPrompt) -> BeatReply:
        self.prompts.append(prompt)
        return self._player.reply_now(prompt)


def played() -> list[BeatPrompt]:
    """The prompts of a run."""
    clock, player, founding = SimulatedClock(START), _Listening(), island_world()
    with WorldLog.in_memory(name="island", seed=founding.seed, rules=founding.rules, clock=clock.wall) as world_log:
        populate_world(world_log, founding)
        runner = WorldRunner(world_log, PlayerRegistry({IMPROVISER_MODEL: player}), clock=clock)
        asyncio.run(runner.run(beats=BEATS))
    return player.prompts


def run() -> list[Figure]:
    """The share that is not reused: as the server says it, and by how texts begin. Raises `Skipped`."""
    for name in ("xllamacpp", "gguf"):
        try:
            import_module(name)
        except ImportError:
            raise Skipped(f"the package {name} is not installed; it is in the dependency group `bench`") from None
    prompts = played()
    agents = sorted({prompt.agent for prompt in prompts})
    cached = processed = 0
    by_text = all_text = 0
    last: dict[int, str] = {}
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        model = Path(folder) / "tiny.gguf"
        write(model, prompts[-1].hud.text, CONTEXT)
        server = _server(model, len(agents))
        for prompt in prompts:
            text = prompt.hud.text
            timings = _ask(server.listening_address, text, agents.index(prompt.agent))
            cached, processed = cached + timings["cache_n"], processed + timings["prompt_n"]
            by_text += common_beginning(text, last.get(prompt.agent, ""))
            all_text += len(text)
            last[prompt.agent] = text
        del server
    share = processed / (cached + processed)
    note = f"{cached:,} of {cached + processed:,} tokens from its cache, {len(prompts)} beats, {len(agents)} agents"
    return [
        Figure("share of HUDs that the server had to work on", share, 0.3, note),
        Figure("the same by characters that HUDs of one agent do not begin with alike", 1 - by_text / all_text),
    ]


def _server(model: Path, slots: int) -> Any:
    module = import_module("xllamacpp")
    parameters = module.CommonParams()
    parameters.model.path = str(model)
    parameters.n_ctx, parameters.n_parallel, parameters.cache_ram_mib = CONTEXT * slots, slots, 0
    parameters.verbosity = 0
    parameters.cpuparams.n_threads = 1
    return module.Server(parameters)


def _ask(address: str, text: str, slot: int) -> dict[str, int]:
    body = {"prompt": text, "n_predict": 1, "cache_prompt": True, "id_slot": slot}
    request = urllib.request.Request(
        f"{address}/completion", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=600) as answer:
        timings: dict[str, int] = json.loads(answer.read())["timings"]
        return timings
