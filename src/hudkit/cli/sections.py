"""`hudkit sections`: custom sections of files and packages: which run, trust in a project's, a trial of one."""

from __future__ import annotations

import argparse
import os
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hudkit.cli.common import SCHEMA, as_json, open_read_only, pick, user_settings
from hudkit.compose import visible
from hudkit.errors import ConfigError
from hudkit.installation import install_hint
from hudkit.paths import log_path, section_paths
from hudkit.sections.sandboxed import (
    InstalledSection,
    Sandbox,
    SandboxLimits,
    SandboxOutcome,
    SectionDefinition,
    SectionFile,
    SectionFiles,
    installed_sections,
    load_section,
    sandbox_missing,
    section_inputs,
    trust_section,
)

if TYPE_CHECKING:
    from hudkit.sections.state import HudState


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    if (args.file is None) != (args.what == "list"):
        raise ConfigError(
            f"`sections {args.what}` takes {'no' if args.file else 'a'} file",
            hint="Try: hudkit sections list, hudkit sections trust FILE, hudkit sections try FILE",
        )
    if args.what == "list":
        return _list(args.project or Path.cwd(), args.json)
    if args.what == "trust":
        return _trust(args.file, args.json)
    return _try(args)


def _list(project: Path, json: bool) -> int:
    files = SectionFiles(section_paths(), project).files()
    packages = _package_sections(user_settings("sections").custom.plugins)
    if json:
        facts = {"schema": SCHEMA, "sandbox": not sandbox_missing(), "files": [_facts(file) for file in files]}
        print(as_json({**facts, "packages": [_package_facts(section, named) for section, named in packages]}))
    else:
        for file in files:
            print(visible(_line(file)))
        for section, is_named in packages:
            print(visible(_package_line(section, is_named)))
        if not files and not packages:
            print(visible(f"no custom sections (yours would be in {section_paths().user})"))
        elif sandbox_missing() and any(file.path.suffix == ".py" for file in files):
            print(f"no Python file runs: pydantic-monty is not installed ({install_hint('custom')})")
    return 1 if any(file.wrong for file in files) or any(section.wrong for section, _ in packages) else 0


def _package_sections(named: tuple[str, ...]) -> list[tuple[InstalledSection, bool]]:
    """What packages offer and whether the settings name it; only what they name is loaded."""
    offered = [section for section in installed_sections() if section.name not in named]
    return [(load_section(name), True) for name in named] + [(section, False) for section in offered]


def _package_line(section: InstalledSection, is_named: bool) -> str:
    if section.wrong:
        return f"BAD     package {section.name}: {section.wrong}"
    if section.plugin is None or not is_named:
        setting = f'plugins = ["{section.name}"] below [custom] in your settings'
        return f"not yet package {section.name}: {section.package}; {setting}"
    plugin = section.plugin
    return f"runs    package {section.name}: {plugin.heading}, priority {plugin.priority} ({section.package})"


def _package_facts(section: InstalledSection, is_named: bool) -> dict[str, Any]:
    plugin = section.plugin
    values = (
        {"title": plugin.heading, "reads": list(plugin.reads), "priority": plugin.priority, "handles": plugin.handles}
        if plugin
        else {}
    )
    origin = {"name": section.name, "package": section.package, "target": section.target}
    return {**origin, "named": is_named, "wrong": section.wrong, **values}


def _line(file: SectionFile) -> str:
    status = "BAD    " if file.wrong else "runs   " if file.trusted else "not yet"
    words = file.wrong or (file.definition and f"{file.definition.heading}, priority {file.definition.priority}")
    untrusted = "" if file.wrong or file.trusted else f"; hudkit sections trust {shlex.quote(str(file.path))}"
    return f"{status} {file.level:<7} {file.name}: {words}{untrusted}"


def _facts(file: SectionFile) -> dict[str, Any]:
    definition = file.definition
    values = (
        {"title": definition.heading, "reads": list(definition.reads), "priority": definition.priority}
        if definition
        else {}
    )
    where = {"name": file.name, "level": file.level, "file": str(file.path), "sha256": file.digest}
    return {**where, "trusted": file.trusted, "wrong": file.wrong, **values}


def _trust(path: Path, json: bool) -> int:
    file = trust_section(path, section_paths())
    if json:
        print(as_json({"schema": SCHEMA, **_facts(file)}))
    else:
        print(visible(f"trusted: {file.path}, as it is now (SHA-256 {file.digest[:12]}…)"))
    return 0


def _try(asked: argparse.Namespace) -> int:
    from hudkit.sections.sandboxed.definitions import read_section_file

    file = read_section_file(asked.file.absolute(), "user", frozenset())
    if file.definition is None:
        raise ConfigError(file.wrong)
    if file.path.suffix == ".py" and sandbox_missing():
        raise ConfigError("pydantic-monty is not installed", hint=install_hint("custom"))
    limits = user_settings("sections").custom
    bench = Sandbox(SandboxLimits(limits.timeout_ms / 1000, limits.memory_mib * 1024 * 1024))
    try:
        values = section_inputs(_state(asked), file.definition.reads)
        bench.run(SectionDefinition("warm", "def section():\n    return 0\n"), {})
        start = time.perf_counter()
        outcome = bench.run(file.definition, values)
        took = 1000 * (time.perf_counter() - start)
    finally:
        bench.close()
    shown = dict(_shown(file.definition, outcome))
    if asked.json:
        print(as_json({"schema": SCHEMA, "name": file.name, "error": outcome.error, "ms": round(took, 2), **shown}))
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

    trees = outcome.trees
    section = CustomSection(
        definition.name, definition.heading, full=trees.full, compact=trees.compact, minimal=trees.minimal
    )
    if outcome.error:
        return
    for density in Density:
        tree = show_custom_sections(CustomState((section,)), density)
        yield density.value, render(Element("document", (), tree.children))
