"""A world that a real small model plays, recorded: `python -m bench.real_model.rooms OUTPUT [MINUTES]`.

The world is `lamp.toml` beside this file; its time stands still while the model thinks, so a slow machine makes the
same world as a fast one, only later. At the end stands what came of the answers, and how much of the HUDs the
server's cache had; `OUTPUT` is a recording (`hudkit rooms new --recording OUTPUT`).
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from bench.real_model.server import model_server
from bench.real_model.weights import LARGE
from hudkit.models import RequestSettings, open_model
from hudkit.rooms import world_events as e
from hudkit.rooms.architect import Architect
from hudkit.rooms.players import BeatPrompt, BeatReply, ModelPlayer, PlayerRegistry
from hudkit.rooms.players.closing import closing_words
from hudkit.rooms.recording import write_recording
from hudkit.rooms.reply_parser import parse_reply
from hudkit.rooms.scheduler import ANY_MODEL, ModelQuota, SimulatedClock, WorldRunner
from hudkit.rooms.world_export import transcript_lines
from hudkit.rooms.world_file import populate_world, read_world_file
from hudkit.rooms.world_log import WorldLog

START = 1_795_674_600_000
SAID = (
    (6, "Yun, you write everything down with the minute: what did you see last night?"),
    (11, "Elias, nobody is angry with you. Do you have the lamp? What happened?"),
    (16, "Thank you, Elias. Maren, Yun: what should we do for him and his daughter?"),
)
"""Minutes of the world's time, and what the Architect says in the first room then."""
_SLOTS, _CONTEXT = 4, 8192
_ANSWER_SECONDS, _TOKENS_A_SECOND = 2.0, 15.0
"""What an answer takes of the world's time, and how fast it is written."""


class _Recorded:
    """The model, and what came of its answers."""

    def __init__(self, model: ModelPlayer, clock: SimulatedClock, architect: Architect) -> None:
        self._model, self._clock, self._architect = model, clock, architect
        self._left = list(SAID)
        self.counts = dict.fromkeys(("answers", "unread", "empty", "asked", "asked and silent", "in", "cached"), 0)

    async def reply(self, prompt: BeatPrompt) -> BeatReply:
        reply = await self._model.reply(prompt)
        self._clock.advance(_ANSWER_SECONDS + reply.output_tokens / _TOKENS_A_SECOND)
        self._count(prompt, reply)
        minutes = (self._clock.wall() - START) / 60_000
        while self._left and minutes >= self._left[0][0]:
            self._architect.say(1, self._left.pop(0)[1])
        return reply

    def _count(self, prompt: BeatPrompt, reply: BeatReply) -> None:
        parsed = parse_reply(reply.text, prompt.output_format)
        is_empty = not parsed.responses and not parsed.actions
        is_asked = bool(closing_words(prompt.hud.document))
        counts = self.counts
        counts["answers"] += 1
        counts["unread"] += bool(reply.error or parsed.faults)
        counts["empty"] += is_empty
        counts["asked"] += is_asked
        counts["asked and silent"] += is_asked and not parsed.responses
        counts["in"] += reply.input_tokens
        counts["cached"] += reply.cached_tokens


def main(output: Path, minutes: float) -> None:
    """Play, and write the recording."""
    founding = read_world_file(Path(__file__).with_name("lamp.toml"))
    clock = SimulatedClock(START)
    with (
        model_server(LARGE, _CONTEXT * _SLOTS, slots=_SLOTS) as server,
        WorldLog.in_memory(
            name=founding.name, seed=founding.seed, rules=founding.rules, clock=clock.wall
        ) as world_log,
    ):
        populate_world(world_log, founding)
        model = open_model(founding.model, key="none", base_url=f"{server.address}/v1")
        settings = RequestSettings(max_output=200, silence=3_000.0)
        player = _Recorded(ModelPlayer(model, settings), clock, Architect(world_log, clock.wall))
        quotas = {ANY_MODEL: ModelQuota(at_once=1)}
        runner = WorldRunner(world_log, PlayerRegistry({founding.model: player}), clock=clock, quotas=quotas)

        def watch(event: e.WorldEvent | None) -> None:
            if isinstance(event, e.BeatFinished) and clock.wall() - START > minutes * 60_000:
                runner.stop()

        world_log.watchers.append(watch)
        asyncio.run(runner.run())
        about = f"Played by {LARGE.name}; the Architect's questions were written before."
        output.write_bytes(write_recording(world_log, about))
        print("\n".join(transcript_lines(world_log.events())))
        print(player.counts)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 20.0)
