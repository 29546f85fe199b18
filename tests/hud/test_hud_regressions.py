"""Bugs that were found once: each test failed before its mend."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudkit.api import Hud
from hudkit.compose import Density, h, text_of
from hudkit.compose.fitting import fit
from hudkit.compose.formats.markdown import render
from hudkit.errors import ConfigError
from hudkit.log import payloads as p
from hudkit.sections.document_builder import DocumentBuilder
from hudkit.sections.section import ViewOptions


def words(n):
    if isinstance(n, str):
        return len(n.split())
    return len(str(n.get("title", "")).split()) + sum(map(words, n.children))


# F1
def test_a_frame_goes_on_when_a_reopened_store_refuses(tmp_path: Path) -> None:
    path = tmp_path / "log" / "hud.db"
    with Hud.open(path) as hud:
        hud.session("s").append(p.TaskSet("Ship it"))
        hud.session("s").frame()
    with Hud.open(path) as hud:
        session = hud.session("s")
        assert session.state.seq
    frame = session.frame()  # StoreError: the log is closed
    assert frame.notice and "Ship it" in frame.base


@pytest.mark.parametrize("left", [2, 1])
def test_a_frame_after_a_revert_goes_on_when_the_store_refuses(tmp_path: Path, left) -> None:
    with Hud.open(tmp_path / "log" / "hud.db") as hud:
        session = hud.session("s")
        session.append(p.TaskSet("Ship it"))
        for n in range(3):
            session.frame(transcript=list("abc"[: n + 1]))
            session.append(p.NoteAdd(f"note {n}"))
    frame = session.frame(transcript=list("abc"[:left]))
    assert frame.notice


# F2 bare ids
def test_a_host_only_session_is_found_by_its_id(hud: Hud) -> None:
    known = hud.session("ses_1", host="opencode")
    known.append(p.TaskSet("x"))
    assert hud.session("ses_1") is known


def test_an_id_with_an_at_is_not_taken_for_a_project(hud: Hud) -> None:
    hud.session("u@h").append(p.TaskSet("secret of u@h"))
    assert hud.session("u").id == "u"


def test_an_id_with_a_slash_is_not_taken_for_a_host(hud: Hud, tmp_path: Path) -> None:
    known = hud.session("a/b", host="oc", project=tmp_path)
    known.append(p.TaskSet("x"))
    assert hud.session("b").id == "b"


def test_an_id_with_a_slash_is_found(hud: Hud, tmp_path: Path) -> None:
    known = hud.session("a/b", host="oc", project=tmp_path)
    known.append(p.TaskSet("x"))
    assert hud.session("a/b") is known


def test_hosts_and_ids_do_not_run_together(hud: Hud, tmp_path: Path) -> None:
    assert hud.session("b/c", host="a", project=tmp_path).id != hud.session("c", host="a/b", project=tmp_path).id


# F3 session ids
@pytest.mark.parametrize("id", ["a\0b", "日" * 200])
def test_an_id_that_no_store_takes(hud: Hud, id: str) -> None:
    with pytest.raises(ConfigError):
        hud.session(id)


def test_long_id_with_project(hud: Hud, tmp_path: Path) -> None:
    s = hud.session("a" * 250, project=tmp_path, host="opencode")
    s.append(p.TaskSet("x"))


# F4 ordered
def test_the_run_of_a_numbered_list_holds_its_most_important_item() -> None:
    steps = h.list(ordered=True)[
        h.item(priority=1)["done"], h.item(priority=9)["a b c d e f"], h.item(priority=8)["next"]
    ]
    assert text_of(fit(h.document[steps], 3, words).tree) == "next"


def test_steps_keep_an_open_one_before_a_closed_one(hud: Hud) -> None:
    s = hud.session("s")
    s.append(p.StepAdd("done thing"), p.StepAdd("w " * 190), p.StepAdd("next thing"), p.StepComplete("s1"))
    for budget in range(60, 400, 5):
        try:
            tree = fit(
                DocumentBuilder().document(s.state, ViewOptions(), "123456"), budget, lambda e: len(render(e).split())
            )
        except Exception:
            continue
        text = render(tree.tree)
        assert not ("done thing" in text and "next thing" not in text), (budget, text)


# F5 mixed ordered
def test_a_numbered_list_with_a_required_item_keeps_its_numbers() -> None:
    steps = h.list(ordered=True)[h.item["must"], h.item(priority=1)["two two"], h.item(priority=3)["three"]]
    kept = fit(h.document[steps], 2, words).tree
    assert "2. three" not in render(kept), render(kept)


# F6 bare text
def test_bare_text_beside_phrasing_counts() -> None:
    tree = h.document[h.text["one two ", h.strong(priority=2)["x y"], h.strong(priority=1)["z"]]]
    assert text_of(fit(tree, 3, words).tree) == "one two z"


# F7 todos
def test_done_todos_leave_the_view_before_open_ones(hud: Hud) -> None:
    s = hud.session("s")
    s.append(
        p.TodoSync(
            (p.TodoItem("first"), p.TodoItem("x", "completed"), p.TodoItem("y", "completed"), p.TodoItem("last"))
        )
    )
    text = render(DocumentBuilder().document(s.state, ViewOptions(Density.COMPACT), "1"))
    assert "first" in text and "last" in text, text


# F8 todos duplicates
def test_two_todos_with_one_text(hud: Hud) -> None:
    from hudkit.sections.document_builder import diff_states

    s = hud.session("s")
    s.append(p.TodoSync((p.TodoItem("fix"), p.TodoItem("fix"))))
    a = s.state
    s.append(p.TodoSync((p.TodoItem("fix", "completed"), p.TodoItem("fix"))))
    assert diff_states(a, s.state).lines


def test_project_rows_same_text(hud):
    from hudkit.sections.document_builder import diff_states

    s = hud.session("s")
    s.append(p.ProjectSet("p", ("x",), (), ("x",)))
    a = s.state
    s.append(p.ProjectSet("p", ("x",), (), ()))
    assert diff_states(a, s.state).lines


# F9 lost in file
def test_redaction_of_shown_text(hud):
    s = hud.session("s")
    at = s.append(p.NoteAdd("the secret"))[0].seq
    s.frame(transcript=["a"])
    s.append(p.Redact(at))
    assert "the secret" not in s.frame(transcript=["a", "b"]).text


def test_root_title():
    tree = h.section(title="one two three")[h.text(priority=2)["x y"], h.text(priority=1)["z"]]
    assert text_of(fit(tree, 4, words).tree) == "z"


def test_two_markers():
    t = h.document[h.list[h.more(hidden=1, noun="older")[()], h.item(priority=1)["a"], h.more(noun="newer")[()]]]

    def w(n):
        if isinstance(n, str):
            return len(n.split())
        return (3 if n.tag == "more" and n.get("hidden", 0) else 0) + sum(map(w, n.children))

    f = fit(t, 6, w)
    assert f.tokens <= 6


# what a revert took away
def test_what_a_revert_took_away_is_not_told_until_it_is_back(hud: Hud) -> None:
    s = hud.session("s")
    s.append(p.TaskSet("Ship it"))
    s.frame(transcript=["a"])
    s.append(p.NoteAdd("one"))
    s.frame(transcript=["a", "b"])
    s.append(p.NoteAdd("two"))
    assert len(s.frame(transcript=["a", "b", "c"]).deltas) == 2
    for more in (["a", "d"], ["a", "d", "e"], ["a", "d", "e", "f"]):  # b and c are gone
        assert s.frame(transcript=more).deltas == () and not s.state.notes
    again = s.frame(transcript=["a", "b", "c"])  # and back: what was sent then stands where it was
    assert [delta.anchor for delta in again.deltas] == ["b", "c"]
