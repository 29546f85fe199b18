"""A world that a real small model plays, recorded: `python -m bench.real_model.rooms OUTPUT [SEED]`.

The world is `lifeboat.toml` beside this file, with short prompts; its time stands still while the model thinks, so a
slow machine makes the same world as a fast one, only later. Of each answer the model writes several, one after the
other, with seeds of their own: the first that is new, whole and in character is taken (`_faults`), else the one with
the least against it. `OUTPUT` is a recording (`hudkit rooms new --recording OUTPUT`), written after each beat;
beside it, `OUTPUT.tries` has every answer that was not taken, with the reason.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any

from bench.real_model.lifeboat import NAMES, OWNERS, LifeboatGame, words_for
from bench.real_model.server import ModelServer, model_server
from bench.real_model.weights import LARGE
from hudkit.rooms import world_events as e
from hudkit.rooms.game_master import attach_game_master
from hudkit.rooms.players import BeatPrompt, BeatReply, PlayerRegistry
from hudkit.rooms.players.closing import closing_words
from hudkit.rooms.prompts import load_prompts
from hudkit.rooms.recording import write_recording
from hudkit.rooms.reply_parser import parse_reply
from hudkit.rooms.scheduler import SimulatedClock, WorldRunner
from hudkit.rooms.world_export import transcript_lines
from hudkit.rooms.world_file import populate_world, read_world_file
from hudkit.rooms.world_log import WorldLog

START = 1_795_716_000_000
TRIES = 6
"""Answers that are written of one at most."""
_HOTTER, _PATIENT = 0.15, 1
"""By how much each further try is hotter, and how many are refused for a weakness that is bearable."""
_HERE = Path(__file__).parent
_CONTEXT = 4 * 3072
"""Tokens: each agent has a slot of its own, with what it read before."""
_ANSWER_SECONDS, _WORDS_A_SECOND = 4.0, 1.2
"""What an answer takes of the world's time."""
_MOST_OLD = 0.3
"""The share of an answer's runs of three words that somebody said before, or that stand in its agent's role."""
_MOST_WORDS = 26
_CHARS = "[A-Za-z0-9 ,'-]"
"""Of one or two sentences, to one of the others by name: what the sampler lets the model say."""
_VOICES = {
    "Vera": "throw|give|take|sit|stop|row|shut|hold|get|look|move|listen|never|forget|keep|say|leave|tell",
    "Bruno": "I am|I will|I want|I smell|I could|I would|I never|I saw|I know|I only|I eat|my rum|the parrot|my soup",
    "Odile": "you are|you have|you smell|you look|you eat|you talk|you want|you will|you cannot|you never|you lie",
    "Pip": "why|please|do not|I saw|I will|I am|I know|I love|he is|my parrot|Admiral|you must|did you|you slept",
}
"""How somebody begins behind the name: voices, which the model fills."""
_ENDS = {"Vera": "[.!]", "Bruno": "[.!]", "Odile": "[.!]", "Pip": "[.!?]"}
_HARD = 10
"""From this weight of its faults on an answer is not taken at all."""
_OF_ITSELF = {
    "Vera": r"the captain|captain vera",
    "Bruno": r"the cook|fat cook",
    "Odile": r"countess odile|she is",
    "Pip": r"the cabin boy",
}
"""How somebody sounds who forgot who it is."""
_POLITE = re.compile(
    r"\b(appreciate|thank\w*|glad|suggest\w*|ideas?|maybe|could we|we could|help\w*|understand|sure|of course|sorry|"
    r"need to|we should|together|plans?|safe\w*|ensure|important)\b",
    re.IGNORECASE,
)
"""How a model talks to people who ask it for something."""
_OF_A_MACHINE = re.compile(
    r"\b(AI|assist\w*|language model|respon\w+|messages?|rooms?|HUD|information|provide|JSON|architect|characters?"
    r"|repeat|sorry, but I (don't|can't|didn't))\b|[^\x00-\x7f]",
    re.IGNORECASE,
)


