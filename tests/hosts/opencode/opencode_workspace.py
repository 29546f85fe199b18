"""What an isolated OpenCode stands on: folders, configuration, environment, and the ends of its processes."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PROVIDER, MODEL = "fake", "m"
PACKAGES = {"openai": "@ai-sdk/openai-compatible", "anthropic": "@ai-sdk/anthropic", "gemini": "@ai-sdk/google"}

_DISABLED = ("MODELS_FETCH", "AUTOUPDATE", "SHARE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "EMBEDDED_WEB_UI")
_LOCK = '{"lockfileVersion":3,"requires":true,"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}'


def lay_out(place: Path, project: Path) -> None:
    """The folders. In each that is a configuration folder OpenCode would npm-install its plugin package at start
    and wait for it, were it not told that it is there. The list of all models in the world, which it would read for
    each project in a second or more of the processor's, is empty: what it needs is in its configuration."""
    for name in ("home", "data", "cache", "state", "tmp", "logs"):
        (place / name).mkdir(parents=True, exist_ok=True)
    (place / "models.json").write_text("{}")
    for folder in (place / "config/opencode", place / "home/.opencode", project / ".opencode"):
        (folder / "node_modules").mkdir(parents=True, exist_ok=True)
        (folder / "package-lock.json").write_text(_LOCK)


def environment(place: Path, model_url: str, mark: str) -> dict[str, str]:
    """Nothing of the caller's but PATH; every way out leads to the model's server, which refuses it."""
    names = {"HOME": "home", "TMPDIR": "tmp"}
    names |= {f"XDG_{kind.upper()}_HOME": kind for kind in ("data", "config", "cache", "state")}
    return {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "GIT_CONFIG_NOSYSTEM": "1",
        **{name: os.environ[name] for name in ("HUDKIT_TEST_RUN",) if name in os.environ},
        "HUDKIT_TEST_MARK": mark,
        "OPENCODE_MODELS_PATH": str(place / "models.json"),
        "npm_config_registry": f"{model_url}/npm/",
        **{name: str(place / folder) for name, folder in names.items()},
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), model_url),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost,::1"),
        **{f"OPENCODE_DISABLE_{name}": "1" for name in _DISABLED},
    }


def strays(mark: str) -> list[int]:
    """The processes of an OpenCode that are still there, known by the mark in their environment (Linux only)."""
    needle, found = f"HUDKIT_TEST_MARK={mark}\0".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if needle in (folder / "environ").read_bytes() and "\nState:\tZ" not in (folder / "status").read_text():
                found.append(int(folder.name))
    return found


def kill_strays(mark: str) -> list[int]:
    """Kills them and gives those that were there."""
    found = strays(mark)
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return found


def configuration(
    model_url: str, shape: str, limit: tuple[int, int], plugins: Sequence[Path | str]
) -> dict[str, Any]:
    name = f"{PROVIDER}/{MODEL}"
    model = {"name": MODEL, "tool_call": True, "limit": {"context": limit[0], "output": limit[1]}}
    provider = {
        "npm": PACKAGES[shape],
        "name": "Fake",
        "options": {"baseURL": f"{model_url}/v1", "apiKey": "x"},
        "models": {MODEL: model},
    }
    return {
        "model": name,
        "small_model": name,
        "autoupdate": False,
        "share": "disabled",
        "enabled_providers": [PROVIDER],
        "lsp": False,
        "formatter": False,
        "permission": {"*": "allow"},
        "plugin": [str(path) for path in plugins],
        "provider": {PROVIDER: provider},
    }


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Both objects; where both have an object it is merged too, else `above` wins."""
    both = {
        key: merged(below[key], value)
        for key, value in above.items()
        if isinstance(value, Mapping) and isinstance(below.get(key), Mapping)
    }
    return {**below, **above, **both}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def end(process: subprocess.Popen[bytes], patience: float = 3.0) -> None:
    """Ends a process and everything in its session: gently, then not."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
