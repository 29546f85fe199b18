"""Three scripted days for real OpenCode, of texts that differ in tokens a character: code, data, and several
languages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply, says, uses

HERE = Path(__file__).resolve().parents[2]
TURNS = 9
SUMMARY = "## Done\n\n" + "".join(
    f"{n}. Part {n} was read and changed; its test passes with `--strict`, its columns stay where they were.\n"
    for n in range(30)
)

_GERMAN = (
    "Die Bewässerung der oberen Beete beginnt erst nach Sonnenuntergang, weil sonst zu viel Wasser verdunstet.",
    "Für die Übersetzung der Überschriften gilt: kurze Wörter, keine Fremdwörter, und niemals ein Ausrufezeichen.",
    "Gestern fiel der Regenmesser aus; seither rechnen wir mit dem Mittelwert der drei benachbarten Stationen.",
)
_CHINESE = (
    "灌溉系统每天晚上八点开始工作，如果土壤湿度超过百分之六十就跳过这一次。",
    "请不要修改数据库的表结构，所有的新字段都应当先在文档里说明用途。",
)
_RUSSIAN = (
    "Расписание полива хранится в отдельном файле, и его нельзя менять без согласования с агрономом.",
    "Вчерашний отчёт показал, что третий насос включался слишком часто и тратил лишнюю энергию.",
)


def files(kind: str) -> dict[str, str]:
    """The project's files: path and text."""
    random = Random(kind)
    if kind == "code":
        sources = sorted((HERE / "src" / "hudkit" / "formats").rglob("*.py"))[: TURNS * 2]
        return {f"part_{n}.py": path.read_text("utf-8") for n, path in enumerate(sources)}
    if kind == "data":
        return {f"part_{n}.txt": _data(random, n) for n in range(TURNS * 2)}
    texts = (_GERMAN, _CHINESE, _RUSSIAN)
    return {f"part_{n}.md": _prose(random, texts[n % 3]) for n in range(TURNS * 2)}


def day(kind: str, project: Path) -> Iterator[tuple[str, list[ScriptedReply]]]:
    """The turns: what the user says, and what the model answers in turn."""
    random = Random(kind)
    names = list(files(kind))
    for turn in range(TURNS):
        steps = []
        for name in names[2 * turn : 2 * turn + 2]:
            steps.append(uses(ScriptedCall("read", {"filePath": str(project / name)}), text=_said(kind, random)))
            steps.append(
                uses(ScriptedCall("bash", {"command": f"head -c 1500 {name}; wc {name}", "description": "look"}))
            )
        made = {"filePath": str(project / f"out_{turn}.txt"), "oldString": "", "newString": _said(kind, random) * 6}
        steps += [
            uses(
                ScriptedCall(
                    "hud", {"tool": "decisions.record", "args": {"summary": f"Part {turn}: {_said(kind, random)}"}}
                )
            ),
            uses(ScriptedCall("edit", made)),
            says(_said(kind, random) * (turn + 1)),
        ]
        yield f"Turn {turn}: {_said(kind, random)}", steps


def _said(kind: str, random: Random) -> str:
    if kind == "words":
        return random.choice((*_GERMAN, *_CHINESE, *_RUSSIAN)) + " "
    if kind == "data":
        return f"Row {random.randrange(10**6)} of {random.randbytes(6).hex()} is off by {random.random():.4f}. "
    return f"The function `part_{random.randrange(99)}()` returns early when its input is empty; keep that. "


def _data(random: Random, number: int) -> str:
    if number % 3 == 0:
        rows = ({"id": random.randrange(10**7), "key": random.randbytes(8).hex()} for _ in range(90))
        return "\n".join(map(json.dumps, rows))
    if number % 3 == 1:
        lines = (f"{random.random() * 1e3:.3f},{random.randrange(9999)},{random.choice('NSEW')}" for _ in range(220))
        return "station,reading,wind\n" + "\n".join(lines)
    stamps = (
        f"2026-11-{random.randrange(1, 28):02d}T{random.randrange(24):02d}:00:{random.randrange(60):02d}Z"
        for _ in range(70)
    )
    return "\n".join(f"{one} WARN pump[{random.randrange(9999)}] pressure {random.random():.5f}" for one in stamps)


def _prose(random: Random, sentences: tuple[str, ...]) -> str:
    return "\n\n".join(" ".join(random.choices(sentences, k=4)) for _ in range(9))
