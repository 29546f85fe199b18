"""`hudkit review`: what was heard in sessions, as a list, as questions at a terminal, or answered by options."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from hudkit.api import Hud
from hudkit.cli.common import SCHEMA, as_json, existing_log, open_read_only, pick, user_settings
from hudkit.cli.review_answers import ItemAnswer, ReviewSession, item_lines, require_person
from hudkit.cli.styles import REVIEW_STYLES, on_terminal, print_lines
from hudkit.compose import visible
from hudkit.errors import ConfigError
from hudkit.hud.always_file import KIND_NAMES, AlwaysItem, read_always, remove_always
from hudkit.hud.session_keys import PROJECT_LOG, host_id_of_key, project_key, project_of_key
from hudkit.hud.session_lookup import recorded_title, short_ids
from hudkit.paths import always_path, git_root, log_path
from hudkit.sections.document_builder import count_heard
from hudkit.tools.review import ReviewedItem, find_item, heard_items, live_items, promote_item

_INDENT = "    "

_MAX_SESSIONS = 200
"""Sessions of a project, the newest, that are looked at."""


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    if args.all and (args.session or args.answers):
        raise ConfigError("--all goes with no session and no answers", hint="Ids are those of one session: name it")
    if args.always or args.forget:
        if args.answers or args.all or args.session:
            raise ConfigError("--always and --forget go with no session", hint="They are about all sessions")
        return _forget(args) if args.forget else _list_always(json=args.json)
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


# -- beyond one session ------------------------------------------------------------------------------------------


def _list_always(*, json: bool) -> int:
    """Print what holds beyond one session."""
    path = always_path()
    items = read_always(path)
    if json:
        facts = [_always_facts(item) for item in items]
        print(as_json({"schema": SCHEMA, "file": str(path), "always": facts}))
        return 0
    if not items:
        print(visible(f"nothing holds beyond one session ({path} is not there)"))
        return 0
    print_lines(_always_lines(items), REVIEW_STYLES)
    print_lines(("", visible(f"They are in {path}; hudkit review --forget WORDS takes one out.")), REVIEW_STYLES)
    return 0


def _always_lines(items: Sequence[AlwaysItem]) -> Iterator[str]:
    for item in items:
        yield visible(f"{KIND_NAMES[item.section]}: {item.text}")
        where = f"in {item.project}" if item.project else "in all sessions"
        source = f", from {host_id_of_key(item.session)}" if item.session else ""
        since = f", since {item.since.isoformat()}" if item.since else ""
        yield visible(f"{_INDENT}{where}{source}{since}")


def _forget(args: argparse.Namespace) -> int:
    """Take items out of the file; the sessions that they came from have it in their logs, too."""
    require_person()
    path = always_path()
    chosen = [_always_item(read_always(path), words) for words in args.forget]
    for item in dict.fromkeys(chosen):
        remove_always(path, item)
        _note_forgotten(item, args.db)
    if args.json:
        facts = [_always_facts(item) for item in chosen]
        print(as_json({"schema": SCHEMA, "file": str(path), "forgotten": facts}))
    else:
        for item in chosen:
            print(visible(f"not beyond one session any more: {KIND_NAMES[item.section]}: {item.text}"))
        print("Sessions that have begun keep it: there it goes with hudkit review SESSION --drop WORDS.")
    return 0


def _always_item(items: Sequence[AlwaysItem], words: str) -> AlwaysItem:
    """The item with this text, or with these words alone. Raises `ConfigError`."""
    folded = words.strip().casefold()
    exact = [item for item in items if item.text.casefold() == folded]
    alike = exact or [item for item in items if folded and folded in item.text.casefold()]
    if len(alike) == 1:
        return alike[0]
    raise ConfigError(
        f"{len(alike) or 'no'} items beyond one session match {words!r:.80}", hint="hudkit review --always lists them"
    )


def _note_forgotten(item: AlwaysItem, db: Path | None) -> None:
    """Record in the session that an item came from that it holds there only; one that is gone is no error."""
    path = db or log_path()
    if not item.session or not path.exists():
        return
    with Hud.open(path, settings=user_settings("review")) as hud:
        if item.session not in hud.sessions():
            return
        session = hud.session(item.session)
        state = getattr(session.state, item.section).find(item.text)
        if state is not None and state.mark.level:
            reviewed = find_item(live_items(session), state.id)
            promote_item(session, reviewed, "")


def _always_facts(item: AlwaysItem) -> dict[str, object]:
    return {
        "kind": KIND_NAMES[item.section],
        "text": item.text,
        "reason": item.reason,
        "level": item.level,
        "project": item.project,
        "session": item.session,
        "since": item.since.isoformat() if item.since else "",
    }


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
