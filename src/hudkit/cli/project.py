"""`hudkit project`: the defaults that all sessions of a project have, and trust in those of its file."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli import complain
from hudkit.cli.commands.project import WORD_COUNTS
from hudkit.cli.common import SCHEMA, as_json, user_settings
from hudkit.compose import visible
from hudkit.errors import ConfigError
from hudkit.hud.always_file import read_always
from hudkit.hud.session_keys import project_key
from hudkit.log.event import Origin
from hudkit.paths import PROJECT_FILE, always_path, git_root, log_path, section_paths
from hudkit.sections.sandboxed import ProjectTable, read_project_table, trust_project

_KINDS = ("notes", "files", "conventions")


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    from hudkit.api import Hud

    if len(args.words) != WORD_COUNTS[args.what]:
        hint = 'Try: hudkit project show, hudkit project add notes "TEXT", hudkit project trust'
        raise ConfigError(f"`project {args.what}` takes {WORD_COUNTS[args.what] or 'no'} words", hint=hint)
    place = args.project or Path.cwd()
    path, places = git_root(place) / PROJECT_FILE, section_paths()
    if args.what == "trust":
        trust_project(path, places)
    file = read_project_table(path, places)
    db = args.db or log_path()
    lists: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    agents: list[str] = []
    if args.what in ("add", "remove") or db.exists():
        with Hud.open(db, settings=user_settings("project")) as hud:
            own = hud.project(place)
            if args.what == "add":
                own.call("project.add", {"kind": args.words[0], "text": args.words[1]}, origin=Origin.USER)
            elif args.what == "remove":
                own.call("project.set", _without(own.state.project, *args.words), origin=Origin.USER)
            lists = {kind: list(getattr(own.state.project, kind)) for kind in _KINDS}
            agents = list(own.state.project.agents)
    if args.json:
        print(
            as_json(
                {"schema": SCHEMA, "project": str(git_root(place)), **lists, "agents": agents, "file": _facts(file)}
            )
        )
    else:
        _tell(lists, agents, file)
        _tell_always(place)
    return 1 if file.wrong else 0


def _tell_always(place: Path) -> None:
    """Say how much its user made hold in the project's sessions, beside the defaults."""
    try:
        items = [item for item in read_always(always_path()) if item.holds_in(project_key(place))]
    except ConfigError as error:
        complain("project", error)
        return
    if items:
        print(f"{len(items)} more by hudkit review: hudkit review --always lists them")


def _without(project: object, kind: str, text: str) -> dict[str, list[str]]:
    """The arguments that set a list without a text. Raises `ConfigError` where it does not have it."""
    if kind not in _KINDS:
        raise ConfigError(f"there is no list {kind!r:.40}", hint=f"It is one of {', '.join(_KINDS)}")
    texts = list(getattr(project, kind))
    if text not in texts:
        raise ConfigError(
            f"{kind} has no such text", hint="`hudkit project` lists them; edit the file for those that come from it"
        )
    return {kind: [item for item in texts if item != text]}


def _facts(file: ProjectTable) -> dict[str, object]:
    defaults = file.defaults
    lists = {kind: list(getattr(defaults, kind)) for kind in _KINDS} if defaults else {}
    return {"path": str(file.path), "sha256": file.digest, "trusted": file.trusted, "wrong": file.wrong, **lists}


def _tell(lists: dict[str, list[str]], agents: list[str], file: ProjectTable) -> None:
    for kind, texts in lists.items():
        for text in texts:
            print(visible(f"{kind[:-1]}: {text}{' (set by an agent)' if text in agents else ''}"))
    if not any(lists.values()):
        print("no defaults are set")
    if file.wrong:
        print(visible(f"BAD   {file.wrong}"))
    elif file.defaults is not None:
        count = sum(len(getattr(file.defaults, kind)) for kind in _KINDS)
        trust = "trusted" if file.trusted else "not trusted and not used: hudkit project trust"
        print(visible(f"{file.path}: {count} more ({trust})"))
        for kind in _KINDS:
            for text in getattr(file.defaults, kind):
                print(visible(f"  {kind[:-1]}: {text}"))
