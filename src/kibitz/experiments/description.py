"""Experiments as data: a TOML text that says what to play, on how many deals, and what to ask of it.

name = "budget"
question = "What is a doubling of the iterations worth?"
game = "briskola"
games = 400

[match.budget]
agents = ["ismcts:{n}", "random"]
grid.n = [100, 200, 400, 800]

[[row]]
match = "budget"
measure = "points"

[[figure]]
kind = "curve"
match = "budget"
x = "n"
"""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Iterable
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from kibitz import specs, trust
from kibitz.arena.play import Match
from kibitz.arena.tally import JUDGED, MEASURES, RATIOS, count_measures
from kibitz.belief import counters
from kibitz.errors import BadOption, KibitzError, ParseError, UnknownName, quoted
from kibitz.experiments import computed
from kibitz.games import load_known
from kibitz.reading import LARGEST_NUMBER, file_text, told
from kibitz.search import solver

INTERVALS = ("deals", "bootstrap", "wilson", "exact")
"""How an interval is made: over deals (Student, ratio), by bootstrap over deals, or over single games."""

MOST_MATCHES = 5_000
"""Of one experiment: combinations of values, and pairs of a tournament."""

MOST_LINES = 20_000
"""In the tables of one experiment: one for every row and every combination of values."""

FIGURES = ("intervals", "curve", "heat", "bars", "distribution")

GAP = "gap"
"""The measure "share of the gap closed" needs three matches."""

SHARES = ("win_rate", "decided", "unbeaten", "score", "best")
"""Measures that are shares of games or decisions: numbers from 0 to 1."""

TESTS = ("mcnemar", "paired")
"""Of a difference: game by game for wins, or Student's over deals; both two-sided."""


def is_count(measure: str) -> bool:
    """Whether a measure is about what the game counts besides the score."""
    return measure not in (*MEASURES, *JUDGED, GAP)


def is_share(measure: str) -> bool:
    """Whether a measure is shown as per cent.

    >>> [is_share(measure) for measure in ("win_rate", "points", "bids_made", "bids_made of rounds")]
    [True, False, False, True]
    """
    return measure in (*SHARES, GAP, "share_of_points") or " of " in measure


@dataclass(frozen=True)
class MatchGrid:
    """A match, or one for every combination of the values in its grid."""

    name: str
    """The NAME of `[match.NAME]`."""
    agents: tuple[str, ...]
    """One agent per seat or team, the last one fills the rest; `{n}` stands for a value of the grid."""
    game: str = ""
    """The game (default: the experiment's)."""
    games: Any = 0
    """Games per cell, rounded up to whole deals: a number, or a list in the order of the grid (default:
    the experiment's)."""
    quick_games: Any = 0
    """Games with --quick: a number, or a list in the order of the grid (default: as at the top)."""
    seed: int = 0
    """Added to the experiment's seed. Matches with the same seed are played on the same deals."""
    rotate: bool = True
    """`false`: a deal is played once, the first agent in the first seat, as many published programs did."""
    grid: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """Names with lists of values: `grid.n = [100, 200]`; all combinations are played."""
    until: str = ""
    """`decided`: end when it is known whether the first agent makes more points than the others."""
    judged: bool = False
    """`true`: nothing is played; the one agent makes the first decision of a deal, judged by a solver."""
    deal_seconds: float = 0.0
    """Roughly what one core needs for a deal, for the time left that is shown before it is measured."""

    @property
    def size(self) -> int:
        """How many combinations of values there are."""
        return math.prod(map(len, self.grid.values()))

    @cached_property
    def cells(self) -> list[dict[str, Any]]:
        """The combinations of values, the last name running fastest."""
        return [
            dict(zip(self.grid, values, strict=True)) for values in itertools.product(*self.grid.values())
        ]

    def match(self, values: dict[str, Any], seed: int) -> Match:
        """The match of one combination."""
        agents = tuple(fill(agent, values) for agent in self.agents)
        return Match(fill(self.game, values), agents, seed + self.seed, self.rotate, self.judged)


@dataclass(frozen=True)
class Tournament:
    """Everyone against everyone: ratings and a cross table."""

    name: str
    """The NAME of `[tournament.NAME]`."""
    agents: tuple[str, ...]
    """At least two, all different."""
    game: str = ""
    """The game (default: the experiment's)."""
    games: int = 0
    """Games per pair (default: the experiment's)."""


