"""What a person does on the page: forms, validated, each one call of the Architect's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any, TypeAlias, TypeVar

import msgspec

from hudkit.errors import OperationError
from hudkit.rooms.page import forms
from hudkit.rooms.page.desk import Desk
from hudkit.rooms.page.forms import Form
from hudkit.rooms.page.look import Look
from hudkit.rooms.page.sessions import Notice, Session


class Result(msgspec.Struct, frozen=True):
    """What a deed came to: what the person is told, and where the page goes on where not where it was."""

    notice: Notice | None = None
    look: dict[str, Any] = {}
    said: bool = False


F = TypeVar("F", bound=Form)
Run: TypeAlias = Callable[[Desk, F], "Result | Awaitable[Result | None] | None"]


class Deed(msgspec.Struct, frozen=True):
    form: type[Form]
    run: Run[Any]


DEEDS: dict[str, Deed] = {}
"""Every deed by the last part of its address, `/do/<name>`."""


def deed(form: type[F]) -> Callable[[Run[F]], Run[F]]:
    """Register a function as a deed."""

    def register(run: Run[F]) -> Run[F]:
        DEEDS[getattr(run, "__name__", "").strip("_")] = Deed(form, run)
        return run

    return register


async def carry_out(desk: Desk, session: Session, name: str, given: Mapping[str, str], look: Look) -> Look:
    """Do what a form asks for; where the page goes on. What was refused is the session's notice.

    Raises `LookupError` where there is no such deed.
    """
    known = DEEDS[name]
    session.notice = None
    try:
        form = msgspec.convert(dict(given), known.form, strict=False)
        outcome = known.run(desk, form)
        result = (await outcome if isawaitable(outcome) else outcome) or Result()
    except (OperationError, msgspec.ValidationError) as error:
        _tell(session, Notice(str(error), "refused"))
        session.draft = given.get("text", "") if name == "say" else ""
        return look
    _tell(session, result.notice)
    if result.said:
        session.said += 1
        session.draft = ""
    return look.but(**result.look)


def _tell(session: Session, notice: Notice | None) -> None:
    session.notice = notice
    session.told += notice is not None


@deed(forms.Say)
def say(desk: Desk, form: forms.Say) -> Result:
    desk.architect.say(form.room, form.text, form.reply or None)
    return Result(look={"reply": 0, "before": 0}, said=True)


@deed(forms.React)
def react(desk: Desk, form: forms.React) -> None:
    desk.architect.react(form.message, form.reaction)


@deed(forms.OfAgent)
def wake(desk: Desk, form: forms.OfAgent) -> None:
    desk.architect.wake(form.agent)


@deed(forms.Seat)
def admit(desk: Desk, form: forms.Seat) -> None:
    desk.architect.admit(form.agent, form.room)


@deed(forms.Seat)
def remove(desk: Desk, form: forms.Seat) -> None:
    desk.architect.remove(form.agent, form.room)


@deed(forms.Board)
def billboard(desk: Desk, form: forms.Board) -> None:
    desk.architect.set_billboard(form.room, form.text)


@deed(forms.Pace)
def wpm(desk: Desk, form: forms.Pace) -> None:
    desk.architect.set_wpm(form.room, form.wpm)


@deed(forms.NewKey)
def key(desk: Desk, form: forms.NewKey) -> Result:
    made = desk.architect.make_key(form.room, form.label, form.uses)
    return Result(Notice(f"Key {form.label!r} of room {form.room}. It is shown only now:", "secret", made))


@deed(forms.OldKey)
def revoke(desk: Desk, form: forms.OldKey) -> None:
    desk.architect.revoke_key(form.room, form.label)


@deed(forms.Decide)
def grant(desk: Desk, form: forms.Decide) -> None:
    desk.architect.grant(form.request)


@deed(forms.Decide)
def deny(desk: Desk, form: forms.Decide) -> None:
    desk.architect.deny(form.request)


@deed(forms.Tempo)
def tempo(desk: Desk, form: forms.Tempo) -> None:
    desk.architect.set_interval(form.agent, form.interval)


@deed(forms.Nothing)
def pause(desk: Desk, _: forms.Nothing) -> None:
    desk.architect.pause()


@deed(forms.Nothing)
def resume(desk: Desk, _: forms.Nothing) -> None:
    desk.architect.resume()
    if desk.player is not None:
        desk.play()


@deed(forms.Speed)
def speed(desk: Desk, form: forms.Speed) -> None:
    desk.architect.set_speed(form.factor)


@deed(forms.Step)
async def step(desk: Desk, form: forms.Step) -> None:
    await desk.step(form.agent or None)


@deed(forms.Nothing)
async def stop(desk: Desk, _: forms.Nothing) -> None:
    await desk.stop()


@deed(forms.Make)
def make(desk: Desk, form: forms.Make) -> Result:
    made = desk.architect.make_agent(
        form.kind,
        form.name,
        form.background,
        form.model,
        can_create=form.can_create,
        input_format=form.input_format,
        output_format=form.output_format,
        interval=form.interval,
        rooms=(form.room,) if form.room else (),
    )
    name = desk.world_log.world.agents[made].name
    return Result(Notice(f"{name} ({made}) is here."), {"new": False, "agent": made, "room": made, "tab": "hud"})


@deed(forms.Alter)
def alter(desk: Desk, form: forms.Alter) -> Result:
    agent = desk.world_log.world.agents.get(form.agent)
    changed = {
        name: value
        for name, value in msgspec.structs.asdict(form).items()
        if name != "agent" and (agent is None or getattr(agent, name) != value)
    }
    if changed:
        desk.architect.alter(form.agent, **changed)
    return Result(Notice("Saved." if changed else "Nothing was changed."))


@deed(forms.OfAgent)
def retire(desk: Desk, form: forms.OfAgent) -> Result:
    desk.architect.retire(form.agent)
    return Result(Notice(f"Agent {form.agent} was retired; its room stays to be read."))


@deed(forms.Nothing)
def dismiss(_desk: Desk, _: forms.Nothing) -> None:
    """Take the notice away, which every deed does."""
