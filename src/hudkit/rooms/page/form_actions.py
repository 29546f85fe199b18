"""What a person does on the page: each form with its fields, validated, is one call of the Architect.

The name of an action is the last part of its address, `/do/<name>`; the fields of its form are those of a struct.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from hudkit.errors import ConfigError, OperationError
from hudkit.rooms import world_events as e
from hudkit.rooms.page.login import LoginSession, Notice
from hudkit.rooms.page.page_context import PageContext
from hudkit.rooms.page.served_worlds import ServedWorlds
from hudkit.rooms.page.url_state import UrlState

_Number = Annotated[int, Meta(ge=0, le=2**53)]
_Id = Annotated[int, Meta(ge=1, le=2**53)]
_Model = Annotated[str, Meta(min_length=1, max_length=200)]
_OutputFormat: TypeAlias = Literal["json", "toon"]


class _Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Root of the fields of forms."""


class _EmptyForm(_Form, frozen=True):
    pass


class _SayForm(_Form, frozen=True):
    room: _Id
    text: str
    reply: _Number = 0


class _ReactForm(_Form, frozen=True):
    message: _Id
    reaction: e.Reaction


class _AgentForm(_Form, frozen=True):
    agent: _Id


class _MemberForm(_Form, frozen=True):
    agent: _Number
    room: _Id


class _BillboardForm(_Form, frozen=True):
    room: _Id
    text: str = ""


class _WpmForm(_Form, frozen=True):
    room: _Id
    wpm: _Id


class _NewKeyForm(_Form, frozen=True):
    room: _Id
    label: str
    uses: Annotated[int, Meta(ge=0, le=1000)] = 0


class _KeyForm(_Form, frozen=True):
    room: _Id
    label: str


class _RequestForm(_Form, frozen=True):
    request: _Id


class _IntervalForm(_Form, frozen=True):
    agent: _Id
    interval: float


class _SpeedForm(_Form, frozen=True):
    factor: float


class _StepForm(_Form, frozen=True):
    agent: _Number = 0


class _NewAgentForm(_Form, frozen=True):
    kind: e.AgentKind
    background: str
    model: _Model
    name: str = ""
    interval: float = 5.0
    can_create: bool = False
    input_format: e.HudFormat = "json"
    output_format: _OutputFormat = "json"
    room: _Number = 0


class _AlterForm(_Form, frozen=True):
    agent: _Id
    name: str
    background: str
    model: _Model
    input_format: e.HudFormat
    output_format: _OutputFormat
    can_create: bool = False


class _ForkForm(_Form, frozen=True):
    name: Annotated[str, Meta(min_length=1, max_length=100)]
    seq: _Id


class _OpenForm(_Form, frozen=True):
    world: Annotated[str, Meta(min_length=1, max_length=100)]


class _Outcome(msgspec.Struct, frozen=True):
    """What an action came to: what the person is told, and what the next page shows where it is not the same."""

    notice: Notice | None = None
    url_changes: dict[str, Any] = {}
    message_sent: bool = False


_F = TypeVar("_F", bound=_Form)
_Run: TypeAlias = Callable[[PageContext, _F], "_Outcome | Awaitable[_Outcome | None] | None"]
_WorldsRun: TypeAlias = Callable[[ServedWorlds, LoginSession, _F], "_Outcome | None"]


class _FormAction(msgspec.Struct, frozen=True):
    form: type[_Form]
    run: Callable[..., Any]
    on_worlds: bool = False
    """Whether it is about which world is looked at: then it gets all of them, and the session."""


async def run_form_action(
    worlds: ServedWorlds, session: LoginSession, name: str, fields: Mapping[str, str], url: UrlState
) -> UrlState:
    """Do what a form asks for, and return what the next page shows. What was refused is the session's notice.

    Raises `LookupError` where there is no such action.
    """
    action = _ACTIONS[name]
    session.notice = None
    try:
        form = msgspec.convert(dict(fields), action.form, strict=False)
        if action.on_worlds:
            result = action.run(worlds, session, form)
        else:
            result = action.run(worlds.context(session.world), form)
        outcome = (await result if isawaitable(result) else result) or _Outcome()
    except (OperationError, ConfigError, msgspec.ValidationError) as error:
        _notify(session, Notice(str(error), "refused"))
        session.draft = fields.get("text", "") if name == "say" else ""
        return url
    _notify(session, outcome.notice)
    if outcome.message_sent:
        session.posted += 1
        session.draft = ""
    return url.copy_with(**outcome.url_changes)


def is_form_action(name: str) -> bool:
    """Return whether there is an action of this name."""
    return name in _ACTIONS


def _notify(session: LoginSession, notice: Notice | None) -> None:
    session.notice = notice
    session.notices += notice is not None


_ACTIONS: dict[str, _FormAction] = {}
"""Every action by its name."""


def _worlds_action(form: type[_F]) -> Callable[[_WorldsRun[_F]], _WorldsRun[_F]]:
    """Register a function as an action on which world is looked at."""

    def register(run: _WorldsRun[_F]) -> _WorldsRun[_F]:
        _ACTIONS[getattr(run, "__name__", "").strip("_")] = _FormAction(form, run, on_worlds=True)
        return run

    return register


