"""What opening a session takes: its record, its plugins, the rules as they left them, and models by name."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from hudkit.agent.area import Area
from hudkit.agent.client import Client
from hudkit.agent.course import OpenModel, Rules, Setup, settled_rules
from hudkit.agent.hooks import Auth, AuthWanted, Given, Hooks, Models, Settings
from hudkit.agent.plugins import Found, PluginInput, load, owned
from hudkit.agent.records import Mended, Project, Session
from hudkit.errors import ConfigError, SessionError
from hudkit.models import Model, open_model
from hudkit.tokens import Window


class Plugged(NamedTuple):
    """Plugins that could not be registered, whose each tool is, and what the others want called at the end."""

    wrong: list[tuple[str, str]]
    owners: dict[str, str]
    closers: list[tuple[str, Callable[[], object]]]


def opener(
    hooks: Hooks,
    connect: Callable[[str], Model | Awaitable[Model]] | None,
    headers: dict[str, dict[str, str]],
) -> OpenModel:
    """How models are opened by name: each once, with what the hooks `auth` and `provider` say."""
    opened: dict[str, Model] = {}

    async def by_name(name: str) -> Model:
        if name not in opened:
            provider, _, bare = name.partition(":")
            auth = await hooks.run("auth", AuthWanted(provider), Auth())
            more = await hooks.run("provider", AuthWanted(provider), Models())
            if auth.headers:
                headers[name] = dict(auth.headers)
            if connect is not None:
                made = connect(name)
                opened[name] = await made if isinstance(made, Awaitable) else made
            else:
                limits = more.models.get(bare)
                window = None
                if limits is not None and limits.context:
                    window = Window(limits.context, limits.output or None, limits.input or None, "user")
                key, url = auth.api_key or "", auth.base_url or ""
                opened[name] = await asyncio.to_thread(open_model, name, key=key, base_url=url, window=window)
        return opened[name]

    return by_name


async def configured(hooks: Hooks, rules: Rules, wrong: list[tuple[str, str]]) -> Rules:
    """The rules as the hook `config` left them; as they were, where that is wrong."""
    left = await hooks.run("config", Given(), Settings(msgspec.to_builtins(rules)))
    try:
        return settled_rules(left.settings)
    except ConfigError as error:
        wrong.append((", ".join(hooks.using("config")), str(error)))
        return rules


async def plug(
    hooks: Hooks,
    plugins: Sequence[tuple[str, object]],
    found: Iterable[Found],
    given: PluginInput,
    options: Mapping[str, Mapping[str, Any]],
) -> Plugged:
    """Register plugins in order; what cannot be is left out, and said."""
    wrong: list[tuple[str, str]] = []
    owners: dict[str, str] = {}
    closers: list[tuple[str, Callable[[], object]]] = []
    for name, plugin in (*plugins, *((one.name, one) for one in found)):
        try:
            mine = replace(given, options=dict(options.get(name, {})))
            made = await load(plugin, mine)
            hooks.add(name, owned(name, made, owners))
            if not isinstance(made, Mapping) and callable(close := getattr(made, "close", None)):
                closers.append((name, close))
        except ConfigError as error:
            wrong.append((name, str(error)))
    return Plugged(wrong, owners, closers)


def input_of(area: Area, project: Project, client: Client) -> PluginInput:
    return PluginInput(project.id, area.cwd, area.root, client)


async def stored(setup: Setup, id: str, project: Project, area: Area) -> tuple[Session, Mended]:
    """The session of this id, claimed and mended, or a new one."""
    now = setup.outside.clock()
    if id:
        mended = await _resumed(setup, id, now)
        found = setup.store.session(id)
        assert found is not None
        return found, mended
    session = Session(f"ses_{setup.outside.ids()}", project.id, directory=str(area.cwd), created=now, updated=now)
    setup.store.create(session)
    return session, Mended()


async def _resumed(setup: Setup, id: str, now: int) -> Mended:
    """Claim a session. A process that was killed may have left one that is about to become a command: for a moment,
    it still holds the claim. Raises `SessionError`."""
    for _ in range(10):
        try:
            return setup.store.resume(id, now)
        except SessionError:
            if setup.store.session(id) is None:
                raise
            await asyncio.sleep(0.05)
    return setup.store.resume(id, now)


def now() -> int:
    return time.time_ns() // 1_000_000


def uuid7() -> str:
    import uuid_utils

    return uuid_utils.uuid7().hex
