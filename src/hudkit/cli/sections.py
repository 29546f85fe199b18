"""`hudkit sections`: the custom sections of files, which of them run, trust in a project's, and a trial of one."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hudkit.cli.place import SCHEMA, as_json, open_read_only, pick, user_settings
from hudkit.compose import visible
from hudkit.errors import ConfigError
from hudkit.paths import log_path, section_paths
from hudkit.sections.sandboxed import (
    Sandbox,
    SandboxLimits,
    SandboxOutcome,
    SectionDefinition,
    SectionFile,
    SectionFiles,
    sandbox_missing,
    section_inputs,
    trust_section,
)

if TYPE_CHECKING:
    from hudkit.sections.state import HudState

EXAMPLE = "hudkit sections try .hudkit/sections/glance.py"

MORE = """\
`sections` lists the files: yours, and those of the project that you are in. A project's file runs only when you trust
its bytes: `sections trust FILE` does so, until they change. `sections try FILE` runs one once, in the sandbox, on the
state of a session (the newest one, where there is a log), and prints what a frame would show of it at each density;
nothing is recorded. Exit code 1: a file is wrong, or what was tried failed. See
[custom-sections.md](custom-sections.md)."""


def arguments(one: argparse.ArgumentParser) -> None:
    what = "list the files, trust one, or try one (default: list)"
    one.add_argument("what", nargs="?", default="list", choices=("list", "trust", "try"), help=what)
    one.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the file to trust or to try")
    one.add_argument("--project", type=Path, metavar="DIR", help="the project's directory (default: this one)")
    one.add_argument("--session", metavar="ID", help="the session whose state is given to the file that is tried")
    one.add_argument("--db", type=Path, metavar="FILE", help="the log (default: the user's own, or $HUDKIT_DB)")
    one.add_argument("--json", action="store_true", help="print facts as JSON")


def run(given: argparse.Namespace) -> int:
    if (given.file is None) != (given.what == "list"):
        raise ConfigError(
            f"`sections {given.what}` takes {'no' if given.file else 'a'} file",
            hint="Try: hudkit sections list, hudkit sections trust FILE, hudkit sections try FILE",
        )
    if given.what == "list":
        return _list(given.project or Path.cwd(), given.json)
    if given.what == "trust":
        return _trust(given.file, given.json)
    return _try(given)


def _list(project: Path, json: bool) -> int:
    found = SectionFiles(section_paths(), project).files()
    if json:
        facts = {"schema": SCHEMA, "sandbox": not sandbox_missing(), "files": [_facts(one) for one in found]}
        print(as_json(facts))
    else:
        for one in found:
            print(visible(_line(one)))
        if not found:
            print(visible(f"no custom sections (yours would be in {section_paths().user})"))
        elif sandbox_missing():
            print("none runs: pydantic-monty is not installed (pip install 'hudkit[custom]')")
    return 1 if any(one.wrong for one in found) else 0


def _line(one: SectionFile) -> str:
    status = "BAD    " if one.wrong else "runs   " if one.trusted else "not yet"
    told = one.wrong or (one.definition and f"{one.definition.heading}, priority {one.definition.priority}")
    untrusted = "" if one.wrong or one.trusted else f"; hudkit sections trust {one.path}"
    return f"{status} {one.level:<7} {one.name}: {told}{untrusted}"


def _facts(one: SectionFile) -> dict[str, Any]:
    it = one.definition
    told = {"title": it.heading, "reads": list(it.reads), "priority": it.priority} if it else {}
    where = {"name": one.name, "level": one.level, "file": str(one.path), "sha256": one.digest}
    return {**where, "trusted": one.trusted, "wrong": one.wrong, **told}


def _trust(path: Path, json: bool) -> int:
    found = trust_section(path, section_paths())
    if json:
        print(as_json({"schema": SCHEMA, **_facts(found)}))
    else:
        print(visible(f"trusted: {found.path}, as it is now (SHA-256 {found.digest[:12]}…)"))
    return 0


def _try(asked: argparse.Namespace) -> int:
    from hudkit.sections.sandboxed.definitions import read_section_file

    found = read_section_file(asked.file.absolute(), "user", frozenset())
    if found.definition is None:
        raise ConfigError(found.wrong)
    limits = user_settings("sections").custom
    bench = Sandbox(SandboxLimits(limits.timeout_ms / 1000, limits.memory_mib * 1024 * 1024))
    try:
        values = section_inputs(_state(asked), found.definition.reads)
        bench.run(SectionDefinition("warm", "def section():\n    return 0\n"), {})
        start = time.perf_counter()
        outcome = bench.run(found.definition, values)
        took = 1000 * (time.perf_counter() - start)
    finally:
        bench.close()
    shown = dict(_shown(found.definition, outcome))
    if asked.json:
        print(as_json({"schema": SCHEMA, "name": found.name, "error": outcome.error, "ms": round(took, 2), **shown}))
    elif outcome.error:
        print(visible(f"failed: {outcome.error}"))
    else:
        for density, text in shown.items():
            print(f"-- {density}\n{text}")
        print(f"-- took {took:.1f} ms")
    return 1 if outcome.error else 0


def _state(asked: argparse.Namespace) -> HudState:
    from hudkit.sections.state import HudState

    if asked.db is None and asked.session is None and not os.path.lexists(log_path()):
        return HudState()
    with open_read_only(asked.db, "sections") as hud:
        if asked.session is None and not hud.sessions():
            return HudState()
        return hud.session(pick(hud.log, asked.session)).state


def _shown(definition: SectionDefinition, outcome: SandboxOutcome) -> Iterator[tuple[str, str]]:
    """The section at each density, as markdown."""
    from hudkit.compose import Density, Element
    from hudkit.compose.formats.markdown import render
    from hudkit.sections.custom import CustomSection, CustomState, show_custom_sections

    made = outcome.trees
    one = CustomSection(
        definition.name, definition.heading, full=made.full, compact=made.compact, minimal=made.minimal
    )
    if outcome.error:
        return
    for density in Density:
        tree = show_custom_sections(CustomState((one,)), density)
        yield density.value, render(Element("document", (), tree.children))