@dataclass(frozen=True)
class RowPlan:
    """A line of the table, or one for every cell of a grid."""

    match: str
    """The match that it is about."""
    table: str = ""
    """The heading of the table that the line belongs to, where there are several."""
    measure: str = "points"
    """What is measured, see below; `gap`: the share of the way from `base` to `ceiling`."""
    agent: int = 0
    """Which agent; the first of the match is 0."""
    cell: str = ""
    """The label of the line; `{n}` is the value of n in the grid."""
    name: str = ""
    """The name by which notes and figures refer to the line."""
    less: str = ""
    """Another match on the same deals, whose value is subtracted, deal by deal."""
    base: str = ""
    """For a gap: the match of the agent to improve on."""
    ceiling: str = ""
    """For a gap: the match of the cheating agent."""
    of: str = "score"
    """What a gap is measured in."""
    interval: str = "deals"
    """`deals` (Student's, or a ratio over deals), `bootstrap` (BCa, over deals), `wilson` or `exact`
    (over games, with `rotate = false`: each deal is played once)."""
    published: Any = None
    """A number, or a list in the order of the grid; shares from 0 to 1."""
    published_games: int = 0
    """The number of games behind the published figure, from which its own error follows: that of a share
    directly, that of anything else with the measured spread."""
    goal: float | None = None
    """A value to aim for."""
    above: float | None = None
    """Test whether the value is above this one; a one-sided p-value is given, with the deal as the unit."""
    test: str = ""
    """Of a difference (`less`), two-sided: `mcnemar` (wins, game by game) or `paired` (Student, by deal)."""
    holm: bool = False
    """No longer needed: the lines of one table are always corrected for their number."""
    pooled: bool = False
    """One line for the whole grid: the mean of all its cells, deal by deal."""
    cause: str = ""
    """Why it may differ from the published figure; printed if it does."""
    digits: int | None = None
    """Decimals shown (default: 1, or 3 in a game with few points)."""


@dataclass(frozen=True)
class FigurePlan:
    """A picture of the results."""

    kind: str
    """`intervals` (of rows), `curve`, `bars` or `heat` (over a grid), `distribution` (of single games)."""
    caption: str = ""
    """The caption below it."""
    rows: tuple[str, ...] = ()
    """For intervals: the names of rows (default: all)."""
    match: str = ""
    """For a curve, bars or a heat map: a match with a grid."""
    matches: tuple[str, ...] = ()
    """For a distribution: names of matches."""
    measure: str = "points"
    """What is plotted."""
    measures: tuple[str, ...] = ()
    """For a curve or bars: several that are shown together, instead of `measure` and `y`."""
    agent: int = 0
    """Which agent."""
    x: str = ""
    """The name in the grid that runs along the axis."""
    y: str = ""
    """The name in the grid that runs down a heat map, or has a line or bar for each of its values."""
    label: str = ""
    """The label of the axis."""
    mark: float | None = None
    """For a distribution: a value to mark."""


@dataclass(frozen=True)
class LearnedPlan:
    """The counters of an agent, as `kibitz learn` made them: a line of a table and of two figures."""

    agent: str
    """Whose counters; the file lies beside the rules of the game."""
    cell: str = ""
    """The label of the line (default: the agent)."""
    published_at_random: float | None = None
    """The share of worlds, dealt at random, that were right about the next player."""
    published_by_counters: float | None = None
    """The same of worlds dealt by the counters."""


@dataclass(frozen=True)
class ComputedPlan:
    """A line of the table that is computed, not sampled: the leaves that a search of a tree looks at."""

    tree: str
    """The name of a tree that comes with Kibitz, or `best-first:8,4`: 8 branches, 4 moves, the best one
    always first."""
    algorithm: str
    """As in `kibitz solve`; minimax, which looks at all leaves, stands beside it."""
    cell: str = ""
    """The label of the line (default: tree and algorithm)."""
    name: str = ""
    """The name by which notes and the summary refer to the line."""
    table: str = ""
    """The heading of the table that the line belongs to, where there are several."""


