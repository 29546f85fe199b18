"""`hudkit review`: what was heard in sessions, as a list, as questions at a terminal, or answered by options."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from hudkit.api import Hud
from hudkit.cli.common import SCHEMA, as_json, existing_log, open_read_only, pick, user_settings
from hudkit.cli.review_answers import ItemAnswer, ReviewSession, item_lines
from hudkit.cli.styles import REVIEW_STYLES, on_terminal, print_lines
from hudkit.compose import visible
from hudkit.errors import ConfigError
from hudkit.hud.session_keys import PROJECT_LOG, project_key, project_of_key
from hudkit.hud.session_lookup import recorded_title, short_ids
from hudkit.paths import git_root
from hudkit.tools.review import ReviewedItem, count_heard, find_item, heard_items, live_items

_MAX_SESSIONS = 200
"""Sessions of a project, the newest, that are looked at."""


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    if args.all and (args.session or args.answers):
        raise ConfigError("--all goes with no session and no answers", hint="Ids are those of one session: name it")
    if args.answers:
        with _open(args, writes=True) as hud:
            return _answer(hud, pick(hud.log, args.session), args)
    asks = not args.json and sys.stdin.isatty() and on_terminal()
    with _open(args, writes=asks) as hud:
        chosen = [ReviewSession(hud.session(key), heading) for key, heading in _chosen(hud, args)]
        if args.json:
            print(as_json({"schema": SCHEMA, "sessions": [_session_facts(each) for each in chosen]}))
        elif not asks or not any(heard_items(each.session) for each in chosen):
            print_lines(_list_lines(chosen, args), REVIEW_STYLES)
        else:
            from hudkit.cli.review_prompt import ask_about

            ask_about(chosen)
    return 0


def _open(args: argparse.Namespace, *, writes: bool) -> Hud:
    if not writes:
        return open_read_only(args.db, "review")
    return Hud.open(existing_log(args.db), settings=user_settings("review"))


def _chosen(hud: Hud, args: argparse.Namespace) -> list[tuple[str, str]]:
    """The keys of the sessions to be reviewed, each with how it is called."""
    if not args.all:
        keys = [pick(hud.log, args.session)]
    else:
        project = project_key(args.project or Path.cwd())
        own = [key for key in hud.sessions() if project_of_key(key) == project]
        own = [key for key in reversed(own) if not key.startswith(f"{PROJECT_LOG}@")][:_MAX_SESSIONS]
        keys = [key for key in own if count_heard(hud.session(key).state)]
    if not on_terminal():
        return [(key, visible(key)) for key in keys]
    short = short_ids(keys)
    return [(key, f"{visible(recorded_title(hud.log, key))[:60]} ({short[key]})".lstrip()) for key in keys]


def _answer(hud: Hud, key: str, args: argparse.Namespace) -> int:
    """Carry out the answers of the options: all names are looked up before anything is recorded."""
    review = ReviewSession(hud.session(key), visible(key))
    items = live_items(review.session)
    chosen = [(answer, find_item(items, name), words) for answer, name, *words in args.answers]
    ids = [item.id for _, item, _ in chosen]
    if twice := next((id for id in ids if ids.count(id) > 1), ""):
        raise ConfigError(f"{twice} is answered twice", hint="Give one answer for each item")
    answered = [review.answer(answer, item, *words) for answer, item, words in chosen]
    left = count_heard(review.session.state)
    if args.json:
        print(as_json({"schema": SCHEMA, "session": key, "answers": [_answer_facts(each) for each in answered]}))
        return 0
    for each in answered:
        print(visible(f"{each.item.id}: {each.words}"))
    print(visible(f"{key}: {left} heard, not reviewed" if left else f"{key}: all is reviewed"))
    return 0


# -- the list ----------------------------------------------------------------------------------------------------


def _list_lines(chosen: Sequence[ReviewSession], args: argparse.Namespace) -> Iterator[str]:
    if not chosen:
        yield visible(f"no session of {git_root(args.project or Path.cwd())} has anything to review")
    for number, review in enumerate(chosen):
        items = heard_items(review.session)
        if number:
            yield ""
        yield f"{review.heading}: {len(items) or 'nothing'} heard, not reviewed"
        for item in items:
            yield from item_lines(item)
    if any(heard_items(review.session) for review in chosen):
        yield ""
        yield "At a terminal `hudkit review` asks about each; or: hudkit review SESSION --keep ID --drop ID"


# -- facts -------------------------------------------------------------------------------------------------------


def _session_facts(review: ReviewSession) -> dict[str, object]:
    title = recorded_title(review.session.log, review.session.id)
    items = [_item_facts(item) for item in heard_items(review.session)]
    return {"session": review.session.id, "title": title, "items": items}


def _item_facts(item: ReviewedItem) -> dict[str, object]:
    return {"kind": item.kind, **msgspec.to_builtins(item)}


def _answer_facts(answered: ItemAnswer) -> dict[str, object]:
    return {"id": answered.item.id, "answer": answered.answer, "events": list(answered.seqs)}
