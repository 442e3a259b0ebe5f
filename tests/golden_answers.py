"""What Kibitz answers, written down in `tests/data/answers`.

`python -m tests.golden_answers [FILE …]` writes these files anew.

A change that is meant to leave behaviour alone leaves these files alone: the advice of every kind of agent in
every game, matches, an experiment, exact solutions, and what the web table tells each seat. `make soak`
compares them. Where a line differs on purpose, the commit says why.

A line names what was asked; its answer is the best move and a digest of all that came with it, so that a
difference is found, not explained. Numbers count to ten digits.
"""

import contextlib
import hashlib
import io
import json
import math
import random
import sys
import tempfile
from pathlib import Path
from unittest import mock

import kibitz
from kibitz import games
from kibitz.agents import make_agent
from kibitz.errors import KibitzError
from kibitz.position import State

ROOT = Path(__file__).parents[1]
FOLDER = Path(__file__).parent / "data" / "answers"

EVERYWHERE = (
    "random",
    "rule-based",
    "flat:24",
    "ismcts:60",
    "ismcts:60,infosets=full",
    "ismcts:60,threads=2",
    "ismcts:60,keep=true,infosets=full,playout=0.5",
    "ismcts:60,prune=true,merge=true,playouts=2",
    "determinized:60,trees=4",
    "uct:60",
    "uct:60,select=ucb1-tuned",
    "uct:60,backup=proved",
    "uct:60,expand=all",
    "possible:60",
    "cheating:60",
    "karamatic-mcts:60",
    "mckay:60",
    "mckay:60,p=5",
    "minimax:depth=2",
    "alphabeta:depth=3",
    "cheating-alphabeta:depth=4",
    "expectiminimax:depth=2",
    "pimc:4",
    "expert:60",
)
OF_GAMES = {
    "diminishing-bridge": (
        "snelleman-random",
        "snelleman-trumping",
        "snelleman-rule-based",
        "snelleman-rule-based:as_run=true",
        "snelleman-mc:24",
        "snelleman-mc:24,bidding=search",
        "snelleman-mcts:24",
        "boerenbridge:60",
        "boerenbridge:60,belief=50",
        "ismcts:60,objective=gv",
        "ismcts:60,objective=chance",
    ),
    "mini-tichu": (
        "castelein-random",
        "castelein-mc",
        "castelein-mcts:each=3",
        "ismcts:60,objective=wins",
        "ismcts:60,objective=margin",
        "ismcts:60,belief=cards",
    ),
    "tichu": ("castelein-random", "castelein-mc", "castelein-mcts:each=3", "ismcts:60,objective=margin"),
}
# A position of backgammon has so many that nobody looks two moves ahead in a test.
ONLY_OF_GAMES = {
    "backgammon": ("random", "rule-based", "flat:24", "ismcts:60", "uct:60", "expectiminimax:depth=1"),
}
GAMES = (
    "tic-tac-toe",
    "briskola",
    "briskola:seats=3",
    "briskola:seats=4,partners_look=true",
    "diminishing-bridge:cards=4",
    "diminishing-bridge:cards=3,seats=3,luciferen=true,devils=true",
    "diminishing-bridge:published=true",
    "bridge",
    "bridge:strain=hearts,level=4,declarer=west",
    "mini-tichu",
    "tichu",
    "othello",
    "backgammon",
    str(ROOT / "examples" / "high_card.py"),
)
MATCHES = (
    ("random", "rule-based"),
    ("ismcts:40", "flat:20"),
    ("expert:40", "random"),
)
EXPERIMENT = """
name = "golden"
question = "Is it the same?"
game = "briskola"
seed = 5

[match.search]
agents = ["ismcts:{n}", "random"]
grid.n = [20, 40]
games = 40

[match.close]
agents = ["rule-based", "flat:20"]
games = 200
until = "decided"

[[row]]
match = "search"
measure = "win_rate"

[[row]]
match = "close"
measure = "lead"
"""
COMMANDS = (
    ("games", "--json"),
    ("agents", "--json"),
    ("solve", "tic-tac-toe", "0: a1", "--json"),
    ("solve", "othello", "1", "--depth", "4", "--json"),
    ("solve", "bridge", "7", "--json"),
    ("tree", "examples/dice.tree"),
    ("tree", "examples/dice.tree", "--algorithm", "star2"),
    ("advise", "briskola", "7: 6D", "--agent", "ismcts:200", "--json"),
    ("advise", "oh-hell", "7", "--agent", "boerenbridge:60", "--json"),
    ("advise", "bridge", "7", "--agent", "ismcts:60"),
    ("match", "briskola", "random", "rule-based", "--games", "20", "--json"),
    ("tournament", "tic-tac-toe", "random", "rule-based", "uct:20", "--games", "12", "--json"),
)
_TIMES = {"seconds", "core_seconds", "machine", "command", "store", "date", "time", "started", "thought"}


