"""Keys of sessions in a log: `HOST/ID@PROJECT`, where host and project may be missing."""

from __future__ import annotations

from collections.abc import Iterable


def encode_key_part(name: str) -> str:
    """A host's name or id as a part of a session's key, in which `/` and `@` part the others."""
    return name.replace("%", "%25").replace("/", "%2F").replace("@", "%40")


def own_name(key: str) -> str:
    """The host's id in a key, as the host writes it."""
    name = key.partition("@")[0].rpartition("/")[2]
    return name.replace("%40", "@").replace("%2F", "/").replace("%25", "%")


def project_of_key(key: str) -> str:
    """The project in a key; empty where there is none."""
    return key.partition("@")[2]


def keys_with_id(known: Iterable[str], session_id: str) -> list[str]:
    """The keys of all sessions with a host's id."""
    name = encode_key_part(session_id)
    return [one for one in known if one.partition("@")[0].rpartition("/")[2] == name]


def related_key(known: Iterable[str], session_id: str, key: str) -> str | None:
    """The key of the session with this id that belongs to the one with `key`: of the same host, best of the same
    project; `None` where there is none, or several and none of the project."""
    host = key.partition("@")[0].rpartition("/")[0]
    alike = [one for one in keys_with_id(known, session_id) if one.partition("@")[0].rpartition("/")[0] == host]
    near = [one for one in alike if project_of_key(one) == project_of_key(key)]
    chosen = near or alike
    return chosen[0] if len(chosen) == 1 else None
