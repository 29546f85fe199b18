"""The file of an experiment: which world, which seeds, which variants of it, and what happens from outside.

A variant is laid over the founding file as plain data, before that is checked: so every key of a founding can be
varied, and a wrong one is refused as it would be in the founding itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hudkit.errors import ConfigError
from hudkit.models import Effort
from hudkit.rooms import MAX_SEED
from hudkit.rooms.experiments.interventions import Intervention, check_interventions
from hudkit.rooms.prompts import load_prompts
from hudkit.rooms.world_file import (
    WorldFile,
    convert_table,
    island_table,
    parse_world_table,
    read_toml_table,
)

MAX_RUNS = 100_000
"""Runs of one experiment."""

_Seed = Annotated[int, Meta(ge=0, le=MAX_SEED)]
_Name = Annotated[str, Meta(min_length=1, max_length=60)]


class _VariantEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one variant changes; see docs/experiments.md."""

    name: _Name
    set: dict[str, Any] = {}
    model: str | None = None
    temperature: float | None = None
    effort: Effort | None = None
    max_output: int | None = None
    prompts: str | None = None
    script: str | None = None
    interventions: tuple[Intervention, ...] = ()


class Opinion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is watched of every agent: which of the words it said last, or has at a path of its memory."""

    name: _Name
    choices: Annotated[tuple[_Name, ...], Meta(min_length=1)]
    path: str = ""


class _ExperimentEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str = ""
    world: str | None = None
    seeds: Annotated[int, Meta(ge=1)] | tuple[_Seed, ...] = 1
    beats: Annotated[int, Meta(ge=1)] | None = None
    minutes: Annotated[float, Meta(gt=0)] | None = None
    cap: Annotated[float, Meta(ge=0)] = 0.0
    clock: Literal["", "simulated", "real"] = ""
    script: str | None = None
    variants: tuple[_VariantEntry, ...] = (_VariantEntry("as founded"),)
    interventions: tuple[Intervention, ...] = ()
    opinions: tuple[Opinion, ...] = ()


class Variant(msgspec.Struct, frozen=True):
    """A variant, with all that it takes resolved. `script`: the path of a file of lines, or empty."""

    name: str
    founding: WorldFile
    prompts: dict[str, str]
    script: str
    interventions: tuple[Intervention, ...]


class Experiment(msgspec.Struct, frozen=True):
    """An experiment, checked. `seeds` are those of every variant; `beats` 0 and `minutes` 0.0: no such end.

    `cap` is in dollars for all runs together, 0: none. `clock` empty: simulated where nobody needs time to answer.
    """

    name: str
    where: str
    seeds: tuple[int, ...]
    beats: int
    minutes: float
    cap: float
    clock: str
    variants: tuple[Variant, ...]
    opinions: tuple[Opinion, ...]

    def runs(self) -> list[tuple[Variant, int]]:
        """Return all runs as variant and seed, in the order in which they are begun: seed by seed."""
        return [(variant, seed) for seed in self.seeds for variant in self.variants]


def run_name(variant: str, seed: int) -> str:
    """Return the name of a run's files: `quick-tongues-7`."""
    return f"{_plain_name(variant)}-{seed}"


def read_experiment(path: Path) -> Experiment:
    """Return the experiment of a TOML file. Raises `ConfigError` that says what is wrong, and where."""
    where = str(path)
    entry = convert_table(read_toml_table(path), _ExperimentEntry, where)
    if entry.beats is None and entry.minutes is None:
        raise ConfigError(f"{where} does not say how long a run is", hint="beats = 200, or minutes = 10")
    if not entry.variants:
        raise ConfigError(f"{where} has no variants", hint="Each begins with [[variants]], and has a name")
    folder = path.parent
    table = island_table() if entry.world is None else read_toml_table(folder / entry.world)
    founded = "island.toml" if entry.world is None else str(folder / entry.world)
    _check_names([variant.name for variant in entry.variants], where)
    variants = tuple(_resolved(entry, variant, table, folder, where, founded) for variant in entry.variants)
    first = variants[0].founding.seed
    seeds = tuple(range(first, first + entry.seeds)) if isinstance(entry.seeds, int) else entry.seeds
    if not seeds or len(set(seeds)) < len(seeds):
        raise ConfigError(f"{where}: seeds has none, or one of them twice", hint="seeds = 50, or a list: [3, 5, 8]")
    if len(seeds) * len(variants) > MAX_RUNS:
        raise ConfigError(f"{where} has {len(seeds) * len(variants):,} runs", hint=f"At most {MAX_RUNS:,}")
    return Experiment(
        entry.name or path.stem,
        where,
        seeds,
        entry.beats or 0,
        entry.minutes or 0.0,
        entry.cap,
        entry.clock,
        variants,
        entry.opinions,
    )


