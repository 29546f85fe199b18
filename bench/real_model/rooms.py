"""A world that a real small model plays, recorded: `python -m bench.real_model.rooms OUTPUT [ANSWERS]`.

The world is `lamp.toml` beside this file, with short prompts; its time stands still while the model thinks, so a slow
machine makes the same world as a fast one, only later. The model is asked where the Architect asked its agent; those
questions were written before. At the end stands what came of the answers, and how much of the HUDs the server's
cache had; `OUTPUT` is a recording (`hudkit rooms new --recording OUTPUT`), written after each beat.
"""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

from bench.real_model.server import model_server
from bench.real_model.weights import LARGE
from hudkit.models import RequestSettings, open_model
from hudkit.rooms import world_events as e
from hudkit.rooms.architect import Architect
from hudkit.rooms.players import BeatPrompt, BeatReply, ModelPlayer, PlayerRegistry
from hudkit.rooms.players.closing import closing_words
from hudkit.rooms.prompts import load_prompts
from hudkit.rooms.recording import write_recording
from hudkit.rooms.reply_parser import parse_reply
from hudkit.rooms.scheduler import ANY_MODEL, ModelQuota, SimulatedClock, WorldRunner
from hudkit.rooms.world_export import transcript_lines
from hudkit.rooms.world_file import populate_world, read_world_file
from hudkit.rooms.world_log import WorldLog

START = 1_795_674_600_000
SAID = (
    "Yun, what did you see on the water last night, and when?",
    "Maren, who bought something in your shop last night, and why did you wonder about it?",
    "Yun, what do you think: who was in the boat?",
    "Elias, nobody is angry with you. Where is the lamp, and why did you take it?",
    "Ines, what do you say to Elias now?",
    "Maren, what will you bring to the daughter of Elias?",
    "Elias, when do you bring the lamp back, and what do you say to Ines?",
    "Yun, when is the water calm enough for the ferry?",
    "Ines, the lamp burns again. What do you write into the book of the harbour tonight?",
)
"""What the Architect says in the first room, each when those who were spoken to have answered."""
_MOST_BETWEEN = 1
"""Answers after which it says the next at the latest: two agents may have much to say to each other."""
_QUIET_BEATS = 12
"""Beats in a row of agents to whom nobody spoke, after which it does."""
_HERE = Path(__file__).parent
_CONTEXT, _CACHE = 8192, 4096
"""Tokens of the one slot, and MiB for the prompts of agents that are not in it."""
_ANSWER_SECONDS, _TOKENS_A_SECOND = 2.0, 15.0
"""What an answer takes of the world's time, and how fast it is written."""


class _Recorded:
    """The model, and what came of its answers."""

    def __init__(self, model: ModelPlayer, clock: SimulatedClock, architect: Architect) -> None:
        self._model, self._clock, self._architect = model, clock, architect
        self._left = list(SAID)
        self._answers = self._quiet = 0
        self.counts = dict.fromkeys(("answers", "unread", "empty", "in", "cached"), 0)
        self.is_over = False

    async def reply(self, prompt: BeatPrompt) -> BeatReply:
        # A model of this size says once more what somebody said about its agent; a question it answers.
        name = prompt.hud.document["self"]["identity"]["name"]
        if not re.search(rf'The Architect said \(.*\): ".*\b{name}, ', closing_words(prompt.hud.document)):
            self._quiet += 1
            self._go_on()
            return BeatReply("[no response]")
        self._quiet = 0
        reply = await self._model.reply(prompt)
        self._clock.advance(_ANSWER_SECONDS + reply.output_tokens / _TOKENS_A_SECOND)
        self._answers += 1
        self._count(prompt, reply)
        self._go_on()
        return reply

    def _go_on(self) -> None:
        if self._quiet < _QUIET_BEATS and self._answers < _MOST_BETWEEN:
            return
        self._answers = self._quiet = 0
        if self._left:
            self._architect.say(1, self._left.pop(0))
        else:
            self.is_over = True

    def _count(self, prompt: BeatPrompt, reply: BeatReply) -> None:
        parsed = parse_reply(reply.text, prompt.output_format)
        counts = self.counts
        counts["answers"] += 1
        counts["unread"] += bool(reply.error or parsed.faults)
        counts["empty"] += not parsed.responses and not parsed.actions
        counts["in"] += reply.input_tokens
        counts["cached"] += reply.cached_tokens
        print(f"{prompt.agent}: {reply.error or reply.text} {counts}", file=sys.stderr, flush=True)


def main(output: Path, answers: int) -> None:
    """Play, and write the recording."""
    founding = read_world_file(_HERE / "lamp.toml")
    clock = SimulatedClock(START)
    with (
        model_server(LARGE, _CONTEXT, ram_cache=_CACHE, own_words=True) as server,
        WorldLog.in_memory(
            name=founding.name,
            seed=founding.seed,
            rules=founding.rules,
            prompts=load_prompts(_HERE / "lamp_prompts"),
            clock=clock.wall,
        ) as world_log,
    ):
        populate_world(world_log, founding)
        model = open_model(founding.model, key="none", base_url=f"{server.address}/v1")
        settings = RequestSettings(max_output=150, silence=3_000.0)
        player = _Recorded(ModelPlayer(model, settings), clock, Architect(world_log, clock.wall))
        quotas = {ANY_MODEL: ModelQuota(at_once=1)}
        runner = WorldRunner(world_log, PlayerRegistry({founding.model: player}), clock=clock, quotas=quotas)

        about = (
            f"Played by {LARGE.name}, a small model that was asked where the Architect asked its agent; "
            "what the Architect says was written before."
        )

        def watch(event: e.WorldEvent | None) -> None:
            if isinstance(event, e.BeatFinished):
                # After each beat: a machine that is needed for something else leaves what there is.
                output.write_bytes(write_recording(world_log, about))
                if player.is_over or player.counts["answers"] >= answers:
                    runner.stop()

        world_log.watchers.append(watch)
        asyncio.run(runner.run())
        print("\n".join(transcript_lines(world_log.events())))
        print(player.counts)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 40)
