"""The day of `day.toml` as values: steps, what the scripted model answers in each, what must be true after it."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

DAY_FILE = Path(__file__).with_name("day.toml")


class DayTruth(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is true of a session, in the words of the day: each is a text, or words of it."""

    task: str = ""
    constraints: tuple[str, ...] = ()
    preferences: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    """What was true, or never was, and may not be told as true."""


class DayCall(msgspec.Struct, frozen=True):
    """A call of the scripted model: what it does in words that all hosts share (`hud`, `memory`, read, write, edit,
    run, delegate), and its arguments."""

    name: str
    arguments: Mapping[str, Any]


class DayReply(msgspec.Struct, frozen=True):
    """A response of the scripted model; `fill`: the window is full after it."""

    text: str = ""
    calls: tuple[DayCall, ...] = ()
    fill: bool = False


class DayStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step of the day; `truth` is the whole of what is true after it."""

    kind: str
    title: str
    prompt: str = ""
    model: tuple[DayReply, ...] = ()
    child: tuple[DayReply, ...] = ()
    """What the sub-agent's model answers."""
    compacts: bool = False
    answers: tuple[str, ...] = ()
    disk: Mapping[str, str] = {}
    words: Mapping[str, str] = {}
    """What else a kind of step needs: `damaged`, `secret`, `keep`, `drop`."""
    truth: DayTruth = DayTruth()


class Day(msgspec.Struct, frozen=True):
    """The files that the project begins with, and the steps."""

    files: Mapping[str, str]
    steps: tuple[DayStep, ...]


def read_day(file: Path = DAY_FILE) -> Day:
    """Return the day. Raises `ValueError` for what it does not know."""
    facts = tomllib.loads(file.read_text("utf-8"))
    steps: list[DayStep] = []
    truth = DayTruth()
    for step in facts["step"]:
        truth = _changed(truth, step.pop("true", {}))
        words = {name: step.pop(name) for name in ("damaged", "secret", "keep", "drop") if name in step}
        for name in ("model", "child"):
            step[name] = [_reply(reply) for reply in step.get(name, ())]
        steps.append(msgspec.convert({**step, "words": words, "truth": truth}, DayStep))
    files = {name: text.lstrip("\n") for name, text in facts["files"].items()}
    return Day(files, tuple(steps))


def _changed(truth: DayTruth, changes: Mapping[str, Any]) -> DayTruth:
    """What is true after a step that changes it."""
    now: dict[str, Any] = msgspec.structs.asdict(truth)
    for name, value in changes.items():
        if name.endswith("-"):
            now[name[:-1]] = [text for text in now[name[:-1]] if text not in value]
    for name, value in changes.items():
        if name == "gone" or name.endswith("+"):
            now[name.rstrip("+")] = [*now[name.rstrip("+")], *value]
        elif not name.endswith("-"):
            now[name] = value
    return msgspec.convert(now, DayTruth)


def _reply(given: str | Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> DayReply:
    if isinstance(given, str):
        return DayReply(given)
    if isinstance(given, Mapping):
        calls = tuple(map(_call, given["calls"]))
        return DayReply(given.get("text", ""), calls, given.get("fill", False))
    return DayReply(calls=tuple(map(_call, given)))


def _call(given: Mapping[str, Any]) -> DayCall:
    rest = dict(given)
    for router in ("hud", "memory"):
        if router in rest:
            return DayCall(router, {"operation": rest.pop(router), **rest})
    name = rest.pop("do")
    if "command" in rest:
        rest["command"] = rest["command"].replace("{python}", sys.executable)
    return DayCall(name, rest)
