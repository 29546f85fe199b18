"""How hudkit was installed, and the commands that add to it and renew it: `uv tool`, pipx, `uvx`, a checkout, pip.

Many modules name an extra, so this one imports what it reads with when it reads.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

Installer: TypeAlias = Literal["uv tool", "pipx", "uvx", "pip"]

_UV_CACHES = ("archive-v", "environments-v", "builds-v")
"""How the folders of uv's cache begin in which `uvx` makes its environments."""

_EXTRAS = re.compile(r"\[([^\[\]]*)\]")


class Installation(NamedTuple):
    """Who installed hudkit, and from where."""

    installer: Installer
    source: str = ""
    """The address that it was installed from, with its scheme; empty for a package index."""
    checkout: Path | None = None
    """The directory of an installation that can be edited."""
    extras: tuple[str, ...] = ()
    """The extras that the installer has recorded. It would drop them if the next call did not name them."""
    python: str = "python"
    has_pip: bool = True

    def with_extra(self, extra: str) -> str:
        """Return the command that adds an extra; without one, the command that installs hudkit again."""
        wanted = self._requirement(sorted({*self.extras, extra} - {""}))
        match self.installer:
            case "uv tool":
                return f"uv tool install --force {self._editable}{wanted}"
            case "pipx":
                return f"pipx install --force {self._editable}{wanted}"
            case "uvx":
                return f"uvx --from {wanted} hudkit"
        return f"{self._pip_install} {self._editable}{wanted}"

    def lasting(self, extra: str = "") -> str:
        """Return the command that installs hudkit, with an extra, where other programs can start it tomorrow: from an
        environment of `uvx`, of `pipx run` or among temporary files as well."""
        wanted = self._requirement(sorted({*self.extras, extra} - {""}))
        match self.installer:
            case "uv tool" | "pipx":
                return self.with_extra(extra)
            case "uvx":
                return f"uv tool install {wanted}"
        # uv makes environments without pip: who has one has uv
        return f"{'pipx' if self.has_pip else 'uv tool'} install {self._editable}{wanted}"

    def upgrade(self) -> str:
        """Return the command that installs the newest version in the place of this one."""
        match self.installer:
            case "uvx":
                return f"uvx --refresh --from {self._requirement(self.extras)} hudkit"
            case "uv tool":
                command = "uv tool upgrade hudkit"
            case "pipx":
                command = "pipx upgrade hudkit"
            case "pip":
                command = f"{self._pip_install} --upgrade {self._editable}{self._requirement(self.extras)}"
        return f"git -C {shlex.quote(str(self.checkout))} pull && {command}" if self.checkout else command

    @property
    def _pip_install(self) -> str:
        python = shlex.quote(self.python)
        return f"{python} -m pip install" if self.has_pip else f"uv pip install --python {python}"

    @property
    def _editable(self) -> str:
        return "--editable " if self.checkout else ""

    def _requirement(self, extras: Iterable[str]) -> str:
        names = ",".join(extras)
        bracket = f"[{names}]" if names else ""
        if self.checkout:
            return shlex.quote(f"{self.checkout}{bracket}")
        return shlex.quote(f"hudkit{bracket} @ {self.source}" if self.source else f"hudkit{bracket}")


def install_hint(extra: str) -> str:
    """Return the command that adds an extra of hudkit, for the installer in use."""
    return read_installation().with_extra(extra)


def lasting_install_hint(extra: str) -> str:
    """Return the command that installs hudkit with an extra where it stays, for the installer in use."""
    return read_installation().lasting(extra)


def read_installation(prefix: Path | None = None, direct_url: Mapping[str, Any] | None = None) -> Installation:
    """Return how hudkit came into the environment at `prefix` (not given: this one).

    `direct_url` is what the installer wrote beside the package (PEP 610; not given: it is read).
    """
    from importlib.util import find_spec
    from urllib.parse import unquote, urlsplit

    prefix = prefix or Path(sys.prefix)
    facts = _direct_url() if direct_url is None else direct_url
    url = str(facts.get("url", ""))
    editable = bool(facts.get("dir_info", {}).get("editable"))
    vcs = facts.get("vcs_info", {}).get("vcs", "")
    source = f"{vcs}+{url}" if vcs else url
    checkout = Path(unquote(urlsplit(url).path)) if editable else None
    receipt = prefix / "uv-receipt.toml"
    if receipt.is_file():
        return Installation("uv tool", source, checkout, _uv_extras(receipt))
    metadata = prefix / "pipx_metadata.json"
    if metadata.is_file():
        return Installation("pipx", source, checkout, _pipx_extras(metadata))
    if any(part.startswith(_UV_CACHES) for part in prefix.parts):
        return Installation("uvx", source, checkout)
    return Installation("pip", source, checkout, (), sys.executable, find_spec("pip") is not None)


def _direct_url() -> Mapping[str, Any]:
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        facts: Mapping[str, Any] = json.loads(distribution("hudkit").read_text("direct_url.json") or "{}")
        return facts
    except (PackageNotFoundError, ValueError, OSError):
        return {}


def _uv_extras(receipt: Path) -> tuple[str, ...]:
    import tomllib

    try:
        requirements = tomllib.loads(receipt.read_text(encoding="utf-8"))["tool"]["requirements"]
        return tuple(extra for row in requirements if row.get("name") == "hudkit" for extra in row.get("extras", ()))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return ()


def _pipx_extras(metadata: Path) -> tuple[str, ...]:
    import json

    try:
        spec = str(json.loads(metadata.read_text(encoding="utf-8"))["main_package"]["package_or_url"])
    except (OSError, ValueError, LookupError, TypeError):
        return ()
    match = _EXTRAS.search(spec)
    return tuple(extra.strip() for extra in match[1].split(",")) if match else ()