@dataclass(frozen=True)
class Experiment:
    """The question, the games to play for it, and what to show."""

    name: str
    """Its name in the store (default: the file's name)."""
    title: str = ""
    """The heading of its table."""
    question: str = ""
    """The question it answers."""
    source: str = ""
    """Where the published figures come from."""
    game: str = ""
    """The game of all matches that do not name another."""
    seed: int = 1
    """Names the deals; the same seed gives the same table."""
    games: int = 200
    """Games per match, rounded up to whole deals."""
    quick_games: int = 0
    """Games with --quick (default: a tenth)."""
    published_games: int = 0
    """Games with --scale 1 (default: `games`)."""
    confidence: float = 0.95
    """Confidence level of all intervals, verdicts and tests: with 0.99, p-values must be below 1 %."""
    core_seconds: float = 0.0
    """Measured processor time for `games` games of every match; for `kibitz reproduce`."""
    quick_core_seconds: float = 0.0
    """Processor time of --quick, if that is not in proportion."""
    notes: tuple[str, ...] = ()
    """Printed below the table; `{name}` is the measured value of the row with that name."""
    summary: tuple[str, ...] = ()
    """Printed above the table: `{name}` is the value without its interval, `{name-beside}` says how the
    published figure compares with it."""
    matches: dict[str, MatchGrid] = field(default_factory=dict)
    tournaments: dict[str, Tournament] = field(default_factory=dict)
    rows: tuple[RowPlan, ...] = ()
    figures: tuple[FigurePlan, ...] = ()
    learned: tuple[LearnedPlan, ...] = ()
    computed: tuple[ComputedPlan, ...] = ()
    text: str = ""
    """The description itself."""
    folder: str = ""
    """Where game files were looked for."""
    is_quick: bool = False
    """Whether matches that have `quick_games` of their own are played with these."""

    def factor(self, scale: float | None, quick: bool) -> float:
        """How many times `games` are played, where a match says nothing else."""
        if scale is not None:
            return scale * (self.published_games or self.games) / self.games
        return (self.quick_games or self.games / 10) / self.games if quick else 1.0

    def grids(self) -> list[MatchGrid]:
        """All matches: those described, and those of the tournaments."""
        return [*self.matches.values(), *(g for t in self.tournaments.values() for g in pairings(t))]


def pairings(tournament: Tournament) -> list[MatchGrid]:
    """The matches of a tournament.

    Where more than two sides play, a pair needs two matches: one of each against the others.
    """
    from kibitz import games

    rules = games.load_known(tournament.game)
    sides = len({int(rules.team(seat)) for seat in range(rules.seats)})
    found = []
    for first, second in itertools.combinations(range(len(tournament.agents)), 2):
        for pair in ((first, second),) if sides == 2 else ((first, second), (second, first)):
            agents = tuple(tournament.agents[i] for i in pair)
            name = f"{tournament.name}/{pair[0]}-{pair[1]}"
            found.append(MatchGrid(name, agents, tournament.game, tournament.games))
    return found


# --- reading ---------------------------------------------------------------------------------------


def read_file(path: Path, allow: trust.Allow | None = None) -> Experiment:
    """The experiment that a file describes, checked; game files are looked for beside it."""
    text = file_text(path, "give the path of an experiment, such as budget.toml")
    return read(text, path.name, path.stem, path.resolve().parent, allow)


def read(
    text: str, where: str, name: str = "", folder: Path | None = None, allow: trust.Allow | None = None
) -> Experiment:
    """The experiment that a text describes, checked: every name, number and agent string.

    A game's file that is not given from the root is looked for in `folder`. Files are not run unless a person
    has allowed them (`kibitz.trust`); `allow` is asked before they are needed.
    """
    if _ENDLESS_KEY.search(text):  # `tomllib` takes time by the square of its parts
        raise ParseError(f"{where} is not an experiment in TOML: a key has more than 100 parts")
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"{where} is not valid TOML: {str(error)[:200]}") from error
    table.setdefault("name", name)
    matches = _tables(table.pop("match", {}), f"{where}: match")
    tournaments = _tables(table.pop("tournament", {}), f"{where}: tournament")
    rows = _list(table.pop("row", []), f"{where}: row")
    figures = _list(table.pop("figure", []), f"{where}: figure")
    learned = _list(table.pop("learned", []), f"{where}: learned")
    counted = _list(table.pop("computed", []), f"{where}: computed")
    top = _read(Experiment, table, where, without=NOT_KEYS)
    top["game"] = _located(top.get("game", ""), folder)
    for given in (*matches.values(), *tournaments.values()):
        given.setdefault("game", top["game"])
        given.setdefault("games", top.get("games", Experiment.games))
        given["game"] = _located(given["game"], folder)
    experiment = Experiment(
        **top,
        matches={
            key: MatchGrid(**_read(MatchGrid, {**given, "name": key}, f"{where}: match.{_shown(key)}"))
            for key, given in matches.items()
        },
        tournaments={
            key: Tournament(**_read(Tournament, {**given, "name": key}, f"{where}: tournament.{_shown(key)}"))
            for key, given in tournaments.items()
        },
        rows=tuple(RowPlan(**_read(RowPlan, given, f"{where}: row {i}")) for i, given in enumerate(rows, 1)),
        figures=tuple(
            FigurePlan(**_read(FigurePlan, given, f"{where}: figure {i}"))
            for i, given in enumerate(figures, 1)
        ),
        learned=tuple(
            LearnedPlan(**_read(LearnedPlan, given, f"{where}: learned {i}"))
            for i, given in enumerate(learned, 1)
        ),
        computed=tuple(
            ComputedPlan(**_read(ComputedPlan, given, f"{where}: computed {i}"))
            for i, given in enumerate(counted, 1)
        ),
        text=text,
        folder=str(folder or ""),
    )
    matches_in_all = sum(grid.size for grid in experiment.matches.values())
    matches_in_all += sum(len(each.agents) ** 2 for each in experiment.tournaments.values())
    if matches_in_all > MOST_MATCHES:
        raise ParseError(f"{where} has more than {MOST_MATCHES:,} matches; make several experiments of it")
    if allow is not None:
        allow(dict.fromkeys(_files_in(experiment), frozenset()))
    _check(experiment, where)
    return experiment