def rounded(data):
    """Plain data without what time it took and where the project lies, its numbers to ten digits."""
    if isinstance(data, dict):
        return {str(key): rounded(value) for key, value in data.items() if key not in _TIMES}
    if isinstance(data, list | tuple):
        return [rounded(value) for value in data]
    if isinstance(data, str):
        return data.replace(str(ROOT), "")
    if isinstance(data, float) and math.isfinite(data):
        return float(f"{data:.10g}")
    return data


def digest(data):
    return hashlib.sha256(json.dumps(rounded(data), default=str).encode()).hexdigest()[:16]


def short(game):
    return Path(game).name if game.endswith(".py") else game


def positions(game, spec):
    """The first position of a deal, and some later ones: where somebody decides between moves."""
    for seed, plies in ((7, 0), (8, 5), (9, 14)):
        chooser, state, chances = random.Random(seed), State(game), 0
        while not state.is_over:
            if state.mover < 0:
                state.settle_chance(seed, chances)
                chances += 1
            elif plies <= 0 and len(state.legal_moves()) > 1:
                yield f"{spec} deal {seed}", state
                break
            else:
                state.play(chooser.choice(state.legal_moves()))
                plies -= 1


def advice(spec):
    """Line by line, what every agent advises in a game."""
    game = games.load(spec)
    agents = ONLY_OF_GAMES.get(spec, EVERYWHERE + OF_GAMES.get(spec.partition(":")[0], ()))
    for name, state in positions(game, short(spec)):
        for agent in agents:
            try:
                player = make_agent(agent, game)
                player.start(game, state.mover)
                view = state.open_view() if player.cheating else state.view()
                found = player.advise(view, 3).to_dict()
                answer = f"{found['best_text']}  {digest(found)}"
                if player.choose(view, 3) != found["best"]:
                    answer += f"  plays {state.game.move_text(player.choose(view, 3))}"
            except KibitzError as error:
                answer = f"refused: {type(error).__name__}: {error}"
            yield f"{name} | {agent} | {answer}".replace(str(ROOT), "")


def matches(spec):
    """Line by line, the results of short matches in a game."""
    for agents in MATCHES[: 2 if spec in ONLY_OF_GAMES else None]:
        try:
            result = kibitz.match(spec, list(agents), games_wanted=24, seed=3)
            answer = digest(result.to_dict())
        except KibitzError as error:
            answer = f"refused: {type(error).__name__}: {error}"
        yield f"{short(spec)} match | {' '.join(agents)} | {answer}".replace(str(ROOT), "")


def table(spec):
    """What the web table has told every seat after a random game with people, move by move."""
    from kibitz.web.tables import Table
    from tests.test_web_tables import everything, people, step

    chooser, heard = random.Random(1), []
    opened = Table("t", spec, 5, people(spec))
    while not opened.is_over:
        step(opened, chooser)
        heard.append(everything(opened))
    yield f"{spec} table | {len(heard)} moves | {digest(heard)}"


def run(*words):
    """Exit code and standard output of a command, run in this process from the root of the project."""
    from kibitz import cli

    with (
        contextlib.chdir(ROOT),
        mock.patch.object(sys, "argv", ["kibitz", *words]),
        mock.patch.dict("os.environ", NO_COLOR="1", COLUMNS="80"),
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()),
    ):
        try:
            cli.main()
            code = 0
        except SystemExit as done:
            code = done.code or 0
    return code, out.getvalue()


def told(text):
    """What a command prints, without how long it took."""
    with contextlib.suppress(ValueError):
        return json.loads(text)
    return [line for line in text.splitlines() if " s, seed" not in line and "of one core" not in line]


def commands():
    """Line by line, what commands print."""
    for words in COMMANDS:
        code, text = run(*words)
        yield f"kibitz {' '.join(words)} | exit code {code} | {digest(told(text))}"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "golden.toml"
        file.write_text(EXPERIMENT)
        store = str(Path(folder) / "golden.db")
        code, text = run("experiment", "run", str(file), "--store", store, "--jobs", "1", "--json")
        yield f"an experiment | exit code {code} | {digest(told(text)['rows'])}"
        code, _ = run("export", store, str(Path(folder) / "golden.csv"))
        rows = (Path(folder) / "golden.csv").read_text().splitlines()
        yield f"its export | {len(rows)} lines | {digest([row.split(',')[-5:] for row in rows])}"


TABLES = (
    "briskola",
    "briskola:seats=4,partners_look=true",
    "diminishing-bridge:seats=3,cards=3,luciferen=true",
    "mini-tichu",
    "tichu",
    "bridge",
)


def files():
    """Name → what makes the lines of a file."""
    found = {}
    for spec in GAMES:
        name = Path(spec).stem if spec.endswith(".py") else spec.partition(":")[0]
        found.setdefault(f"{name}.txt", []).extend([(advice, spec), (matches, spec)])
    found["tables.txt"] = [(table, spec) for spec in TABLES]
    found["commands.txt"] = [(lambda _: commands(), "")]
    return found


def lines_of(makers):
    return [line for make, spec in makers for line in make(spec)]


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, makers in files().items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        (FOLDER / name).write_text("\n".join(lines_of(makers)) + "\n", encoding="utf-8")
        print(name)
