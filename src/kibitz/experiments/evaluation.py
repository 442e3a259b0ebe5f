"""From the scores in a store to what an experiment answers: rows, verdicts, tables, figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz import plots, specs
from kibitz.arena import statistics
from kibitz.arena.laboratory import Order, stops_at
from kibitz.arena.play import Match
from kibitz.arena.rows import Row as StoredRow
from kibitz.arena.statistics import Estimate
from kibitz.arena.store import Cost, Counts, Store
from kibitz.arena.tally import JUDGED, MEASURES, Judgements, Tally, count_measures, points_in_games
from kibitz.deadline import check
from kibitz.errors import Damaged, MissingExtra
from kibitz.experiments import computed, learned
from kibitz.experiments.description import (
    BESIDE,
    GAP,
    SHARES,
    ComputedPlan,
    Experiment,
    FigurePlan,
    MatchGrid,
    RowPlan,
    Tournament,
    fill,
    flat,
    is_count,
    is_share,
    pairings,
)
from kibitz.experiments.verdicts import (
    ABOVE,
    DIFFERS,
    EXACT,
    GOAL,
    MORE,
    NOT_MEASURED,
    PUBLISHED,
    REPRODUCED,
    STRONGER,
    TOO_FEW,
    Line,
    Question,
    verdicts,
)

_LARGEST_FACTOR = 1e12
UNKNOWN = Estimate(math.nan, math.nan, -math.inf, math.inf, 0)

_SMALLEST_P = 1e-300


@dataclass(frozen=True)
class Run:
    """How an experiment was run: what its table depends on, and what made it."""

    factor: float
    seed: int
    command: str
    versions: dict[str, Any]
    numbers: list[int]
    """Of the matches in the store, in the order of the experiment's grids."""
    folder: str = ""
    """Where game files were looked for."""
    quick: bool = False
    """Whether matches with `quick_games` of their own were played with these."""

    to_dict = asdict

    @classmethod
    def of(cls, noted: dict[str, Any], row: StoredRow) -> Run:
        """From what a row of a store holds, checked."""
        known = {f.name for f in fields(cls)}
        if not known - {"folder", "quick"} <= set(noted) <= known:
            raise row.damaged(f"run has other keys than {', '.join(sorted(known))}")
        found = cls(**noted)
        factor = row.number("run.factor", found.factor)
        if not 0 < factor <= _LARGEST_FACTOR:
            raise row.damaged(f"run.factor is {factor:g}, not a number from 0 to {_LARGEST_FACTOR:g}")
        row.whole("run.seed", found.seed)
        for name in ("command", "folder"):
            row.text(f"run.{name}", getattr(found, name))
        if not isinstance(found.versions, dict) or not isinstance(found.numbers, list):
            raise row.damaged("run.versions is not an object, or run.numbers is not a list")
        for key, version in found.versions.items():
            row.text("run.versions", key)
            row.text("run.versions", version)
        for number in found.numbers:
            row.whole("run.numbers", number)
        if not isinstance(found.quick, bool):
            raise row.damaged("run.quick is neither true nor false")
        return found


