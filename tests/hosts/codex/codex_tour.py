"""The tour of docs/codex.md, walked: its own commands, in an isolated Codex, against a scripted model."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from codex_host import Codex

from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply, says, uses
from hudkit.testing.assertions import kept_base
from hudkit.testing.model_server import ScriptedModel

ROOT = Path(__file__).resolve().parents[3]
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANSI = re.compile(r"\x1b\[[0-9;]*m")
SECONDS = 600.0

FILES = {
    "slug.py": 'def slug(title):\n    return title.lower().replace(" ", "-")\n',
    "test_slug.py": (
        "from slug import slug\n\n"
        'if slug("Red  Hats") != "red-hats":\n'
        "    raise SystemExit(f\"FAILED: slug of 'Red  Hats' is {slug('Red  Hats')!r}\")\n"
    ),
}
SUMMARY = "A failing test of slug.py was fixed."
"""What is left of the conversation: as summaries do, it says nothing of why, and nothing of what must hold."""

TRUST = "/hooks"
COMPACT = "/compact"


class Step(NamedTuple):
    """A command of the tour, what it printed (both streams, without colours), and its exit code."""

    command: str
    output: str
    code: int


def commands() -> list[str]:
    """The commands of the tour, without their comments."""
    _, _, rest = (ROOT / "docs" / "codex.md").read_text(encoding="utf-8").partition("\n## A tour\n")
    tour = re.split(r"^##+ ", rest, maxsplit=1, flags=re.MULTILINE)[0]
    lines = [line for block in CONSOLE.findall(tour) for line in block.splitlines()]
    return [re.sub(r"\s+#.*", "", line[2:]) for line in lines if line.startswith("$ ")]


def walked(
    host: Codex, model: ScriptedModel, steps: list[str], path: Path, outside: Mapping[str, str] | None = None
) -> Iterator[Step]:
    """Runs commands, one after the other, the programs of `path` first. `uv` runs in the checkout with the
    environment `outside`, and is left out where there is none. What the page says of Codex's window is done by its
    app server: trusting the hooks before `hudkit doctor`, compacting before a session is resumed."""
    for name, text in FILES.items():
        (host.project / name).write_text(text)
    model.compaction = says(SUMMARY)
    model.play(*work(), recalled)
    inside = host.env | {"PATH": os.pathsep.join(map(str, (path, host.binary.parent, host.env["PATH"])))}
    for step in steps:
        program, *words = shlex.split(step)
        if program == "uv":
            if outside is not None:
                yield ran(step, [program, *words], ROOT, outside)
            continue
        if words[:1] == ["doctor"]:
            yield Step(TRUST, f"{len(host.trust())} hooks trusted", 0)
        if words[:2] == ["exec", "resume"]:
            with host.serve() as server:
                server.compact(server.resume(host.rollouts()[0].stem[-36:]))
            yield Step(COMPACT, SUMMARY, 0)
        if program == "codex":
            words[1:1] = ["--skip-git-repo-check"]
        yield ran(step, [program, *words], host.project, inside)


def ran(step: str, command: list[str], folder: Path, env: Mapping[str, str]) -> Step:
    found = subprocess.run(
        ["/bin/sh", "-c", shlex.join(command)],  # a shell looks the program up in the PATH of `env`
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
    )
    return Step(step, ANSI.sub("", found.stdout), found.returncode)


# -- what the model answers ----------------------------------------------------------------------------------------


def hud(operation: str, **arguments: str) -> ScriptedCall:
    return ScriptedCall("hud", {"operation": operation, **arguments})


def run(command: str) -> ScriptedCall:
    return ScriptedCall("exec_command", {"cmd": command})


def work() -> tuple[ScriptedReply, ...]:
    """A small piece of work: look, see the test fail, decide, mend, see it pass."""
    patch = (
        "*** Begin Patch\n*** Update File: slug.py\n@@\n"
        '-    return title.lower().replace(" ", "-")\n+    return "-".join(title.lower().split())\n*** End Patch'
    )
    return (
        uses(
            hud("task.set", text="Make the test of slug() pass"), hud("constraints.add", text="No new dependencies")
        ),
        uses(run("cat slug.py"), run("python3 test_slug.py")),
        uses(
            hud("decisions.record", text="Split and join: a regex would drop dots"),
            run(f"apply_patch <<'EOF'\n{patch}\nEOF"),
        ),
        uses(run("python3 test_slug.py"), hud("steps.add", text="The sitemap makes its own slugs: use slug()")),
        says("The test passes. The sitemap is next."),
    )


def recalled(request: CapturedRequest) -> ScriptedReply:
    """An answer out of the HUD that reached the model, and of nothing else."""
    base = kept_base(request)
    rule, step = (re.search(rf"^#+ {name}\b.*\n+(.*)", base, re.M) for name in ("Constraints", "Next Steps"))
    if not rule or not step:
        return says("I do not know.")
    return says(f"What must hold: {rule[1].lstrip('- ')}. Next: {step[1]}")