_ENDLESS_KEY = re.compile(r"""(?<![\w"'-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""")


def _files_in(experiment: Experiment) -> list[str]:
    """The files that the games, agents and counters of an experiment name."""
    # A name without values is refused later, so that no match of it is played.
    grids = [grid for grid in experiment.matches.values() if _asked(grid) <= set(grid.grid)]
    matches = [grid.match(values, 0) for grid in grids for values in grid.cells]
    strings = [text for match in matches for text in (match.game, *match.agents)]
    for tournament in experiment.tournaments.values():
        strings += [tournament.game, *tournament.agents]
    strings += [experiment.game, *(plan.agent for plan in experiment.learned)]
    return [file for text in strings for file in trust.files_in(text)]


def _shown(key: str) -> str:
    return quoted(key)[1:-1]


BESIDE = "-beside"
"""Behind the name of a row in a summary: how its published figure compares with the measured one."""

_LISTS = ("row", "figure", "learned", "computed")
NOT_KEYS = ("matches", "tournaments", "rows", "figures", "learned", "computed", "text", "folder", "is_quick")


def _located(game: Any, folder: Path | None) -> Any:
    """The game's string, its file named from the root, so that it can be found from anywhere."""
    name = specs.split(game)[0] if isinstance(game, str) else ""
    if folder is None or not specs.is_file(name) or not (folder / name).is_file():
        return game
    return f"{folder / name}{game.strip()[len(name) :]}"


def _tables(given: Any, where: str) -> dict[str, dict[str, Any]]:
    if not isinstance(given, dict) or not all(isinstance(value, dict) for value in given.values()):
        raise ParseError(f"{where} must be tables with names, such as [{where.split()[-1]}.first]")
    return given


def _list(given: Any, where: str) -> list[dict[str, Any]]:
    if not isinstance(given, list) or not all(isinstance(value, dict) for value in given):
        raise ParseError(f"{where} must be a list of tables: [[{where.split()[-1]}]]")
    return given


KINDS: dict[str, tuple[str, Any]] = {
    "str": ("a text", lambda v: isinstance(v, str)),
    "int": ("a whole number", lambda v: _is_whole(v)),
    "float": ("a number", lambda v: _is_number(v)),
    "bool": ("true or false", lambda v: isinstance(v, bool)),
    "tuple[str, ...]": (
        "a list of texts",
        lambda v: isinstance(v, list) and all(isinstance(x, str) for x in v),
    ),
    "dict[str, tuple[Any, ...]]": (
        "a table of lists with at least one value each",
        lambda v: isinstance(v, dict) and all(isinstance(x, list) and x for x in v.values()),
    ),
    "Any": ("a number or a list of numbers", lambda v: all(_is_number(x) or _is_whole(x) for x in flat(v))),
}


def _is_number(value: Any) -> bool:
    """Whether a value is a number with which one can reckon."""
    if _is_whole(value):
        return bool(abs(value) <= LARGEST_NUMBER)
    return isinstance(value, float) and math.isfinite(value)