@dataclass(frozen=True)
class Row:
    """One published figure beside the measured one, or a question with its answer."""

    experiment: str
    cell: str
    published: float | None
    measured: Estimate
    n: int
    verdict: str
    scale: float = 1.0
    digits: int = 1
    unit: str = ""
    p_value: float | None = None
    """Corrected for the number of lines that are tested in its table."""
    name: str = ""
    table: str = ""
    games_needed: int | None = None
    """How many games would tell, if there are too few."""
    is_corrected: bool = False
    """Whether other lines of its table are tested too."""
    all_leaves: int | None = None
    """Of a line that is computed: how many leaves there are."""
    published_games: int = 0
    """From how many games the published figure comes, if that is known."""

    @property
    def published_text(self) -> str:
        return "–" if self.published is None else f"{self.scale * self.published:.{self.digits}f}{self.unit}"

    @property
    def measured_text(self) -> str:
        if self.all_leaves is not None:
            return f"{self.measured.mean:,.0f} of {self.all_leaves:,} leaves"
        if math.isnan(self.measured.mean):
            return "–"
        return f"{self.measured.text(self.scale, self.digits)}{self.unit}"

    @property
    def short_text(self) -> str:
        """The value without its interval."""
        if self.all_leaves is not None or math.isnan(self.measured.mean):
            return self.measured_text
        return f"{self.scale * self.measured.mean:z.{self.digits}f}{self.unit}"

    @property
    def beside_text(self) -> str:
        """The value, and how the published one compares with it, as a part of a sentence."""
        if self.published is None:
            return self.short_text
        if self.verdict == DIFFERS:
            return f"{self.short_text}, not the published {self.published_text}"
        games = f" from {self.published_games:,} games" if self._is_within_both_errors else ""
        return f"{self.short_text} (published {self.published_text}{games}: {self.verdict})"

    @property
    def _is_within_both_errors(self) -> bool:
        """Whether the interval alone would not hold the published figure, which has an error of its own."""
        if self.published is None or self.verdict != REPRODUCED or not self.published_games:
            return False
        return not self.measured.low <= self.published <= self.measured.high

    @property
    def verdict_text(self) -> str:
        if self.games_needed is not None:
            return f"{self.verdict} (it takes about {self.games_needed:,})"
        if self._is_within_both_errors:
            return f"{self.verdict} (published from {self.published_games:,} games)"
        if self.p_value is None or math.isnan(self.p_value):
            return self.verdict
        p = f"p = {self.p_value:.3g}" if self.p_value >= _SMALLEST_P else f"p < {_SMALLEST_P:.0e}"
        return f"{self.verdict} ({p}{', corrected' if self.is_corrected else ''})"

    def to_dict(self) -> dict[str, Any]:
        return {
            "experiment": self.experiment,
            "table": self.table,
            "cell": self.cell,
            "published": self.published,
            "measured": self.measured.mean,
            "ci": list(self.measured.ci),
            "n": self.n,
            "verdict": self.verdict,
            "p_value": self.p_value,
            "p_value_is_corrected": self.is_corrected,
            "all_leaves": self.all_leaves,
            "games_needed": self.games_needed,
        }


@dataclass(frozen=True)
class Table:
    """A table of texts; the first column names the line."""

    title: str
    columns: list[str]
    rows: list[list[str]]


@dataclass
class Result:
    """What an experiment has shown so far."""

    experiment: Experiment
    run: Run
    rows: list[Row]
    tables: list[Table]
    ratings: dict[str, dict[str, Estimate]]
    """Of every tournament, by agent, the best first."""
    summary: list[str]
    findings: list[str]
    figures: list[tuple[str, str]]
    """(caption, SVG)"""
    games: int
    games_wanted: int
    core_seconds: float
    cost: Table
    no_figures: str = ""
    """Why figures are missing, and how to get them."""
    games_played: int | None = None
    """How many of the games were played by the run that gave this result, if one did."""

    @property
    def name(self) -> str:
        return self.experiment.name

    @property
    def title(self) -> str:
        return self.experiment.title or self.experiment.name

    @property
    def is_finished(self) -> bool:
        return self.games >= self.games_wanted

    @property
    def state(self) -> str:
        """How many of the published figures were found again."""
        if not self.is_finished:
            return f"{self.games:,} of {self.games_wanted:,} games" if self.games else NOT_MEASURED
        found = Counter(row.verdict for row in self.rows if row.published is not None)
        if not found:
            return "done"
        told = [f"{found[REPRODUCED]:,} of {found.total():,} lines reproduced"]
        told += [f"{found[DIFFERS]:,} differ{'s' * (found[DIFFERS] == 1)}"] * (found[DIFFERS] > 0)
        told += [f"{found[TOO_FEW]:,} with too few games"] * (found[TOO_FEW] > 0)
        return ", ".join(told)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "question": self.experiment.question,
            "source": self.experiment.source,
            "state": self.state,
            "confidence": self.experiment.confidence,
            "games": self.games,
            "games_wanted": self.games_wanted,
            "core_seconds": self.core_seconds,
            "rows": [row.to_dict() for row in self.rows],
            "tables": [asdict(table) for table in self.tables],
            "ratings": {
                name: [{"agent": agent, "rating": r.mean, "ci": list(r.ci)} for agent, r in found.items()]
                for name, found in self.ratings.items()
            },
            "summary": self.summary,
            "findings": self.findings,
            "command": self.run.command,
            "seed": self.run.seed,
            "versions": self.run.versions,
        }


