"""Tables as plain Python: who is told what, secret questions, the record on disk."""

import copy
import json
import random

import numpy as np
import pytest

from kibitz import games
from kibitz.agents import make_agent
from kibitz.arena.play import play_game
from kibitz.errors import (
    BadOption,
    IllegalMove,
    InputError,
    ParseError,
    UnknownName,
    Unsupported,
    Untrusted,
    Unwritable,
)
from kibitz.games.mini_tichu.rules import MiniTichu
from kibitz.games.tichu.rules import Tichu
from kibitz.position import State
from kibitz.testing import hidden_slots
from kibitz.web.tables import WATCHER, Chair, Table, Tables, Window, digest

GAMES = [
    "briskola",
    "briskola:seats=3",
    "briskola:seats=4,partners_look=true",
    "diminishing-bridge:seats=3,cards=3",
    "diminishing-bridge:seats=3,cards=3,luciferen=true",
    "mini-tichu",
    "tichu",
    "bridge",
]


@pytest.fixture
def tables(tmp_path):
    with Tables(tmp_path) as opened:
        yield opened


def people(game):
    return [Chair(f"person {seat}") for seat in range(games.load(game).seats)]


def observers(table):
    return [WATCHER, *range(table.rules.seats)]


def everything(table):
    """All that all observers have been told and see."""
    return {o: (table.events(o), json.dumps(table.position(o))) for o in observers(table)}


def step(table, chooser):
    """One random move of whoever may move; in a window some answer, and then it closes."""
    if table.window is not None:
        for seat in list(table.window.asked):
            if chooser.random() < 0.6:
                table.play(seat, chooser.choice(table.position(seat)["moves"])["text"])
        table.close_window()
        return
    seat = table.state.mover
    table.play(seat, chooser.choice(table.position(seat)["moves"])["text"])


@pytest.mark.parametrize("game", GAMES)
def test_a_whole_game_is_told_to_everybody(game, tables):
    chooser = random.Random(1)
    table = tables.create(game, people(game), seed=5).table
    plies = 0
    while not table.is_over:
        movers = [seat for seat in range(table.rules.seats) if table.position(seat)["turn"] == seat]
        assert len(movers) == 1 or table.window
        step(table, chooser)
        plies += 1
        if plies in (3, 20):  # as after a restart
            assert everything(tables.table(table.name)) == everything(table)
    for observer in observers(table):
        events = table.events(observer)
        assert [event.number for event in events] == list(range(1, len(events) + 1))
        assert events[0].kind == "deal"
        assert events[-1].kind == "over"
        assert table.position(observer)["over"]
        assert table.position(observer)["seed"] == "5"
    assert table.position(0)["scores"] == table.state.returns()
    assert everything(tables.table(table.name)) == everything(table)


@pytest.mark.parametrize("game", ["briskola", "tichu"])
def test_a_table_of_agents_is_a_game_of_a_match(game):
    rules = games.load(game)
    table = Table("t", game, 11, [Chair("", "random") for _ in range(rules.seats)])
    agents = [make_agent("random", rules) for _ in range(rules.seats)]
    while not table.is_over:
        for task in table.tasks():
            table.play(task.seat, agents[task.seat].choose(task.view, task.seed))
        if table.window is not None:
            table.close_window()
    assert table.moves == play_game(rules, agents, 11, 0, 0).moves


# --- moves that cannot be ---


def test_moves_are_checked():
    table = Table("t", "briskola", 7, people("briskola"))
    before = everything(table)
    for seat, move, error in (
        *((1, "12D", IllegalMove), (0, "1B", IllegalMove), (0, "nonsense", ParseError), (0, 99, IllegalMove)),
        (0, -5, IllegalMove),
    ):
        with pytest.raises(error):
            table.play(seat, move)
    assert everything(table) == before
    table.play(0, int(table.position(0)["moves"][0]["move"]))
    assert table.position(1)["turn"] == 1