def _resolved(
    entry: _ExperimentEntry,
    variant: _VariantEntry,
    table: Mapping[str, Any],
    folder: Path,
    where: str,
    founded: str,
) -> Variant:
    place = f"{where}, variant {variant.name!r}"
    changed = deepcopy(dict(table))
    if variant.model is not None:
        changed["model"] = variant.model
    answers = {
        name: value
        for name in ("temperature", "effort", "max_output")
        if (value := getattr(variant, name)) is not None
    }
    if answers:
        changed["answers"] = {**changed.get("answers", {}), **answers}
    for path, value in variant.set.items():
        set_by_path(changed, path, value, place)
    founding = parse_world_table(changed, place if changed != table else founded)
    script = variant.script if variant.script is not None else entry.script
    interventions = (*entry.interventions, *variant.interventions)
    check_interventions(interventions, founding, place)
    prompts = load_prompts(folder / variant.prompts if variant.prompts is not None else None)
    return Variant(variant.name, founding, prompts, str(folder / script) if script else "", interventions)


def set_by_path(table: dict[str, Any], path: str, value: Any, where: str) -> None:
    """Set what is at a key path of a founding file: `rules.words.wpm`, `agents.Ada.model`, `agents.*.interval`.

    An agent is meant by its name, or by its number from 1. Raises `ConfigError` for a path that leads nowhere.
    """
    for holder, key in _holders(table, path, path, where):
        holder[key] = deepcopy(value)


def _holders(node: Any, path: str, whole: str, where: str) -> list[tuple[Any, Any]]:
    """Return each table that the last part of a path is a key of, with that key."""
    if isinstance(node, list):
        step, items, rest = _list_items(node, path, whole, where)
        if not rest:
            raise ConfigError(f"{where}: {whole!r} ends at {step!r}", hint="Name a key of it, as in agents.Ada.model")
        return [holder for item in items for holder in _holders(item, rest, whole, where)]
    if not isinstance(node, dict):
        raise ConfigError(f"{where}: {whole!r} leads into a value", hint="Key paths lead through tables")
    step, _, rest = path.partition(".")
    if not rest:
        return [(node, step)]
    # A table that the founding does not have is made: its keys are checked with the whole founding.
    return _holders(node.setdefault(step, {}), rest, whole, where)


def _list_items(items: Sequence[Any], path: str, whole: str, where: str) -> tuple[str, Sequence[Any], str]:
    """Return the first step of a path, the items of a list that it means, and the rest of the path."""
    step, _, rest = path.partition(".")
    if step == "*":
        return step, items, rest
    names = [str(item.get("name", "")) if isinstance(item, dict) else "" for item in items]
    # Longest first: a name may have a point in it, and begin with another one.
    for name in sorted(filter(None, names), key=len, reverse=True):
        if path.casefold() == name.casefold() or path.casefold().startswith(f"{name.casefold()}."):
            return name, [items[names.index(name)]], path[len(name) + 1 :]
    if step.isdecimal() and 1 <= int(step) <= len(items):
        return step, [items[int(step) - 1]], rest
    hint = f"There are: {', '.join(filter(None, names))}, their numbers from 1, and * for all"
    raise ConfigError(f"{where}: {whole!r} names {step!r}, who is not there", hint=hint)


def _plain_name(name: str) -> str:
    return re.sub(r"[^\w.]+", "-", name.casefold()).strip("-.") or "variant"


def _check_names(names: Sequence[str], where: str) -> None:
    files = [_plain_name(name) for name in names]
    for index, name in enumerate(files):
        if name in files[:index]:
            raise ConfigError(
                f"{where}: two variants would have the files {name!r}", hint="Give one of them another name"
            )