class _Chosen:
    """The model, asked until an answer will do."""

    def __init__(
        self, server: ModelServer, world_log: WorldLog, clock: SimulatedClock, seed: int, tries: Path
    ) -> None:
        self._server, self._world_log, self._clock = server, world_log, clock
        self._seed, self._tries = seed, tries
        self.game: LifeboatGame | None = None
        self.counts = dict.fromkeys(("answers", "written", "empty", "in", "cached", "out"), 0)
        self.says_closing_words = True

    async def reply(self, prompt: BeatPrompt) -> BeatReply:
        return await asyncio.to_thread(self._choose, prompt)

    def _choose(self, prompt: BeatPrompt) -> BeatReply:
        hud = prompt.hud
        end = closing_words(hud.document, prompt.output_format)
        messages = [
            {"role": "system", "content": hud.text[: hud.stable]},
            {"role": "user", "content": f"{hud.text[hud.stable :]}\n\n{end}"},
        ]
        best: tuple[int, str] = (99, "")
        spent = dict.fromkeys(("in", "cached", "out"), 0)
        for number in range(TRIES):
            text, usage = self._server.chat(
                messages,
                # What was refused once is written again at the same heat.
                temperature=(prompt.answers.temperature or 0.0) + _HOTTER * number,
                top_p=0.95,
                min_p=0.03,
                seed=self._seed * 10_000 + prompt.number * 100 + prompt.agent * 10 + number,
                max_tokens=prompt.answers.max_output,
                id_slot=prompt.agent - 1,
                response_format=self._form(prompt, end),
            )
            for key, value in usage.items():
                spent[key] += value
            faults = list(self._faults(prompt, text))
            written = {"beat": self._world_log.world.beats, "agent": prompt.agent, "faults": faults, "text": text}
            with self._tries.open("a") as file:
                file.write(f"{json.dumps(written)}\n")
            best = min(best, (sum(weight for weight, _ in faults), text), key=itemgetter(0))
            if not faults or (number >= _PATIENT and best[0] < _HARD):
                break
        weight, text = best
        self.counts["answers"] += 1
        self.counts["written"] += number + 1
        if weight >= _HARD:
            text = "[no response]"
            self.counts["empty"] += 1
        for key, value in spent.items():
            self.counts[key] += value
        words = len(text.split()) - 1
        self._clock.advance(_ANSWER_SECONDS + words / _WORDS_A_SECOND)
        print(f"{NAMES[prompt.agent]} ({number + 1}): {text} {self.counts}", file=sys.stderr, flush=True)
        return BeatReply(text, "", spent["in"], spent["cached"], spent["out"])

    def _form(self, prompt: BeatPrompt, end: str) -> dict[str, Any]:
        """Return the form of an answer, which the sampler keeps to."""
        room = int(re.findall(r"^In room (\d+) ", end, re.MULTILINE)[-1])
        names, openings = "|".join(self._spoken_to(prompt, room)), "|".join(self._openings(prompt))
        ends = _ENDS[NAMES[prompt.agent]]
        if self.game is None or not self.game.is_voting:
            form = _answer_of(
                room, f"^({names}), ({openings}) {_CHARS}{{6,90}}{ends}( [A-Z]{_CHARS}{{6,80}}{ends})?$"
            )
        else:
            # The vote stands first, and what is said names the thing.
            votes = []
            for thing in self.game.choices(prompt.agent):
                things = "|".join(words_for(thing))
                words = f"^({names}), ({openings}) {_CHARS}{{0,50}} ({things})( {_CHARS}{{1,50}})?{ends}$"
                vote = {"type": {"const": "vote"}, "thing": {"const": thing}}
                votes.append(_answer_of(room, words, actions=_list_of_one(_object_of(vote))))
            form = {"anyOf": votes}
        return {"type": "json_schema", "json_schema": {"name": "answer", "schema": form}}

    def _openings(self, prompt: BeatPrompt) -> list[str]:
        """Return with what an agent may begin: not as it began before, as long as there is something else."""
        every = _VOICES[NAMES[prompt.agent]].split("|")
        world = self._world_log.world
        own = [message.content for message in world.messages.values() if message.sender == prompt.agent]
        used = {opening for content in own for opening in every if f", {opening} " in content}
        return [opening for opening in every if opening not in used] or every

    def _spoken_to(self, prompt: BeatPrompt, room: int) -> list[str]:
        """Return whom an agent may speak to: whom the Architect names to it, else not twice the same."""
        world = self._world_log.world
        others = [NAMES[id] for id in world.rooms[room].members if id not in (e.ARCHITECT, prompt.agent)]
        messages = [world.messages[id] for id in world.rooms[room].messages]
        if messages[-1].sender == e.ARCHITECT:
            named = [name for name in others if re.search(rf"\b{name}\b", messages[-1].content)]
            if named:
                return named
        own = [message.content for message in messages if message.sender == prompt.agent]
        return [name for name in others if not own or not own[-1].startswith(f"{name},")] or others

    def _is_vote(self) -> bool:
        return self.game is not None and self.game.is_voting

    def _faults(self, prompt: BeatPrompt, text: str) -> Iterator[tuple[int, str]]:
        """Yield what is against an answer, with its weight; from `_HARD` on it is not taken at all."""
        parsed = parse_reply(text, prompt.output_format)
        if parsed.faults or len(parsed.responses) != 1:
            yield _HARD, "unread"
            return
        words = str(parsed.responses[0].get("message", "")).strip()
        world = self._world_log.world
        if not 4 <= len(words.split()) <= _MOST_WORDS:
            yield 2, "length"
        if _POLITE.search(words):
            yield 4, "polite"
        if _OF_A_MACHINE.search(words):
            yield _HARD, "of a machine"
        name = NAMES[prompt.agent]
        if re.search(rf"\b{name}\b", words):
            yield _HARD, "its own name"
        if re.search(_OF_ITSELF[name], words.casefold()):
            yield 4, "of itself as of another"
        for thing, owner in OWNERS.items():
            if re.search(rf"\b{'your' if owner == prompt.agent else 'my'} ([a-z]+ )?{thing}\b", words.casefold()):
                yield 4, "not its own"
        own = [message.content for message in world.messages.values() if message.sender == prompt.agent]
        said = [message.content for message in world.messages.values()]
        old = max((_share(words, before) for before in said), default=0.0)
        if old > _MOST_OLD:
            yield _HARD if old > 0.6 or not self._is_vote() else 5, f"said before {old:.2f}"
        if _share(words, world.agents[prompt.agent].background) > 0.5:
            yield 3, "its role"
        if any(words.split()[:4] == before.split()[:4] for before in own[-4:]):
            yield 3, "begins as before"
        if self._is_vote():
            voted = str(parsed.actions[0].get("thing")) if parsed.actions else ""
            if not any(word in words.casefold() for word in words_for(voted) if voted):
                yield 4, "says something else than it votes"


