"""`hudkit rooms run`: a world is played, its conversation is printed as it goes, and then what it came to."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from hudkit.cli.common import SCHEMA, as_json, progress_bar, user_settings
from hudkit.cli.rooms.new import check_model, create_recorded_world, create_world
from hudkit.cli.rooms.worlds import known, open_world, path_of, picked, plural, time_of
from hudkit.cli.styles import WORLD_STYLES, print_lines
from hudkit.compose import visible
from hudkit.errors import ConfigError
from hudkit.models import RequestSettings
from hudkit.paths import is_server_url, shown_place
from hudkit.rooms import FIRST_RECORDING, FIRST_WORLD
from hudkit.rooms import world_events as e
from hudkit.rooms.architect import Architect
from hudkit.rooms.cost_forecast import check_player, check_players, forecast_cost, forecast_text
from hudkit.rooms.experiments.script_file import script_players
from hudkit.rooms.hud import CachedRenderer
from hudkit.rooms.hud.format_savings import measure_savings
from hudkit.rooms.players import IMPROVISER_LABEL, IMPROVISER_MODEL, PlayerRegistry, open_players
from hudkit.rooms.recording import RecordingPlayer, parse_recording, recording_beside, recording_that_ships
from hudkit.rooms.scheduler import (
    ANY_MODEL,
    Clock,
    ModelQuota,
    RealClock,
    RunnerMetrics,
    SimulatedClock,
    WorldRunner,
    freeze_survivors,
)
from hudkit.rooms.world import World
from hudkit.rooms.world_export import TranscriptWriter
from hudkit.rooms.world_file import island_world
from hudkit.rooms.world_log import WORLD_SESSION, WorldLog
from hudkit.rooms.world_replay import Progress

if TYPE_CHECKING:
    from hudkit.rooms.workers import SessionLease

LOOK = 0.2
"""Seconds between two looks at what was said."""
DEFAULT = 600.0
"""Seconds that a world is played where nothing else is said."""


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    with open_played_world(args) as world_log, ExitStack() as stack:
        check_is_whole(world_log.world)
        if all(agent.retired for agent in world_log.world.agents.values()):
            raise ConfigError("nobody lives in this world", hint="hudkit rooms serve: agents are made on its page")
        if world_log.world.paused is not None:
            raise ConfigError(f"the world is paused ({world_log.world.paused})", hint="--resume lets it go on")
        world_run = _WorldRun(world_log, args, stack.enter_context(shared_leases(args.world)))
        bar = progress_bar() if args.quiet or args.json else nullcontext()
        with bar as progress, world_telemetry(world_log), freeze_survivors():
            stopped = asyncio.run(world_run.play(progress))
        facts = world_run.summary()
    if args.json:
        print(as_json({"schema": SCHEMA, "stopped": stopped, **facts}))
    else:
        if world_run.prints:
            print()
        print_lines(map(visible, _lines(facts, stopped)), WORLD_STYLES)
    return 130 if stopped == "interrupted" else 0


def open_played_world(args: argparse.Namespace) -> WorldLog:
    """Open the world that is to be played and return its log. Raises `ConfigError`.

    Where there is no world at all, one that comes with hudkit is made: the recorded one, or, where somebody is named
    who plays, the island.
    """
    if args.model is not None:
        # Before any agent has it: a world must not be left with a model that cannot play.
        check_player(check_model(args.model), open_players())
    if args.world is None and not known():
        world_log = _first_world(args)
    else:
        world_log = _open_or_found(picked(args.world), args.model)
    architect = Architect(world_log, lambda: time_of(world_log.world))
    if args.model is not None:
        for agent in world_log.world.agents.values():
            if not agent.retired and agent.model != args.model:
                architect.alter(agent.id, model=args.model)
    if args.resume:
        architect.resume()
    return world_log


def _first_world(args: argparse.Namespace) -> WorldLog:
    """Make the first world of somebody who has none, and return its log."""
    is_played = args.model is not None or getattr(args, "script", None) is not None
    path = path_of(FIRST_WORLD if is_played else FIRST_RECORDING)
    assert isinstance(path, Path)
    print(f"hudkit rooms: a new world, {path.stem}, in {path}", file=sys.stderr)
    if is_played:
        return create_world(path, island_world(), model=args.model)
    content = recording_that_ships()
    return create_recorded_world(path, content, parse_recording(content))


def check_is_whole(world: World) -> None:
    """Raise `ConfigError` for a world in partitions: workers play it."""
    if world.partitions:
        hint = "`rooms worker` with the same --db plays it, in as many processes as you like"
        raise ConfigError(f"this world is in {world.partitions} partitions, and played by workers", hint=hint)


@contextmanager
def shared_leases(place: str | None) -> Iterator[SessionLease | None]:
    """Yield a lease by which processes that play the same world spare each other's beats; `None` for a file."""
    if place is None or not is_server_url(place):
        yield None
        return
    from hudkit.rooms.workers import LeaseKeeper  # its packages are an extra

    with LeaseKeeper(place) as keeper:
        yield keeper.take(WORLD_SESSION, exclusive=False)


