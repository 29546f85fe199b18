"""The tour of docs/opencode.md, walked: its own commands, in an isolated OpenCode, against a scripted model."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from opencode_host import OpenCode

from hudkit.hosts.opencode.plugin.plugin_source import SUMMARIZER_PROMPT
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply, says, uses
from hudkit.testing.model_server import ScriptedModel
from plugin_clock import PATIENT, patient

ROOT = Path(__file__).resolve().parents[3]
SECTION = "## A tour"
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANSI = re.compile(r"\x1b\[[0-9;]*m")
SECONDS = 600.0

LIMIT = (200_000, 8_000)
FILES = {
    "slug.py": 'def slug(title):\n    return title.lower().replace(" ", "-")\n',
    "test_slug.py": (
        "from slug import slug\n\n"
        'if slug("Red  Hats") != "red-hats":\n'
        "    raise SystemExit(f\"FAILED: slug of 'Red  Hats' is {slug('Red  Hats')!r}\")\n"
    ),
}
TITLE = "Slugs without double dashes"
SUMMARY = "A failing test of slug.py was fixed."
"""What is left of the conversation: as summaries do, it says nothing of why, and nothing of what must hold."""


class Step(NamedTuple):
    """A command of the tour, what it printed (both streams, without colours), and its exit code."""

    command: str
    output: str
    code: int


def commands() -> list[str]:
    """The commands of the tour, without their comments."""
    _, _, rest = (ROOT / "docs" / "opencode.md").read_text(encoding="utf-8").partition(f"\n{SECTION}\n")
    tour = re.split(r"^##+ ", rest, maxsplit=1, flags=re.MULTILINE)[0]
    lines = [line for block in CONSOLE.findall(tour) for line in block.splitlines()]
    return [re.sub(r"\s+#.*", "", line[2:]) for line in lines if line.startswith("$ ")]


def walked(
    host: OpenCode,
    model: ScriptedModel,
    steps: list[str],
    path: Path,
    outside: Mapping[str, str] | None = None,
    *,
    patient: bool = True,
) -> Iterator[Step]:
    """Runs commands, one after the other, the programs of `path` first. `uv` runs in the checkout with the
    environment `outside`, and is left out where there is none. Before a conversation is continued it is compacted,
    as `/compact` does it: a step named so. `patient` lengthens the plugin's deadlines. The host was made with
    `FILES` and `LIMIT`."""
    model.marks["compaction"] = (SUMMARIZER_PROMPT[:80],)
    model.title, model.compaction = says(TITLE), says(SUMMARY)
    model.play(*work(host.project), recalled)
    inside = host.env | {"PATH": os.pathsep.join(map(str, (path, host.binary.parent, host.env["PATH"])))}
    for step in steps:
        program, *words = shlex.split(step)
        if program == "uv":
            if outside is not None:
                yield _ran(step, [program, *words], ROOT, outside)
            continue
        if program == "opencode" and patient:
            be_patient(host)
        if "--continue" in words:
            compact(host)
            yield Step("/compact", SUMMARY, 0)
        yield _ran(step, [program, *words], host.project, inside)


def _ran(step: str, command: list[str], folder: Path, env: Mapping[str, str]) -> Step:
    found = subprocess.run(
        # a shell looks the program up in the PATH of `env`
        ["/bin/sh", "-c", shlex.join(command)],
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
    )
    return Step(step, ANSI.sub("", found.stdout), found.returncode)


def be_patient(host: OpenCode) -> None:
    """A busy machine may need long for a frame; the tour is about what a frame says."""
    file = host.place / "data" / "hudkit" / "plugins" / "opencode" / "hudkit.js"
    text = file.read_text(encoding="utf-8")
    if PATIENT[0][0] in text:  # it is done once
        file.write_text(patient(text), encoding="utf-8")


def compact(host: OpenCode) -> None:
    """What `/compact` does in OpenCode's own window."""
    host.serve()
    assert host.summarize(host.sessions()[0])
    host.stop()


# -- what the model answers ----------------------------------------------------------------------------------------


def hud(operation: str, text: str) -> ScriptedCall:
    """A call as the tool's definition shows it."""
    return ScriptedCall("hud", {"operation": operation, "text": text})


def work(project: Path) -> tuple[ScriptedReply, ...]:
    """A small piece of work: look, see the test fail, decide, mend, see it pass."""
    test = ScriptedCall("bash", {"command": "python3 test_slug.py", "description": "Run the test"})
    edit = {
        "filePath": str(project / "slug.py"),
        "oldString": 'title.lower().replace(" ", "-")',
        "newString": '"-".join(title.lower().split())',
    }
    return (
        uses(
            hud("task.set", "Make the test of slug() pass"),
            hud("constraints.add", "No new dependencies"),
        ),
        uses(ScriptedCall("read", {"filePath": str(project / "slug.py")}), test),
        uses(
            hud("decisions.record", "Split and join: a regex would drop dots"),
            ScriptedCall("edit", edit),
        ),
        uses(test, hud("steps.add", "The sitemap makes its own slugs: use slug()")),
        says("The test passes. The sitemap is next."),
    )


def recalled(request: CapturedRequest) -> ScriptedReply:
    """An answer out of the HUD that reached the model, and of nothing else."""
    told = "\n".join(text for text in request.system if re.search(r"\bHUD\b", text))
    rule, step = (re.search(rf"^#+ {name}\b.*\n+(.*)", told, re.M) for name in ("Constraints", "Next Steps"))
    if not rule or not step:
        return says("I do not know.")
    return says(f"What must hold: {rule[1].lstrip('- ')}. Next: {step[1]}")
