"""Where a user's files are: the log, its companions, the settings; and the list of every file that hudkit makes."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Literal, NamedTuple

from hudkit.errors import ConfigError

PROJECT_FILE = ".hudkit.toml"
"""A project's own settings, at its root."""

FILE_ONLY = "This works on a file; `hudkit log`, `show` and `verify` read a log on a server, as the library does"
"""What is right where a server's URL stands in the place of a file."""

CHAT_HISTORY = "chat-history"
"""What the user typed in `hudkit chat`, in the data directory."""

HOOK_ADDRESS = "hooks.json"
"""Port and token of the daemon's hooks, in the data directory."""


ALWAYS_FILE = "always.toml"
"""What the user made hold in all sessions, or in all of a project; beside the settings."""


class SectionPaths(NamedTuple):
    """The user's folder of custom sections, the file that says which bytes of projects are trusted, and the file of
    what holds in all sessions (`None`: nothing does)."""

    user: Path
    trusted: Path
    always: Path | None = None


def is_server_url(place: object) -> bool:
    """Return whether a log's place is the URL of a PostgreSQL server, and no file."""
    return isinstance(place, str) and place.startswith(("postgresql://", "postgres://"))


def shown_place(place: Path | str) -> str:
    """Return what may be shown of a log's place: of a URL, user, host, port, database and schema, no password."""
    if not isinstance(place, str) or not is_server_url(place):
        return str(place)
    rest, _, query = place.partition("://")[2].partition("#")[0].partition("?")
    authority, _, database = rest.partition("/")
    user, _, hosts = authority.rpartition("@")
    name = user.partition(":")[0]
    schemas = [pair for pair in query.split("&") if pair.startswith("schema=")]
    suffix = f"?{schemas[-1]}" if schemas else ""
    return f"postgresql://{name}{'@' if name else ''}{hosts}/{database}{suffix}"


def data_directory() -> Path:
    """Return the user's data directory: `HUDKIT_DATA`, else the platform's."""
    override = os.environ.get("HUDKIT_DATA")
    return Path(override).absolute() if override else default_data_directory()


def default_data_directory() -> Path:
    """Return the platform's directory for hudkit's data; whatever is in it, it is nobody else's."""
    return _platform_directory("data", ".local/share")


def _platform_directory(kind: Literal["data", "config"], in_home: str) -> Path:
    """Return the user's directory of hudkit for data or settings.

    On Linux it is decided here wherever `XDG_…_HOME` or the home is named as it should be: platformdirs, which knows
    every other case and platform, imports all kinds of archives, and every command asks.
    """
    if sys.platform == "linux":
        named, home = os.environ.get(f"XDG_{kind.upper()}_HOME", ""), os.environ.get("HOME", "")
        if Path(named).is_absolute():
            return Path(named, "hudkit")
        if Path(home).is_absolute():
            return Path(home, in_home, "hudkit")
    import platformdirs

    directories = platformdirs.PlatformDirs("hudkit", appauthor=False)
    return directories.user_data_path if kind == "data" else directories.user_config_path


def log_place() -> Path | str:
    """Return the user's log: its file as `log_path` does, or the URL of a server where `HUDKIT_DB` is one."""
    override = os.environ.get("HUDKIT_DB")
    return override if override and is_server_url(override) else log_path()


def log_path() -> Path:
    """Return the user's log: `HUDKIT_DB`, else `hudkit.db` in the data directory.

    Raises `ConfigError` where `HUDKIT_DB` is a server's URL: as a path, it would put a password into file names.
    """
    override = os.environ.get("HUDKIT_DB")
    if override and is_server_url(override):
        raise ConfigError("HUDKIT_DB names a log on a server", hint=FILE_ONLY)
    return Path(override).absolute() if override else data_directory() / "hudkit.db"


def index_path(log: Path) -> Path:
    """Return the search index that goes with a log: `hudkit.search.db` beside `hudkit.db`."""
    return log.absolute().with_name(f"{log.stem}.search.db")


def conversations_path(log: Path) -> Path:
    """Return where conversations of hosts that keep none are kept: `hudkit.conversations.db` beside `hudkit.db`."""
    return log.absolute().with_name(f"{log.stem}.conversations.db")


def gateway_path(log: Path) -> Path:
    """Return where gateways keep which conversations they know: `hudkit.gateway.db` beside `hudkit.db`."""
    return log.absolute().with_name(f"{log.stem}.gateway.db")


def gateway_switch() -> Path:
    """Return the file whose being there turns the HUD of all gateways off."""
    return data_directory() / "gateway-off"


