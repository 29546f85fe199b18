"""Settings: defaults, levels, what is refused and in which words, and what a project may not set."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.config import (
    RENAMED_KEYS,
    SIZE_LIMIT,
    BandSettings,
    CompactionSettings,
    CustomSectionSettings,
    Settings,
    display_only,
    keys,
    load,
    overlaid,
    parse,
    read,
    settings_from,
    settings_schema,
)
from hudkit.errors import ConfigError, HudkitError

HOSTILE = (Path(__file__).parent / "hostile.toml").read_text(encoding="utf-8")


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_nothing_set_is_the_defaults() -> None:
    assert settings_from({}) == Settings() == load().settings
    assert set(load().origins.values()) == {"default"}
    assert load().origins.keys() == {key.name for key in keys()}


def test_a_project_is_laid_over_the_user_key_by_key(tmp_path: Path) -> None:
    user = write(tmp_path / "config.toml", "window = 50000\n[bands]\nyellow = 60\nred = 80\n[limits]\nnotes = 7\n")
    project = write(tmp_path / ".hudkit.toml", "[bands]\nred = 75\n[limits]\nfiles = 3\n")
    found = load(user, project)
    assert found.warnings == ()
    assert (found.settings.bands.yellow, found.settings.bands.red, found.settings.bands.critical) == (60, 75, 92)
    assert (found.settings.limits.notes, found.settings.limits.files, found.settings.window) == (7, 3, 50_000)
    from_where = {key: level for key, level in found.origins.items() if level != "default"}
    assert from_where == {
        "window": "user",
        "bands.yellow": "user",
        "bands.red": "project",
        "limits.notes": "user",
        "limits.files": "project",
    }


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("[bands]\nyelow = 3", "c.toml, [bands] has no key 'yelow'", "Did you mean 'yellow'?"),
        ("widnow = 3", "c.toml has no key 'widnow'", "Did you mean 'window'?"),
        ("yellow = 3", "c.toml has no key 'yellow'", "'yellow' is a key of [bands]"),
        ("[limits]\nwindow = 3", "c.toml, [limits] has no key 'window'", "top level"),
        ("[zzz]\na = 1", "c.toml has no key 'zzz'", "It has: bands, limits, budget"),
        ('[bands]\nyellow = "x"', "c.toml: bands.yellow is 'x'", "It is a number"),
        ("[bands]\nyellow = true", "c.toml: bands.yellow is True", "It is a number"),
        ("[bands]\nyellow = nan", "c.toml: bands.yellow is nan", "It is a number above 0"),
        ("[bands]\nred = 101", "c.toml: bands.red is 101", "It is a number up to 100"),
        ("[limits]\nnotes = 0", "c.toml: limits.notes is 0", "It is a whole number from 1"),
        ("[limits]\nnotes = 1.5", "c.toml: limits.notes is 1.5", "It is a whole number"),
        ("[cache]\nttl_minutes = inf", "c.toml: cache.ttl_minutes is inf", "It is a number up to 525600"),
        ("[overflow]\nauto = 1", "c.toml: overflow.auto is 1", "It is true or false"),
        ("[overflow]\nreserved_tokens = -1", "c.toml: overflow.reserved_tokens is -1", "It is a whole number from 0"),
        ("window = 99999999999999999999999", "c.toml: window is 9999", "It is a whole number up to 1000000000"),
        ("bands = 3", "c.toml: bands is 3", "It is a table of keys"),
        ("[[bands]]\nyellow = 3", "c.toml: bands is [{'yellow': 3}]", "It is a table of keys"),
        ("[bands]\nyellow = 90", "c.toml: [bands] does not ascend: yellow 90, red 85", "yellow < red < critical"),
        ("[bands]\nred = 92", "c.toml: [bands] does not ascend", "yellow < red < critical"),
        (
            "[budget]\nmin_tokens = 2000",
            "c.toml: [budget] min_tokens is 2000, max_tokens is 1500",
            "min_tokens <= max_tokens",
        ),
        ("[budget]\nmax_tokens = 1000000", "c.toml: budget.max_tokens is 1000000", "up to 100000"),
        ("window = ", "c.toml, line 1, column 10: ", ""),
        ("window = 1\n[bands\nyellow = 3", "c.toml, line 2, column 7: ", ""),
        ("window = 1\nwindow = 2\n", "c.toml, line 2, column ", ""),
        ("a = " + "[" * 5000, "c.toml is nested too deeply", ""),
        ("a = " + "9" * 5000, "c.toml is not TOML: ", ""),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(text: str, said: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings_from(parse(text, "c.toml"), "c.toml")
    assert caught.value.message.startswith(said) and hint in caught.value.hint
    assert len(str(caught.value)) < 400


OLD_NAMES = """
[budget]
least = 400
most = 900
[cache]
minutes = 60
[pruning]
protect = 1000
minimum = 2000
[overflow]
reserved = 3000
[compaction]
least = 40
frees = 10
calls = 2
[custom]
wait = 11
time = 12
memory = 13
[staleness]
calls = 14
[telemetry]
limit = 1500
"""


def test_keys_are_read_under_their_old_names_with_a_warning_that_has_the_new_one(tmp_path: Path) -> None:
    settings = load(write(tmp_path / "config.toml", OLD_NAMES)).settings
    assert settings == settings_from(parse(OLD_NAMES))
    assert (settings.budget.min_tokens, settings.budget.max_tokens) == (400, 900)
    assert (settings.pruning.protected_tokens, settings.pruning.min_freed_tokens) == (1000, 2000)
    assert settings.compaction == CompactionSettings(40, 10, 2)
    assert settings.custom == CustomSectionSettings(budget_ms=11, timeout_ms=12, memory_mib=13)
    assert (settings.cache.ttl_minutes, settings.overflow.reserved_tokens) == (60, 3000)
    assert (settings.staleness.model_calls, settings.telemetry.max_chars) == (14, 1500)
    effective = load(tmp_path / "config.toml")
    assert effective.warnings == () and len(effective.renamed) == len(RENAMED_KEYS), "each is in the text above"
    assert effective.renamed[7].startswith(
        f"{tmp_path / 'config.toml'}: compaction.frees is now called compaction.min_freed_percent"
    )


def test_of_both_names_of_a_key_the_new_one_holds(tmp_path: Path) -> None:
    both = write(tmp_path / "config.toml", "[budget]\nleast = 400\nmin_tokens = 500\n")
    assert load(both).settings.budget.min_tokens == 500


def test_a_projects_old_names_are_read_too(tmp_path: Path) -> None:
    effective = load(None, write(tmp_path / ".hudkit.toml", "[budget]\nmost = 700\n[compaction]\nfrees = 1\n"))
    assert effective.settings == settings_from({"budget": {"max_tokens": 700}})
    assert effective.origins["budget.max_tokens"] == "project"
    assert any("'compaction" in warning and "ignored" in warning for warning in effective.warnings)


def test_bands_made_by_a_program_are_held_to_the_same_rule() -> None:
    with pytest.raises(ConfigError, match="ascend"):
        BandSettings(yellow=86)


def test_files_that_cannot_be_settings(tmp_path: Path) -> None:
    cases: dict[str, bytes | None] = {
        "absent.toml": None,
        "latin.toml": b"# fine\n# caf\xe9\n",
        "big.toml": b"#" * (SIZE_LIMIT + 1),
    }
    said = {"absent.toml": "is not there", "latin.toml": "line 2: byte 0xe9", "big.toml": "larger than 64 KiB"}
    for name, content in cases.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(ConfigError, match=said[name]) as caught:
            read(tmp_path / name)
        assert name in caught.value.message
    with pytest.raises(ConfigError, match="is not a file"):
        read(tmp_path)
    (tmp_path / "bom.toml").write_bytes(b"\xef\xbb\xbfwindow = 5\n")
    assert read(tmp_path / "bom.toml") == {"window": 5}


def test_a_wrong_file_is_left_out_and_said(tmp_path: Path) -> None:
    user = write(tmp_path / "config.toml", "[bands]\nyelow = 3\n")
    project = write(tmp_path / ".hudkit.toml", "[limits]\nnotes = 4\n")
    found = load(user, project)
    assert found.settings == settings_from({"limits": {"notes": 4}})
    (warning,) = found.warnings
    assert str(user) in warning and "'yellow'" in warning
    assert load(tmp_path / "absent.toml").settings == Settings()


def test_levels_that_only_clash_together_blame_the_project(tmp_path: Path) -> None:
    user = write(tmp_path / "config.toml", "[bands]\nyellow = 80\n")
    project = write(tmp_path / ".hudkit.toml", "[bands]\nred = 75\n")
    found = load(user, project)
    assert found.settings.bands == BandSettings(yellow=80)
    (warning,) = found.warnings
    assert warning.startswith(str(project)) and "yellow 80, red 75" in warning


def test_a_project_sets_what_is_shown_and_nothing_else(tmp_path: Path) -> None:
    """Abuse case D1: one visible warning, and nothing of it takes effect."""
    project = write(tmp_path / ".hudkit.toml", HOSTILE)
    found = load(None, project)
    assert found.settings == settings_from({"limits": {"notes": 3}})
    assert [key for key, level in found.origins.items() if level == "project"] == ["limits.notes"]
    (warning,) = found.warnings
    assert "'server_url'" in warning and "ignored" in warning and "[bands], [limits], [budget]" in warning
    assert warning.isprintable(), "a key cannot move the cursor or turn the text around"


_LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
_NAMES = st.sampled_from([name for key in keys() for name in key.name.split(".")]) | st.text(max_size=12)
_TABLES = st.dictionaries(_NAMES, _LEAF | st.dictionaries(_NAMES, _LEAF | st.lists(_LEAF, max_size=2), max_size=4))


@pytest.mark.slow
@given(_TABLES)
def test_any_table_is_settings_or_a_typed_error(table: dict[str, object]) -> None:
    try:
        settings = settings_from(table)
    except HudkitError as error:
        assert error.message.isprintable()
        return
    assert settings.bands.yellow < settings.bands.red < settings.bands.critical


@pytest.mark.slow
@given(_TABLES)
def test_what_is_left_of_a_project_is_display_only(table: dict[str, object]) -> None:
    kept, warnings = display_only(table, "p")
    assert kept.keys() <= {"bands", "limits", "budget"}
    assert len(warnings) == (overlaid(kept, table) != kept)
    assert all(warning.isprintable() for warning in warnings)


@pytest.mark.slow
def test_the_schema_says_what_the_code_says() -> None:
    schema = settings_schema()
    check = jsonschema.Draft202012Validator(schema)
    check.check_schema(schema)
    json.dumps(schema, allow_nan=False)
    right = parse("window = 9\n[bands]\nyellow = 60.5\n[overflow]\nauto = false\nreserved_tokens = 10\n")
    assert check.is_valid(right) and settings_from(right).window == 9
    for text in (
        "[bands]\nyelow = 3",
        "[limits]\nnotes = 0",
        "window = 1.5",
        "bands = 3",
        "[cache]\nttl_minutes = 0",
    ):
        assert not check.is_valid(parse(text)), text
        with pytest.raises(ConfigError):
            settings_from(parse(text))


def test_every_key_has_a_meaning() -> None:
    assert [key.name for key in keys() if not key.meaning] == []
