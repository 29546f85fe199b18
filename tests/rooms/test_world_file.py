"""Founding: the page's own world is made and played as the page says, and the same seed gives the same world."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hudkit.config import parse
from hudkit.errors import ConfigError
from hudkit.rooms.players import open_players
from hudkit.rooms.prompts import load_prompts
from hudkit.rooms.scheduler import SimulatedClock, WorldRunner
from hudkit.rooms.world_export import transcript_lines
from hudkit.rooms.world_file import island_world, parse_world_table, populate_world
from hudkit.rooms.world_log import WorldLog

pytestmark = pytest.mark.slow

START = 1_800_000_000_000
PAGE = (Path(__file__).parent.parent.parent / "docs" / "rooms.md").read_text(encoding="utf-8")


async def lived(seed: int, beats: int = 60) -> list[str]:
    clock = SimulatedClock(START)
    founding = island_world()
    with WorldLog.in_memory(seed=seed, rules=founding.rules, prompts=load_prompts(), clock=clock.wall) as world_log:
        populate_world(world_log, founding)
        await WorldRunner(world_log, open_players(), clock=clock).run(beats=beats)
        return list(transcript_lines(world_log.events()))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("tempo = { most = inf }", "tempo.most"),
        ("tempo = { least = 20.0 }", "least is 20, and most is 10"),
        ("words = { least_wpm = 500 }", "least_wpm is 500, and most_wpm is 200"),
        ("tokens = { total = 4000 }", "messages is 5000, and total is 4000"),
        ("caps = { cost = nan }", "caps.cost"),
        ("caps = { keys = -1 }", "caps.keys"),
    ],
)
def test_rules_by_which_no_world_can_live_are_named(wrong: str, said: str) -> None:
    toml = f"[rules]\n{wrong}\n[[agents]]\nname = 'A'\nbackground = 'b'"
    with pytest.raises(ConfigError, match=re.escape(said)):
        parse_world_table(parse(toml, "x.toml"), "x.toml")


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_same_seed_gives_the_same_world(anyio_backend: str) -> None:
    first = await lived(11)
    assert first == await lived(11) and first != await lived(12)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_everyone_on_the_island_soon_speaks(anyio_backend: str) -> None:
    said = "\n".join(await lived(island_world().seed))
    assert all(f"{one.name} ({id})" in said.partition("#")[2] for id, one in enumerate(island_world().agents, 1))
    spoke = re.findall(r"^08:00:\d\d  \[.*?\] #\d+ (\w+)", said, re.MULTILINE)
    assert len(spoke) >= 5 and len(set(spoke)) >= 4, "within the first minute"


def test_the_world_on_the_page_is_made_and_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    toml = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[0]
    Path("harbour.toml").write_text(toml.replace('model = "openai:gpt-5-mini"\n', ""))
    code = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[0]
    exec(compile(code, "rooms.md", "exec"), {"__name__": "__main__"})
    told = capsys.readouterr().out
    assert "The lamp of the pier is missing" in told and re.search(r"\] #\d+ Clerk \(2\)", told)


def test_document_003_s_name_of_the_compact_format_is_understood() -> None:
    agents = [{"name": "Ann", "background": "You mend nets.", "input_format": "compact_json"}]
    assert parse_world_table({"agents": agents}, "it").agents[0].input_format == "compact"
