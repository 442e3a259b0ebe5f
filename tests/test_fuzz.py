"""Every parser and every message, given nonsense: it is read or refused, soon, and nothing else comes out.

Each kind of input is a few valid texts and what reads them (`tests.fuzzing`). A few hundred inputs of every
kind are tried with each test run; `make soak` tries 200,000 in all and prints what they took. What has failed
once stands in `tests.fuzz_inputs`.
"""

import asyncio
import io
import json
import random
import time
import zipfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from kibitz import archive, games, specs, trust
from kibitz.adapters import sequences
from kibitz.agents import make_known_agent
from kibitz.arena.play import settle_chance
from kibitz.belief import counters
from kibitz.cli.solve import _seconds
from kibitz.deadline import check, deadline
from kibitz.errors import KibitzError, TooLong
from kibitz.experiments import description
from kibitz.games.bridge import files
from kibitz.games.bridge.auction import promise
from kibitz.games.tree import document
from kibitz.games.tree import text as trees
from kibitz.position import State, deal, deal_on, read_position
from kibitz.protocol import CHANCE
from kibitz.search import solver
from tests.fuzz_inputs import (
    AGENTS,
    BODIES,
    COUNTERS,
    DEAL,
    DURATIONS,
    GAMES,
    LIN,
    MANIFEST,
    MESSAGES,
    ONCE_WRONG,
    OPENSPIEL,
    PBN,
    SEATS,
    TOML,
    TOML_IN_FULL,
    TREE,
    TREE_JSON,
)
from tests.fuzzing import Fuzzer, Kind, trouble_of

OF_OPENSPIEL = ("openspiel:kuhn_poker", "openspiel:tic_tac_toe") if find_spec("pyspiel") else ()
QUICK = 100
SOAK = 200_000


parse_time = specs.Option("time", specs.Duration, None).parse


@cache
def loaded(spec):
    return games.load(spec)


def record(spec, seed=3, number=5):
    """What `kibitz replay --json` prints of a random game."""
    state, chooser, chances, moves = State(loaded(spec)), random.Random(seed), 0, []
    while not state.is_over:
        if state.mover == CHANCE:
            settle_chance(state, seed, number, chances)
            chances += 1
        else:
            moves.append(
                {"seat": state.mover, "move": state.game.move_text(chooser.choice(state.legal_moves()))}
            )
            state.play(moves[-1]["move"])
    return {"game": spec, "seed": seed, "deal": number, "moves": moves}


def line_of(spec, number, plies):
    """A deal and its first moves as people type them, and the position."""
    game, chooser = loaded(spec), random.Random(number)
    state, chances, texts = deal(game, number), 1, []
    while len(texts) < plies and not state.is_over:
        texts.append(chooser.choice(state.move_texts()))
        state.play(texts[-1])
        chances = deal_on(state, number, chances)
    return f"{number}: {', '.join(texts)}", state


def kinds_of_games():
    """Positions and moves of every game; every text goes to the parser of one of them."""
    played = GAMES + OF_OPENSPIEL
    positions = {
        spec: [line_of(spec, seed, plies)[0] for seed, plies in ((0, 0), (7, 3), (8, 12))] for spec in played
    }
    states = {spec: [line_of(spec, 7, plies)[1] for plies in (0, 5, 20)] for spec in played}
    own = {
        "backgammon": ["X: 24(2) 13(5) 8(3) 6(5); O: bar 6(14); X rolls 6-5"],
        "othello": ["-" * 27 + "OX------XO" + "-" * 27 + " X"],
        "bridge": [DEAL],
    }
    for spec in played:
        game = loaded(spec)

        def read_moves(text, states=states[spec]):
            refused = []
            for state in states:
                try:
                    State(state.game, state.array.copy()).play(text)
                except KibitzError as error:
                    refused.append(error)
            wrong = [error for error in refused if trouble_of(str(error))]
            if wrong or len(refused) == len(states):
                raise (wrong or refused)[0]

        moves = [text for state in states[spec] for text in state.move_texts()[:20]]
        words = tuple(moves[:30])
        share = 1 / len(played)
        samples = positions[spec] + own.get(spec, [])
        yield Kind(
            f"positions of {spec}",
            lambda text, game=game: read_position(game, text),
            samples,
            words,
            share=2 * share,
        )
        yield Kind(f"moves of {spec}", read_moves, moves, words, share=2 * share)


