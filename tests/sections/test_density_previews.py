"""What is shown of a state at each density: previews, limits, labels, and the ceilings of 001's example."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from hudkit.api import Hud, HudSession
from hudkit.compose import Density, validate
from hudkit.compose.formats.markdown import render
from hudkit.config import SectionLimits
from hudkit.log import Origin, Payload
from hudkit.log import payloads as p
from hudkit.sections.document_builder import DocumentBuilder
from hudkit.sections.section import (
    ITEM_CHARS,
    SectionView,
    ShownItem,
    ViewOptions,
    item_list,
    origin_label,
)
from hudkit.sections.table import SECTIONS
from hudkit.tokens import count_tokens

FULL, COMPACT, MINIMAL = Density
BY_NAME = {spec.name: spec for spec in SECTIONS}

MAKE: dict[str, tuple[str, Callable[[str], Payload], int, int]] = {
    "constraints": ("Constraints", p.ConstraintAdd, 20, 3),
    "blockers": ("⚠ Blockers", p.BlockerAdd, 10, 3),
    "steps": ("Next Steps", p.StepAdd, 10, 3),
    "decisions": ("Decisions", p.DecisionRecord, 10, 5),
    "errors": ("Open Errors", p.ErrorEncountered, 5, 3),
    "notes": ("Notes", p.NoteAdd, 20, 3),
    "files": ("Active Files", p.FileOpen, 15, 5),
}
"""Each list with its title, an event that adds to it, and how many are shown at full and at compact (000)."""
NEWEST = sorted(set(MAKE) - {"steps"})


def session_of(*told: Payload, origin: Origin = Origin.AGENT) -> HudSession:
    session = Hud.in_memory().session("s")
    session.append(*told, origin=origin)
    return session


def shown(session: HudSession, density: Density, limits: SectionLimits | None = None) -> str:
    return render(
        DocumentBuilder().document(session.state, ViewOptions(density, limits or SectionLimits()), "123456")
    )


def block(text: str, title: str) -> str:
    """The section with this title: its heading and items, or its line."""
    start = text.index(title)
    end = text.find("\n\n## ", start)
    return text[start : end if end > 0 else len(text)]


@pytest.mark.parametrize("name", MAKE)
def test_full_names_as_many_as_the_limit(name: str) -> None:
    title, make, limit, _ = MAKE[name]
    for total in (1, limit, limit + 3):
        section = block(shown(session_of(*(make(f"i{n}x") for n in range(total))), FULL), f"## {title} ({total})")
        named = [n for n in range(total) if f"i{n}x" in section]
        first = 0 if name == "steps" else max(0, total - limit)
        assert named == list(range(first, first + min(total, limit)))
        over = f"+3 {'more' if name == 'steps' else 'older'}: {name}.list"
        assert (over in section) is (total > limit)


@pytest.mark.parametrize("name", MAKE)
def test_compact_is_one_line_with_a_preview(name: str) -> None:
    title, make, _, preview = MAKE[name]
    for total in (1, preview, preview + 4):
        text = shown(session_of(*(make(f"i{n}x") for n in range(total))), COMPACT)
        line = next(line for line in text.splitlines() if line.startswith(f"{title} ({total}): "))
        first = 0 if name == "steps" else max(0, total - preview)
        assert [n for n in range(total) if f"i{n}x" in line] == list(range(first, first + min(total, preview)))
        assert line.endswith("; +4") is (total > preview)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("constraints", "Constraints (4): i1x; i2x; i3x; +1"),
        ("blockers", "⚠ Blockers (4): i1x; i2x; i3x; +1"),
        ("steps", "Step: i0x"),
        ("decisions", "4 decisions: hud snapshot"),
        ("errors", "4 open errors: hud snapshot"),
        ("notes", "4 notes: hud snapshot"),
        ("files", "4 files: hud snapshot"),
    ],
)
def test_minimal_names_what_always_holds_and_counts_the_rest(name: str, line: str) -> None:
    text = shown(session_of(*(MAKE[name][1](f"i{n}x") for n in range(4))), MINIMAL)
    assert text.splitlines()[-1] == line
    assert "#" not in text


def test_one_of_a_kind_is_counted_in_the_singular() -> None:
    told = [p.DecisionRecord("a"), p.ErrorEncountered("b"), p.FileOpen("c"), p.NoteAdd("d")]
    text = shown(session_of(*told), MINIMAL)
    assert "1 decision | 1 open error | 1 file | 1 note: hud snapshot" in text


def test_what_is_over_is_not_counted() -> None:
    told = [p.ErrorEncountered("a", key="k"), p.ErrorResolved(key="k"), p.FileOpen("c"), p.FileClose("c")]
    assert "snapshot" not in shown(session_of(*told), MINIMAL)


@pytest.mark.parametrize(("density", "most"), [(FULL, 2), (COMPACT, 2), (MINIMAL, 2)])
def test_limits_are_settings(density: Density, most: int) -> None:
    text = shown(session_of(*(p.BlockerAdd(f"i{n}x") for n in range(4))), density, SectionLimits(blockers=most))
    assert [n for n in range(4) if f"i{n}x" in text] == [2, 3] and "+2" in text


@pytest.mark.parametrize("name", NEWEST)
def test_a_text_is_cut_where_the_density_says(name: str) -> None:
    title, make, _, _ = MAKE[name]
    for density, most in ITEM_CHARS.items():
        if density is MINIMAL and name not in ("constraints", "blockers"):
            continue
        text = block(shown(session_of(make("ø" * 1000)), density), title)
        assert text.count("ø") == most - 1 and "ø…" in text


def test_steps_struck_and_numbered_by_their_own_numbers() -> None:
    told = [*(p.StepAdd(f"step {n}") for n in range(1, 14)), p.StepComplete("s1"), p.StepComplete("s2")]
    text = shown(session_of(*told), FULL)
    assert "\n3. step 3\n" in text and "\n12. step 12\n" in text and "step 13" not in text and "step 2\n" not in text
    few = shown(session_of(p.StepAdd("a"), p.StepAdd("b"), p.StepComplete("s1")), FULL)
    assert "1. ~~a~~\n2. b\n" in few
    assert "Next Steps (2): ~~a~~; b" in shown(
        session_of(p.StepAdd("a"), p.StepAdd("b"), p.StepComplete("s1")), COMPACT
    )


def test_todos_struck_and_labelled() -> None:
    items = (
        p.TodoItem("a", "completed"),
        p.TodoItem("b", "in_progress"),
        p.TodoItem("c"),
        p.TodoItem("d", "cancelled"),
    )
    session = session_of(p.TodoSync(items))
    assert "- ~~a~~\n- b (in progress)\n- c\n- ~~d~~\n" in shown(session, FULL)
    assert "Todos (4): b (in progress); c; ~~d~~; +1" in shown(session, COMPACT)
    assert "2 todos: hud snapshot" in shown(session, MINIMAL)


@pytest.mark.parametrize(
    ("origin", "derived", "text"),
    [
        (Origin.AGENT, False, ""),
        (Origin.USER, False, ""),
        (Origin.HOST, True, " (derived)"),
        (Origin.TOOL, False, " [from a tool]"),
        (Origin.TOOL, True, " [from a tool]"),
        (Origin.SYSTEM, False, ""),
    ],
)
def test_label(origin: Origin, derived: bool, text: str) -> None:
    assert origin_label(origin, derived) == text


@pytest.mark.parametrize("density", [FULL, COMPACT])
@pytest.mark.parametrize("name", ["constraints", "blockers", "decisions", "errors", "notes"])
def test_what_a_tool_said_is_labelled(name: str, density: Density) -> None:
    text = shown(session_of(MAKE[name][1]("said"), origin=Origin.TOOL), density)
    assert "said \\[from a tool]" in text or "said [from a tool]" in text
    assert "from a tool" not in shown(session_of(MAKE[name][1]("said")), density)


@pytest.mark.parametrize("make", [p.ConstraintAdd, p.DecisionRecord])
def test_what_was_derived_is_labelled(make: Callable[..., Payload]) -> None:
    assert "read in a file (derived)" in shown(session_of(make("read in a file", derived=True)), FULL)


def test_a_repeated_error_is_counted() -> None:
    told = [p.ErrorEncountered("boom", key="k")] * 3
    assert "- boom (×3)\n" in shown(session_of(*told), FULL)


def test_files_tell_their_status_at_full_only() -> None:
    session = session_of(p.FileEdit("a.py"), p.FileOpen("b.py"))
    assert "- a.py (editing)\n- b.py (reading)\n" in shown(session, FULL)
    assert "Active Files (2): a.py; b.py\n" in shown(session, COMPACT)


@pytest.mark.parametrize(("density", "most"), [(FULL, 500), (COMPACT, 500), (MINIMAL, 200)])
def test_the_summary_is_cut(density: Density, most: int) -> None:
    text = shown(session_of(p.CompactAfter("ø" * 1000)), density)
    assert text.count("ø") == most - 1 and "ø…\n" in text


@pytest.mark.parametrize("density", list(Density))
def test_an_empty_state_has_a_task_line_and_no_empty_section(density: Density) -> None:
    text = shown(session_of(p.SessionStart()), density)
    assert "none set yet (task.set sets it)" in text
    assert text.count("## ") == 0 and "(0)" not in text


@pytest.mark.parametrize("density", list(Density))
def test_every_document_is_of_the_vocabulary(density: Density) -> None:
    told = [make(f"x{n}") for _, make, _, _ in MAKE.values() for n in range(30)]
    validate(DocumentBuilder().document(session_of(*told).state, ViewOptions(density), "123456"))


def test_no_two_sections_have_the_same_priority() -> None:
    priorities = [spec.priority for spec in SECTIONS if spec.name not in ("task", "custom")]
    assert len(set(priorities)) == len(priorities)


def test_the_limit_of_a_section_with_a_setting_is_the_default_of_the_setting() -> None:
    with_setting = msgspec.structs.asdict(SectionLimits())
    assert {spec.name: spec.limit for spec in SECTIONS if spec.name in with_setting} == with_setting


IN_VIEW: list[tuple[str, int, str]] = [
    ("abc", 3, "abc"), ("abcd", 3, "bcd"), ("aBcD", 2, "ac"), ("aBcD", 3, "acD"), ("AbCd", 3, "bCd"),
    ("ABCD", 2, "CD"), ("abCDE", 3, "abE"), ("", 3, ""), ("aB", 0, ""),
]  # fmt: skip


@pytest.mark.parametrize(("items", "limit", "expected"), IN_VIEW)
def test_in_view_closed_items_go_first(items: str, limit: int, expected: str) -> None:
    shown_items = [ShownItem(one, one, one.isupper()) for one in items]
    section = item_list(shown_items, SectionView(BY_NAME["notes"], ViewOptions(limits=SectionLimits(notes=limit))))
    lines = render(section).replace("~~", "").splitlines() if section is not None else []
    assert "".join(line[2:] for line in lines if line.startswith("- ") and "older: " not in line) == expected


PLANS: list[tuple[str, int, str]] = [
    ("abcd", 2, "1. a 2. b"), ("ABcd", 2, "3. c 4. d"), ("ABCd", 2, "3. C 4. d"), ("ABCD", 2, "3. C 4. D"),
    ("Abcd", 3, "2. b 3. c 4. d"), ("aBc", 5, "1. a 2. B 3. c"), ("aBcd", 3, "- a (no. 1) - c (no. 3) - d (no. 4)"),
    ("aBCDEf", 2, "- a (no. 1) - f (no. 6)"), ("ab", 0, ""),
]  # fmt: skip


@pytest.mark.parametrize(("steps", "limit", "expected"), PLANS)
def test_open_steps_come_first_and_keep_their_numbers(steps: str, limit: int, expected: str) -> None:
    lines = [ShownItem(one, one, one.isupper()) for one in steps]
    view = SectionView(BY_NAME["steps"], ViewOptions(limits=SectionLimits(steps=limit)))
    section = item_list(lines, view, plan=True, ordered=True)
    assert section is not None
    shown = [line for line in render(section).replace("~~", "").splitlines()[1:] if line and "more: " not in line]
    assert " ".join(shown) == expected


def test_files_that_are_only_read_do_not_push_out_edited_ones() -> None:
    session = Hud.in_memory().session("s")
    session.append(*(p.FileEdit(f"edited/{n}.py") for n in range(9)))
    session.append(*(p.FileOpen(f"read/{n}.py") for n in range(40)))
    base = session.frame(used_tokens=1_000, limit_tokens=200_000).base
    assert all(f"edited/{n}.py" in base for n in range(9))
    assert base.count("read/") == SectionLimits().files - 9


def test_in_a_section_newer_items_stay_longer_and_closed_ones_go_first() -> None:
    lines = [ShownItem("1", "a"), ShownItem("2", "b", closed=True), ShownItem("3", "c")]
    for plan, order in ((False, ["3", "1", "2"]), (True, ["1", "3", "2"])):
        section = item_list(lines, SectionView(BY_NAME["notes"]), plan=plan)
        assert section is not None
        items = [node for _, node in section.walk() if not isinstance(node, str) and node.tag == "item"]
        assert [item.get("key") for item in sorted(items, key=lambda item: -item.get("priority"))] == order


EXAMPLE: tuple[Payload, ...] = (
    p.TaskSet("Implement user authentication"),
    p.DecisionRecord("Using JWT over sessions"),
    p.DecisionRecord("bcrypt for password hashing"),
    p.DecisionRecord("Rate limiting: 100/min default"),
    p.FileOpen("src/db/schema.ts", "referenced"),
    p.FileOpen("src/auth/jwt.ts", "referenced"),
    p.FileEdit("src/auth/mod.ts"),
    p.StepAdd("Add refresh token rotation"),
    p.StepAdd("Write auth middleware"),
    p.StepAdd("Add tests"),
    p.StepComplete("s1"),
    p.NoteAdd("DB schema: users, sessions"),
    p.NoteAdd("Env vars: JWT_SECRET, DB_URL"),
)
"""001's example state; see tests/hud/frames/goldens/densities.md."""


@pytest.mark.parametrize("placement", ["anchored", "system"])
@pytest.mark.parametrize(
    ("density", "used", "ceiling"), [("full", 90_000, 500), ("compact", 144_000, 150), ("minimal", 178_000, 50)]
)
def test_the_ceilings_of_001(hud: Hud, density: str, used: int, ceiling: int, placement: str) -> None:
    session = hud.session("s")
    session.append(*EXAMPLE)
    frame = session.frame(used, 200_000, density=density, placement=placement)
    assert frame.density == density and frame.tail.startswith("Context: ") and frame.omitted == ()
    assert frame.tokens == count_tokens(frame.text) <= ceiling