@dataclass
class Cell:
    """One match of a grid, and what is known of it."""

    values: dict[str, Any]
    order: Order
    deals: int
    """As many as its question needed, or as were wanted."""
    scores: NDArray[np.float64]
    cost: Cost
    counts: Counts
    confidence: float

    @property
    def match(self) -> Match:
        return self.order.match

    @cached_property
    def tally(self) -> Tally | Judgements:
        return (Judgements if self.match.judged else Tally).of(self.match, self.scores)

    def estimate(self, measure: str, agent: int, interval: str = "deals") -> Estimate:
        """A measure with an interval that holds though its own result has stopped the match."""
        check()
        if is_count(measure) and isinstance(self.tally, Tally):
            return self.tally.count(measure, self.counts, agent, self.confidence)
        interval = "any time" if self.order.until_decided else interval
        return self.tally.estimate(measure, agent, interval, self.confidence)

    def words(self, measure: str) -> str:
        """What a measure is called."""
        return {**MEASURES, **JUDGED, **count_measures(self.match.rules.counted)}[measure]

    @property
    def games(self) -> int:
        return len(self.scores) * self.match.games_a_deal

    @property
    def games_wanted(self) -> int:
        return self.deals * self.match.games_a_deal


def orders(experiment: Experiment, factor: float, seed: int) -> list[tuple[MatchGrid, dict[str, Any], Order]]:
    """All matches of an experiment at a size: grid, values, order."""
    found = []
    for grid in experiment.grids():
        full, quick = flat(grid.games), flat(grid.quick_games)
        for i, values in enumerate(grid.cells):
            match = grid.match(values, seed)
            own = quick[i % len(quick)] if experiment.is_quick else 0
            deals = match.deals_for(max(1, own or round(full[i % len(full)] * factor)))
            found.append((grid, values, Order(match, deals, bool(grid.until), grid.deal_seconds)))
    return found


def numbered(
    experiment: Experiment, run: Run, store: Store
) -> list[tuple[MatchGrid, dict[str, Any], Order, int]]:
    """All matches of an experiment that was run, with their numbers in the store, where they must be."""
    wanted = orders(experiment, run.factor, run.seed)
    if len(wanted) != len(run.numbers):
        raise Damaged(
            f"the store {store.path} is damaged: table experiment, row {experiment.name}: its run has "
            f"{len(run.numbers)} matches, and its description {len(wanted)}"
        )
    for (_, _, order), number in zip(wanted, run.numbers, strict=True):
        kept = store.kept(number)
        if (kept.match, kept.places) != (order.match, order.match.places):
            raise Damaged(
                f"the store {store.path} is damaged: table match, row {number}: it is not the match that the "
                f"experiment {experiment.name} names by this number"
            )
    return [(*order, number) for order, number in zip(wanted, run.numbers, strict=True)]