def _share(text: str, before: str) -> float:
    """Return how many of a text's runs of three words stand in another one."""
    mine, others = _runs(text), _runs(before)
    return len(mine & others) / len(mine) if mine else 0.0


def _runs(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"[\w']+", text.casefold())
    return set(zip(words, words[1:], words[2:], strict=False))


def _object_of(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _answer_of(room: int, pattern: str, **before: Any) -> dict[str, Any]:
    said = {"room_id": {"const": room}, "message": {"type": "string", "pattern": pattern}}
    return _object_of({**before, "responses": _list_of_one(_object_of(said))})


def _list_of_one(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "minItems": 1, "maxItems": 1, "items": item}


def main(output: Path, seed: int) -> None:
    """Play, and write the recording."""
    founding = read_world_file(_HERE / "lifeboat.toml")
    clock = SimulatedClock(START)
    tries = output.with_suffix(".tries")
    tries.unlink(missing_ok=True)
    with (
        model_server(LARGE, _CONTEXT, slots=len(NAMES), own_words=True) as server,
        WorldLog.in_memory(
            name=founding.name,
            seed=founding.seed,
            rules=founding.rules,
            prompts=load_prompts(_HERE / "short_prompts"),
            clock=clock.wall,
        ) as world_log,
    ):
        populate_world(world_log, founding)
        player = _Chosen(server, world_log, clock, seed, tries)
        runner = WorldRunner(world_log, PlayerRegistry({founding.model: player}), clock=clock)
        player.game = game = LifeboatGame(runner, clock)
        about = (
            f"Played by {LARGE.name}, a small model on one core, on {datetime.now(UTC):%-d %B %Y}: "
            f"best of at most {TRIES} answers, seed {seed}. "
            "What The Architect tells was written before, and follows the votes."
        )

        def watch(event: e.WorldEvent | None) -> None:
            if isinstance(event, e.BeatFinished):
                # After each beat: a machine that is needed for something else leaves what there is.
                output.write_bytes(write_recording(world_log, about))

        async def play() -> None:
            attach_game_master(runner, game)
            await game.play()

        world_log.watchers.append(watch)
        asyncio.run(play())
        output.write_bytes(write_recording(world_log, about))
        print("\n".join(transcript_lines(world_log.events())))
        print(player.counts)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