def _is_whole(value: Any) -> bool:
    """Whether a value is a whole number, of any size: too large ones are refused where they count."""
    return isinstance(value, int) and not isinstance(value, bool)


def _read(cls: Any, table: dict[str, Any], where: str, without: Iterable[str] = ()) -> dict[str, Any]:
    """The values of a table, each of the kind that the field of its name has."""
    known = {f.name: f for f in fields(cls) if f.name not in without}
    values = {}
    for key, value in table.items():
        if key not in known:
            tables = ("match", "tournament", *_LISTS) if cls is Experiment else ()
            raise UnknownName(f"key in {where}", key, [*known, *tables])
        words, fits = KINDS[str(known[key].type).removesuffix(" | None")]
        if not fits(value):
            raise ParseError(f"{where}: {key} = {told(value)} cannot be used; {key} is {words}")
        if isinstance(value, list) and known[key].type != "Any":
            value = tuple(value)
        values[key] = value
    for name, f in known.items():
        if f.default is MISSING and f.default_factory is MISSING and not values.get(name):
            raise ParseError(f"{where} needs {name}: {KINDS[str(f.type)][0]}")
    return values


def flat(given: Any) -> list[Any]:
    """The numbers in nested lists, in order.

    >>> flat([[1, 2], [3]])
    [1, 2, 3]
    """
    found, waiting = [], [given]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += reversed(part)
        else:
            found.append(part)
    return found


_NAME = re.compile(r"[\w.-]{1,100}")
_BRACES = re.compile(r"\{([\w.-]+)\}")


def fill(text: str, values: dict[str, Any]) -> str:
    """Put values for the names in braces.

    >>> fill("ismcts:{n}", {"n": 500})
    'ismcts:500'
    """
    return _BRACES.sub(lambda found: _word(values[found[1]]), text)


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check(experiment: Experiment, where: str) -> None:
    """Whatever can be wrong is said before anything is played."""
    if not _NAME.fullmatch(experiment.name):
        raise ParseError(
            f"{where}: name = {quoted(experiment.name)} cannot be used; "
            f"use letters, digits, - and _, at most 100"
        )
    if not experiment.matches and not experiment.tournaments:
        raise ParseError(f"{where} has nothing to play; describe a [match.NAME] or a [tournament.NAME]")
    for number in ("games", "quick_games", "published_games"):
        _check_games(getattr(experiment, number), number, where, least=int(number == "games"))
    if not 0.5 <= experiment.confidence < 1:
        raise ParseError(
            f"{where}: confidence = {experiment.confidence} cannot be used; give 0.5 to less than 1, say 0.99"
        )
    for name in (*experiment.matches, *experiment.tournaments):
        if not _NAME.fullmatch(name):
            raise ParseError(
                f"{where}: {quoted(name)} cannot be the name of a match; "
                f"use letters, digits, - and _, at most 100"
            )
    for grid in experiment.matches.values():
        _check_grid(grid, experiment.seed, f"{where}: match.{grid.name}")
    for tournament in experiment.tournaments.values():
        _check_tournament(tournament, experiment.seed, f"{where}: tournament.{tournament.name}")
    names: list[str] = []
    for i, each in enumerate(experiment.computed, 1):
        try:
            computed.tree_of(each.tree)
            solver.algorithm(each.algorithm)
        except KibitzError as error:
            raise ParseError(f"{where}: computed {i}: {error}") from error
        if each.name in names:
            raise ParseError(f"{where}: computed {i} is the second one with the name {quoted(each.name)}")
        names += [each.name] if each.name else []
    lines = sum(
        experiment.matches[row.match].size for row in experiment.rows if row.match in experiment.matches
    )
    if lines > MOST_LINES:
        raise ParseError(f"{where} has more than {MOST_LINES:,} lines in its tables; make several of it")
    for i, row in enumerate(experiment.rows, 1):
        _check_row(row, experiment, f"{where}: row {i}")
        if row.name in names:
            raise ParseError(f"{where}: row {i} is the second one with the name {quoted(row.name)}")
        names += [row.name] if row.name else []
    single = [each.name for each in experiment.computed]
    single += [
        row.name
        for row in experiment.rows
        if row.name and (row.pooled or len(experiment.matches[row.match].cells) == 1)
    ]
    for key, known in (("notes", single), ("summary", [*single, *(name + BESIDE for name in single)])):
        for sentence in getattr(experiment, key):
            _check_names(sentence, [*names, *known], f"{where}: {key}")
            for name in set(_BRACES.findall(sentence)) - set(known):
                raise ParseError(
                    f"{where}: {key}: {name} has a line for every cell of a grid, so no one value"
                )
    for i, plan in enumerate(experiment.learned, 1):
        _check_learned(plan, experiment.game, f"{where}: learned {i}")
    for i, figure in enumerate(experiment.figures, 1):
        _check_figure(figure, experiment, f"{where}: figure {i}")


