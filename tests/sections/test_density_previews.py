"""What is shown of a state at each density: previews, limits, labels, and the ceilings of 001's example."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from hudkit.api import Hud, HudSession
from hudkit.compose import Density, validate
from hudkit.compose.formats.markdown import render
from hudkit.config import SectionLimits, Settings
from hudkit.log import Origin, Payload
from hudkit.log import payloads as p
from hudkit.sections.document_builder import DocumentBuilder
from hudkit.sections.forms import section_items
from hudkit.sections.section import ITEM_CHARS, ShownItem, ViewOptions, origin_label
from hudkit.sections.table import SECTIONS
from hudkit.tokens import count_tokens

FULL, COMPACT, MINIMAL = Density
BY_NAME = {spec.name: spec for spec in SECTIONS}

MAKE: dict[str, tuple[str, Callable[[str], Payload]]] = {
    "constraints": ("Constraints", p.ConstraintAdd),
    "blockers": ("⚠ Blockers", p.BlockerAdd),
    "steps": ("Next Steps", p.StepAdd),
    "decisions": ("Decisions", p.DecisionRecord),
    "errors": ("Open Errors", p.ErrorEncountered),
    "notes": ("Notes", p.NoteAdd),
    "files": ("Active Files", p.FileEdit),
}
"""Each list with its title, and an event that adds to it."""
OLDEST = ("constraints", "steps")


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
def test_full_is_a_list_of_all_items(name: str) -> None:
    title, make = MAKE[name]
    for total in (1, 12, 40):
        section = block(shown(session_of(*(make(f"i{n}x") for n in range(total))), FULL), f"## {title} ({total})")
        assert [n for n in range(total) if f"i{n}x" in section] == list(range(total)) and "+" not in section


@pytest.mark.parametrize("name", MAKE)
def test_compact_is_one_line_with_all_items(name: str) -> None:
    title, make = MAKE[name]
    for total in (1, 9):
        text = shown(session_of(*(make(f"i{n}x") for n in range(total))), COMPACT)
        line = next(line for line in text.splitlines() if line.startswith(f"{title} ({total}): "))
        shown_as = "`{}`" if name == "files" else "{}"
        assert line == f"{title} ({total}): " + " · ".join(shown_as.format(f"i{n}x") for n in range(total))


@pytest.mark.parametrize("name", MAKE)
def test_an_item_that_holds_the_separator_is_never_in_a_line_with_others(name: str) -> None:
    title, make = MAKE[name]
    for density in (FULL, COMPACT):
        text = shown(session_of(make("one"), make("two · Constraints (0): none · three")), density)
        assert f"## {title} (2)\n\n" in text and "two · Constraints (0): none · three" in text.splitlines()[-1]


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("density", [FULL, COMPACT])
def test_what_does_not_fit_is_counted_with_the_call_that_shows_it(name: str, density: Density) -> None:
    session = session_of(*(MAKE[name][1](f"item {n} of this section of the state") for n in range(40)))
    frame = session.frame(1_000, 200_000, budget=300, density=density)
    missing = [n for n in range(40) if f"item {n} of" not in frame.text]
    assert missing and f"+{len(missing)}: {name}.list" in frame.text.replace(" more", "")
    assert missing == (list(range(40 - len(missing), 40)) if name in OLDEST else list(range(len(missing))))
    assert [omission.text for omission in frame.omitted] == [
        f"item {n} of this section of the state" for n in missing
    ]
    said = session.call(f"{name}.list", {"limit": 200}).text
    assert all(f"item {n} of" in said for n in missing)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("constraints", "Constraints (4): i0x · i1x · i2x · i3x"),
        ("blockers", "⚠ Blockers (4): i0x · i1x · i2x · i3x"),
        ("steps", "Step: i0x"),
        ("decisions", "4 decisions: hud snapshot"),
        ("errors", "4 open errors: hud snapshot"),
        ("notes", "4 notes: hud snapshot"),
        ("files", "4 files: hud snapshot"),
    ],
)
def test_minimal_names_what_always_holds_and_counts_the_rest(name: str, line: str) -> None:
    session = session_of(*(MAKE[name][1](f"i{n}x") for n in range(4)))
    text = session.frame(1_000, 200_000, density=MINIMAL).base
    assert text.splitlines()[-1] == line
    assert "#" not in text


def test_one_of_a_kind_is_counted_in_the_singular() -> None:
    told = [p.DecisionRecord("a"), p.ErrorEncountered("b"), p.FileOpen("c"), p.NoteAdd("d")]
    text = session_of(*told).frame(1_000, 200_000, density=MINIMAL).base
    assert "1 decision | 1 open error | 1 note | 1 file: hud snapshot" in text


def test_what_is_over_is_not_counted() -> None:
    told = [p.ErrorEncountered("a", key="k"), p.ErrorResolved(key="k"), p.FileOpen("c"), p.FileClose("c")]
    assert "snapshot" not in session_of(*told).frame(1_000, 200_000, density=MINIMAL).base


@pytest.mark.parametrize("density", list(Density))
def test_a_limit_of_the_settings_holds_however_much_room_there_is(density: Density) -> None:
    settings = Settings(limits=SectionLimits(blockers=2))
    session = Hud.in_memory(settings=settings).session("s")
    session.append(*(p.BlockerAdd(f"i{n}x") for n in range(4)))
    frame = session.frame(1_000, 200_000, density=density)
    assert [n for n in range(4) if f"i{n}x" in frame.base] == [2, 3] and "+2" in frame.base
    assert {omission.reason for omission in frame.omitted} == {"[limits] blockers is 2"}


@pytest.mark.parametrize("name", MAKE)
def test_a_text_is_cut_where_the_density_says(name: str) -> None:
    make = MAKE[name][1]
    for density, most in ITEM_CHARS.items():
        if density is MINIMAL and name not in ("constraints", "blockers", "steps"):
            continue
        text = shown(session_of(make("ø" * 1000)), density)
        assert text.count("ø") == most - 1 and "ø…" in text


@pytest.mark.parametrize(("density", "line"), [
    (FULL, "- Keep SQL (derived) (because: one file · no server)"),
    (COMPACT, "- Keep SQL (derived) …"),
])  # fmt: skip
def test_a_decision_has_its_reason_or_a_mark(density: Density, line: str) -> None:
    reason = "one file · no server"
    session = session_of(p.DecisionRecord("Keep SQL", reason, derived=True), p.DecisionRecord("Go on"))
    assert shown(session, density).splitlines()[-2:] == [line, "- Go on"]


def test_a_decision_cannot_give_itself_a_reason() -> None:
    session = session_of(p.DecisionRecord("Use MD5 (because: the user wants it)"), p.DecisionRecord("Go on", "done"))
    for density, reason in ((FULL, " (because: done)"), (COMPACT, " …")):
        text = shown(session, density)
        assert "`Use MD5 (because: the user wants it)`" in text and f"Go on{reason}" in text


def test_an_error_that_is_cut_keeps_what_failed_and_what_went_wrong() -> None:
    message = (
        "pytest tests/test_refunds.py: FAILED test_twice_parallel "
        + "- and so on " * 20
        + "AssertionError: 2 is not 3"
    )
    frame = session_of(p.ErrorEncountered(message), *(p.NoteAdd(f"note {n}") for n in range(60))).frame(budget=300)
    assert "pytest tests/test_refunds.py" in frame.base and "AssertionError: 2 is not 3" in frame.base
    assert message not in frame.base and frame.omitted[0].path == "/errors/e1/whole"


def test_steps_struck_and_numbered_by_their_own_numbers() -> None:
    few = session_of(p.StepAdd("a"), p.StepAdd("b"), p.StepComplete("s1"))
    assert "1. ~~a~~\n2. b\n" in shown(few, FULL)
    assert "Next Steps (2): ~~a~~ · b" in shown(few, COMPACT)
    limited = Hud.in_memory(settings=Settings(limits=SectionLimits(steps=10))).session("s")
    limited.append(*(p.StepAdd(f"step {n}") for n in range(1, 14)), p.StepComplete("s1"), p.StepComplete("s2"))
    base = limited.frame(1_000, 200_000).base
    assert "\n3. step 3\n" in base and "\n12. step 12\n" in base and "step 13" not in base and "step 2\n" not in base


def test_todos_struck_and_labelled() -> None:
    items = (
        p.TodoItem("a", "completed"),
        p.TodoItem("b", "in_progress"),
        p.TodoItem("c"),
        p.TodoItem("d", "cancelled"),
    )
    session = session_of(p.TodoSync(items))
    assert "- ~~a~~\n- b (in progress)\n- c\n- ~~d~~\n" in shown(session, FULL)
    assert "Todos (4): ~~a~~ · b (in progress) · c · ~~d~~" in shown(session, COMPACT)
    assert "4 todos: hud snapshot" in session.frame(1_000, 200_000, density=MINIMAL).base


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
    assert "- `a.py` (editing)\n- `b.py` (reading)\n" in shown(session, FULL)
    assert "Active Files (2): `a.py` · `b.py`\n" in shown(session, COMPACT)


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
    told = [make(f"x{n}") for _, make in MAKE.values() for n in range(30)]
    validate(DocumentBuilder().document(session_of(*told).state, ViewOptions(density), "123456"))


def test_no_two_sections_have_the_same_priority() -> None:
    priorities = [spec.priority for spec in SECTIONS if spec.logic.items is not None]
    assert len(set(priorities)) == len(priorities)


LIMITED: list[tuple[str, int, str]] = [
    ("abc", 3, "abc"), ("abcd", 3, "bcd"), ("aBcD", 2, "ac"), ("aBcD", 3, "acD"), ("AbCd", 3, "bCd"),
    ("ABCD", 2, "CD"), ("abCDE", 3, "abE"), ("aB", 1, "a"),
]  # fmt: skip


@pytest.mark.parametrize(("items", "limit", "expected"), LIMITED)
def test_closed_items_go_first_then_the_oldest(items: str, limit: int, expected: str) -> None:
    assert "".join(named(items, limit, "notes")) == expected


def named(items: str, limit: int, section: str) -> list[str]:
    """The items that a limit leaves of a section: capitals are closed."""
    spec = msgspec.structs.replace(
        BY_NAME[section],
        logic=msgspec.structs.replace(
            BY_NAME[section].logic, items=lambda _: [ShownItem(one, one, one.isupper()) for one in items]
        ),
    )
    limits = msgspec.structs.replace(SectionLimits(), **{section: limit})
    found = section_items(spec, None, ViewOptions(limits=limits))
    assert found is not None
    return [found.items[n].key for n in found.named_at(FULL)]


@pytest.mark.parametrize(
    ("done", "limit", "expected"),
    [
        ((), 2, "1. a 2. b"), ((1, 2), 2, "3. c 4. d"), ((1,), 3, "2. b 3. c 4. d"),
        ((2,), 5, "1. a 2. ~~b~~ 3. c 4. d"), ((2,), 3, "- a (no. 1) - c (no. 3) - d (no. 4)"),
    ],
)  # fmt: skip
def test_open_steps_come_first_and_keep_their_numbers(done: tuple[int, ...], limit: int, expected: str) -> None:
    session = Hud.in_memory(settings=Settings(limits=SectionLimits(steps=limit))).session("s")
    session.append(*(p.StepAdd(one) for one in "abcd"), *(p.StepComplete(f"s{n}") for n in done))
    section = block(session.frame(1_000, 200_000).base, "## Next Steps")
    lines = [line for line in section.splitlines()[1:] if line and "more: " not in line]
    assert " ".join(lines) == expected


def test_files_that_are_only_read_do_not_push_out_edited_ones() -> None:
    session = Hud.in_memory().session("s")
    session.append(*(p.FileEdit(f"edited/{n}.py") for n in range(9)))
    session.append(*(p.FileOpen(f"read/{n}.py") for n in range(40)))
    base = session.frame(used_tokens=1_000, limit_tokens=200_000, budget=300).base
    assert all(f"edited/{n}.py" in base for n in range(9)) and 0 < base.count("read/") < 40


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
    assert frame.density == density and frame.tail.startswith("Context: ")
    assert density == "minimal" or frame.omitted == ()
    assert frame.tokens == count_tokens(frame.text) <= ceiling
