"""The call that runs the plugins of a hook in order, keeps each one's faults to itself, and names them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec

from hudkit.agent.hooks.fitting import fitting
from hudkit.agent.hooks.points import HOOKS, Given, Output
from hudkit.agent.hooks.threads import AnyHook, Kind, PluginFault, PluginThread
from hudkit.compose.visible_text import shorten, visible
from hudkit.errors import ConfigError

MOST_FAILURES = 200

PATIENCE: Mapping[Kind, int] = {"time-out": 3, "stuck": 20}
"""Calls without an answer in time after which a plugin is set aside; each costs its limit, or a tenth of a second.

All hooks of a plugin are counted together, and an answer in time clears only what its own hook has cost: a quick hook
does not excuse one that always hangs, and a hook that is slow now and then is forgiven."""

_ECHO = 200

Out = TypeVar("Out", bound=Output)


class Failure(msgspec.Struct, frozen=True):
    """A call whose changes were dropped: whose, where, how and, in one line, what was wrong."""

    plugin: str
    hook: str
    kind: Kind
    message: str


class Hooks:
    """The registered plugins of one host. `told` is called with each failure, besides `failures`."""

    def __init__(self, *, told: Callable[[Failure], None] | None = None, seconds: float | None = None) -> None:
        self._plugins: list[PluginThread] = []
        self._told = told
        self._seconds = seconds
        self._late: dict[str, list[tuple[str, Kind]]] = {}
        self._aside: set[str] = set()
        self.failures: deque[Failure] = deque(maxlen=MOST_FAILURES)

    def add(self, name: str, plugin: object) -> tuple[str, ...]:
        """Register a plugin behind the others; the names of its hooks.

        Raises `ConfigError`: no hook, a misspelt one, or the name of another plugin.
        """
        if any(one.name == name for one in self._plugins):
            raise ConfigError(f"a plugin named {_echo(name)} is registered already")
        calls = _hooks_of(name, plugin)
        self._plugins.append(PluginThread(name, calls))
        return tuple(calls)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self._plugins)

    def using(self, hook: str) -> tuple[str, ...]:
        """The plugins that have this hook, in the order in which they run."""
        return tuple(one.name for one in self._plugins if hook in one.calls)

    @property
    def aside(self) -> frozenset[str]:
        """The plugins that answered too late too often: no hook of theirs is run any more."""
        return frozenset(self._aside)

    async def run(self, hook: str, given: Given, output: Out) -> Out:
        """Run a hook; `output` as the plugins left it (the same object, changed). No plugin's fault is raised."""
        spec = HOOKS[hook]
        if not isinstance(given, spec.given) or not isinstance(output, spec.output):
            raise TypeError(f"{hook} takes a {spec.given.__name__} and a {spec.output.__name__}")
        for plugin in tuple(self._plugins):
            call = plugin.calls.get(hook)
            if call is None or plugin.name in self._aside:
                continue
            draft = fitting(output, spec.output)
            try:
                await plugin.run(call, (fitting(given, type(given)), draft), self._seconds or spec.seconds)
                taken = fitting(draft, type(output))
            except PluginFault as fault:
                self._faulty(plugin.name, hook, fault)
                continue
            self._answered(plugin.name, hook)
            for field in output.__struct_fields__:
                setattr(output, field, getattr(taken, field))
        return output

    async def within(self, name: str, call: Callable[..., Any], *given: object, seconds: float) -> Any:
        """What a function of the plugin `name` returns, run where its hooks run: tools of plugins go through here.

        Raises `PluginFault` for whatever the function does wrong, and where the plugin is set aside.
        """
        if name in self._aside:
            raise PluginFault("aside", f"the plugin {_echo(name)} is set aside: it was too often too late")
        plugin = next(one for one in self._plugins if one.name == name)
        try:
            answer = await plugin.run(call, given, seconds)
        except PluginFault as fault:
            self._faulty(name, "tool", fault)
            raise
        self._answered(name, "tool")
        return answer

    async def end(self, name: str, call: Callable[[], object], *, seconds: float) -> None:
        """Call a plugin's last function where its hooks ran, also where it is set aside; a fault is only told."""
        plugin = next(one for one in self._plugins if one.name == name)
        try:
            await plugin.run(call, (), seconds)
        except PluginFault as fault:
            self._failed(Failure(name, "close", fault.kind, shorten(visible(fault.said), _ECHO)))

    def close(self) -> None:
        """Let go of the plugins' threads; what still runs in them is left alone."""
        for plugin in self._plugins:
            plugin.close()
        self._plugins.clear()

    def _faulty(self, name: str, hook: str, fault: PluginFault) -> None:
        """Tell a fault, and set the plugin aside where it has cost too much time."""
        self._failed(Failure(name, hook, fault.kind, shorten(visible(fault.said), _ECHO)))
        if fault.kind not in PATIENCE:
            self._answered(name, hook)
            return
        if name in self._aside:
            return
        late = self._late.setdefault(name, [])
        late.append((hook, fault.kind))
        count = sum(kind == fault.kind for _, kind in late)
        if count >= PATIENCE[fault.kind]:
            self._aside.add(name)
            said = f"set aside for the rest of the session after {count} calls without an answer in time"
            self._failed(
                Failure(name, hook, "aside", f"{said}: its hooks are skipped, its tools answer with an error")
            )

    def _answered(self, name: str, hook: str) -> None:
        if late := self._late.get(name):
            self._late[name] = [one for one in late if one[0] != hook]

    def _failed(self, failure: Failure) -> None:
        self.failures.append(failure)
        if self._told is not None:
            self._told(failure)


def _hooks_of(name: str, plugin: object) -> dict[str, AnyHook]:
    if isinstance(plugin, Mapping):
        found = dict(plugin)
    else:
        public = (word for word in dir(plugin) if not word.startswith("_"))
        found = {word: getattr(plugin, word) for word in public if callable(getattr(plugin, word, None))}
    calls = {word: found[word] for word in HOOKS if callable(found.get(word))}
    for word in found:
        near = get_close_matches(str(word), HOOKS, 1, 1.0 if isinstance(plugin, Mapping) else 0.85)
        if word not in calls and (near or isinstance(plugin, Mapping)):
            close = near or get_close_matches(str(word), HOOKS, 1)
            hint = f"Did you mean {close[0]}?" if close else f"The hooks are {', '.join(HOOKS)}"
            raise ConfigError(f"plugin {_echo(name)} has {_echo(word)}, which is no hook", hint=hint)
    if not calls:
        raise ConfigError(f"plugin {_echo(name)} has no hook", hint=f"The hooks are {', '.join(HOOKS)}")
    return calls


def _echo(word: object) -> str:
    return repr(shorten(visible(str(word)), 80))
