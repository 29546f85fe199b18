"""Where data and settings are: as platformdirs says, which the usual cases of Linux do without."""

from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest

from hudkit.paths import default_data_directory, user_config

USUAL = [
    {"HOME": "/home/ada"},
    {"HOME": "/home/ada/", "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""},
    {"HOME": "/home/ada", "XDG_DATA_HOME": "/data", "XDG_CONFIG_HOME": "/etc/ada/"},
    {"HOME": "/home/ada", "XDG_DATA_HOME": "relative", "XDG_CONFIG_HOME": "~/settings"},
    {"XDG_DATA_HOME": "/data", "XDG_CONFIG_HOME": "/settings"},
]
UNUSUAL = [{}, {"HOME": "relative"}, {"HOME": ""}]


@pytest.mark.parametrize("environment", [*USUAL, *UNUSUAL], ids=str)
def test_directories_are_those_of_platformdirs(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "HUDKIT_CONFIG", "HUDKIT_DATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert default_data_directory() == Path(platformdirs.user_data_dir("hudkit", appauthor=False))
    assert user_config() == Path(platformdirs.user_config_dir("hudkit", appauthor=False), "config.toml")
