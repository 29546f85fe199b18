"""Telemetry of a world of rooms: each beat of an agent is an `invoke_agent` span, as a turn of a session is.

invoke_agent Maren          a beat, from its HUD until its effects are done
  chat gpt-5-mini           the model's answer
  execute_tool say          what it said at once, and each of its actions; a refused one has an error
  execute_tool set
"""

from __future__ import annotations

from hudkit.agent.telemetry import Telemetry, names
from hudkit.agent.telemetry.observations import (
    AgentBegan,
    AgentEnded,
    CallFigures,
    ModelAnswered,
    ModelCalled,
    ModelFailed,
    Observation,
    ObservedMessage,
    ObservedPart,
    ObservedUsage,
    ToolBegan,
    ToolEnded,
)
from hudkit.rooms import world_events as e
from hudkit.rooms.world_log import WorldLog

_SAY = "say"
"""What a message is called among the actions."""


class WorldTelemetry:
    """Tells telemetry of each beat that this process brings about, from now on."""

    def __init__(self, world_log: WorldLog, telemetry: Telemetry) -> None:
        """`telemetry` may serve several worlds and sessions."""
        self._world_log = world_log
        self._telemetry = telemetry
        self._calls = 0
        world_log.watchers.append(self._watch)

    def _watch(self, event: e.WorldEvent | None) -> None:
        try:
            for observation in self._observe(event):
                self._telemetry.tell(observation)
        except Exception:  # telemetry must not be able to hurt a world
            self._telemetry.failed()

    def _observe(self, event: e.WorldEvent | None) -> list[Observation]:
        world = self._world_log.world
        now = world.now
        match event:
            case e.BeatBegun(agent=agent):
                name = world.agents[agent].name
                figures = {
                    names.FRAME_TOKENS: event.tokens,
                    names.BEAT: event.number,
                    names.BEAT_LATE: max(0, event.composed_at - event.due) / 1000,
                }
                id = self._session(agent)
                return [
                    AgentBegan(id, event.composed_at, name, event.model),
                    CallFigures(id, event.composed_at, figures),
                    ModelCalled(id, event.composed_at, event.model, name),
                ]
            case e.ReplyReceived(agent=agent) if event.error:
                code = event.error.partition(":")[0] if ":" in event.error else "model"
                return [ModelFailed(self._session(agent), now, code, event.error)]
            case e.ReplyReceived(agent=agent):
                return [self._answered(agent, event, now)]
            case e.MessagePosted(sender=agent, pending=0) if agent > 0:
                return self._acted(agent, _SAY, {"room_id": event.room, "message": event.content}, now)
            case e.ActionApplied(agent=agent):
                return self._acted(agent, str(event.action.get("type", "?")), event.action, now)
            case e.ActionRefused(agent=agent):
                return self._acted(agent, str(event.action.get("type", "?")), event.action, now, event.why)
            case e.BeatFinished(agent=agent):
                return [AgentEnded(self._session(agent), now, "done")]
            case _:
                return []

    def _answered(self, agent: int, event: e.ReplyReceived, now: int) -> ModelAnswered:
        usage = None
        if event.input_tokens or event.output_tokens:
            fresh = event.input_tokens - event.cached_tokens
            usage = ObservedUsage(fresh, event.cached_tokens, 0, event.output_tokens)
        answer = None
        if self._telemetry.content:
            answer = ObservedMessage("assistant", (ObservedPart("text", event.text),))
        return ModelAnswered(self._session(agent), now, "stop", usage, event.cost or None, answer=answer)

    def _acted(
        self, agent: int, tool: str, arguments: dict[str, object], now: int, refused: str = ""
    ) -> list[Observation]:
        self._calls += 1
        id, call = self._session(agent), f"{agent}-{self._calls}"
        shown = arguments if self._telemetry.content else {}
        error = "refused" if refused else ""
        return [ToolBegan(id, now, tool, call, shown), ToolEnded(id, now, tool, call, error, refused, shown)]

    def _session(self, agent: int) -> str:
        return f"{self._world_log.world.name}/{agent}"