def test_what_may_not_sit_at_a_table(tables):
    for game, chairs, error in (
        ("my_game.py", [Chair("a")] * 2, UnknownName),
        ("/etc/passwd", [Chair("a")] * 2, UnknownName),
        ("briskola", [Chair("a")] * 3, BadOption),
        ("briskola:seats=9", [Chair("a")] * 9, BadOption),
        ("briskola", [Chair("a"), Chair("b", "cheating")], Unsupported),
        ("briskola", [Chair("a"), Chair("b", "nobody")], UnknownName),
        ("briskola", [Chair("a"), Chair("b", "ismcts:10_000_000")], BadOption),
        ("briskola", [Chair("a"), Chair("b", "ismcts:100,threads=200")], BadOption),
        ("briskola", [Chair("a"), Chair("b", "ismcts:time=5m")], BadOption),
        ("mini-tichu", [Chair("a", "ismcts:9,belief=counters,learned=secrets.npz")] * 4, Untrusted),
        ("briskola", [Chair("a"), Chair("b", "cheating-alphabeta")], Unsupported),
    ):
        with pytest.raises(error):
            tables.create(game, chairs)
    assert len(tables) == 0
    assert not list(tables.folder.glob("*.jsonl"))


# --- what nobody may notice ---


@pytest.fixture
def asked():
    """A table of Tichu at a window in which a seat is asked whether it bombs; and the seat."""
    chooser = random.Random(20)
    table = Table("t", "tichu:calls=false", 20, people("tichu"))
    while table.window is None or not table.window.asked:
        step(table, chooser)
    (seat,) = table.window.asked
    return table, seat


def test_a_window_opens_after_every_play_whoever_holds_a_bomb():
    chooser = random.Random(3)
    asked = 0
    for seed in range(3):
        table = Table("t", "tichu", seed, people("tichu"))
        while not table.is_over:
            if table.window is None:
                seat = table.state.mover
                move = chooser.choice(table.state.legal_moves())
                in_trick = "give" not in (text := table.rules.move_text(move)) and "call" not in text
                plays = in_trick and text not in ("pass", "tichu", "grand tichu") and "dragon" not in text
                table.play(seat, move)
                if plays:
                    assert table.window is not None, text
            else:
                asked += len(table.window.asked)
                others = [seat for seat in range(4) if seat not in table.window.asked]
                for seat in others:
                    position = table.position(seat)
                    assert (position["turn"], position["moves"], position["window"]) == (None, [], True)
                    with pytest.raises(IllegalMove, match="pause"):
                        table.play(seat, "pass")
                assert table.position(WATCHER)["turn"] is None
                step(table, chooser)
    assert asked > 0


def test_who_is_asked_is_seen_by_himself_only(asked):
    table, seat = asked
    numbers = {o: len(table.events(o)) for o in observers(table)}
    before = {o: table.position(o) for o in observers(table)}
    assert before[seat]["turn"] == seat
    texts = [move["text"] for move in before[seat]["moves"]]
    assert texts[0] == f"no bomb {seat}"
    assert len(texts) > 1
    table.play(seat, texts[0])
    assert table.position(seat)["moves"] == []
    with pytest.raises(IllegalMove, match="already"):
        table.play(seat, texts[1])
    for other in set(observers(table)) - {seat}:
        assert table.position(other) == before[other]
        assert len(table.events(other)) == numbers[other]
    table.close_window()
    assert len(table.events(seat)) == numbers[seat] + 1
    others = set(observers(table)) - {seat}
    assert all(len(table.events(other)) == numbers[other] for other in others)


def test_a_window_is_the_same_with_and_without_a_bomb(asked):
    """The bomb is dealt away; everybody else sees the same, before and after the window."""
    table, seat = asked
    chooser = random.Random(0)
    compared = 0
    for observer in set(range(4)) - {seat}:
        for _ in range(30):
            twin = redealt(table.state, observer, chooser)
            if twin is None or twin.view(seat).mover != seat or _is_asked(twin, seat):
                continue
            other = copy.deepcopy(table)
            # Nobody is asked, so the rules have gone on already, as `hide` does for those not asked.
            twin.game.go_on(twin.record)
            other.state, other.window = twin, Window()
            both = copy.deepcopy(table), other
            told = [(t.events(observer), json.dumps(t.position(observer))) for t in both]
            assert told[0] == told[1]
            for t in both:
                t.close_window()
            told = [(t.events(observer), json.dumps(t.position(observer))) for t in both]
            assert told[0] == told[1]
            compared += 1
    assert compared >= 3


