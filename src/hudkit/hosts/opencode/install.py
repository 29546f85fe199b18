"""Installing the plugin into OpenCode, and taking it out so that everything is as it was before.

What was changed is in a manifest beside the data (`install/opencode.json`): for each configuration file the digests
before and after, and the inserted text. A file that nobody touched since gets back its former bytes; from another one
our entry is taken out, and nothing else.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from hudkit import __version__
from hudkit.errors import ConfigError
from hudkit.hosts.opencode import interpreter, settings
from hudkit.hosts.opencode.jsonc import Edit
from hudkit.hosts.opencode.plugin import Baked, generate
from hudkit.hosts.opencode.writing import contents, digest, remove, write

PLUGIN = Path("plugins", "opencode", "hudkit.js")
MANIFEST = Path("install", "opencode.json")
SCHEMA = 1


class Place(msgspec.Struct, frozen=True):
    """Where to install: the interpreter and its environment (`None`: it is not asked whether that will stay), our
    data, log and socket, the variables of the user, and the project's directory (`None`: for all of the user's)."""

    python: str
    prefix: Path | None
    data: Path
    db: Path
    socket: Path
    env: Mapping[str, str]
    project: Path | None = None

    @property
    def plugin(self) -> Path:
        return self.data / PLUGIN

    @property
    def manifest(self) -> Path:
        return self.data / MANIFEST


class Touched(msgspec.Struct, frozen=True):
    """A configuration that was changed: digests (SHA-256) of the bytes before (`None`: there was no file) and after,
    and the edits that led from one to the other."""

    file: str
    before: str | None
    after: str
    edits: tuple[Edit, ...] = ()
    key: bool = False
    """Whether the list is ours too."""
    made: str = ""
    """The uppermost directory that was made for it."""


class Manifest(msgspec.Struct, frozen=True):
    """What was installed, by which version."""

    schema: int = SCHEMA
    version: str = __version__
    plugin: str = ""
    configurations: tuple[Touched, ...] = ()


class Step(msgspec.Struct, frozen=True):
    """What happens to a file: `create`, `change`, `remove` or `keep`, and the difference for a reader."""

    path: str
    what: str
    diff: str = ""


def install(place: Place, *, dry_run: bool = False) -> tuple[Step, ...]:
    """Write the plugin and list it in OpenCode's configuration; doing it again changes nothing more.

    Raises `ConfigError` before anything is written: the environment will not stay, a configuration cannot be read.
    """
    interpreter.check(place.python, place.prefix, place.env)
    plugin = str(place.plugin)
    known = _manifest(place)
    if known.plugin not in ("", plugin):
        raise ConfigError(f"hudkit is installed from {known.plugin}", hint="Uninstall that one first")
    baked = Baked(place.python, str(place.data), str(place.db), str(place.socket), plugin)
    source = generate(baked)
    files = _read(place)
    listing = (path for path, text in files.items() if text is not None and settings.listed(text, path, plugin))
    config = next(listing, None) or settings.choose(files)
    change = settings.with_plugin(files[config], config, plugin)
    old = _text(place.plugin)
    steps = (_step(place.plugin, settings.Change(old, source)), _step(config, change))
    if dry_run:
        return steps
    if old != source:
        write(place.plugin, source.encode("utf-8"))
    others = tuple(one for one in known.configurations if one.file != str(config))
    if change.before != change.after:
        # The manifest comes first: what a crash leaves behind in the configuration can then still be taken out.
        _keep(place, Manifest(plugin=plugin, configurations=(*others, _touched(config, change))))
        if _text(config) != change.before:
            raise ConfigError(f"{config} was changed by somebody else at this moment", hint="Try again")
        _put(config, change.after, mode=0o644 if place.project else 0o600)
    elif not known.plugin:
        _keep(place, Manifest(plugin=plugin))
    return steps


def uninstall(place: Place, *, dry_run: bool = False) -> tuple[Step, ...]:
    """Take the plugin out of the configuration of the user (or of the project), and remove it where no other
    configuration lists it. Without an installation nothing happens, and nothing is returned.

    Raises `ConfigError` where a configuration cannot be read; nothing is changed then.
    """
    known = _manifest(place)
    plugin = known.plugin or str(place.plugin)
    recorded = {one.file: one for one in known.configurations}
    files = _read(place)
    changes = {
        path: settings.Change(text, _without(path, text, plugin, recorded.get(str(path))))
        for path, text in files.items()
        if text is not None
    }
    changes = {path: change for path, change in changes.items() if change.before != change.after}
    here = {str(path) for path in files}
    left = tuple(one for one in known.configurations if one.file not in here and _still_lists(one, plugin))
    gone = [] if left else [one for one in (Path(plugin), place.manifest) if one.exists()]
    steps = (*(_step(path, change) for path, change in changes.items()), *(Step(str(one), "remove") for one in gone))
    if dry_run:
        return steps
    for path, change in changes.items():
        made = recorded[str(path)].made if str(path) in recorded else ""
        _put(path, change.after, made=Path(made) if made else None)
    if left:
        _keep(place, Manifest(plugin=plugin, configurations=left))
    for one in gone:
        remove(one, upto=place.data)
    return steps


def installed(place: Place) -> Manifest | None:
    """What is installed from this data directory; `None` where nothing is."""
    return _manifest(place) if place.manifest.exists() else None


def _without(path: Path, text: str, plugin: str, recorded: Touched | None) -> str | None:
    """A configuration without our entry: its former bytes where nobody touched it since."""
    if recorded is not None and digest(text.encode("utf-8")) == recorded.after:
        if recorded.before is None:
            return None
        try:
            former = settings.undone(text, recorded.edits)
        except ValueError:
            former = ""
        if digest(former.encode("utf-8")) == recorded.before:
            return former
    change = settings.without_plugin(text, path, plugin, key_too=recorded is not None and recorded.key)
    made = recorded is not None and recorded.before is None
    if made and change.after is not None and settings.is_empty(change.after, path):
        return None
    return change.after


def _still_lists(one: Touched, plugin: str) -> bool:
    path = Path(one.file)
    text = _text(path)
    return text is not None and settings.listed(text, path, plugin)


def _touched(path: Path, change: settings.Change) -> Touched:
    before, after = change.before, change.after or ""
    made = next((each for each in reversed((path, *path.parents)) if not each.exists()), path)
    return Touched(
        file=str(path),
        before=None if before is None else digest(before.encode("utf-8")),
        after=digest(after.encode("utf-8")),
        edits=change.edits,
        key=before is None or any(f'"{settings.KEY}": [' in edit.new for edit in change.edits),
        made="" if made == path else str(made),
    )


def _put(path: Path, text: str | None, *, mode: int = 0o600, made: Path | None = None) -> None:
    if text is None:
        remove(path, upto=made)
    else:
        write(path, text.encode("utf-8"), mode=mode)


def _read(place: Place) -> dict[Path, str | None]:
    return {path: _text(path) for path in settings.candidates(place.env, place.project)}


def _text(path: Path) -> str | None:
    body = contents(path)
    return None if body is None else settings.decoded(body, path)


def _manifest(place: Place) -> Manifest:
    body = contents(place.manifest)
    if body is None:
        return Manifest()
    try:
        return msgspec.json.decode(body, type=Manifest)
    except msgspec.DecodeError as error:
        raise ConfigError(f"{place.manifest} cannot be read ({error})", hint="Move it away and try again") from None


def _keep(place: Place, manifest: Manifest) -> None:
    write(place.manifest, msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")


def _step(path: Path, change: settings.Change) -> Step:
    before, after = change.before, change.after
    if before == after:
        return Step(str(path), "keep")
    what = "create" if before is None else "remove" if after is None else "change"
    old, new = ((text or "").splitlines(keepends=True) for text in (before, after))
    names = [str(path) if text is not None else os.devnull for text in (before, after)]
    found = difflib.unified_diff(old, new, names[0], names[1])
    diff = (line if line.endswith("\n") else f"{line}\n" for line in found)
    return Step(str(path), what, "".join(diff))