@np.errstate(over="ignore", invalid="ignore")  # scores may be anything that a store can hold
def evaluate(experiment: Experiment, run: Run, store: Store) -> Result:
    """What the store knows about an experiment."""
    cells: dict[str, list[Cell]] = {}
    for grid, values, order, number in numbered(experiment, run, store):
        check()
        scores = store.scores(number, order.deals)
        deals = stops_at(order, scores)
        cost, counts = store.cost(number, deals), store.counts(number, deals)
        cells.setdefault(grid.name, []).append(
            Cell(values, order, deals, scores[:deals], cost, counts, experiment.confidence)
        )
    made = [_rows(experiment, plan, cells) for plan in experiment.rows]
    rows = _judged([row for group in made for row in group], experiment.confidence)
    findings, begin = [], 0
    for plan, group in zip(experiment.rows, made, strict=True):
        begin, own = begin + len(group), rows[begin : begin + len(group)]
        if plan.cause and any(row.verdict == DIFFERS for row in own):
            findings.append(plan.cause)
    rows += [_computed(experiment, plan) for plan in experiment.computed]
    named = {row.name: row for row in rows if row.name}
    told = {name: row.measured_text for name, row in named.items()}
    short = {name: row.short_text for name, row in named.items()}
    short |= {name + BESIDE: row.beside_text for name, row in named.items()}
    findings += [fill(note, told) for note in experiment.notes]
    tables: list[Table] = []
    ratings: dict[str, dict[str, Estimate]] = {}
    for name, tournament in experiment.tournaments.items():
        ratings[name], standings = _standings(tournament, cells, experiment.confidence)
        tables += standings
    if experiment.learned:
        tables.append(Table(*learned.table(experiment)))
    everything = [cell for group in cells.values() for cell in group]
    figures, no_figures = [], ""
    try:
        figures = [figure for plan in experiment.figures for figure in _figure(experiment, plan, cells, rows)]
        figures += learned.figures(experiment) if experiment.learned else []
    except MissingExtra as error:  # all the rest can be told without them
        no_figures = str(error)
    return Result(
        experiment,
        run,
        rows,
        tables,
        ratings,
        [fill(sentence, short) for sentence in experiment.summary],
        findings,
        figures,
        sum(cell.games for cell in everything),
        sum(cell.games_wanted for cell in everything),
        sum(cell.cost.seconds for cell in everything),
        _cost_table(everything),
        no_figures,
    )


# --- rows ------------------------------------------------------------------------------------------


def _rows(
    experiment: Experiment, plan: RowPlan, cells: dict[str, list[Cell]]
) -> list[tuple[Row, Line | None]]:
    """One row for every cell of a grid, and what is asked of it, if anything can be."""
    group = cells[plan.match][:1] if plan.pooled else cells[plan.match]
    published = flat(plan.published) if plan.published is not None else [None]
    per_cent = is_share(plan.measure)
    found: list[tuple[Row, Line | None]] = []
    for i, cell in enumerate(group):
        known, estimate = published[i % len(published)], _measure(plan, i, cells)
        is_run = _is_run(plan, i, cells)
        row = Row(
            experiment.name,
            fill(plan.cell, {} if plan.pooled else cell.values) or _label(plan, cell, cells),
            known,
            estimate,
            int(cell.tally.played[: estimate.n if is_count(plan.measure) else None, plan.agent].sum()),
            "–" if is_run else NOT_MEASURED,
            100.0 if per_cent else 1.0,
            plan.digits if plan.digits is not None else 1 if per_cent or _is_coarse(cell) else 3,
            " %" if per_cent else "",
            name=plan.name,
            table=plan.table,
            published_games=plan.published_games,
        )
        # Without a decided game there is no share of decided games, and nothing can be asked.
        asked = _asked(plan, known, cell) if is_run and (estimate.n or known is not None) else None
        if asked is None:
            found.append((row, None))
            continue
        question, against = asked
        error = None if known is None else _own_error(plan, known, estimate, cell)
        p_value = _p_value(plan, question, against, i, cells)
        found.append((row, Line(against, estimate, row.n, per_cent, error, question, p_value)))
    return found


def _asked(plan: RowPlan, published: float | None, cell: Cell) -> tuple[Question, float] | None:
    """What is asked of a row, and the figure that it is held against."""
    if published is not None:
        return PUBLISHED, published
    if plan.goal is not None:
        return GOAL, plan.goal
    if plan.above is not None and not plan.test:
        return ABOVE, plan.above
    if plan.less or plan.measure == "lead":
        return MORE if cell.match.judged else STRONGER, 0.0
    return None