def read_manifest(text):
    """An archive of compiled code with this manifest."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        made.writestr(archive.MANIFEST, text.encode("utf-8", "surrogatepass"))
    return archive.parse(packed.getvalue())


def read_agent(text):
    """An agent as a match and as a table takes it."""
    from kibitz.web.tables import check_agent

    for spec in ("briskola", "tichu"):
        make_known_agent(text, loaded(spec))
        check_agent(text, loaded(spec), 0)


def read_game(text):
    from kibitz.web.tables import check_game

    check_game(text)
    games.load_known(text)


def read_line(text):
    """What `/api/lines` does with a text that is pasted, and what the page shows of the first line."""
    from kibitz.web import lines, messages
    from kibitz.web.limits import Limits

    with deadline(Limits().parse_seconds):
        notation, found = lines.read(text)
    shown = [
        messages.LineFound(
            title=each.title,
            game=each.line.game,
            start=messages.start_shown(each.line.start),
            moves=[each.line.text(ply) for ply in range(len(each.line.moves))],
        )
        for each in found
    ]
    messages.LinesFound(notation=notation, lines=shown).model_dump_json()
    messages.line_shown(found[0].line, []).model_dump_json()


def read_boards(reader):
    def read(text):
        boards = reader(text)
        files.write_pbn(boards)
        files.write_lin(boards)

    return read


def read_message(text):
    from kibitz.web import messages
    from kibitz.web.limits import Limits

    messages.read(text, Limits.study_characters)


def read_notes(text):
    state = deal(loaded("bridge"), 7)
    promise(state.record, text)


def read_tree(text):
    found = trees.read(text)
    assert len(found.names) == len(found.game.targets)


def read_tree_moves(text):
    """A move and a position of a tree that somebody has written."""
    refused = []
    for attempt in (
        lambda: State(trees.read(TREE).game).play(text),
        lambda: read_position(trees.read(SEATS).game, text),
        lambda: solver.subject("two-plies", text or "0"),
    ):
        try:
            attempt()
        except KibitzError as error:
            refused.append(error)
    wrong = [error for error in refused if trouble_of(str(error))]
    if wrong or len(refused) == 3:
        raise (wrong or refused)[0]


def look_at(files):
    """What `--trust` does with the files that data name, but for letting them run."""
    for file in files:
        trust.digest(file)


def read_trusted_experiment(text):
    description.read(text, "x.toml", "x", Path("/nowhere"), look_at)


def read_counters(text):
    """Counters that say this of themselves, in the form that NumPy gives them."""
    content = io.BytesIO()
    about = np.array(text.encode("utf-8", "replace").decode())
    np.savez(content, about=about, counts=np.ones((1, 2, 2), int), dealt=np.ones((1, 3), int))
    found = counters.read(content.getvalue(), "x.npz")
    found.to_dict()
    found.chances(10)


def kinds_of_texts():
    board = {"game": "bridge", "board": PBN, "moves": [{"move": "AC"}]}
    told = [record(spec) for spec in ("briskola:seats=3", "tic-tac-toe", "backgammon")]
    records = [json.dumps(each) for each in (*told, board, told[:2])]
    chances = sequences.read_record(json.dumps(told[2])) + sequences.read_record(json.dumps(told[0]))
    records.append(sequences._record_text(chances))
    actions = sequences._actions_text(
        [*chances, *files.read_pbn(f'[Deal "{DEAL}"]\n[Declarer "S"]\n[Contract "2C"]')]
    )
    lines = [PBN, LIN, DEAL, f"tichu {line_of('tichu', 7, 4)[0]}"]
    lines.append(f'kibitz advise briskola "{line_of("briskola", 7, 4)[0]}"')
    shared = {
        "kibitz": "1",
        "game": "briskola",
        "start": {"seed": "7", "deal": 2, "position": ""},
        "moves": [],
    }
    table = [
        {"schema": "kibitz.table/1", "game": "briskola", "seed": 3, "start": None},
        {"ply": 0, "move": 5},
        {"undo": 0},
    ]
    documents = [*map(json.dumps, told), json.dumps(shared), "\n".join(map(json.dumps, table))]
    bridge = (
        "[",
        '"',
        '"##"',
        '[Deal "#"]\n\n',
        "- ",
        "Pass ",
        "X ",
        "1NT",
        "AP",
        "^S",
        "$1",
        "=1=",
        "*",
        "+",
        "{",
        "S2",
    )
    yield Kind(
        "PBN",
        read_boards(files.read_pbn),
        [PBN, PBN.replace(" *\n", "\nSK H6 S5 S7\nST + - -\n*\n", 1)],
        bridge,
    )
    lin = ("|", "mb|p|", "mb|d|", "md|", "pc|", "an|!|", "qx|", "pn|", "st||", "ah|Board 3|", "S", "0", "5")
    yield Kind("LIN", read_boards(files.read_lin), [LIN], lin)
    yield Kind("boards in files", read_boards(files.read), [PBN, LIN], bridge + lin, share=0.3)
    tree = (
        "max",
        "min",
        "chance",
        "seat 0",
        "seat 99",
        "range",
        "~",
        "noisy",
        "same",
        "1/2 ",
        "50% ",
        "\n  ",
        "\n",
        "1, 2",
    )
    yield Kind("trees as lines", read_tree, [TREE, SEATS], tree)
    words = (
        "node",
        "children",
        "odds",
        "value",
        "name",
        "to",
        "nodes",
        "range",
        "a",
        "b",
        "max",
        "min",
        "chance",
        "1/3",
    )
    yield Kind("trees as JSON", document.read_json, [TREE_JSON], words, is_json=True)
    words = ("kind", "versions", "processor", "folders", "Numba", "0" * 16, "..", "kibitz")
    yield Kind("manifests of compiled code", read_manifest, [MANIFEST], words, is_json=True, share=0.5)
    options = (
        "=",
        ":",
        ",",
        "seats=",
        "iterations=",
        "time=",
        "c=",
        "threads=",
        "ms",
        "s",
        "any",
        "tichu",
        "ismcts",
    )
    yield Kind("agents", read_agent, list(AGENTS), options, largest=5_000, share=1.5)
    yield Kind("games", read_game, list(GAMES), options, largest=5_000, share=1.5)
    toml = (
        "[",
        "]",
        "[[row]]\n",
        "[match.x]\n",
        "grid.m = [1, 2, 3]\n",
        "{n}",
        "{first}",
        "gap",
        "bids_made",
        "points",
    )
    tomls = [TOML, TOML_IN_FULL]
    yield Kind("experiments", lambda text: description.read(text, "x.toml", "x"), tomls, toml, share=0.5)
    yield Kind(
        "experiments with --trust", read_trusted_experiment, tomls, (*toml, "x.py", "x.npz"), share=0.5
    )
    whose = ("mini-tichu", "random", "learned", "seen", "step", "rounds", "situations")
    yield Kind("counters", read_counters, [json.dumps(COUNTERS)], whose, is_json=True, largest=5_000)
    yield Kind(
        "names of counters",
        lambda text: counters.find(loaded("mini-tichu"), text),
        ["castelein-mc"],
        ("x.npz", "-", "../", "castelein"),
        largest=5_000,
        share=0.3,
    )
    yield Kind(
        "durations",
        lambda text: (_seconds(text), parse_time(text)),
        list(DURATIONS),
        ("ms", "s", "min", "."),
        share=0.3,
    )
    branches = ("0", "1", "left", "0: ", "7: ")
    yield Kind("moves of trees", read_tree_moves, ["0", "0: 0", "1"], branches, share=0.3)
    if OF_OPENSPIEL:
        inside = ("(", ")", "=", ",", "players", "game", "filename", "num_repetitions", "kuhn_poker", "chess")
        yield Kind(
            "games of OpenSpiel",
            lambda text: games.load_known(f"openspiel:{text}"),
            list(OPENSPIEL),
            inside,
            largest=5_000,
            share=0.5,
        )
    yield Kind("lines", read_line, lines, (*bridge, *lin, "briskola", "7: "), share=0.7)
    yield Kind(
        "lines as JSON",
        read_line,
        documents,
        ("game", "undo", "start", "seed", "position"),
        is_json=True,
        share=0.7,
    )
    yield Kind(
        "records",
        sequences.read_record,
        records,
        ("game", "moves", "chance", "seed", "deal", "board"),
        is_json=True,
        share=0.7,
    )
    numbers = (
        "0 ",
        "52 ",
        "255 ",
        "256 ",
        "# board 3",
        "bridge(dealer=1): ",
        "kibitz_briskola(): ",
        "(",
        "=",
    )
    yield Kind(
        "OpenSpiel's actions", sequences.read_actions, [*actions.splitlines(), actions], numbers, share=0.7
    )
    yield Kind(
        "notes on hands",
        read_notes,
        ["N: hcp 15-17, spades 5+; E: hearts 0-3", "west: clubs 4"],
        ("hcp", "N:", ";"),
    )


class Web:
    """A server without a network, in the loop of this thread."""

    def __init__(self, folder):
        pytest.importorskip(
            "fastapi", reason="the doors of the web are not fuzzed: pip install 'kibitz[web]' httpx"
        )
        import httpx

        from kibitz.web.app import create_app
        from kibitz.web.limits import Limits

        much = 10**9
        self.limits = Limits(
            requests_a_second=1e9, burst=much, tables_a_client=much, studies=much, studies_a_client=much
        )
        self.loop = asyncio.new_event_loop()
        self.app = create_app(folder, self.limits)
        self.life = self.app.router.lifespan_context(self.app)
        self.loop.run_until_complete(self.life.__aenter__())
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://localhost")

    def close(self):
        self.loop.run_until_complete(self.client.aclose())
        self.loop.run_until_complete(self.life.__aexit__(None, None, None))
        self.loop.run_until_complete(asyncio.sleep(0.1))
        self.loop.close()

    def kinds(self):
        samples = [json.dumps(message) for message in MESSAGES]
        types = tuple(message["type"] for message in MESSAGES)
        yield Kind("messages", read_message, samples, types, is_json=True)
        yield Kind("messages at the door", self.receive, samples, types, is_json=True, share=0.5)
        for path, bodies in BODIES.items():
            found = [json.dumps(body) for body in bodies]
            yield Kind(
                f"bodies of {path}",
                lambda text, path=path: self.post(path, text),
                found,
                ("seats", "text"),
                is_json=True,
                share=0.3,
            )

    def receive(self, text):
        """A message of a connection that has not joined a table."""
        from kibitz.web.hosting import Connection

        connection = Connection(self.limits, "fuzz")

        async def say():
            await self.app.state.host.receive(connection, text[: connection.largest])
            connection.leave()

        self.loop.run_until_complete(say())
        for answer in connection.outbox:
            told = json.loads(answer)
            assert told.get("code") != "Failed", told  # a foreign exception, which only the log has
            assert told["type"] != "refused" or not trouble_of(told["message"]), told

    def post(self, path, text):
        headers = {"content-type": "application/json"}
        body = text.encode("utf-8", "surrogatepass")
        answer = self.loop.run_until_complete(self.client.post(path, content=body, headers=headers))
        told = answer.json()
        assert answer.status_code in (200, 201, 413, 422), (answer.status_code, told)
        assert answer.status_code != 422 or not trouble_of(told["message"]), told


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    found = Web(tmp_path_factory.mktemp("tables"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def kinds(web):
    return {kind.name: kind for kind in (*kinds_of_games(), *kinds_of_texts(), *web.kinds())}


def fault_of(count):
    """The first input that is not read as it should be, short enough to be kept."""
    if not count.faults:
        return ""
    text, fault = min(count.faults, key=lambda each: len(each[0]))
    return f"{len(count.faults)} faults, such as {fault}\n{text[:3000]!r}"


def test_samples_are_read(kinds):
    """Else nothing would be tried but the first line of a parser."""
    for kind in kinds.values():
        for text in kind.samples:
            kind.read(text)


@pytest.mark.parametrize(
    ("name", "number"), [(name, i) for name in ONCE_WRONG for i in range(len(ONCE_WRONG[name]))]
)
def test_what_was_wrong_once_is_read_or_refused(name, number, kinds):
    if name == "games of OpenSpiel" and not OF_OPENSPIEL:
        pytest.skip("OpenSpiel is not installed")
    count = Fuzzer(0).attempt(kinds[name], ONCE_WRONG[name][number])
    assert not count.faults, fault_of(count)


LOOKING = (
    *(
        "PBN",
        "LIN",
        "trees as lines",
        "trees as JSON",
        "lines",
        "lines as JSON",
        "records",
        "OpenSpiel's actions",
    ),
    *(f"positions of {spec}" for spec in GAMES),
)


@pytest.mark.parametrize("name", LOOKING)
def test_every_parser_looks_at_the_clock(name, kinds):
    kind = kinds[name]
    text = kind.samples[2] if name.startswith("positions") else max(kind.samples, key=len)
    with deadline(0.0):
        time.sleep(0.001)
        with pytest.raises(TooLong):
            kind.read(text)


def test_a_line_that_takes_too_long_is_no_fault_of_its_board(monkeypatch):
    """Boards that cannot be used are left out; those that there is no time for are not."""
    from kibitz.web import lines

    def slow(board, number):
        time.sleep(0.02)
        check()

    monkeypatch.setattr(lines, "_from_board", slow)
    with deadline(0.01), pytest.raises(TooLong):
        lines.read(PBN)


def test_what_is_nonsense_is_read_or_refused(kinds):
    fuzzer = Fuzzer(22)
    for kind in kinds.values():
        count = fuzzer.run(kind, max(10, int(QUICK * kind.share)))
        assert not count.faults, f"{kind.name}: {fault_of(count)}"


@pytest.mark.soak
def test_what_is_nonsense_is_read_or_refused_200_000_times(kinds, capsys):
    shares = sum(kind.share for kind in kinds.values())
    fuzzer, total = Fuzzer(23), 0
    for kind in kinds.values():
        count = fuzzer.run(kind, 1 + int(SOAK * kind.share / shares))
        total += count.inputs
        with capsys.disabled():
            row = f"{count.inputs:>7,} inputs, {count.refused:>7,} refused, slowest {count.slowest:6.3f} s"
            print(f"\n{kind.name:<55} {row}, faults {len(count.faults)}", end="", flush=True)
    with capsys.disabled():
        print(f"\n{total:,} inputs in all")
    wrong = {name: fault_of(count) for name, count in fuzzer.counts.items() if count.faults}
    assert not wrong, "\n".join(f"{name}: {fault}" for name, fault in wrong.items())
    assert total >= SOAK
