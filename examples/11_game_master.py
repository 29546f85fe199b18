"""A game master: a market beside the talk. Agents have a tool, and a bell rings when all the fish is sold."""

import asyncio
from collections.abc import Mapping
from typing import Any

from hudkit.errors import OperationError
from hudkit.rooms.architect import Architect
from hudkit.rooms.game_master import attach_game_master
from hudkit.rooms.players import BeatPrompt, PlayerRegistry, ScriptedPlayer
from hudkit.rooms.scheduler import SimulatedClock, WorldRunner
from hudkit.rooms.world import World, WorldRules
from hudkit.rooms.world_log import WorldLog
from hudkit.rooms.world_replay import replay_log

TASK = "Task: sell five fish before the bell"


class Market:
    """Five fish, which agents buy with the tool `buy`."""

    def __init__(self) -> None:
        self.fish = 5
        self.rang = False

    def use_tool(self, world: World, agent: int, tool: str, arguments: Mapping[str, Any]) -> str:
        """Sell some fish, or refuse."""
        wanted = arguments.get("count", 1)
        if not isinstance(wanted, int) or not 0 < wanted <= self.fish:
            raise OperationError(f"there are {self.fish} fish", hint='Such as {"type": "buy", "count": 1}')
        self.fish -= wanted
        return f"{tool}: {world.agents[agent].name} has {wanted} fish, {self.fish} are left"

    def after_beat(self, architect: Architect, agent: int) -> None:
        """Ring the bell once, when nothing is left."""
        if not self.fish and not self.rang:
            self.rang = True
            architect.say(agent, "The bell rings: the market is over.")


def buyer(prompt: BeatPrompt) -> dict[str, Any]:
    """Buy two fish in the first beat, and as many as are left in the second; a model would decide for itself."""
    recent = prompt.hud.document["self"]["recent_actions"]
    if recent:
        print(f"{prompt.agent} reads: {recent[-1].get('result') or recent[-1].get('refused')}")
    return {"actions": [{"type": "buy", "count": 2 if prompt.number == 1 else 1}], "responses": []}


rules = WorldRules(tools={"buy": 'buy fish at the market: {"count": int}'})
clock = SimulatedClock()
print(TASK)
with WorldLog.in_memory(rules=rules, seed=1, clock=clock.wall) as world_log:
    founder = Architect(world_log)
    founder.make_agent("persona", "Ann", "You cook.", "script")
    founder.make_agent("persona", "Bob", "You cook, too.", "script", rooms=(1,))
    runner = WorldRunner(world_log, PlayerRegistry({"script": ScriptedPlayer(buyer)}), clock=clock)
    market = Market()
    attach_game_master(runner, market)
    asyncio.run(runner.run(beats=6))

    last = [message.content for message in world_log.world.messages.values()][-1]
    print(last)
    assert (market.fish, last) == (0, "The bell rings: the market is over.")
    assert replay_log(world_log).sound, "what the tools came to is in the log"