def _judged(asked: list[tuple[Row, Line | None]], confidence: float) -> list[Row]:
    """The rows with their verdicts, table by table: all that is tested in a table is one family."""
    found = [row for row, _ in asked]
    for table in {row.table for row in found}:
        lines = {place: line for place, (row, line) in enumerate(asked) if line and row.table == table}
        for (place, line), judged in zip(
            lines.items(), verdicts(list(lines.values()), confidence), strict=True
        ):
            # Beside a published figure the interval says it all, unless the row has a test of its own.
            is_told = line.asks is not PUBLISHED or line.p_value is not None
            found[place] = replace(
                found[place],
                verdict=judged.word,
                games_needed=judged.games_needed,
                p_value=judged.p_value if is_told else None,
                is_corrected=is_told and judged.is_corrected,
            )
    return found


def _computed(experiment: Experiment, plan: ComputedPlan) -> Row:
    """A line that is no sample: the same on every machine and every day."""
    tree = computed.tree_of(plan.tree)
    n, everything = (computed.leaves(tree, name) for name in (plan.algorithm, "minimax"))
    cell = plan.cell or f"{plan.algorithm} in the tree {plan.tree}"
    return Row(
        experiment.name, cell, None, Estimate(n, 0.0, n, n, 0), 0, EXACT, 1.0, 0, name=plan.name,
        table=plan.table, all_leaves=everything,
    )  # fmt: skip


def _is_coarse(cell: Cell) -> bool:
    """Whether a tenth of a point is little in this game."""
    low, high = cell.tally.score_range
    return high - low >= 10


def _label(plan: RowPlan, cell: Cell, cells: dict[str, list[Cell]]) -> str:
    agents = list(cell.match.agents)
    me = agents.pop(plan.agent)
    against = f" against {' and '.join(dict.fromkeys(agents))}" if agents else ""
    if plan.measure == GAP:
        return f"{me}{against}: share of the gap to {cells[plan.ceiling][0].match.agents[plan.agent]}"
    less = f" less {cells[plan.less][0].match.agents[plan.agent]}" if plan.less else ""
    return f"{me}{less}{against}: {cell.words(plan.measure)}"


def _other(name: str, i: int, cells: dict[str, list[Cell]]) -> Cell:
    return cells[name][i % len(cells[name])]


