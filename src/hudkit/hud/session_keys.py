"""Keys of sessions in a log: `HOST/ID@PROJECT`, where host and project may be missing.

Example: `opencode/ses_1@3f2a90c1d4e5`. Within a part, `/` and `@` are written as `%2F` and `%40`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from hudkit.lazy import blake2b
from hudkit.paths import git_root

PROJECT_LOG = "hudkit/project"
"""Before the `@`, the key of a project's own log."""

PROJECT_DIGEST_BYTES = 6
"""Bytes that stand for a project: of a million projects, two are alike with a chance of 1 in 500."""


def encode_key_part(name: str) -> str:
    """Return a host's name or id as a part of a session's key, in which `/` and `@` part the others."""
    return name.replace("%", "%25").replace("/", "%2F").replace("@", "%40")


def host_id_of_key(key: str) -> str:
    """Return the host's id in a key, as the host writes it."""
    name = key.partition("@")[0].rpartition("/")[2]
    return name.replace("%40", "@").replace("%2F", "/").replace("%25", "%")


def host_of_key(key: str) -> str:
    """Return the host in a key; empty where a session has none."""
    return key.partition("@")[0].rpartition("/")[0]


def project_of_key(key: str) -> str:
    """Return the project in a key; empty where there is none."""
    return key.partition("@")[2]


def keys_with_id(keys: Iterable[str], session_id: str) -> list[str]:
    """Return the keys, of these, of all sessions with a host's id."""
    name = encode_key_part(session_id)
    return [key for key in keys if key.partition("@")[0].rpartition("/")[2] == name]


def name_among(key: str, keys: Iterable[str]) -> str:
    """Return what names a session among those with `keys`: the host's id, or its key where several have that id, as
    sessions of two hosts may."""
    id = host_id_of_key(key)
    return id if all(other == key for other in keys_with_id(keys, id)) else key


def project_key(path: str | os.PathLike[str]) -> str:
    """Return twelve hex digits that stand for a project: its git root or real path, by device and inode."""
    root = git_root(path)
    try:
        status = root.stat()
        identity = f"{status.st_dev}:{status.st_ino}"  # the same where the project is moved or reached by a link
    except (OSError, ValueError):
        identity = str(root)
    digest = blake2b(identity.encode("utf-8", "surrogateescape"), digest_size=PROJECT_DIGEST_BYTES)
    return digest.hexdigest()
