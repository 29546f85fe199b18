"""`config`: what is in force, what is wrong, and that a wrong file stops nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hudkit.cli.common import SCHEMA
from hudkit.config import Settings, keys, parse, settings_from, settings_schema

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The user's file and the project's file, neither there yet; the command runs in a folder of the project."""
    inside = tmp_path / "project" / "src"
    inside.mkdir(parents=True)
    (tmp_path / "project" / ".git").mkdir()
    monkeypatch.delenv("HUDKIT_CONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(inside)
    import platformdirs

    user = Path(platformdirs.user_config_dir("hudkit", appauthor=False)) / "config.toml"
    user.parent.mkdir(parents=True)
    return user, tmp_path / "project" / ".hudkit.toml"


def test_config_without_any_file(hudkit: Run, places: tuple[Path, Path]) -> None:
    code, out, err = hudkit("config")
    assert (code, err) == (0, "")
    assert settings_from(parse(out)) == Settings()
    assert str(places[0]) in out and "not there" in out
    code, out, err = hudkit("config", "check")
    assert (code, err) == (0, "") and out.startswith("fine: no settings")


@pytest.mark.slow
def test_config_tells_where_each_setting_comes_from(hudkit: Run, places: tuple[Path, Path]) -> None:
    user, project = places
    user.write_text("window = 64000\n[bands]\nyellow = 60.5\n[overflow]\nauto = false\n")
    project.write_text("[limits]\nnotes = 3\n")
    code, out, err = hudkit("config")
    assert (code, err) == (0, "")
    want = {"window": 64_000, "bands": {"yellow": 60.5}, "limits": {"notes": 3}, "overflow": {"auto": False}}
    assert settings_from(parse(out)) == settings_from(want)
    lines = {line.split(" =")[0]: line.rpartition("# ")[2] for line in out.splitlines() if " = " in line}
    assert (lines["window"], lines["yellow"], lines["notes"], lines["red"]) == ("user", "user", "project", "default")
    code, out, _ = hudkit("config", "--json")
    facts = json.loads(out)
    assert code == 0 and facts["schema"] == SCHEMA
    assert facts["files"] == {"user": str(user), "project": str(project)}
    rows = {row["key"]: row for row in facts["settings"]}
    assert rows.keys() == {key.name for key in keys()}
    assert (rows["limits.notes"]["value"], rows["limits.notes"]["from"]) == (3, "project")
    assert hudkit("config", "check")[0] == 0


def test_the_project_may_be_named(hudkit: Run, places: tuple[Path, Path], tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / ".hudkit.toml").write_text("[limits]\nfiles = 2\n")
    code, out, _ = hudkit("config", "--project", other)
    assert code == 0 and settings_from(parse(out)).limits.files == 2


def test_config_check_names_what_is_wrong(hudkit: Run, places: tuple[Path, Path], tmp_path: Path) -> None:
    user, project = places
    user.write_text("[bands]\nyelow = 3\n")
    project.write_text('command = "id"\n')
    code, out, err = hudkit("config", "check")
    assert (code, err) == (1, "")
    assert [line[:5] for line in out.splitlines()] == ["BAD  ", "BAD  "]
    assert "Did you mean 'yellow'?" in out and "'command'" in out
    code, out, _ = hudkit("config", "check", "--json")
    facts = json.loads(out)
    assert code == 1 and facts["files"] == [str(user), str(project)] and len(facts["findings"]) == 2
    code, out, _ = hudkit("config", "check", project)
    assert code == 1 and "'command'" in out and "yelow" not in out
    user.write_text("window = \n")
    code, out, _ = hudkit("config", "check", user)
    assert code == 1 and "line 1, column 10" in out
    right = tmp_path / "right.toml"
    right.write_text("window = 5\n")
    assert hudkit("config", "check", right) == (0, f"fine: {right}\n", "")


def test_config_goes_on_with_what_is_right_and_says_the_rest(hudkit: Run, places: tuple[Path, Path]) -> None:
    user, project = places
    user.write_text("[bands]\nyelow = 3\n")
    project.write_text("[limits]\nnotes = 3\n")
    code, out, err = hudkit("config")
    assert code == 1 and "yelow" in err and settings_from(parse(out)) == settings_from({"limits": {"notes": 3}})


def test_what_config_cannot_do(hudkit: Run, places: tuple[Path, Path]) -> None:
    assert hudkit("config", "check", "/nowhere.toml")[0] == 2
    code, out, err = hudkit("config", "show", "x.toml")
    assert (code, out) == (2, "") and "config check FILE" in err
    assert hudkit("config", "chekc")[0] == 2


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_keys_of_mcp_servers_are_not_shown(hudkit: Run, places: tuple[Path, Path], more: tuple[str, ...]) -> None:
    places[0].write_text(
        '[mcp_servers.kiln]\ncommand = "kiln"\nargs = ["--cone", "6", "sk-ant-api03-hothothothothothothot"]\n'
        'env = { KILN_KEY = "hot-hot" }\n[mcp_servers.docs]\nurl = "https://me:pass-word@docs.example/mcp"\n'
        'headers = { Authorization = "Bearer glaze" }\n'
    )
    code, out, _ = hudkit("config", *more)
    assert code == 0
    for secret in ("hot-hot", "pass-word", "glaze", "hothot"):
        assert secret not in out
    for shown in ("kiln", "--cone", "KILN_KEY", "Authorization", "docs.example", "(hidden)"):
        assert shown in out


def test_config_schema(hudkit: Run) -> None:
    code, out, _ = hudkit("config", "schema")
    assert code == 0 and json.loads(out) == json.loads(json.dumps(settings_schema()))


def test_a_file_that_the_environment_names_should_be_there(
    hudkit: Run, places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUDKIT_CONFIG", "/nowhere.toml")
    code, out, _ = hudkit("config", "check")
    assert code == 1 and "/nowhere.toml is not there" in out


def test_show_uses_the_settings_of_the_user(
    hudkit: Run, log_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"
    monkeypatch.setenv("HUDKIT_CONFIG", str(config))
    config.write_text("[budget]\nmax_tokens = 777\n")
    code, out, err = hudkit("show", "ses_a", "--db", log_db)
    assert (code, err) == (0, "") and " of 777 tokens" in out
    config.write_text("[budget]\nmax_tokns = 777\n")
    code, out, err = hudkit("show", "ses_a", "--db", log_db)
    assert code == 0 and " of 1500 tokens" in out, "a wrong file stops nothing"
    assert "Did you mean 'max_tokens'?" in err and "config check" in err


@pytest.mark.slow
def test_a_new_file_has_every_setting_as_a_comment_and_names_the_schema(
    hudkit: Run, places: tuple[Path, Path]
) -> None:
    user = places[0]
    code, out, err = hudkit("config", "init")
    assert (code, err) == (0, "") and str(user) in out
    text = user.read_text()
    assert text.splitlines()[0] == f"#:schema {settings_schema()['$id']}"
    assert settings_from(parse(text)) == Settings()
    lines = [line for line in text.splitlines() if not line.startswith("# ") or " = " in line]
    taken = [line.removeprefix("# ") for line in lines if "(not set)" not in line]
    assert settings_from(parse("\n".join(taken))) == Settings()
    assert hudkit("config", "init")[0] == 2 and user.read_text() == text
