"""`hudkit rooms interview`: an agent's answer to a question that no room hears."""

from __future__ import annotations

import argparse
import asyncio
from datetime import UTC, datetime

import msgspec

from hudkit.cli.common import SCHEMA, as_json
from hudkit.cli.rooms.new import check_model
from hudkit.cli.rooms.worlds import agent_of, reading
from hudkit.cli.styles import WORLD_STYLES, print_lines
from hudkit.compose import visible
from hudkit.rooms.experiments.interview import InterviewAnswer, event_at, interview
from hudkit.rooms.players import IMPROVISER_LABEL, IMPROVISER_MODEL, open_players


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    if args.model:
        check_model(args.model)
    with reading(args.world) as world_log:
        seq = None if args.at is None else event_at(world_log, args.at)
        agent = agent_of(world_log.world, args.agent)
        answer = asyncio.run(interview(world_log, agent.id, args.question, open_players(), seq=seq, model=args.model))
    if args.json:
        print(as_json({"schema": SCHEMA, **msgspec.to_builtins(answer)}))
    else:
        print_lines((visible(line, breaks=True) for line in _lines(answer)), WORLD_STYLES)
    return 1 if answer.error else 0


def _lines(answer: InterviewAnswer) -> list[str]:
    time = datetime.fromtimestamp(answer.asked_at / 1000, UTC)
    who = IMPROVISER_LABEL if answer.model == IMPROVISER_MODEL else answer.model
    lines = [f"{answer.name} ({answer.agent}), {who}, event {answer.seq:,}, {time:%H:%M:%S}:"]
    if answer.error:
        lines.append(f"no answer: {answer.error}")
    else:
        lines.append(answer.answer or "(nothing)")
    if answer.in_a_copy:
        lines.append("-- asked in its own room, in a copy of the world that is gone now")
    if answer.input_tokens:
        lines.append(f"-- {answer.input_tokens:,} tokens in, {answer.output_tokens:,} out; ${answer.cost:.4f}")
    return lines
