"""What the plugin adds to a call, in OpenCode's own Bun: its hooks beside an empty question over the same socket."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from time import sleep
from typing import Any

from bench.figures import Figure
from bench.opencode import executable
from hudkit.daemon.client import ensure_running, stop
from hudkit.hosts.opencode.plugin import PluginPaths, generate_plugin

TITLE = "the plugin in Bun: its hooks before an LLM call ÷ an empty question (POST /v1/hello) by its own transport"
SCRIPT = Path(__file__).with_name("plugin.mjs")
ROUNDS, WARM = 1000, 50
STEPS = 20
"""Steps of a session that are timed; then another one begins, so that sizes stay what they are."""
SIZES = {"same": 60, "step": 60, "long": 200, "sudden": 60}
"""Messages in a session as it begins."""
LEAD_MS = 4
"""Between the event that ends a tool step and the hooks of the next call: 4.4 to 5.1 ms in OpenCode 1.18.33."""
TARGET = 2.0
CASES = {
    "same": "nothing new",
    "step": "one more tool step",
    "long": f"the same in a session of {SIZES['long']} messages",
    "sudden": "one more tool step, of which no event has told",
    "bare": "GET /health by a bare fetch",
}
SECONDS = 300

PROBE = """
// Of the benchmark: how long each question takes, and how large it is.
const untimed = exchange;
export const timedQuestions = [];
exchange = async (path, body, ms) => {
  const one = { body, failed: false };
  const start = (one.begun = performance.now());
  try {
    return await untimed(path, body, ms);
  } catch (error) {
    one.failed = true;
    throw error;
  } finally {
    one.ms = performance.now() - start;
    timedQuestions.push(one);
  }
};
export { ask };
"""


def measured(bun: Path, rounds: int = ROUNDS) -> dict[str, Any]:
    """For each case the milliseconds of each call (`ms`), of them those spent asking the daemon (`asking`), and the
    bytes asked with (`sent`); `failed` counts questions without an answer."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        place = Path(folder)
        socket, db, plugin = place / "run" / "d.sock", place / "data" / "hudkit.db", place / "hudkit.mjs"
        baked = PluginPaths("/nowhere/python", str(place), str(db), str(socket), str(plugin))
        plugin.write_text(generate_plugin(baked) + PROBE, "utf-8")
        ensure_running(socket, db=db, idle=5)
        task = {"plugin": plugin, "socket": socket, "rounds": rounds, "warm": WARM, "steps": STEPS, "sizes": SIZES}
        task["lead"] = LEAD_MS
        try:
            done = subprocess.run(
                [bun, "run", SCRIPT],
                input=json.dumps(task, default=str),
                capture_output=True,
                text=True,
                timeout=SECONDS,
                env={**os.environ, "BUN_BE_BUN": "1"},
                cwd=place,
                check=False,
            )
            if done.returncode:
                raise RuntimeError(f"the driver of the plugin ended with {done.returncode}: {done.stderr[-2000:]}")
            return dict(json.loads(done.stdout))
        finally:
            stop(socket)
            while socket.exists():
                sleep(0.02)


def at(times: list[float], place: float) -> float:
    """A quantile."""
    return sorted(times)[int(len(times) * place)]


def run() -> list[Figure]:
    """Ratios of medians and of 99th percentiles; the note has them in microseconds, and at the median what of it is
    the plugin's own work. Raises `Skipped`."""
    found = measured(executable())
    results = found["results"]
    figures = [Figure("questions without an answer", found["failed"], 0)]
    for name, words in CASES.items():
        one = results[name]
        own = at([all - asking for all, asking in zip(one["ms"], one["asking"], strict=True)], 0.5)
        for place, label in ((0.5, "p50"), (0.99, "p99")):
            it, empty = at(one["ms"], place), at(results["empty"]["ms"], place)
            note = f"{it * 1e3:.0f} ÷ {empty * 1e3:.0f} µs"
            if name != "bare" and label == "p50":
                note += f"; {own * 1e3:.0f} of it in the plugin, {at(one['sent'], 0.5) / 1e3:.1f} kB asked with"
            most = TARGET if name != "bare" and label == "p50" else None
            figures.append(Figure(f"{label}, {words}", it / empty, most, note))
    return figures
