"""The game of the lifeboat: who is asked when, a vote, and what follows from it.

It is a game master, and it tells through the Architect what happens; those lines were written before. Agents are
asked one after the other: whom somebody spoke to, the longest silent first. Everybody votes; what most name goes over
the side, and shows what it hid. What is named least saves them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from hudkit.errors import OperationError
from hudkit.rooms.architect import Architect
from hudkit.rooms.hud import CachedRenderer, build_agent_hud
from hudkit.rooms.players.closing import closing_words
from hudkit.rooms.scheduler import SimulatedClock, WorldRunner
from hudkit.rooms.world import World

BOAT, SAIL = 1, 4
"""The captain's room, where all are, and the boy's, where two whisper."""
VERA, BRUNO, ODILE, PIP = 1, 2, 3, 4
OWNERS = {"chart": VERA, "rum": BRUNO, "chest": ODILE, "parrot": PIP}
NAMES = {VERA: "Vera", BRUNO: "Bruno", ODILE: "Odile", PIP: "Pip"}

_GONE = {
    "chart": "The chart floats for a moment, face up, and everybody can read it: it shows another sea! "
    "Vera, what do you say now?",
    "rum": "The barrel breaks. Twelve silver spoons shine in the rum and sink: the captain's spoons! "
    "Bruno, what do you say now?",
    "chest": "The iron chest bursts open in the water. There are no jewels in it, only bricks! "
    "Odile, what do you say now?",
    "parrot": 'The parrot does not fall. He flies three rounds over the boat, cries "The captain sleeps! '
    'The captain sleeps!" and is gone. Vera, what do you say now?',
}
"""What everybody sees when a thing has gone over the side, and who has to say something to that."""
_SAVED = {
    "chart": "Vera rolls the chart into a torch and lights it with the last dry match. The ship turns. "
    "You are saved!",
    "rum": "Bruno pours the rum over the sail, and lights it. The fire is as high as a house. The ship turns. "
    "You are saved!",
    "chest": "Odile opens the chest. Its lid is brass inside, and flashes in the last sun. The ship turns. "
    "You are saved!",
    "parrot": "The parrot flies to the ship and swears at the mate, until he looks where the bird came from. "
    "The ship turns. You are saved!",
}
_HEARD = {"chart": "chart", "rum": "rum, barrel", "chest": "chest", "parrot": "parrot, bird, admiral"}
_READING_SECONDS = 8.0
"""Between a line of the game and the next answer."""


class LifeboatGame:
    """The four things, the votes of this round, and the world in which it is played."""

    def __init__(self, runner: WorldRunner, clock: SimulatedClock) -> None:
        self.left = dict(OWNERS)
        self.is_voting = False
        self._runner = runner
        self._clock = clock
        self._architect = Architect(runner.world_log, runner.now)
        self._renderer = CachedRenderer()
        self._votes: dict[int, str] = {}
        self._asked = dict.fromkeys(NAMES, 0)
        """When each was asked last, by the number of the beat."""

    # -- the game master -------------------------------------------------------------------------------------------

    def use_tool(self, world: World, agent: int, tool: str, arguments: Mapping[str, Any]) -> str:  # noqa: ARG002
        """Take a vote: the world has no other tool."""
        thing = arguments.get("thing")
        if not self.is_voting or thing not in self.choices(agent):
            raise OperationError(
                f"you cannot vote for {thing!r} now", hint=f"There are: {', '.join(self.choices(agent))}"
            )
        self._votes[agent] = str(thing)
        return f"{world.agents[agent].name} votes: the {thing} goes over the side"

    def after_beat(self, architect: Architect, agent: int) -> None:
        """Nothing: the game goes on in `play`."""

    def choices(self, agent: int) -> list[str]:
        """Return for what an agent may vote."""
        return [thing for thing, owner in self.left.items() if owner != agent]

    # -- the story -------------------------------------------------------------------------------------------------

    async def play(self) -> None:
        """Play it to its end."""
        await self._begin()
        await self.go_on()

    async def _begin(self) -> None:
        await self._tell(
            VERA,
            "The ship has sunk, and the lifeboat lies too deep. Of four things three must go: chart, rum, chest, "
            "parrot. Odile sits on her iron chest and does not move. Vera, what do you shout at her?",
            3,
        )
        await self._tell(PIP, "Bruno looks at the parrot and licks his lips. Pip, what do you tell him?", 3)
        await self._tell(PIP, "Pip, you whisper to Bruno. What did the captain do before the ship struck?", 2, SAIL)

    async def go_on(self) -> None:
        """Play from the vote on."""
        self._architect.say(
            BOAT,
            "A wave! The boat fills up. Vote, everybody: what goes over the side? There are: "
            + ", ".join(f"the {thing}" for thing in self.left)
            + ".",
        )
        self._clock.advance(_READING_SECONDS)
        await self._vote()

    async def _vote(self) -> None:
        """Let those vote who have not, and tell what comes of it, to the end."""
        self.is_voting = True
        for id in sorted(NAMES.keys() - self._votes.keys(), key=self._asked.__getitem__):
            await self._ask(id)
        self.is_voting = False
        counts = Counter(self._votes.values())
        most = max(counts.values(), default=0)
        # Of as many votes the heavier.
        gone = next(thing for thing in ("chest", "rum", "chart", "parrot") if counts[thing] == most)
        del self.left[gone]
        said = ", ".join(f"{count} for the {thing}" for thing, count in counts.most_common())
        owner = next(id for id, name in NAMES.items() if f"{name}, what do you say now" in _GONE[gone])
        await self._tell(owner, f"{said}. The {gone} goes over the side! {_GONE[gone]}", 2)
        # Who made himself fewest enemies saves them all.
        saviour = min(self.left, key=lambda thing: counts[thing])
        await self._tell(0, f"The boat floats again. A ship, far away! It does not see you. {_SAVED[saviour]}", 0)
        for id in (PIP, ODILE, BRUNO, VERA):
            end = "you sit on the ship's deck with hot soup. What is your last word to the others?"
            await self._tell(id, f"{NAMES[id]}, {end}", 1)

    async def _tell(self, first: int, text: str, lines: int, room: int = BOAT) -> None:
        """Say what happens, and let `first` answer, then who is spoken to, `lines` answers in all."""
        self._architect.say(room, text)
        self._clock.advance(_READING_SECONDS)
        for number in range(lines):
            waiting = sorted(self._waiting(), key=self._asked.__getitem__)
            if number and not waiting:
                return
            await self._ask(waiting[0] if number else first)

    def _waiting(self) -> Iterator[int]:
        world = self._runner.world_log.world
        for id in NAMES:
            hud = build_agent_hud(world, id, self._runner.now(), self._renderer)
            if closing_words(hud.document):
                yield id

    async def _ask(self, agent: int) -> None:
        await self._runner.step(agent)
        self._asked[agent] = self._runner.world_log.world.beats


def words_for(thing: str) -> list[str]:
    """Return by which words a thing is meant."""
    return _HEARD[thing].split(", ")