def _is_asked(state, seat):
    """Whether a seat holds a bomb that is high enough."""
    return bool(state.game.can_bomb(state.record, seat))


def test_a_bomb_in_the_window_is_played(asked):
    table, seat = asked
    bomb = table.position(seat)["moves"][-1]["text"]
    table.play(seat, bomb)
    table.close_window()
    assert table.window is not None  # a higher one may follow
    assert all(table.events(o)[-1].text == bomb for o in observers(table))


# --- what is hidden ---


def redealt(state, seat, chooser):
    """Another truth that a seat cannot tell from this one, with few cards in other places."""
    view = state.view(seat).key()
    for _ in range(400):
        other = State(state.game, state.array.copy())
        slots = hidden_slots(state, seat)
        if not slots:
            return None
        (name, i), (also, j) = chooser.choice(slots), chooser.choice(slots)
        a, b = (other.array[field].reshape(-1) for field in (name, also))
        if isinstance(state.game, Tichu | MiniTichu):
            if not {name, also} <= {"hands", "eight"} or not _swap_cards(other, i, j, chooser):
                continue
        elif max(abs(int(a[i])), abs(int(b[j]))) > 63:  # a set of cards
            if name != also or not _swap_bits(a, b, i, j, chooser):
                continue
        else:
            a[i], b[j] = int(b[j]), int(a[i])
        same = state.game.inventory(other.record) == state.game.inventory(state.record)
        if same and other.key() != state.key() and other.view(seat).key() == view:
            return other
    return None


def _bits(mask):
    return [k for k in range(63) if int(mask) >> k & 1]


def _swap_bits(a, b, i, j, chooser):
    """One card of either hand changes place with one of the other."""
    mine, yours = _bits(a[i]), _bits(b[j])
    if i == j or not mine or not yours:
        return False
    x, y = chooser.choice(mine), chooser.choice(yours)
    a[i] = int(a[i]) & ~(1 << x) | 1 << y
    b[j] = int(b[j]) & ~(1 << y) | 1 << x
    return True


def _swap_cards(state, i, j, chooser):
    """In Tichu the first eight cards of a hand are a part of it."""
    hands = state.array["hands"].reshape(-1)
    if not _swap_bits(hands, hands, i, j, chooser):
        return False
    if "eight" in state.array.dtype.names and state.array["eight"].any():
        for seat, eight in enumerate(state.array["eight"].reshape(-1)):
            kept = _bits(int(eight) & int(hands[seat]))
            free = [card for card in _bits(hands[seat]) if card not in kept]
            cards = kept + free[: 8 - len(kept)]
            state.array["eight"].reshape(-1)[seat] = sum(1 << card for card in cards) if eight else 0
    return True


def played_on(table, other, seat, chooser):
    """Let both tables go on alike for a seat: whether they can, by moves that it cannot tell apart."""
    if table.window is not None:
        assert other.window is not None
        for t in (table, other):
            t.close_window()
        return True
    a, b = table.state, other.state
    if a.mover != b.mover:
        return False
    moves, twins = a.legal_moves(), b.legal_moves()
    chooser.shuffle(moves)
    known = {}
    for twin in twins:
        known.setdefault(int(other.rules.label(b.record, np.int64(twin), seat)), twin)
    for move in moves:
        label = int(table.rules.label(a.record, np.int64(move), seat))
        if label in known:
            alike = move in twins and int(other.rules.label(b.record, np.int64(move), seat)) == label
            table.play(a.mover, move)
            other.play(b.mover, move if alike else known[label])
            return True
    return False