def _check_games(games: int, key: str, where: str, least: int = 1) -> None:
    if not least <= games <= 10**9:
        raise ParseError(f"{where}: {key} = {told(games)} cannot be used; give 1 to 1,000,000,000")


def _check_tournament(tournament: Tournament, seed: int, where: str) -> None:
    if len(tournament.agents) < 2 or len(set(tournament.agents)) < len(tournament.agents):
        raise ParseError(f"{where} needs at least two agents, all of them different")
    # As one match of the first agent, before the game is asked who plays whom.
    _check_grid(MatchGrid("", tournament.agents[:1], tournament.game, tournament.games), seed, where)
    for grid in pairings(tournament):
        _check_grid(grid, seed, where)


def _asked(grid: MatchGrid) -> set[str]:
    """The names in braces, which need values."""
    return set(_BRACES.findall(" ".join([grid.game, *grid.agents])))


def _check_grid(grid: MatchGrid, seed: int, where: str) -> None:
    if not grid.game:
        raise ParseError(f'{where} has no game; write game = "briskola", here or for all matches at the top')
    for key, given, least in (("games", grid.games, 1), ("quick_games", grid.quick_games, 0)):
        for games in flat(given):
            if not isinstance(games, int):
                raise ParseError(f"{where}: {key} = {told(games)} cannot be used; give whole numbers")
            _check_games(games, key, where, least)
        _check_cells(given, key, grid, where)
    if grid.deal_seconds and not 1e-9 <= grid.deal_seconds <= 1e9:
        raise ParseError(f"{where}: deal_seconds = {told(grid.deal_seconds)} is no time that a deal takes")
    if grid.until not in ("", "decided"):
        raise ParseError(f'{where}: until = {quoted(grid.until)} cannot be used; write until = "decided"')
    if grid.until and grid.judged:
        raise ParseError(f"{where}: judged goes with a fixed number of games, not with until")
    if grid.until and len(grid.agents) < 2:
        raise ParseError(f"{where}: one agent alone decides nothing; give two, or leave until out")
    asked = _asked(grid)
    for name in sorted(asked ^ set(grid.grid)):
        what = (
            "has no values; add them to grid"
            if name in asked
            else "is used by no agent; write {" + name + "}"
        )
        raise ParseError(f"{where}: {name} {what}")
    for values in grid.cells:
        try:
            grid.match(values, seed).check()
        except KibitzError as error:
            raise BadOption(f"{where}: {error}") from error


