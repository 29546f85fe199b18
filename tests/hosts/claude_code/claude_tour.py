"""The tour of docs/claude-code.md, walked: its own commands, in an empty home, against a scripted model."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from claude_host import Data, bash, be_patient, edit, environment, hud, read

from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedReply, says, uses
from hudkit.testing.model_server import ScriptedModel
from npm_programs import CLAUDE_CODE, executable

ROOT = Path(__file__).resolve().parents[3]
_SECTION = "## A tour"
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SECONDS = 300.0
_SUMMARY = "A failing test of slug.py was fixed."
"""What is left of the conversation: as summaries do, it says nothing of why, and nothing of what must hold."""

_FILES = {
    "slug.py": 'def slug(title):\n    return title.lower().replace(" ", "-")\n',
    "test_slug.py": (
        "from slug import slug\n\n"
        'if slug("Red  Hats") != "red-hats":\n'
        "    raise SystemExit(f\"FAILED: slug of 'Red  Hats' is {slug('Red  Hats')!r}\")\n"
    ),
}


class TourStep(NamedTuple):
    """A command of the tour, what it printed (both streams), and its exit code."""

    command: str
    output: str
    code: int


def tour_commands() -> list[str]:
    """The commands of the tour, without their comments."""
    _, _, rest = (ROOT / "docs" / "claude-code.md").read_text(encoding="utf-8").partition(f"\n{_SECTION}\n")
    tour = re.split(r"^##+ ", rest, maxsplit=1, flags=re.MULTILINE)[0]
    lines = [line for block in _CONSOLE.findall(tour) for line in block.splitlines()]
    return [re.sub(r"\s+#.*", "", line[2:]) for line in lines if line.startswith("$ ")]


def walk(place: Path, data: Data, *, patient: bool = True) -> Iterator[TourStep]:
    """Run the commands, one after the other, with the `hudkit` of this environment, in `place` (`home`, `slugs`)."""
    home, project, programs = place / "home", place / "slugs", place / "bin"
    for folder in (home, project, programs):
        folder.mkdir(parents=True)
    for name, text in _FILES.items():
        (project / name).write_text(text)
    _program(programs / "hudkit", f'exec {shlex.quote(sys.executable)} -P -m hudkit "$@"')
    claude = f"{shlex.quote(str(executable(CLAUDE_CODE)))}"
    flags = "--permission-mode bypassPermissions --model claude-sonnet-4-5"
    _program(
        programs / "claude",
        f'case "$1" in plugin|--version) exec {claude} "$@";; *) exec {claude} {flags} "$@";; esac',
    )
    summary = says(f"<analysis>Long.</analysis><summary>{_SUMMARY}</summary>")
    with ScriptedModel([*_work(project), _recalled], compaction=summary) as model:
        path = os.pathsep.join((str(programs), os.environ["PATH"]))
        env = environment(home, model.url, {**data.environment, "PATH": path})
        for step in tour_commands():
            words = shlex.split(step)
            if words[:2] == ["hudkit", "install"]:
                words.append("--anyway")  # the environment of tests may be among temporary files
            if words[0] == "claude" and patient:
                be_patient(data.folder / "plugins" / "claude-code" / "hudkit")
            yield _ran(step, words, project, env)


def _program(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def _ran(step: str, words: list[str], folder: Path, env: Mapping[str, str]) -> TourStep:
    done = subprocess.run(
        ["/bin/sh", "-c", shlex.join(words)],  # a shell looks the program up in the PATH of `env`
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    return TourStep(step, done.stdout, done.returncode)


def _work(project: Path) -> tuple[ScriptedReply, ...]:
    """A small piece of work: look, see the test fail, decide, mend, see it pass."""
    slug = project / "slug.py"
    return (
        uses(
            hud("task.set", description="Make the test of slug() pass"),
            hud("constraints.add", text="No new dependencies"),
        ),
        uses(read(slug), bash("python3 test_slug.py")),
        uses(hud("decisions.record", summary="Split and join: a regex would drop dots")),
        uses(edit(slug, 'title.lower().replace(" ", "-")', '"-".join(title.lower().split())')),
        uses(
            bash("python3 test_slug.py"),
            hud("steps.add", description="The sitemap makes its own slugs: use slug()"),
        ),
        says("The test passes. The sitemap is next."),
    )


def _recalled(request: CapturedRequest) -> ScriptedReply:
    """An answer out of the HUD that reached the model, and of nothing else."""
    told = "\n".join(text for text in request.system if "Your HUD" in text)
    rule, step = (re.search(rf"^#+ {name}\b.*\n+(.*)", told, re.M) for name in ("Constraints", "Next Steps"))
    if not rule or not step:
        return says("I do not know.")
    return says(f"What must hold: {rule[1].lstrip('- ')}. Next: {step[1]}")