def spare_name(socket: Path) -> str:
    """Return the name of the socket, in the user's directory among the temporary files, that is used where one cannot
    be made at `socket`: its path is too long, or the home is read-only."""
    from hudkit.lazy import blake2b

    return f"{blake2b(os.fsencode(socket), digest_size=6).hexdigest()}.sock"


def user_config() -> Path:
    """Return where the user's settings would be: `HUDKIT_CONFIG`, else `config.toml` in the platform's directory."""
    override = os.environ.get("HUDKIT_CONFIG")
    if override:
        return Path(override).absolute()
    return _platform_directory("config", ".config") / "config.toml"


def section_paths() -> SectionPaths:
    """Return the places of custom sections and of what holds in all sessions, which are beside the settings; what is
    trusted is among the data."""
    return SectionPaths(user_config().parent / "sections", data_directory() / "trusted-sections", always_path())


def always_path() -> Path:
    """Return where what holds in all sessions of the user is, or would be: beside the settings."""
    return user_config().parent / ALWAYS_FILE


def project_config(start: Path) -> Path | None:
    """Return the settings file of the project that a directory is in; `None` where the project has none.

    It is looked for at the project's git root, or in the directory itself where there is no git root.
    """
    directory = start.absolute()
    candidates = (directory, *directory.parents)
    root = next((candidate for candidate in candidates if os.path.lexists(candidate / ".git")), directory)
    path = root / PROJECT_FILE
    # `lexists`: a broken link is reported when it is opened, not silently passed over.
    return path if os.path.lexists(path) else None


def config_path() -> Path | None:
    """Return the user's settings file where there is one, else `None`.

    A file that `HUDKIT_CONFIG` names is returned even where it is missing: the user expects it to be read.
    """
    path = user_config()
    return path if os.environ.get("HUDKIT_CONFIG") or os.path.lexists(path) else None


def git_root(directory: str | os.PathLike[str]) -> Path:
    """Return the git root that a directory is in, or the directory; links are followed.

    Never raises: a host names any directory, and its call goes on where that one cannot be looked at.
    """
    try:
        real = Path(os.path.realpath(directory))
    except (OSError, ValueError):  # a link that may not be read, a name with a NUL
        real = Path(directory)
    # `Path.exists` raises where one may not look and for a name that is too long; `os.path.exists` says no.
    return next((folder for folder in (real, *real.parents) if os.path.exists(folder / ".git")), real)  # noqa: PTH110


class OwnFile(NamedTuple):
    """A kind of file that hudkit makes.

    `pattern` is below `folder`: the data directory, that of the settings, or that of the log (`hudkit.db` stands for
    the log's own name). `redaction` is what `hudkit redact` does: it takes a text out (`removed`), it names the file
    and exits with 1 (`named`), or there is no text of a session in it (`none`).
    """

    folder: Literal["data", "log", "config"]
    pattern: str
    content: str
    redaction: Literal["removed", "named", "none"]