def _open_or_found(place: Path | str, model: str | None) -> WorldLog:
    """Open a world; on a server that has none, make the one that comes with hudkit."""
    try:
        return open_world(place)
    except ConfigError:
        if isinstance(place, Path):
            raise
    print(f"hudkit rooms: a new world, {FIRST_WORLD}, in {shown_place(place)}", file=sys.stderr)
    return create_world(place, island_world(), model=model)


def open_player(
    place: Path | str, world_log: WorldLog, players: PlayerRegistry, **options: Any
) -> WorldRunner | RecordingPlayer:
    """Return who plays the world at a place: the recording that it is, as long as it is one; else a runner."""
    recording = recording_beside(place)
    if recording is None or recording.position(world_log) is None:
        check_players(world_log.world, players)
        return WorldRunner(world_log, players, **options)
    return RecordingPlayer(world_log, recording, WorldRunner(world_log, players, **options), options.get("clock"))


def place_of(args: argparse.Namespace) -> Path | str:
    """Return where the world is that is played: the one that is named, else the one that changed last."""
    return path_of(args.world) if args.world is not None else known()[0]


@contextmanager
def world_telemetry(world_log: WorldLog) -> Iterator[None]:
    """Tell a collector of a world's beats while the block runs, where the user's settings say so."""
    from hudkit.agent.telemetry import configured

    telemetry = configured(user_settings("rooms").telemetry)
    if telemetry is None:
        yield
        return
    from hudkit.agent.telemetry.world_beats import WorldTelemetry

    WorldTelemetry(world_log, telemetry)
    with telemetry:
        yield


def model_quotas(args: argparse.Namespace) -> dict[str, ModelQuota]:
    """Return what every model may be asked for: by the options, else by the user's settings.

    The improviser is no model: it never waits.
    """
    limits = user_settings("rooms").rooms
    requests = args.requests_a_minute or limits.requests_per_minute
    tokens = args.tokens_a_minute or limits.tokens_per_minute
    return {ANY_MODEL: ModelQuota(requests, tokens, limits.concurrent_requests)}


def model_settings() -> RequestSettings:
    """Return how models answer, by the user's settings."""
    limits = user_settings("rooms").rooms
    return RequestSettings(max_output=limits.answer_tokens, silence=limits.silence_seconds)


def played_by(player: WorldRunner | RecordingPlayer, world_log: WorldLog) -> str:
    """Return who plays a world, in words: who was recorded, or who thinks for its agents."""
    if isinstance(player, RecordingPlayer) and player.is_recorded:
        return visible(f"recorded. {player.recording.about}")
    return thinkers_text(world_log)


def thinkers_text(world_log: WorldLog) -> str:
    """Return who thinks for the living agents of a world, in words."""
    models = Counter(agent.model for agent in world_log.world.agents.values() if not agent.retired)
    who = ", ".join(
        f"{count} by {IMPROVISER_LABEL if name == IMPROVISER_MODEL else name}" for name, count in models.items()
    )
    return visible(who or "nobody lives there")


