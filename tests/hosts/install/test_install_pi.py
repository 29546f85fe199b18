"""Installing the extension into a home and taking it out again: nothing else changes, and nothing is left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudkit import __version__
from hudkit.errors import ConfigError
from hudkit.hosts.opencode.plugin_install import PluginTarget
from hudkit.hosts.pi.extension_install import PiTarget, install, read_installed, renew_extension, uninstall

pytestmark = pytest.mark.slow


@pytest.fixture
def target(there: PluginTarget) -> PiTarget:
    return PiTarget(there.python, None, there.data, there.db, there.socket, there.env)


def tree(home: Path) -> dict[str, bytes | None]:
    """Every path of a home, with the contents of files."""
    return {str(path.relative_to(home)): path.read_bytes() if path.is_file() else None for path in home.rglob("*")}


def test_a_home_without_pi(home: Path, target: PiTarget) -> None:
    (step,) = install(target, dry_run=True)
    assert step.what == "create" and tree(home) == {}
    install(target)
    assert target.extension == home / ".pi/agent/extensions/hudkit.js"
    assert target.extension.read_text().startswith(f"// hudkit {__version__} for pi.")
    (step,) = install(target)
    assert step.what == "keep", "doing it again changes nothing"
    uninstall(target)
    assert tree(home) == {}
    assert uninstall(target) == ()


def test_what_the_user_has_in_pi_stays(home: Path, target: PiTarget) -> None:
    own = home / ".pi/agent/extensions/own.ts"
    own.parent.mkdir(parents=True)
    own.write_text("export default function () {}\n")
    before = tree(home)
    install(target)
    uninstall(target)
    assert tree(home) == before


def test_another_extension_of_that_name_is_not_written_over(home: Path, target: PiTarget) -> None:
    target.extension.parent.mkdir(parents=True)
    target.extension.write_text("export default function () {}\n")
    before = tree(home)
    with pytest.raises(ConfigError, match="not ours"):
        install(target)
    assert tree(home) == before


def test_pi_may_have_its_folder_elsewhere(home: Path, there: PluginTarget) -> None:
    env = {**there.env, "PI_CODING_AGENT_DIR": str(home / "elsewhere")}
    target = PiTarget(there.python, None, there.data, there.db, there.socket, env)
    install(target)
    assert (home / "elsewhere/extensions/hudkit.js").exists()
    uninstall(PiTarget(there.python, None, there.data, there.db, there.socket, there.env))
    assert tree(home) == {}, "the manifest says where it was"


def test_an_extension_that_an_upgrade_left_behind_is_written_anew(target: PiTarget) -> None:
    install(target)
    now = target.extension.read_text()
    target.extension.write_text(now.replace(f'"version": "{__version__}"', '"version": "0.0.1"'))
    assert renew_extension(target.data, target.python)
    assert target.extension.read_text() == now
    assert not renew_extension(target.data, target.python)
    installed = read_installed(target)
    assert installed is not None and installed.version == __version__