OWN_FILES: tuple[OwnFile, ...] = (
    OwnFile("log", "hudkit.db", "events, frames that were shown, snapshots", "removed"),
    OwnFile("log", "hudkit.db-*", "what SQLite keeps beside the log (`-wal`, `-shm`, `-journal`)", "removed"),
    OwnFile("log", "hudkit.db.mark", "the high-water mark: numbers and digests", "none"),
    OwnFile("log", "hudkit.db.backup-*", "copies that `hudkit backup` made", "named"),
    OwnFile("log", "hudkit.db*.part-*", "what a backup or repair that was cut off left", "named"),
    OwnFile("log", "hudkit.db.before-*", "the log before a repair or a restore; what another database left", "named"),
    OwnFile("log", "hudkit.db.v*.bak*", "the log as it was before its schema changed", "named"),
    OwnFile("log", "hudkit.search.db*", "passages of transcripts, for search", "removed"),
    OwnFile("log", "hudkit.conversations.db", "what was said in programs, as frameworks hand it over", "removed"),
    OwnFile("log", "hudkit.conversations.db-*", "what SQLite keeps beside it", "removed"),
    OwnFile(
        "log", "hudkit.gateway.db", "which conversations gateways know; calls of the HUD's tools there", "removed"
    ),
    OwnFile("log", "hudkit.gateway.db-*", "what SQLite keeps beside it", "removed"),
    OwnFile("data", "gateway-off", "nothing: while it is there, gateways only relay", "none"),
    OwnFile("log", "exports/*.json", "sessions that were exported", "removed"),
    OwnFile("log", "exports/*.md", "transcripts that were exported", "removed"),
    OwnFile("log", "exports/.*", "an export that was cut off", "named"),
    OwnFile("log", "daemon.log*", "the daemon's log", "removed"),
    OwnFile("log", "token", "the token of the daemon's port", "none"),
    OwnFile("data", f"{HOOK_ADDRESS}*", "port and token of the daemon's hooks", "none"),
    OwnFile("data", "sessions.db", "transcripts of our own agent, what files were before it changed them", "removed"),
    OwnFile("data", "sessions.db-*", "what SQLite keeps beside them", "removed"),
    OwnFile("data", "sessions.db.*-*", "copies of them by backup, or before a restore", "named"),
    OwnFile("data", "sessions.db.claims/*", "locks, named by digests", "none"),
    OwnFile("data", "requests.db", "what our own agent sent to a model", "removed"),
    OwnFile("data", "requests.db-*", "what SQLite keeps beside it", "removed"),
    OwnFile("data", "requests.db.*-*", "copies of it by backup, or before a restore", "named"),
    OwnFile("data", "outputs/*.txt", "outputs of our own agent's tools that were too long for a model", "removed"),
    OwnFile("data", CHAT_HISTORY, "what you typed in `hudkit chat`, for the arrow key", "removed"),
    OwnFile("data", "worlds/*.db", "the logs of the rooms' worlds", "removed"),
    OwnFile("data", "worlds/*.db-*", "what SQLite keeps beside them", "removed"),
    OwnFile("data", "worlds/*.db.mark", "their high-water marks", "none"),
    OwnFile("data", "worlds/*.db.*-*", "copies of worlds before a repair, a restore, or by backup", "named"),
    OwnFile("data", "worlds/*.db.v*.bak*", "worlds before their schema changed", "named"),
    OwnFile("data", "worlds/page-token", "the token of the rooms' page", "none"),
    OwnFile("data", "mcp-token", "the token of the MCP server over HTTP", "none"),
    OwnFile("data", "trusted-sections", "digests of sections that you trusted", "none"),
    OwnFile("data", "trusted-plugins", "digests of plugins that you trusted", "none"),
    OwnFile("data", "frames/*.json*", "the last frame of each session of OpenCode, for its next start", "removed"),
    OwnFile("data", "plugins/opencode/hudkit.js", "the plugin that `hudkit install` wrote", "none"),
    OwnFile("data", "plugins/claude-code/**/*", "the plugin for Claude Code that `hudkit install` wrote", "none"),
    OwnFile("data", "claude-code/*.json", "what the status line of Claude Code shows of a session", "removed"),
    OwnFile("data", "claude-code/.*", "such a file that was cut off", "named"),
    OwnFile("data", "install/*.json", "what `hudkit install` changed", "none"),
    OwnFile("data", "run/daemon.sock*", "the daemon's socket and its lock", "none"),
    OwnFile("config", ALWAYS_FILE, "what you made hold in all sessions with `hudkit review`", "removed"),
)
"""Every file that hudkit makes of its own, in one place: `redact`, `uninstall --purge`, `doctor` and SECURITY.md
go by it. The settings and custom sections are the user's own and not in it; a settings file that is as `config init`
wrote it goes with the purge all the same."""


def own_folders() -> tuple[str, ...]:
    """Return the folders below the data directory that hudkit makes for its files, inner ones first."""
    below_data = [kind for kind in OWN_FILES if kind.folder != "config"]
    parents = {str(folder) for kind in below_data for folder in PurePath(kind.pattern).parents}
    return tuple(sorted(parents - {"."}, key=lambda name: (-name.count("/"), name)))


def own_files(data: Path, log: Path) -> Iterator[tuple[OwnFile, Path]]:
    """Yield every file of hudkit that is there, links included, with its kind; each once."""
    seen: set[Path] = set()
    folders = {"data": data, "log": log.absolute().parent, "config": user_config().parent}
    for kind in OWN_FILES:
        folder = folders[kind.folder]
        pattern = kind.pattern
        if kind.folder == "log":
            # A log may have any name, and a name may hold what is a pattern elsewhere.
            names = {
                "hudkit.search.db": index_path(log).name,
                "hudkit.conversations.db": conversations_path(log).name,
                "hudkit.gateway.db": gateway_path(log).name,
                "hudkit.db": log.name,
            }
            stands_for = next((name for name in names if pattern.startswith(name)), "")
            if stands_for:
                pattern = glob.escape(names[stands_for]) + pattern[len(stands_for) :]
        for path in sorted(folder.glob(pattern)):
            if path not in seen and (path.is_symlink() or not path.is_dir()):
                seen.add(path)
                yield kind, path