def _check_row(row: RowPlan, experiment: Experiment, where: str) -> None:
    grid = _grid_of(row.match, experiment, where)
    _check_measure(row.measure, grid, where, GAP)
    _check_choice(row.of, MEASURES, "measure", where)
    _check_choice(row.interval, INTERVALS, "interval", where)
    _check_choice(row.test or "mcnemar", TESTS, "test", where)
    others = [row.less, row.base, row.ceiling]
    if (row.measure == GAP) != (bool(row.base) and bool(row.ceiling)):
        raise ParseError(f"{where}: measure = 'gap' goes with base and ceiling, the names of two matches")
    if row.test and not row.less:
        raise ParseError(f"{where}: test = '{row.test}' compares two matches; name the other one: less = …")
    if row.test == "mcnemar" and len(grid.agents) < 2:
        raise ParseError(f"{where}: test = 'mcnemar' is about games won; one agent alone wins all or none")
    if row.test == "mcnemar" and row.measure not in SHARES:
        raise ParseError(f"{where}: test = 'mcnemar' is about games won, not about {row.measure}")
    if row.pooled and (is_count(row.measure) or row.measure in (GAP, *RATIOS) or row.test == "mcnemar"):
        raise ParseError(f"{where}: pooled needs a number for every deal, which {row.measure} does not give")
    if row.pooled and row.interval in ("wilson", "exact"):
        raise ParseError(f"{where}: pooled goes with interval = 'deals' or 'bootstrap'")
    if row.pooled and len({grid.match(values, 0).game for values in grid.cells}) > 1:
        raise ParseError(f"{where}: pooled needs cells that are played on the same deals, so of one game")
    if row.pooled and len(flat(row.published)) > 1:
        raise ParseError(f"{where}: pooled makes one line of the grid; published is one number")
    if row.pooled and _BRACES.search(row.cell):
        raise ParseError(f"{where}: pooled makes one line of the grid; cell names no value of it")
    if row.measure == GAP and (row.less or row.above is not None):
        raise ParseError(f"{where}: measure = 'gap' goes neither with less nor with above")
    for other in filter(None, others):
        _check_same_deals(grid, _grid_of(other, experiment, where), where)
    for x in flat(row.published):
        if x is not None and not _is_number(x):
            raise ParseError(f"{where}: published = {told(x)} cannot be used; it has more than 19 digits")
    _check_cells(row.published, "published", grid, where)
    if is_count(row.measure) and (row.less or row.above is not None or row.interval != "deals"):
        raise ParseError(
            f"{where}: {row.measure} is counted by the game and kept as sums over deals; it goes neither "
            f"with less and above nor with another interval than 'deals'"
        )
    _check_agent(row.agent, grid, where)
    if row.interval in ("wilson", "exact") and (
        row.less or row.measure not in ("win_rate", "decided", "unbeaten")
    ):
        what = "differences" if row.less else row.measure
        raise ParseError(f"{where}: interval = '{row.interval}' is for shares of games, not for {what}")
    if row.measure in RATIOS and row.less:
        what, instead = {
            "decided": ("counts fewer games", "'score', which counts a draw as half"),
            "share_of_points": ("has fewer points to share", "'points'"),
        }[row.measure]
        raise ParseError(
            f"{where}: '{row.measure}' {what} on some deals, so it cannot be compared deal by deal; "
            f"take {instead}"
        )
    if row.interval in ("wilson", "exact") and any(grid.match(v, 0).games_a_deal > 1 for v in grid.cells):
        raise ParseError(
            f"{where}: interval = '{row.interval}' is for deals that are played once; the games of "
            f"{row.match} on one deal depend on each other. Set rotate = false there, or take 'deals'"
        )
    if row.above is not None and (row.published is not None or row.goal is not None):
        raise ParseError(f"{where}: above asks another question than published and goal; make two rows of it")
    for name in filter(None, (row.match, *others)):
        if _grid_of(name, experiment, where).until and (any(others) or row.above is not None):
            raise ParseError(
                f"{where}: {name} ends when it is decided, so nothing else can be tested with it; give it a "
                f"fixed number of games"
            )
    if row.digits is not None and not 0 <= row.digits <= 10:
        raise ParseError(f"{where}: digits = {told(row.digits)} cannot be used; give 0 to 10")
    _check_shares(row, where)
    _check_names(row.cell, grid.grid, f"{where}: cell")


def _check_same_deals(grid: MatchGrid, other: MatchGrid, where: str) -> None:
    """What is compared deal by deal has the same deals."""
    if len(other.cells) not in (1, len(grid.cells)):
        raise ParseError(f"{where}: {other.name} must have one cell, or as many as {grid.name}")
    for i, values in enumerate(grid.cells):
        one, two = grid.match(values, 0), other.match(other.cells[i % len(other.cells)], 0)
        if (one.game, one.seed, one.places, one.judged) != (two.game, two.seed, two.places, two.judged):
            raise ParseError(
                f"{where}: {other.name} is not played on the deals of {grid.name}; both need the same game, "
                f"seed, number of agents and rotation"
            )


def _check_shares(row: RowPlan, where: str) -> None:
    """A share is a number from 0 to 1, whatever papers print."""
    if is_share(row.measure) and row.measure != GAP:
        given = [("published", x) for x in flat(row.published) if x is not None]
        given += [(key, x) for key, x in (("goal", row.goal), ("above", row.above)) if x is not None]
        for key, x in given:
            if not (-1 if row.less else 0) <= x <= 1:
                raise ParseError(f"{where}: {key} = {x} is not a share of games; {x} % is {x / 100:g}")
    _check_games(row.published_games, "published_games", where, least=0)
    if row.published_games and row.published is None:
        raise ParseError(f"{where}: published_games goes with published")


