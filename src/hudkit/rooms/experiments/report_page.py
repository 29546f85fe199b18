"""The report of an experiment: one HTML file that needs no script, no network and no other file.

It compares the variants, mean and spread over the seeds: figures as strips of dots, what happened over time, who
talked with whom, where attention went, and how opinions moved.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from statistics import fmean, stdev

from hudkit.compose.formats.html.hast import HtmlElement
from hudkit.rooms import IMPROVISER_LABEL
from hudkit.rooms.experiments.experiment_file import Experiment, Opinion, Variant
from hudkit.rooms.experiments.interventions import intervention_text
from hudkit.rooms.experiments.results import FigureSummary, summaries
from hudkit.rooms.experiments.run_tables import RunTables
from hudkit.rooms.players import IMPROVISER_MODEL
from hudkit.web.elements import classes, e, write
from hudkit.web.plots import Curve, amount, strip_plot, style_name, time_plot

_TIMES = 60
"""Moments of a run at which a curve has a point."""
_MATRIX_AGENTS = 16
"""Agents that a table of who talks with whom has at most: those who say most."""
_SHADES = 4

_STRIPS = (
    ("messages", "a run"),
    ("words", "a run"),
    ("answers", "messages that answer another one, a run"),
    ("reactions", "a run"),
    ("actions", "carried out, a run"),
    ("refused", "actions and answers, a run"),
    ("beats without effect", "beats that came to nothing, a run"),
    ("failed beats", "a run"),
    ("hud tokens per message", "tokens"),
    ("output tokens", "a run"),
    ("cost", "dollars a run"),
)
"""The figures that are drawn, where any run has one, with their units."""


def write_report(experiment: Experiment, runs: Sequence[RunTables], path: Path) -> None:
    """Write the report of the runs that are finished."""
    text = _page(experiment, runs)
    draft = path.with_name(f"{path.name}.draft")
    draft.write_text(text, encoding="utf-8", newline="")
    draft.replace(path)


def _page(experiment: Experiment, runs: Sequence[RunTables]) -> str:
    variants = [variant for variant in experiment.variants if any(run.variant == variant.name for run in runs)]
    styles = {variant.name: number for number, variant in enumerate(experiment.variants)}
    rows = summaries(experiment, runs)
    body = e(
        "main",
        _header(experiment, runs),
        _variants_section(experiment, styles),
        _figures_section(rows, runs, styles) if runs else None,
        _time_section(runs, variants, styles) if runs else None,
        _opinions_section(experiment, runs, variants) if runs and experiment.opinions else None,
        _network_section(runs, variants) if runs else None,
        _attention_section(runs, variants) if runs else None,
        _table_section(rows) if runs else None,
    )
    sheets = [files("hudkit.web") / "static" / "base.css", files("hudkit.rooms.experiments") / "report.css"]
    css = "\n".join(sheet.read_text(encoding="utf-8") for sheet in sheets)
    # Pages load their style from a server. This one has none: its style is our own text, put in here.
    head = e(
        "head",
        e("meta", charset="utf-8"),
        e("title", f"{experiment.name} · experiment"),
        e("meta", name="viewport", content="width=device-width, initial-scale=1"),
        e("meta", name="color-scheme", content="light dark"),
    )
    page = write(e("html", head, e("body", body), lang="en"))
    return page.replace("</head>", f"<style>\n{css}</style></head>", 1) + "\n"


def _header(experiment: Experiment, runs: Sequence[RunTables]) -> HtmlElement:
    total = len(experiment.runs())
    done = f"{total:,} runs" if len(runs) == total else f"{len(runs):,} of {total:,} runs are finished"
    models = {row.model for run in runs for row in run.beats}
    scripted = any(variant.script for variant in experiment.variants)
    who = ", ".join(sorted(IMPROVISER_LABEL if model == IMPROVISER_MODEL else model for model in models))
    played = f"Played by: {'a script' if scripted else who or 'nobody yet'}."
    lengths = [
        f"{experiment.beats:,} beats" if experiment.beats else "",
        f"{experiment.minutes:g} minutes" if experiment.minutes else "",
    ]
    length = " or ".join(filter(None, lengths))
    return e(
        "header",
        e("h1", experiment.name),
        e(
            "p",
            f"{len(experiment.seeds):,} seeds × {len(experiment.variants):,} variants, {length} each: {done}. "
            f"{played} A dot is a run, a line across the mean over the seeds, the shade one standard deviation.",
        ),
    )


def _variants_section(experiment: Experiment, styles: dict[str, int]) -> HtmlElement:
    items = []
    for variant in experiment.variants:
        own = [intervention_text(intervention) for intervention in variant.interventions]
        items.append(
            e(
                "li",
                e("span", class_=classes("key", style_name(styles[variant.name]))),
                e("b", variant.name),
                f" – {'; '.join(own)}" if own else None,
            )
        )
    return e("section", e("h2", "Variants"), e("ul", items))


def _figures_section(rows: Sequence[FigureSummary], runs: Sequence[RunTables], styles: dict[str, int]) -> HtmlElement:
    plots = []
    for figure, unit in _STRIPS:
        own = [row for row in rows if row.figure == figure]
        if any(row.most for row in own):
            strips = [
                (
                    row.variant,
                    styles[row.variant],
                    [run.figures[figure] for run in runs if run.variant == row.variant],
                    row.mean,
                    row.sd,
                )
                for row in own
            ]
            plots.append(strip_plot(figure, unit, strips))
    return e("section", e("h2", "What came out"), e("div", plots, class_="grid"))


# -- over time -----------------------------------------------------------------------------------------------------


def _time_section(runs: Sequence[RunTables], variants: Sequence[Variant], styles: dict[str, int]) -> HtmlElement:
    minutes = _moments(runs)
    events = _events(runs)

    def curves(value_at: Callable[[RunTables, float], float]) -> list[Curve]:
        return [
            _mean_curve(variant.name, styles[variant.name], _runs_of(runs, variant), minutes, value_at)
            for variant in variants
        ]

    plots = [
        time_plot("Messages", "said so far", minutes, curves(_messages_until), events),
        time_plot("HUD tokens", "of a beat, mean of those around that time", minutes, curves(_tokens_around), events),
        time_plot("Tokens", "of all HUDs so far", minutes, curves(_tokens_until), events),
    ]
    if any(run.cost for run in runs):
        plots.append(time_plot("Cost", "dollars so far", minutes, curves(_cost_until), events))
    words = [e("li", f"minute {amount(minute)}: {text}") for minute, text in events]
    return e(
        "section",
        e("h2", "Over time"),
        e("div", plots, class_="grid"),
        e("p", "Interventions are the lines across, at the mean of their times:") if words else None,
        e("ul", words) if words else None,
    )


def _moments(runs: Sequence[RunTables]) -> list[float]:
    end = max(run.figures["minutes"] for run in runs)
    return [end * number / _TIMES for number in range(_TIMES + 1)]


def _events(runs: Sequence[RunTables]) -> list[tuple[float, str]]:
    """Return each intervention with the mean minute at which it was made."""
    times: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        for minute, text in run.interventions:
            times[text].append(minute)
    return sorted((fmean(minutes), text) for text, minutes in times.items())


def _mean_curve(
    name: str,
    style: int,
    runs: Sequence[RunTables],
    minutes: Sequence[float],
    value_at: Callable[[RunTables, float], float],
) -> Curve:
    means, spreads = [], []
    for minute in minutes:
        values = [value_at(run, minute) for run in runs]
        means.append(fmean(values))
        spreads.append(stdev(values) if len(values) > 1 else 0.0)
    return Curve(name, style, tuple(means), tuple(spreads))


def _messages_until(run: RunTables, minute: float) -> float:
    return sum(row.sender > 0 and row.minute <= minute for row in run.messages)


def _tokens_until(run: RunTables, minute: float) -> float:
    return sum(row.hud_tokens for row in run.beats if row.minute <= minute)


def _cost_until(run: RunTables, minute: float) -> float:
    return sum(row.cost for row in run.beats if row.minute <= minute)


def _tokens_around(run: RunTables, minute: float) -> float:
    """Return the mean HUD of the ten beats before a time, or of the first one."""
    end = max(1, bisect_right([row.minute for row in run.beats], minute))
    around = run.beats[max(0, end - 10) : end]
    return fmean(row.hud_tokens for row in around) if around else 0.0


# -- opinions ------------------------------------------------------------------------------------------------------


def _opinions_section(experiment: Experiment, runs: Sequence[RunTables], variants: Sequence[Variant]) -> HtmlElement:
    minutes, events = _moments(runs), _events(runs)
    plots = []
    for opinion in experiment.opinions:
        for variant in variants:
            own = _runs_of(runs, variant)
            curves = [
                _mean_curve(choice, number, own, minutes, partial(_holders_at, opinion, choice))
                for number, choice in enumerate(opinion.choices)
            ]
            plots.append(
                time_plot(f"{opinion.name}: {variant.name}", "agents, mean of the runs", minutes, curves, events)
            )
    return e(
        "section",
        e("h2", "Opinions"),
        e("p", "How many agents hold which choice: the last one that they said alone in a message, or wrote down."),
        e("div", plots, class_="grid"),
    )


def _holders_at(opinion: Opinion, choice: str, run: RunTables, minute: float) -> float:
    held = {row.agent: row.choice for row in run.opinions if row.opinion == opinion.name and row.minute <= minute}
    return sum(value == choice for value in held.values())


# -- who talks with whom -------------------------------------------------------------------------------------------


def _network_section(runs: Sequence[RunTables], variants: Sequence[Variant]) -> HtmlElement:
    matrices = []
    for variant in variants:
        own = _runs_of(runs, variant)
        heard: dict[tuple[int, int], float] = defaultdict(float)
        turns: dict[tuple[int, int], float] = defaultdict(float)
        names: dict[int, str] = {}
        for run in own:
            for row in run.network:
                pair = row.speaker, row.listener
                heard[pair] += row.heard / len(own)
                turns[pair] += (row.answers + row.reactions) / len(own)
                # Agents may rename themselves: the founding's names are those that variants share.
                names.setdefault(row.speaker, _founding_name(variant, row.speaker, row.speaker_name))
                names.setdefault(row.listener, _founding_name(variant, row.listener, row.listener_name))
        messages: dict[int, float] = defaultdict(float)
        for (speaker, _), count in heard.items():
            messages[speaker] += count
        there = sorted(sorted(names, key=lambda id: (-messages[id], id))[:_MATRIX_AGENTS])
        cells = {pair: (count, f"{amount(turns[pair])} back" if turns[pair] else "") for pair, count in heard.items()}
        matrices.append(
            _matrix(f"{variant.name}", [(id, names[id]) for id in there], [(id, names[id]) for id in there], cells)
        )
    return e(
        "section",
        e("h2", "Who talks with whom"),
        e(
            "p",
            "Messages of the one at the left that the one above could hear, mean of the runs; in small, answers and "
            "reactions to messages of the one above.",
        ),
        e("div", matrices, class_="stack"),
    )


def _attention_section(runs: Sequence[RunTables], variants: Sequence[Variant]) -> HtmlElement:
    matrices = []
    for variant in variants:
        own = _runs_of(runs, variant)
        shares: dict[tuple[int, int], float] = defaultdict(float)
        for run in own:
            last = {(row.agent, row.room): row.percent for row in run.attention}
            for pair, percent in last.items():
                shares[pair] += percent / len(own)
        agents = sorted({agent for agent, _ in shares})[:_MATRIX_AGENTS]
        rooms = sorted({room for _, room in shares})[:_MATRIX_AGENTS]
        cells = {pair: (percent, "") for pair, percent in shares.items()}
        named = partial(_founding_name, variant)
        matrices.append(
            _matrix(
                variant.name,
                [(id, named(id, f"agent {id}")) for id in agents],
                [(id, f"{named(id, f'agent {id}')}'s room") for id in rooms],
                cells,
            )
        )
    return e(
        "section",
        e("h2", "Attention at the end"),
        e("p", "Percent of the messages in its HUD that an agent (left) gives to a room (above), mean of the runs."),
        e("div", matrices, class_="stack"),
    )


def _matrix(
    title: str,
    rows: Sequence[tuple[int, str]],
    columns: Sequence[tuple[int, str]],
    cells: dict[tuple[int, int], tuple[float, str]],
) -> HtmlElement:
    most = max([value for value, _ in cells.values()] + [1e-9])

    def cell(pair: tuple[int, int]) -> HtmlElement:
        value, more = cells.get(pair, (0.0, ""))
        if not value and not more:
            return e("td", "·", class_="none")
        shade = f"h{min(_SHADES, 1 + int(_SHADES * value / most))}" if value else ""
        return e("td", amount(value), e("small", more) if more else None, class_=shade or None)

    head = e("tr", e("td", ""), [e("th", name, scope="col") for _, name in columns])
    body = [e("tr", e("th", name, scope="row"), [cell((id, other)) for other, _ in columns]) for id, name in rows]
    table = e("table", e("caption", title), e("thead", head), e("tbody", body), class_="heat")
    return e("figure", e("div", table, class_="scroll"))


def _founding_name(variant: Variant, id: int, otherwise: str) -> str:
    entries = variant.founding.agents
    return entries[id - 1].name or f"Bot-{id}" if id <= len(entries) else otherwise


# -- all figures ---------------------------------------------------------------------------------------------------


def _table_section(rows: Sequence[FigureSummary]) -> HtmlElement:
    variants = list(dict.fromkeys(row.variant for row in rows))
    by_place = {(row.figure, row.variant): row for row in rows}
    head = e("tr", e("th", "a run", scope="col"), [e("th", name, scope="col") for name in variants])
    body = [
        e("tr", e("th", figure, scope="row"), [_summary_cell(by_place[figure, name]) for name in variants])
        for figure in dict.fromkeys(row.figure for row in rows)
    ]
    table = e("table", e("thead", head), e("tbody", body))
    return e(
        "section",
        e("h2", "All figures"),
        e(
            "p",
            "Mean ± standard deviation of the sample, and in small the least and the most. The same is in "
            "variants.csv; runs.csv has every run, and beats, messages, network, attention, opinions and "
            "interventions are tables, too.",
        ),
        e("div", table, class_="scroll"),
    )


def _summary_cell(row: FigureSummary) -> HtmlElement:
    return e("td", f"{amount(row.mean)} ± {amount(row.sd)}", e("small", f"{amount(row.least)} – {amount(row.most)}"))


def _runs_of(runs: Sequence[RunTables], variant: Variant) -> list[RunTables]:
    return [run for run in runs if run.variant == variant.name]
