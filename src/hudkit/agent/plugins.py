"""Plugins from outside: found by entry point and by file, let in by their bytes, and made into objects with hooks.

A file of the user's own runs. A file of a project runs only where the user trusts its very bytes (`trust`): a
repository is somebody else's text. What is run are the bytes that were looked at, not the file a moment later.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, TypeAlias

import msgspec

from hudkit.agent.client import Client
from hudkit.agent.hooks import HOOKS, Tools, ToolsWanted
from hudkit.compose import shorten, visible
from hudkit.errors import ConfigError
from hudkit.sections.sandboxed.files import Places, root_of, trusted, write_trust

GROUP = "hudkit.plugins"
"""The entry point group: each names a function that takes a `PluginInput` and returns an object with hooks."""

FOLDER = Path(".hudkit") / "plugins"
"""Where a project keeps plugins, below its root."""

FUNCTION = "plugin"
"""The function of a plugin's file."""

MOST_BYTES = 256 * 1024
MOST_FILES = 32
SECONDS = 20.0
"""The most that loading one plugin may take."""

Origin: TypeAlias = Literal["entry point", "user", "project"]


class PluginInput(msgspec.Struct, frozen=True):
    """What a plugin is made of: the project's key, the working directory, the project's root (`worktree`), the client
    by which it can ask the session, and its options from the configuration."""

    project: str
    directory: Path
    worktree: Path
    client: Client
    options: dict[str, Any] = {}


class Found(msgspec.Struct, frozen=True):
    """A plugin that was found: where, with which bytes (`digest`, SHA-256), whether it may run, what is `wrong`."""

    name: str
    origin: Origin
    path: Path | None = None
    entry: EntryPoint | None = None
    raw: bytes = b""
    digest: str = ""
    trusted: bool = True
    wrong: str = ""


def discover(places: Places, project: Path | None = None, *, entries: bool = True) -> tuple[Found, ...]:
    """The plugins there are, whether they may run or not: installed ones by name, the user's, the project's.

    `places.user` is the user's folder of plugins, `places.trusted` says which bytes are trusted. Never raises, and
    runs nothing of a plugin.
    """
    found: list[Found] = []
    if entries:
        named = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
        found += [Found(entry.name, "entry point", entry=entry) for entry in named]
    known = trusted(places.trusted)
    found += [_looked_at(path, "user", known) for path in _files(places.user)]
    if project is not None:
        found += [_looked_at(path, "project", known) for path in _files(root_of(project) / FOLDER)]
    return tuple(found)


def trust(path: Path, places: Places) -> Found:
    """Trust a plugin's bytes as they are now; changed bytes are others. Raises `ConfigError`."""
    found = _looked_at(path.absolute(), "project", trusted(places.trusted))
    if found.wrong and found.digest == "":
        raise ConfigError(found.wrong)
    if not found.trusted:
        write_trust(places, found.digest, path.absolute())
    return msgspec.structs.replace(found, trusted=True, wrong="")


async def load(plugin: object, given: PluginInput) -> object:
    """The object with hooks that a plugin is. Raises `ConfigError` that says why there is none."""
    if isinstance(plugin, Found):
        plugin = await _called(_function_of, plugin)
    if inspect.isfunction(plugin) or inspect.ismethod(plugin) or isinstance(plugin, type):
        plugin = await _called(plugin, given)
        if inspect.isawaitable(plugin):
            try:
                plugin = await asyncio.wait_for(plugin, SECONDS)
            except Exception as error:
                raise _failed(error) from error
    if plugin is None:
        raise ConfigError("the plugin's function returned nothing", hint="Return an object with hooks")
    return plugin


def owned(name: str, plugin: object, owners: dict[str, str]) -> object:
    """The plugin with its hook `tool` noting its own tools in `owners`; one that is taken is not replaced."""
    own = plugin.get("tool") if isinstance(plugin, Mapping) else getattr(plugin, "tool", None)
    if not callable(own):
        return plugin

    async def tool(given: ToolsWanted, output: Tools) -> None:
        before = dict(output.tools)
        made = own(given, output)
        if inspect.isawaitable(made):
            await made
        new = [key for key in output.tools if key not in before and owners.get(key, name) == name]
        output.tools = {**{key: output.tools[key] for key in new}, **before}
        owners.update(dict.fromkeys(new, name))

    return {**_hooks(plugin), "tool": tool}


def _hooks(plugin: object) -> dict[str, Callable[..., Any]]:
    """A plugin's hooks by name; an object's other methods are its own affair."""
    if isinstance(plugin, Mapping):
        return dict(plugin)
    return {word: getattr(plugin, word) for word in HOOKS if callable(getattr(plugin, word, None))}


async def _called(function: Callable[..., Any], given: object) -> Any:
    """What a function of a plugin returns, run beside the loop and not longer than it may."""
    try:
        return await asyncio.wait_for(asyncio.to_thread(function, given), SECONDS)
    except ConfigError:
        raise
    except TimeoutError:
        raise ConfigError(f"the plugin was not loaded within {SECONDS:g} s") from None
    except (Exception, SystemExit) as error:
        raise _failed(error) from error


def _failed(error: BaseException) -> ConfigError:
    return ConfigError(f"the plugin failed: {type(error).__name__}: {shorten(visible(str(error)), 300)}")


def _function_of(found: Found) -> object:
    if found.wrong:
        raise ConfigError(found.wrong)
    if found.entry is not None:
        return found.entry.load()
    if not found.trusted:
        raise ConfigError(f"{found.path} is not trusted", hint="Read it; then trust its bytes as they are now")
    module = ModuleType(f"hudkit_plugin_{found.name}")
    module.__file__ = str(found.path)
    sys.modules[module.__name__] = module
    exec(compile(found.raw, str(found.path), "exec"), module.__dict__)
    function = getattr(module, FUNCTION, None)
    if not callable(function):
        raise ConfigError(f"{found.path} has no function {FUNCTION}", hint=f"def {FUNCTION}(given): return {{…}}")
    return function


def _files(folder: Path) -> Iterable[Path]:
    try:
        found = sorted(
            path for path in folder.iterdir() if path.suffix == ".py" and not path.name.startswith((".", "_"))
        )
    except OSError:
        return ()
    return found[:MOST_FILES]


def _looked_at(path: Path, origin: Origin, known: frozenset[str]) -> Found:
    """A file as it is now: a link, a pipe, what others can write, and what is too long are no plugins."""
    name = visible(path.stem)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            about = os.fstat(fd)
            if not stat.S_ISREG(about.st_mode):
                return Found(name, origin, path, trusted=False, wrong=f"{path.name} is not a file")
            if origin == "user" and (about.st_uid != os.geteuid() or about.st_mode & 0o022):
                return Found(name, origin, path, trusted=False, wrong=f"{path.name} can be written by others")
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        return Found(name, origin, path, trusted=False, wrong=f"{path.name} cannot be read: {error.strerror}")
    if len(raw) > MOST_BYTES:
        return Found(name, origin, path, trusted=False, wrong=f"{path.name} has more than {MOST_BYTES:,} bytes")
    digest = sha256(raw).hexdigest()
    return Found(name, origin, path, raw=raw, digest=digest, trusted=origin == "user" or digest in known)