def _together(*arrays: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """The same deals of several matches."""
    deals = min(map(len, arrays))
    return [array[:deals] for array in arrays]


def _is_run(plan: RowPlan, i: int, cells: dict[str, list[Cell]]) -> bool:
    """Whether every match that a row needs has been played, at least in part."""
    names = filter(None, (plan.match, plan.less, plan.base, plan.ceiling))
    needed = [cells[name] if plan.pooled else [_other(name, i, cells)] for name in names]
    return all(len(cell.scores) for group in needed for cell in group)


def _measure(plan: RowPlan, i: int, cells: dict[str, list[Cell]]) -> Estimate:
    cell = cells[plan.match][i]
    if not _is_run(plan, i, cells):
        return UNKNOWN
    if plan.measure == GAP:
        values = np.stack(
            _together(
                *(
                    _other(name, i, cells).tally.per_deal(plan.of, plan.agent)
                    for name in (plan.base, plan.match, plan.ceiling)
                )
            )
        )
        base, best, ceiling = values[:, np.isfinite(values).all(axis=0)]
        return statistics.share_of_gap(base, best, ceiling, cell.confidence)
    if plan.less or plan.pooled:
        difference = _difference(plan, i, cells)
        if len(difference) and np.ptp(difference) == 0:  # deals that all agree say nothing of their spread
            return replace(UNKNOWN, mean=float(difference[0]), n=len(difference))
        interval = statistics.bootstrap_of_deals if plan.interval == "bootstrap" else statistics.mean_of_deals
        return interval(difference, cell.confidence)
    if plan.interval in ("wilson", "exact") and not cell.order.until_decided:
        won, played = _counts(plan, cell)
        closed_form = statistics.wilson if plan.interval == "wilson" else statistics.exact_binomial
        return closed_form(won, played, cell.confidence)
    return cell.estimate(plan.measure, plan.agent, plan.interval)


def _counts(plan: RowPlan, cell: Cell) -> tuple[int, int]:
    """Games that count as won, and games."""
    tally, agent = cell.tally, plan.agent
    assert isinstance(tally, Tally)
    won, drawn, played = (int(x[:, agent].sum()) for x in (tally.wins, tally.draws, tally.played))
    return {"decided": (won, played - drawn), "unbeaten": (won + drawn, played)}.get(
        plan.measure, (won, played)
    )


def _difference(plan: RowPlan, i: int, cells: dict[str, list[Cell]]) -> NDArray[np.float64]:
    """One number a deal, less that of the other match; of a pooled grid, the mean of its cells."""
    names = filter(None, (plan.match, plan.less))
    ours, *theirs = _together(*(_per_deal(plan, cells[name], i) for name in names))
    difference = ours - theirs[0] if theirs else ours
    return difference[np.isfinite(difference)]


def _per_deal(plan: RowPlan, group: Sequence[Cell], i: int) -> NDArray[np.float64]:
    chosen = group if plan.pooled else [group[i % len(group)]]
    found: NDArray[np.float64] = np.mean(
        _together(*(cell.tally.per_deal(plan.measure, plan.agent) for cell in chosen)), axis=0
    )
    return found


def _p_value(
    plan: RowPlan, question: Question, against: float, i: int, cells: dict[str, list[Cell]]
) -> float | None:
    """The p-value of a test of its own; None: the interval decides."""
    cell = cells[plan.match][i]
    is_closed_form = plan.interval in ("wilson", "exact")
    if question is PUBLISHED:
        if not (plan.published_games and is_closed_form):
            return None
        return statistics.two_shares(
            *_counts(plan, cell), against * plan.published_games, plan.published_games
        )
    if question is ABOVE:
        if is_closed_form:
            return statistics.share_above(*_counts(plan, cell), against)
        if plan.less or plan.pooled:
            values = _difference(plan, i, cells)
        else:
            values = cell.tally.as_mean(plan.measure, plan.agent)
        if len(values) and np.ptp(values) == 0:  # Student knows no spread; the interval of a share may
            return None if values[0] > against else 1.0
        return statistics.mean_above(values, against)
    if question in (STRONGER, MORE) and plan.test == "mcnemar":
        other = _other(plan.less, i, cells)
        ours, theirs = _together(*(wins_of(c.match, c.scores, plan.agent) for c in (cell, other)))
        return statistics.mcnemar(ours.ravel() > 0, theirs.ravel() > 0).p_value
    if question in (STRONGER, MORE) and plan.test == "paired":
        return statistics.mean_differs(_difference(plan, i, cells))
    return None


def wins_of(match: Match, scores: NDArray[np.float64], agent: int) -> NDArray[np.float64]:
    """Whether an agent has won, [deal, seating]."""
    rivals = [[seat for seat in range(match.seats) if seats[seat] != agent] for seats in match.places]
    mine = [[seat for seat in range(match.seats) if seats[seat] == agent] for seats in match.places]
    best = [scores[:, s, mine[s]].max(axis=1) - scores[:, s, rivals[s]].max(axis=1) for s in range(len(mine))]
    return (np.stack(best, axis=1) > 0).astype(float)


def _own_error(plan: RowPlan, published: float, measured: Estimate, cell: Cell) -> Estimate | None:
    """The interval of a published figure itself, if it is known how many games are behind it."""
    games = plan.published_games
    if not games:
        return None
    if plan.measure in SHARES and not plan.less:
        return statistics.wilson(published * games, games, cell.confidence)
    ratio = math.sqrt(measured.n * cell.match.games_a_deal / games)  # fewer games, a larger error
    low, high = measured.mean - measured.low, measured.high - measured.mean
    return replace(measured, mean=published, low=published - ratio * low, high=published + ratio * high)


# --- tables ----------------------------------------------------------------------------------------


def _cost_table(cells: Sequence[Cell]) -> Table:
    rows = []
    for cell in cells:
        thought = cell.cost.thought
        milliseconds = [
            f"{1000 * seconds / decisions:.3g}" if decisions else "–"
            for seconds, decisions in zip(
                thought.get("seconds", []), thought.get("decisions", []), strict=False
            )
        ]
        name = " – ".join(cell.match.agents)
        rows.append([name, f"{cell.games:,}", f"{cell.cost.seconds:.1f}", " / ".join(milliseconds)])
    return Table("What it cost", ["match", "games", "core seconds", "ms a decision"], rows)


def _standings(
    tournament: Tournament, cells: dict[str, list[Cell]], confidence: float
) -> tuple[dict[str, Estimate], list[Table]]:
    """Ratings, and the cross table in their order."""
    n = len(tournament.agents)
    pairs: list[tuple[int, int]] = []
    shares: list[NDArray[np.float64]] = []
    for grid in pairings(tournament):
        first, second = map(int, grid.name.rpartition("/")[2].split("-"))
        (cell,) = cells[grid.name]
        share = duels(cell.match, cell.scores)
        if (second, first) in pairs:  # more than two sides: the other half of the pair
            at = pairs.index((second, first))
            ours, theirs = _together(shares[at], share)
            shares[at] = (ours + 1 - theirs) / 2
        else:
            pairs.append((first, second))
            shares.append(share)
    deals = max(map(len, shares))
    if deals == 0:
        return {}, []
    per_deal = np.full((deals, len(pairs)), np.nan)
    for column, share in enumerate(shares):
        per_deal[: len(share), column] = share
    ratings = statistics.bradley_terry(n, pairs, per_deal, confidence)
    order = sorted(range(n), key=lambda agent: -ratings[agent].mean)
    against = {}
    for (first, second), share in zip(pairs, shares, strict=True):
        against[first, second], against[second, first] = (_share(s, confidence) for s in (share, 1 - share))
    score = {}
    for a in range(n):
        met = [against[a, b].mean for b in range(n) if b != a and against[a, b].n]
        score[a] = f"{100 * np.mean(met):.1f}" if met else "–"
    standing = [[tournament.agents[a], ratings[a].text(1, 0), score[a], f"{len(shares[0]):,}"] for a in order]
    cross = [
        [
            tournament.agents[a],
            *("·" if a == b else against[a, b].text(100, 1) if against[a, b].n else "–" for b in order),
        ]
        for a in order
    ]
    return {tournament.agents[a]: ratings[a] for a in order}, [
        Table(
            f"Ratings in {tournament.game} (Elo, mean 0; {100 * confidence:g} %)",
            ["agent", "rating", "% of games, a draw as half", "deals a pair"],
            standing,
        ),
        Table(
            "Cross table: % of games of the line's agent against the column's, a draw as half",
            ["agent", *(str(place) for place in range(1, n + 1))],
            [[f"{place}. {row[0]}", *row[1:]] for place, row in enumerate(cross, 1)],
        ),
    ]


def _share(per_deal: NDArray[np.float64], confidence: float) -> Estimate:
    """A share of games with its interval, from the share of every deal's, which has more than one."""
    return statistics.share_of_deals(2 * per_deal, np.full(len(per_deal), 2.0), confidence)


def duels(match: Match, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of meetings of the first agent's seats with the others' that it wins, one number a deal."""
    shares = []
    for s, seats in enumerate(match.places):
        for mine in (seat for seat in range(match.seats) if seats[seat] == 0):
            for other in (seat for seat in range(match.seats) if seats[seat] != 0):
                ahead = scores[:, s, mine] - scores[:, s, other]
                shares.append(0.5 + 0.5 * np.sign(ahead))
    return np.mean(shares, axis=0)


# --- figures ---------------------------------------------------------------------------------------


def _figure(
    experiment: Experiment, plan: FigurePlan, cells: dict[str, list[Cell]], rows: Sequence[Row]
) -> list[tuple[str, str]]:
    """The picture, or none while there is nothing to show."""
    if plan.kind == "intervals":
        shown = [row for row in rows if row.measured.n and (not plan.rows or row.name in plan.rows)]
        if not shown:
            return []
        label = plan.label or (shown[0].unit.strip() or "points per game")
        svg = plots.intervals(
            [row.cell for row in shown], [row.measured for row in shown], [row.published for row in shown],
            label, shown[0].scale,
        )  # fmt: skip
        return [(plan.caption, svg)]
    if plan.kind == "distribution":
        played = [cell for name in plan.matches for cell in cells[name] if len(cell.scores)]
        samples = {
            name: points_in_games(cell.match, cell.scores, plan.agent)
            for name, cell in zip(_names(played, plan.agent), played, strict=True)
        }
        svg = plots.distributions(samples, plan.label or "points in a game", plan.mark) if samples else ""
        return [(plan.caption, svg)] if svg else []
    group, measures = cells[plan.match], plan.measures or (plan.measure,)
    if not any(len(cell.scores) for cell in group):
        return []
    per_cent = is_share(measures[0])
    scale, unit = (100.0, ", %") if per_cent else (1.0, "")
    words = [group[0].words(measure) for measure in measures]
    label = plan.label or (words[0] + unit if not plan.measures else unit.strip(", ") or "a game")
    if plan.kind == "heat":
        published = _published_cells(experiment, plan, plan.measure, group)
        return [(plan.caption, _heat(plan, group, published, label, scale))]
    lines: dict[str, list[tuple[float, Estimate]]] = {}
    old: dict[str, list[tuple[float, float]]] = {}
    for measure, name in zip(measures, words, strict=True):
        published = _published_cells(experiment, plan, measure, group)
        for cell, figure in zip(group, published, strict=True):
            agent = specs.split(cell.match.agents[plan.agent])[0]
            line = name if plan.measures else f"{plan.y} = {cell.values[plan.y]}" if plan.y else agent
            if len(cell.scores):
                estimate = cell.estimate(measure, plan.agent)
                lines.setdefault(line, []).append((cell.values[plan.x], estimate))
            if figure is not None:
                old.setdefault(line, []).append((cell.values[plan.x], figure))
    if plan.kind == "bars":
        groups = [f"{plan.x} = {value}" for value in experiment.matches[plan.match].grid[plan.x]]
        whole = {
            line: [dict(points).get(value, UNKNOWN) for value in experiment.matches[plan.match].grid[plan.x]]
            for line, points in lines.items()
        }
        return [(plan.caption, plots.bars(groups, whole, label, scale))]
    return [(plan.caption, plots.curves(lines, plan.x, label, scale, old or None))]


def _published_cells(
    experiment: Experiment, plan: FigurePlan, measure: str, group: Sequence[Cell]
) -> list[float | None]:
    """The published figure of every cell of a grid, if a row gives them."""
    asked = (plan.match, measure, plan.agent, "")
    for row in experiment.rows:
        if (row.match, row.measure, row.agent, row.less) == asked and row.published is not None:
            figures = flat(row.published)
            return [figures[i % len(figures)] for i in range(len(group))]
    return [None] * len(group)


def _heat(
    plan: FigurePlan, group: Sequence[Cell], published: Sequence[float | None], label: str, scale: float
) -> str:
    columns = list(dict.fromkeys(cell.values[plan.x] for cell in group))
    lines = list(dict.fromkeys(cell.values[plan.y] for cell in group))
    measured, known = (np.full((len(lines), len(columns)), np.nan) for _ in range(2))
    for cell, figure in zip(group, published, strict=True):
        at = lines.index(cell.values[plan.y]), columns.index(cell.values[plan.x])
        known[at] = math.nan if figure is None else scale * figure
        if len(cell.scores):
            measured[at] = scale * cell.estimate(plan.measure, plan.agent).mean
    panels = [("published", known)] if np.isfinite(known).any() else []
    panels.append(("measured", measured))
    return plots.heat_map(list(map(str, lines)), list(map(str, columns)), panels, plan.y, plan.x, label)


def _names(cells: Sequence[Cell], agent: int) -> list[str]:
    """What tells cells apart: the agent, or the whole table where he sits at several."""
    names = [cell.match.agents[agent] for cell in cells]
    if len(set(names)) < len(names):
        names = [" – ".join(cell.match.agents) for cell in cells]
    if len(set(names)) < len(names):
        names = [f"{name}, {c.match.game}, seed {c.match.seed}" for name, c in zip(names, cells, strict=True)]
    return names
