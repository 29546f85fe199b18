"""`hudkit resume`: the next session of a project, of whatever host, takes up the task of another."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from hudkit.api import Hud
from hudkit.cli.common import SCHEMA, as_json, existing_log, user_settings
from hudkit.compose import shorten, visible
from hudkit.context.caching.cache_text import count_text
from hudkit.errors import ConfigError
from hudkit.hud.session_keys import host_id_of_key
from hudkit.hud.session_lookup import matching_sessions
from hudkit.log.payloads import SessionOffer
from hudkit.paths import git_root
from hudkit.sections.state import HudState
from hudkit.tools.resume_task import task_to_take
from hudkit.tools.task_handover import hand_on, handed_on, open_tasks_of, take_back

_OpenTasks = Sequence[tuple[str, HudState]]


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    directory = args.project or Path.cwd()
    with Hud.open(existing_log(args.db), settings=user_settings("resume")) as hud:
        project = hud.project(directory)
        if args.undo:
            offer = take_back(project)
            return _print_undone(offer, as_data=args.json)
        tasks = open_tasks_of(project)
        if args.list:
            return _print_list(tasks, handed_on(project), directory, as_data=args.json)
        key, state = _chosen(tasks, args.session, directory)
        offer = hand_on(project, key, state)
    if args.json:
        print(as_json({"schema": SCHEMA, "handed_on": _offer_facts(offer), "session": key}))
        return 0
    host = state.session.host or "a session"
    print(visible(f'The next session in {git_root(directory)} takes up "{shorten(offer.task, 80)}" of {host}:'))
    print(f"  {_counts(state)}")
    print("Start it in any host. `hudkit resume --undo` takes this back.")
    return 0


def _chosen(tasks: _OpenTasks, asked: str | None, directory: Path) -> tuple[str, HudState]:
    """The session that is asked for, or that worked last. Raises `ConfigError` naming the candidates."""
    if not tasks:
        raise ConfigError(
            f"no session in {git_root(directory)} has an open task", hint="Name another project with --project"
        )
    if asked is None:
        return tasks[0]
    states = dict(tasks)

    def words_of(key: str) -> str:
        state = states[key]
        return f"{state.session.title} {task_to_take(state)[0]}"

    alike = matching_sessions(asked, tuple(states), words_of)
    if len(alike) == 1:
        return alike[0], states[alike[0]]
    some = ", ".join(visible(host_id_of_key(key)) for key in (alike or list(states))[:5])
    raise ConfigError(f"{len(alike) or 'no'} open tasks match {asked!r}", hint=f"Sessions with one: {some}")


def _print_list(tasks: _OpenTasks, offer: SessionOffer | None, directory: Path, *, as_data: bool) -> int:
    if as_data:
        rows = [_task_facts(key, state) for key, state in tasks]
        print(as_json({"schema": SCHEMA, "handed_on": _offer_facts(offer), "tasks": rows}))
        return 0
    if not tasks:
        print(visible(f"no session in {git_root(directory)} has an open task"))
    for key, state in tasks:
        id = host_id_of_key(key)
        mark = ", handed on" if offer is not None and offer.session_id in (id, key) else ""
        print(visible(shorten(" ".join(task_to_take(state)[0].split()), 80)))
        print(visible(f"  {state.session.host or 'no host'}, {_counts(state)}{mark}"))
        print(f"  hudkit resume {quote(visible(id))}")
    return 0


def _print_undone(offer: SessionOffer | None, *, as_data: bool) -> int:
    if as_data:
        print(as_json({"schema": SCHEMA, "handed_on": None, "undone": _offer_facts(offer)}))
    elif offer is None:
        print("Nothing was handed on.")
    else:
        print(visible(f'Not handed on any more: "{shorten(offer.task, 80)}".'))
    return 0


def _counts(state: HudState) -> str:
    """What of a session's state comes with its task, in words."""
    counts = (
        (len(state.constraints), "rule"),
        (len(state.preferences), "preference"),
        (len(state.decisions), "decision"),
        (len(state.steps.open), "open step"),
        (len(state.blockers), "blocker"),
        (len(state.notes), "note"),
    )
    return ", ".join(count_text(count, noun) for count, noun in counts if count) or "the task alone"


def _offer_facts(offer: SessionOffer | None) -> dict[str, object] | None:
    if offer is None:
        return None
    return {"session": offer.session_id, "task": offer.task, "steps": offer.steps, "at": offer.last_active_at}


def _task_facts(key: str, state: HudState) -> dict[str, object]:
    return {
        "session": key,
        "host": state.session.host,
        "task": task_to_take(state)[0],
        "title": state.session.title,
        "at": state.time,
        "steps": len(state.steps.open),
    }
