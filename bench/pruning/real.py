"""The same scripted session in real OpenCode: without pruning, with OpenCode's own, with the DCP plugin from npm, and
with ours; each priced from the requests that reached the model.

`python -m bench.pruning.real [shape …]`; DCP (AGPL-3.0) is installed into the checkout's git-ignored cache and only
run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from bench.figures import Skipped
from bench.opencode import executable, tests_module
from hudkit.context.caching import ANTHROPIC, OPENAI, CachePolicy, CacheRequest, rates_for, simulate_cache, usd_cost
from hudkit.models.captured_request import CapturedRequest, tokens_by_bytes
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply
from hudkit.testing.model_server import ScriptedModel

DCP = "@tarquinen/opencode-dcp"
VERSION = "3.1.14"
CACHE = Path(__file__).resolve().parents[2] / ".cache" / "dcp" / VERSION
NAME = "claude-sonnet-4-5"
LIMIT = (200_000, 8_000)
TURNS, STEPS = 9, 8
SECONDS = 10_000
NUDGED = 100_000
"""Tokens from which DCP, at its defaults, urges the model to compress; this one does so at once."""
SIZES = (300, 40, 150, 220)
"""Lines of the files that are read, in turn."""
OUTPUT = {"anthropic": 5.0, "openai": 8.0}


def files() -> dict[str, str]:
    return {
        f"part_{n}.txt": "".join(f"{n}.{m}: {'word ' * 9}\n" for m in range(size)) for n, size in enumerate(SIZES)
    }


class Script:
    """What the model answers: reads, and an answer at the end of each turn; `compress` where that is offered and
    due."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.step = 0
        self.spent: dict[int, int] = {}
        self.compressed = 0

    def __call__(self, asked: CapturedRequest) -> ScriptedReply:
        reply = self._reply(asked)
        self.spent[asked.number] = sum(tokens_by_bytes(call.text) + 20 for call in reply.calls) + tokens_by_bytes(
            reply.text
        )
        return reply

    def _reply(self, asked: CapturedRequest) -> ScriptedReply:
        if "compress" in asked.tools and sum(tokens_by_bytes(piece.text) for piece in asked.pieces) > NUDGED:
            found = self._compress(asked)
            if found is not None:
                self.compressed += 1
                return ScriptedReply("", (found,))
        self.step += 1
        if self.step % (STEPS + 1) == 0:
            return ScriptedReply(f"Part {self.step} is read and checked. " * 12)
        path = self.project / f"part_{self.step % len(SIZES)}.txt"
        return ScriptedReply(
            f"Reading step {self.step}: what it says of the columns.",
            (ScriptedCall("read", {"filePath": str(path)}),),
        )

    def _compress(self, asked: CapturedRequest) -> ScriptedCall | None:
        """All but about the last 20,000 tokens, into a tenth of it."""
        known: list[tuple[str, int]] = []
        total = 0
        for piece in asked.pieces:
            if piece.role in ("tools", "system"):
                continue
            total += tokens_by_bytes(piece.text)
            known += [
                (id, total) for id in re.findall(r"<dcp-message-id[^>]*>(m\d{4}|b\d+)</dcp-message-id>", piece.text)
            ]
        ids = [(id, at) for id, at in known if at < total - 20_000]
        if len(ids) < 4:
            return None
        blocks = " ".join(f"({id})" for id in dict.fromkeys(id for id, _ in ids) if id.startswith("b"))
        summary = blocks + " What was read so far, in short. " + "a column and its owner; " * (ids[-1][1] // 10 // 6)
        content = [{"startId": ids[0][0], "endId": ids[-1][0], "summary": summary}]
        return ScriptedCall("compress", {"topic": "Earlier reading", "content": content})


def dcp() -> Path:
    """DCP's file. Raises `Skipped`."""
    file = CACHE / "node_modules" / DCP / "dist" / "index.js"
    if not file.exists():
        npm = shutil.which("npm")
        if npm is None:
            raise Skipped("npm is not on PATH")
        CACHE.mkdir(parents=True, exist_ok=True)
        (CACHE / "package.json").write_text('{"private": true}')
        quiet = ["--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run([npm, "install", *quiet, f"{DCP}@{VERSION}"], cwd=CACHE, capture_output=True, text=True)
        if done.returncode or not file.exists():
            raise Skipped(f"npm did not bring DCP: {done.stderr[-300:]}")
    return file


def lived(policy: str, shape: str) -> tuple[list[CapturedRequest], Script]:
    """The session under one policy: all requests, titles left out."""
    host_module, plugin_module = tests_module("opencode_host"), tests_module("hud_plugin")
    place = Path(tempfile.mkdtemp(prefix="hkp"))
    settings = place / "config.toml"
    settings.write_text(f"[pruning]\nenabled = {'true' if policy == 'ours' else 'false'}\n[memory]\nindex = false\n")
    known = {"name": NAME, "tool_call": True, "limit": {"context": LIMIT[0], "output": LIMIT[1]}}
    config: dict[str, Any] = {
        "model": f"fake/{NAME}",
        "small_model": f"fake/{NAME}",
        "provider": {"fake": {"models": {NAME: known}}},
    }
    plugins: list[Path] = []
    if policy in ("ours", "HUD without pruning"):
        plugins = [plugin_module.written(place)]
    if policy == "OpenCode's":
        config["compaction"] = {"prune": True}
    if policy == "DCP":
        plugins = [dcp()]
    try:
        with ScriptedModel() as model:
            env = {"HUDKIT_CONFIG": str(settings)}
            with host_module.OpenCode(
                place / "host",
                model.url,
                shape=shape,
                limit=LIMIT,
                plugins=plugins,
                files=files(),
                config=config,
                env=env,
            ) as host:
                if policy == "DCP":
                    host.write(".opencode/dcp.jsonc", json.dumps({"autoUpdate": False}))
                script = Script(host.project)
                model._function = script
                host.serve()
                session = host.create("a day")
                for turn in range(TURNS):
                    host.prompt(session, f"Now part {turn}, please; keep the columns as they are.", timeout=300)
                requests = [one for one in model.requests if one.kind in ("chat", "compaction")]
            if plugins and policy != "DCP":
                from hudkit.daemon import client

                client.stop(place / "run" / "d.sock")
        return requests, script
    finally:
        shutil.rmtree(place, ignore_errors=True)


def priced(requests: list[CapturedRequest], script: Script, policy: CachePolicy) -> float:
    """US dollars at $3 a million input tokens."""
    told: list[CacheRequest] = []
    for n, one in enumerate(requests):
        spent = script.spent.get(one.number, 2_000)  # a summary's, where it is a compaction
        told.append(msgspec.structs.replace(one.request(tokens_by_bytes, timestamp=SECONDS * n), output_tokens=spent))
    table = rates_for(policy, input=3.0, output=3.0 * OUTPUT["anthropic" if policy.explicit else "openai"])
    return usd_cost(simulate_cache(told, policy), table)


POLICIES = ("none", "HUD without pruning", "OpenCode's", "DCP", "ours")


def main(shapes: list[str]) -> None:
    executable()
    for shape in shapes or ["anthropic", "openai"]:
        policy = ANTHROPIC if shape == "anthropic" else OPENAI
        baseline = None
        for name in os.environ.get("POLICIES", ",".join(POLICIES)).split(","):
            requests, script = lived(name, shape)
            usd = priced(requests, script, policy)
            baseline = baseline or usd
            most = max(sum(tokens_by_bytes(piece.text) for piece in one.pieces) for one in requests)
            compactions = sum(one.kind == "compaction" for one in requests)
            chats = len(requests) - compactions
            print(
                f"{shape:10} {name:20} ${usd:7.3f}  x {usd / baseline:.3f}  {chats} calls, "
                f"{compactions} compactions, {script.compressed} compressions, largest request {most:,} tokens",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