def _form_action(form: type[_F]) -> Callable[[_Run[_F]], _Run[_F]]:
    """Register a function as an action; its name without the `_` before it is the action's."""

    def register(run: _Run[_F]) -> _Run[_F]:
        _ACTIONS[getattr(run, "__name__", "").strip("_")] = _FormAction(form, run)
        return run

    return register


@_form_action(_SayForm)
def _say(context: PageContext, form: _SayForm) -> _Outcome:
    context.architect.say(form.room, form.text, form.reply or None)
    return _Outcome(url_changes={"reply": 0, "before": 0}, message_sent=True)


@_form_action(_ReactForm)
def _react(context: PageContext, form: _ReactForm) -> None:
    context.architect.react(form.message, form.reaction)


@_form_action(_AgentForm)
def _wake(context: PageContext, form: _AgentForm) -> None:
    context.architect.wake(form.agent)


@_form_action(_MemberForm)
def _admit(context: PageContext, form: _MemberForm) -> None:
    context.architect.admit(form.agent, form.room)


@_form_action(_MemberForm)
def _remove(context: PageContext, form: _MemberForm) -> None:
    context.architect.remove(form.agent, form.room)


@_form_action(_BillboardForm)
def _billboard(context: PageContext, form: _BillboardForm) -> None:
    context.architect.set_billboard(form.room, form.text)


@_form_action(_WpmForm)
def _wpm(context: PageContext, form: _WpmForm) -> None:
    context.architect.set_wpm(form.room, form.wpm)


@_form_action(_NewKeyForm)
def _key(context: PageContext, form: _NewKeyForm) -> _Outcome:
    secret = context.architect.make_key(form.room, form.label, form.uses)
    # The log has only its digest: what is not copied now cannot be seen again.
    return _Outcome(Notice(f"Key {form.label!r} of room {form.room}. It is shown only now:", "secret", secret))


@_form_action(_KeyForm)
def _revoke(context: PageContext, form: _KeyForm) -> None:
    context.architect.revoke_key(form.room, form.label)


@_form_action(_RequestForm)
def _grant(context: PageContext, form: _RequestForm) -> None:
    context.architect.grant(form.request)


@_form_action(_RequestForm)
def _deny(context: PageContext, form: _RequestForm) -> None:
    context.architect.deny(form.request)


@_form_action(_IntervalForm)
def _tempo(context: PageContext, form: _IntervalForm) -> None:
    context.architect.set_interval(form.agent, form.interval)


@_form_action(_EmptyForm)
def _pause(context: PageContext, _: _EmptyForm) -> None:
    context.pause()


@_form_action(_EmptyForm)
def _resume(context: PageContext, _: _EmptyForm) -> None:
    context.resume()


@_form_action(_SpeedForm)
def _speed(context: PageContext, form: _SpeedForm) -> None:
    context.set_speed(form.factor)


@_form_action(_StepForm)
async def _step(context: PageContext, form: _StepForm) -> None:
    await context.step(form.agent or None)


@_form_action(_EmptyForm)
async def _stop(context: PageContext, _: _EmptyForm) -> None:
    await context.stop()


@_form_action(_NewAgentForm)
def _make(context: PageContext, form: _NewAgentForm) -> _Outcome:
    agent = context.architect.make_agent(
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
    name = context.world_log.world.agents[agent].name
    return _Outcome(Notice(f"{name} ({agent}) is here."), {"new": False, "agent": agent, "room": agent, "tab": "hud"})


@_form_action(_AlterForm)
def _alter(context: PageContext, form: _AlterForm) -> _Outcome:
    # A form sends all its fields; only what differs may be recorded as a change.
    agent = context.world_log.world.agents.get(form.agent)
    changed = {
        name: value
        for name, value in msgspec.structs.asdict(form).items()
        if name != "agent" and (agent is None or getattr(agent, name) != value)
    }
    if changed:
        context.architect.alter(form.agent, **changed)
    return _Outcome(Notice("Saved." if changed else "Nothing was changed."))


@_form_action(_AgentForm)
def _retire(context: PageContext, form: _AgentForm) -> _Outcome:
    context.architect.retire(form.agent)
    return _Outcome(Notice(f"Agent {form.agent} was retired; its room stays to be read."))


@_worlds_action(_ForkForm)
def _fork(worlds: ServedWorlds, session: LoginSession, form: _ForkForm) -> _Outcome:
    parent = worlds.context(session.world)
    session.look_at(worlds.fork(parent, form.name, form.seq))
    text = f"{form.name} is a world of its own, with what happened up to event {form.seq:,}. Play lets it go on."
    return _Outcome(Notice(text), {"seq": 0, "reply": 0, "thread": 0, "before": 0, "new": False})


@_worlds_action(_OpenForm)
def _open(worlds: ServedWorlds, session: LoginSession, form: _OpenForm) -> _Outcome:
    session.look_at(worlds.open(form.world))
    return _Outcome(url_changes=msgspec.structs.asdict(UrlState()))


@_worlds_action(_EmptyForm)
def _understood(_worlds: ServedWorlds, session: LoginSession, _: _EmptyForm) -> None:
    session.knows = True


@_form_action(_EmptyForm)
def _dismiss(_context: PageContext, _: _EmptyForm) -> None:
    """Take the notice away, which every action does."""