def audit(game, deals, seed):
    """Play pairs of tables that a seat cannot tell apart and compare all that it is told; how far it went."""
    chooser = random.Random(seed)
    compared = 0
    for number in range(deals):
        rules = games.load(game)
        seat = number % rules.seats
        table, other = (Table("t", game, seed + number, people(game)) for _ in range(2))
        twin = redealt(table.state, seat, chooser)
        if twin is None:
            continue
        other.state.array[:] = twin.array
        while not table.is_over and not other.is_over:
            for observer in (seat, WATCHER):  # who watches knows no more than any seat
                told = [
                    json.dumps([t.position(observer), [vars(e) for e in t.events(observer)]])
                    for t in (table, other)
                ]
                assert told[0] == told[1], f"seat {observer} of {game} is told what seat {seat} cannot see"
            compared += 1
            if not played_on(table, other, seat, chooser) or table.state.view(seat).key() != (
                other.state.view(seat).key()
            ):
                break
    return compared


@pytest.mark.parametrize("game", GAMES)
def test_a_seat_is_told_nothing_that_it_cannot_see(game):
    assert audit(game, 6, 17) >= 12


@pytest.mark.soak
@pytest.mark.parametrize("game", GAMES)
def test_a_seat_is_told_nothing_that_it_cannot_see_at_length(game):
    assert audit(game, 300, 1000) >= 600


# --- on disk ---


def test_a_record_that_ends_in_the_middle_of_a_line_is_read(tables):
    made = tables.create("briskola", people("briskola"), seed=7)
    step(made.table, random.Random(0))
    whole = everything(made.table)
    path = made.table.file.path
    with path.open("a") as file:
        file.write('{"ply": 1, "seat"')  # killed here
    broken = path.read_bytes()
    again = tables.table(made.table.name)
    assert everything(again) == whole
    assert path.read_bytes() == broken  # somebody may be writing: only who plays on mends it
    step(again, random.Random(0))
    assert all(json.loads(line) for line in path.read_text().splitlines())
    assert everything(tables.table(made.table.name)) == everything(again)


def test_a_restart_brings_tables_and_seats_back(tables, tmp_path):
    made = [tables.create("briskola", [Chair("Ann"), Chair("Bob", "random")]) for _ in range(3)]
    for new in made:
        step(new.table, random.Random(0))
    with pytest.raises(Unwritable, match="another server"):
        Tables(tmp_path)
    tables.close()
    (tmp_path / "broken.jsonl").write_text("no table\n")
    again = Tables(tmp_path)
    again.close()
    assert list(again.unreadable) == ["broken.jsonl"]
    for new in made:
        place = again.place(new.seats[0])
        assert (place.table, place.observer) == (new.table.name, 0)
        assert again.place(new.watch).observer == WATCHER
        assert everything(again.table(place.table)) == everything(new.table)
    assert again.place("guessed") is None
    files = "".join(path.read_text() for path in tmp_path.glob("*.jsonl"))
    assert all(token not in files and digest(token) in files for new in made for token in new.seats.values())


def test_a_record_of_other_rules_is_refused(tables):
    made = tables.create("briskola", people("briskola"), seed=7)
    step(made.table, random.Random(0))
    path = made.table.file.path
    path.write_text(path.read_text().replace('"seat": 0', '"seat": 1'))
    with pytest.raises(InputError, match="not legal"):
        tables.table(made.table.name)


def test_a_move_that_cannot_be_recorded_is_not_made(tables):
    table = tables.create("briskola", people("briskola"), seed=7).table
    before = everything(table)
    table.file.path = tables.folder / "gone" / "table.jsonl"
    with pytest.raises(Unwritable, match="not made"):
        step(table, random.Random(0))
    assert everything(table) == before


def test_an_agent_takes_a_seat_over(tables):
    table = tables.create("briskola", people("briskola"), seed=7).table
    assert table.tasks() == []
    table.hand_over(0, "random")
    (task,) = table.tasks()
    assert (task.seat, task.agent) == (0, "random")
    assert len(tables.table(table.name).tasks()) == 1
    with pytest.raises(Unsupported):
        table.hand_over(1, "cheating")
