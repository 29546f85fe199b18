"""`always.toml` is read, written and edited by hand: what its user wrote beside the items stays."""

from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.errors import ConfigError
from hudkit.hud.always_file import AlwaysItem, add_always, read_always, redact_always, remove_always
from hudkit.log.redaction import secret_texts

RULE = AlwaysItem("constraints", "Never push", "", "/work/shop", "codex/t1@aa", date(2026, 11, 25))
LIKES = AlwaysItem("preferences", "Short answers")

EDITED = """\
# My own file.

[[rule]]
text = "Never push"   # it broke once
project = "/work/shop"

# About answers.
[[preference]]
text = '''
Short
answers
[[rule]]
'''

[[note]]
text = "x"
"""


def test_an_item_is_added_once_and_taken_out_again_and_the_file_goes_with_the_last(tmp_path: Path) -> None:
    path = tmp_path / "config" / "always.toml"
    assert read_always(path) == ()
    assert add_always(path, RULE) and add_always(path, LIKES)
    assert not add_always(path, AlwaysItem("constraints", "Never push", project="/work/shop"))
    assert read_always(path) == (RULE, LIKES)
    assert path.stat().st_mode & 0o777 == 0o600
    assert tomllib.loads(path.read_text())["rule"][0]["since"] == date(2026, 11, 25)
    assert remove_always(path, RULE) and not remove_always(path, RULE)
    assert read_always(path) == (LIKES,)
    assert remove_always(path, LIKES) and not path.exists()
    assert [each.name for each in path.parent.iterdir()] == []


def test_what_somebody_wrote_into_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "always.toml"
    path.write_text(EDITED)
    path.chmod(0o640)
    items = read_always(path)
    assert [item.text for item in items] == ["Never push", "Short\nanswers\n[[rule]]\n", "x"]
    add_always(path, AlwaysItem("notes", "y"))
    assert path.read_text() == f'{EDITED}\n[[note]]\ntext = "y"\n'
    remove_always(path, AlwaysItem("notes", "y"))
    assert path.read_text().strip() == EDITED.strip()
    assert path.stat().st_mode & 0o777 == 0o640


def test_comments_stay_where_an_item_between_them_goes(tmp_path: Path) -> None:
    path = tmp_path / "always.toml"
    plain = EDITED.replace("\n[[rule]]\n'''", "\n'''")
    path.write_text(plain)
    remove_always(path, AlwaysItem("constraints", "Never push", project="/work/shop"))
    text = path.read_text()
    assert text.startswith("# My own file.\n\n# About answers.\n[[preference]]") and "it broke once" not in text
    assert [item.text for item in read_always(path)] == ["Short\nanswers\n", "x"]


def test_what_cannot_be_cut_is_written_anew_and_no_item_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "always.toml"
    path.write_text(EDITED)
    remove_always(path, AlwaysItem("preferences", "Short\nanswers\n[[rule]]\n"))
    assert [item.text for item in read_always(path)] == ["Never push", "x"]


def test_what_a_link_leads_to_is_written_and_the_link_stays(tmp_path: Path) -> None:
    real, path = tmp_path / "dotfiles.toml", tmp_path / "always.toml"
    real.write_text("# mine\n")
    path.symlink_to(real)
    add_always(path, LIKES)
    assert path.is_symlink() and real.read_text().startswith("# mine\n") and read_always(real) == (LIKES,)


def test_a_file_that_is_wrong_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "always.toml"
    path.write_text('[[rule]]\ntxt = "x"\n')
    for change in (add_always, remove_always):
        with pytest.raises(ConfigError, match=r"always\.toml.*txt"):
            change(path, LIKES)
    assert path.read_text() == '[[rule]]\ntxt = "x"\n'


def test_a_text_that_must_go_goes_out_of_every_item(tmp_path: Path) -> None:
    path = tmp_path / "always.toml"
    add_always(path, AlwaysItem("notes", "The word is plum_dumpling_42"))
    add_always(path, LIKES)
    assert redact_always(path, secret_texts("plum_dumpling_42")) == 1
    assert "plum" not in path.read_text()
    assert [item.text for item in read_always(path)] == ["Short answers", "The word is [redacted]"]
    assert redact_always(path, secret_texts("plum_dumpling_42")) == 0


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=60).filter(lambda text: text.strip())


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from(["constraints", "notes"]), texts), max_size=4), st.integers(0, 3))
def test_any_text_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]], gone: int
) -> None:
    path = tmp_path_factory.mktemp("config") / "always.toml"
    items = [AlwaysItem(section, text, reason=text) for section, text in dict.fromkeys(pairs)]  # type: ignore[arg-type]
    for item in items:
        add_always(path, item)
    assert sorted(read_always(path), key=repr) == sorted(items, key=repr)
    for item in items[gone : gone + 1]:
        remove_always(path, item)
    assert sorted(read_always(path), key=repr) == sorted(items[:gone] + items[gone + 1 :], key=repr)