def _check_figure(figure: FigurePlan, experiment: Experiment, where: str) -> None:
    _check_choice(figure.kind, FIGURES, "kind", where)
    for name in figure.rows:
        _check_choice(name, [row.name for row in experiment.rows if row.name], "row", where)
    for name in (*figure.matches, *filter(None, [figure.match])):
        _check_agent(figure.agent, _grid_of(name, experiment, where), where)
    if figure.kind in ("intervals", "distribution"):
        _check_choice(figure.measure, MEASURES, "measure", where)
    if figure.kind == "distribution" and any(experiment.matches[name].judged for name in figure.matches):
        raise ParseError(
            f"{where}: a distribution is of points in games; decisions that are judged have none"
        )
    if figure.kind == "intervals":
        shown = [row for row in experiment.rows if not figure.rows or row.name in figure.rows]
        if not shown:
            raise ParseError(f"{where}: there are no rows to show; describe a [[row]]")
        if len({is_share(row.measure) for row in shown}) > 1:
            raise ParseError(
                f'{where}: per cent and points do not go on one axis; name the rows to show: rows = ["…"]'
            )
    if figure.kind in ("curve", "heat", "bars"):
        grid = _grid_of(figure.match, experiment, where)
        for measure in figure.measures or (figure.measure,):
            _check_measure(measure, grid, where)
        if figure.measures and (figure.y or figure.kind == "heat"):
            raise ParseError(f"{where}: measures goes with a curve or bars that have no y")
        if len({is_share(measure) for measure in figure.measures}) > 1:
            raise ParseError(f"{where}: per cent and points do not go on one axis; make two figures")
        for axis in ("x", "y") if figure.kind == "heat" or figure.y else ("x",):
            _check_choice(getattr(figure, axis), grid.grid, f"name for {axis}", where)
        if left := [name for name in grid.grid if name not in (figure.x, figure.y)]:
            raise ParseError(
                f"{where}: {left[0]} varies in {grid.name} too; "
                + (f'write y = "{left[0]}"' if not figure.y else "show it in a match of its own")
            )
        if figure.x == figure.y:
            raise ParseError(f"{where}: x and y are both {figure.x}; name two")
        if figure.kind == "curve" and not all(isinstance(x, int | float) for x in grid.grid[figure.x]):
            raise ParseError(f"{where}: {figure.x} has values that are not numbers; take kind = 'bars'")
    if figure.kind == "distribution" and not figure.matches:
        raise ParseError(f"{where}: a distribution needs matches, a list of names")


def _check_learned(plan: LearnedPlan, game: str, where: str) -> None:
    if not game:
        raise ParseError(f"{where}: say whose counters: game = at the top")
    counters.find(load_known(game), plan.agent)
    for share in (plan.published_at_random, plan.published_by_counters):
        if share is not None and not 0 <= share <= 1:
            raise ParseError(f"{where}: {share} is not a share of worlds; {share} % is {share / 100:g}")


def _check_measure(measure: str, grid: MatchGrid, where: str, *others: str) -> None:
    """Whether it can be asked of every match of a grid; what is counted depends on the game."""
    for values in grid.cells:
        counted = count_measures(grid.match(values, 0).rules.counted)
        _check_choice(measure, JUDGED if grid.judged else [*MEASURES, *others, *counted], "measure", where)
    if grid.until and is_count(measure):
        raise ParseError(
            f"{where}: {grid.name} ends when it is decided, and no interval of {measure} holds then; "
            f"give it a fixed number of games"
        )


def _check_cells(given: Any, key: str, grid: MatchGrid, where: str) -> None:
    """Whether there is a number for all cells of a grid, or for each."""
    if given is not None and len(flat(given)) not in (1, len(grid.cells)):
        raise ParseError(
            f"{where}: {key} has {len(flat(given))} numbers for {len(grid.cells)} cells of {grid.name}"
        )


def _check_agent(agent: int, grid: MatchGrid, where: str) -> None:
    if not 0 <= agent < len(grid.agents):
        raise ParseError(f"{where}: there is no agent {told(agent)} in match {grid.name}; the first one is 0")


def _grid_of(name: str, experiment: Experiment, where: str) -> MatchGrid:
    _check_choice(name, experiment.matches, "match", where)
    return experiment.matches[name]


def _check_choice(given: str, known: Iterable[str], kind: str, where: str) -> None:
    if given not in known:
        raise UnknownName(f"{kind} in {where}", given, known)


def _check_names(text: str, known: Iterable[str], where: str) -> None:
    for name in _BRACES.findall(text):
        _check_choice(name, known, "name", where)
