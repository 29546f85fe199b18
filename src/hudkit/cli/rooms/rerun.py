"""`hudkit rooms rerun`: where a changed world parts from the recorded one, and what happens then."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from hudkit.cli.common import SCHEMA, as_json
from hudkit.cli.rooms.new import check_free, check_model, removed_unless_finished
from hudkit.cli.rooms.worlds import agent_of, path_of, plural, reading
from hudkit.cli.styles import WORLD_STYLES, print_lines
from hudkit.compose import visible
from hudkit.errors import ConfigError
from hudkit.rooms.architect import Architect
from hudkit.rooms.experiments.play_run import needs_no_time, play_on
from hudkit.rooms.experiments.rerun import RerunReport, rerun_log
from hudkit.rooms.prompts import read_prompts
from hudkit.rooms.world_events import AnswerSettings
from hudkit.rooms.world_log import WorldLog

_PLAIN = ("name", "background", "model", "input_format")
_ANSWERS = AnswerSettings.__struct_fields__


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    path = path_of(args.name)
    if isinstance(path, Path):
        check_free(path)
    with reading(args.world) as world_log, removed_unless_finished(path):
        changes = [_alteration(world_log, text) for text in args.alter]
        changes += [_saying(world_log, room, text) for room, text in args.say]
        if args.prompts is not None:
            prompts = read_prompts(args.prompts)
            changes.append(lambda architect: architect.set_prompts(prompts))
        if not changes:
            raise ConfigError(
                "nothing is changed", hint="--alter Maren.background='…', --say ROOM TEXT, or --prompts DIR"
            )

        def change(copy: WorldLog) -> None:
            architect = Architect(copy, copy.clock)
            for do in changes:
                do(architect)

        name = path.stem if isinstance(path, Path) else ""
        copy, report = rerun_log(world_log, path, change, after=args.after, name=name)
        with copy:
            beats = 0 if args.stop or report.parting is None else report.beats_left
            if args.beats is not None and not args.stop:
                beats = args.beats
            before = copy.world.beats
            reused = asyncio.run(play_on(copy, world_log, beats)) if beats else 0
            facts = {
                "file": str(path),
                **msgspec.to_builtins(report),
                "played": copy.world.beats - before,
                "reused": reused,
                "seq": copy.world.seq,
            }
            simulated = needs_no_time(copy.world)
    if args.json:
        print(as_json({"schema": SCHEMA, **facts}))
    else:
        print_lines(map(visible, _lines(report, facts, simulated=simulated)), WORLD_STYLES)
    return 0


def _lines(report: RerunReport, facts: dict[str, Any], *, simulated: bool) -> Iterable[str]:
    yield f"changed after event {report.changed_after:,}; {plural(report.beats, 'beat')} went the same way"
    parting = report.parting
    if parting is None:
        yield "no HUD differs: the record goes the same way to its end"
    else:
        who = f"beat {parting.number} of {parting.name} ({parting.agent})" if parting.name else "what follows"
        yield f"they part at event {parting.seq:,} of the record, minute {parting.minute:g}: {who}"
        if parting.why:
            yield f"    {parting.why}"
        for row in parting.differences:
            yield f"    {row.path}: {row.before or '(not there)'} → {row.after or '(not there)'}"
        if parting.more:
            yield f"    and {parting.more:,} more"
    if report.people:
        yield f"{plural(report.people, 'event')} of the Architect's behind it are not done again"
    if facts["played"]:
        clock = "on a simulated clock" if simulated else "on a real clock"
        yield f"{plural(facts['played'], 'beat')} more {clock}; {facts['reused']:,} of them with recorded answers"
    yield f"file: {facts['file']}, {plural(facts['seq'], 'event')}"


def _alteration(world_log: WorldLog, text: str) -> Callable[[Architect], None]:
    place, equals, value = text.partition("=")
    who, point, key = place.rpartition(".")
    if not (equals and point and key in (*_PLAIN, *_ANSWERS)):
        raise ConfigError(
            f"--alter {text!r}", hint=f"AGENT.KEY=VALUE, with a KEY of {', '.join((*_PLAIN, *_ANSWERS))}"
        )
    agent = agent_of(world_log.world, who.strip()).id
    if key == "model":
        check_model(value)
    if key in _ANSWERS:
        try:
            settings = msgspec.convert({key: value}, AnswerSettings, strict=False)
        except msgspec.ValidationError as error:
            raise ConfigError(f"--alter {text!r}: {error}") from None
        return lambda architect: architect.alter(
            agent, answers=_merged(architect.world_log.world.agents[agent].answers, settings)
        )
    fields: dict[str, Any] = {key: value}
    return lambda architect: architect.alter(agent, **fields)


def _merged(before: AnswerSettings, after: AnswerSettings) -> AnswerSettings:
    return msgspec.convert({**msgspec.to_builtins(before), **msgspec.to_builtins(after)}, AnswerSettings)


def _saying(world_log: WorldLog, room: str, text: str) -> Callable[[Architect], None]:
    number = agent_of(world_log.world, room).id

    def say(architect: Architect) -> None:
        architect.say(number, text)

    return say