class _WorldRun:
    """One run of a world: ends it, prints what is said, and counts."""

    def __init__(self, world_log: WorldLog, args: argparse.Namespace, leases: SessionLease | None) -> None:
        world = world_log.world
        self.world_log = world_log
        self.beats: int | None = args.beats
        self.prints = not (args.quiet or args.json)
        self.start = self.printed = world.seq
        self.cost = world.cost
        clock: Clock = SimulatedClock(world.now) if args.fast else RealClock()
        players = open_players(settings=model_settings())
        if args.script is not None:
            numbers = {agent.name.casefold(): agent.id for agent in world.agents.values()}
            players = script_players(args.script, numbers)
        options: dict[str, Any] = {"quotas": model_quotas(args), "leases": leases}
        self.runner = open_player(place_of(args), world_log, players, clock=clock, **options)
        self.began = self.runner.now()
        seconds = args.long if args.long is not None else None if self.beats else DEFAULT
        asked = world if isinstance(self.runner, WorldRunner) else World()  # a recording asks nobody
        self.forecast = forecast_cost(asked, self.began, seconds=seconds, beats=self.beats)
        self.end = None if seconds is None else self.began + round(seconds * 1000)
        self.why = ""
        self._writer = TranscriptWriter({id: agent.name for id, agent in world.agents.items()})
        world_log.watchers.append(self._hear)

    async def play(self, progress: Progress | None) -> str:
        """Play to the end; why it ended, where it was not for its length."""
        if self.prints:
            print(
                f"{plural(len(self.world_log.world.agents), 'agent')}: {played_by(self.runner, self.world_log)}",
                file=sys.stderr,
            )
            if line := forecast_text(self.forecast):
                print(visible(line), file=sys.stderr)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError, RuntimeError, ValueError):  # not the main thread
                loop.add_signal_handler(number, self._stop, "interrupted")
        playing = asyncio.ensure_future(self.runner.run(beats=self.beats))
        while not playing.done():
            await asyncio.wait({playing}, timeout=LOOK)
            self._look(progress)
        await playing
        return self.why

    def summary(self) -> dict[str, Any]:
        """What the run came to, as plain data."""
        figures: RunnerMetrics = self.runner.metrics()
        messages: Counter[str] = Counter()
        sums: Counter[str] = Counter()
        for _, what in self.world_log.events(self.start):
            match what:
                case e.MessagePosted(kind="text"):
                    messages[str(what.sender)] += 1
                    sums["messages"] += 1
                    sums["words"] += what.words
                case e.ReplyReceived():
                    sums["input_tokens"] += what.input_tokens
                    sums["cached_tokens"] += what.cached_tokens
                    sums["output_tokens"] += what.output_tokens
                    sums["errors"] += bool(what.error)
                case e.ActionApplied():
                    sums["actions"] += 1
                case e.ActionRefused():
                    sums["refused"] += 1
                case e.BeatBegun():
                    sums["hud_tokens"] += what.tokens
        names = ("messages", "words", "actions", "refused", "errors", "hud_tokens")
        spent = ("input_tokens", "cached_tokens", "output_tokens")
        world = self.world_log.world
        return {
            "events": [self.start, world.seq],
            "forecast": msgspec.to_builtins(self.forecast),
            "seconds": (self.runner.now() - self.began) / 1000,
            **{name: sums[name] for name in (*names, *spent)},
            "cost": round(world.cost - self.cost, 6),
            "formats": {
                name: {**msgspec.to_builtins(saving), "saved": round(saving.saved, 3)}
                for name, saving in measure_savings(world, self.runner.now(), CachedRenderer()).items()
            },
            **msgspec.to_builtins(figures),
            "said": [
                {"agent": agent.id, "name": agent.name, "messages": messages[str(agent.id)]}
                for agent in world.agents.values()
                if messages[str(agent.id)]
            ],
        }

    def _stop(self, why: str) -> None:
        self.why = self.why or why
        self.runner.stop()

    def _hear(self, what: e.WorldEvent | None) -> None:
        world = self.world_log.world
        if world.paused is not None:
            self._stop(f"paused: {world.paused}")
        elif isinstance(what, e.AgentRetired) and all(agent.retired for agent in world.agents.values()):
            self._stop("nobody is left")
        elif self.end is not None and isinstance(what, e.BeatBegun) and what.composed_at >= self.end:
            self.runner.stop()

    def _look(self, progress: Progress | None) -> None:
        now = self.runner.now()
        if self.end is not None and now >= self.end:
            self.runner.stop()
        if progress is not None:
            done, total = (
                (self.runner.metrics().beats, self.beats)
                if self.beats is not None
                else ((now - self.began) // 1000, ((self.end or now) - self.began) // 1000)
            )
            progress(min(done, total), total, "beats" if self.beats is not None else "seconds")
        if self.prints:
            for event, what in self.world_log.events(self.printed):
                self.printed = event.seq
                print_lines(self._writer.lines(event, what), WORLD_STYLES)
            sys.stdout.flush()


def _lines(facts: dict[str, Any], stopped: str) -> list[str]:
    lines = [f"ended: {stopped}"] if stopped else []
    lines.append(
        f"{plural(facts['beats'], 'beat')} in {_words(facts['seconds'])} of the world's time; "
        f"{facts['skipped']:,} skipped because nothing was new"
    )
    did = ("message", "word"), ("action",)
    spoken, done = (", ".join(plural(facts[f"{word}s"], word) for word in words) for words in did)
    lines.append(f"{spoken}; {done}, {facts['refused']:,} refused")
    if facts["said"]:
        most = sorted(facts["said"], key=lambda speaker: -speaker["messages"])
        some = ", ".join(f"{speaker['name']} {speaker['messages']:,}" for speaker in most[:8])
        lines.append(f"said by: {some}{', …' if len(most) > 8 else ''}")
    tokens = f"HUDs of {facts['hud_tokens']:,} tokens"
    if facts["input_tokens"]:
        tokens += (
            f"; providers counted {facts['input_tokens']:,} in ({facts['cached_tokens']:,} cached), "
            f"{facts['output_tokens']:,} out"
        )
    lines.append(f"{tokens}; ${facts['cost']:.4f}")
    for name, saving in facts["formats"].items():
        share, tokens = f"{saving['saved']:.0%}", f"{saving['json_tokens']:,}"
        lines.append(f"{name} saves {share} of {tokens} tokens in JSON, of HUDs as they are now")
    if facts["late_most"]:
        late = f"late: median {facts['late_median']:.2f} s, 99 of 100 within {facts['late_99']:.2f} s"
        lines.append(f"{late}, {facts['late_most']:.2f} s at most")
    if facts["errors"]:
        lines.append(f"{plural(facts['errors'], 'beat')} failed; `hudkit rooms show` says why")
    return lines


def _words(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{seconds:.0f} s"
