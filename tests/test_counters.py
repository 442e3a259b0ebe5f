"""Learned determinization: what counters count, how they deal, what stays hidden, how learning goes on."""

import json
import random
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from kibitz.agents import make_agent
from kibitz.arena.learning import learn, study
from kibitz.arena.play import Match, settle_chance
from kibitz.belief import counters
from kibitz.errors import BadOption, InputError, Unsupported
from kibitz.games.mini_tichu.rules import PLAYING, MiniTichu
from kibitz.games.tichu import combinations as c
from kibitz.games.tichu import prediction
from kibitz.games.tichu import rules as tichu
from kibitz.games.tichu.rules import Tichu
from kibitz.games.tichu.text import NO_CALL, TICHU, parse_play
from kibitz.kernel import entry
from kibitz.position import State, deal
from kibitz.rng import stream
from kibitz.search.worlds import deal_for_move, memory_for_worlds


def mask(words):
    return sum(parse_play(word) for word in words.split())


def set_up(hands, turn=0, ply=0, game=None, phase=PLAYING):
    """A position in which seat `turn` leads; cards that are in no hand have been played."""
    state = State(game or MiniTichu())
    record = state.record
    for seat, words in enumerate(hands):
        record.hands[seat] = mask(words)
        record.left[seat] = len(words.split())
    record.played = int(c.DECK) & ~int(np.bitwise_or.reduce(record.hands))
    record.phase, record.turn, record.last, record.ply = phase, turn, turn, ply
    return state


def play(state, *words):
    for word in words:
        state.play(word)


def lesson(state):
    return int(state.game.lesson(state.record, np.zeros(state.game.max_moves, np.int64)))


@entry
def draw(pool, room, kind, length, height, moves, out, rng):
    """Higher combinations, compiled."""
    for i in range(len(out)):
        out[i] = prediction.draw_higher(pool, np.int64(0), room, kind, length, height, moves, rng)


@entry
def list_answers(pool, kind, length, height, plays):
    return c.list_answers(pool, kind, length, height, plays, 0)


@entry
def foreseen(game, worlds, view, seat, move, into, moves, out, rng):
    """In how many of the worlds dealt for a move the next player has an answer; the last world is left."""
    for i in range(len(out)):
        into[0] = view[0]
        deal_for_move(game, worlds, seat, move, into, moves, rng)
        into[1] = into[0]
        game.play(into[1], move)
        out[i] = game.lesson(into[1], moves) & 1


def deal_worlds(state, word, chance, n=4000, seed=1):
    """Whether the next player has an answer in n worlds dealt for a move, and the last world."""
    game, view = state.game, state.view()
    worlds = memory_for_worlds(game, 0, np.full(game.situations, chance))
    into, out = np.zeros(2, game.state), np.zeros(n, np.int64)
    moves = np.zeros(game.max_moves, np.int64)
    foreseen(game, worlds, view.array, view.seat, np.int64(parse_play(word)), into, moves, out, stream(seed))
    return out, into


# --- counting --------------------------------------------------------------------------------------


def test_there_are_5040_counters():
    assert 2 * MiniTichu().situations == 5040


def test_a_position_teaches_whether_the_next_player_can_beat_the_table():
    state = set_up(["4D 4H 9C", "5D 5H 2C", "3D TH JC", "6D 6H 6C 6S"], ply=7)
    assert lesson(state) == -1  # a lead
    play(state, "4D+4H")
    situation = prediction.situation(c.PAIR, 7, 1)
    assert lesson(state) == 2 * situation + 1
    play(state, "5D+5H")
    assert lesson(state) == 2 * prediction.situation(c.PAIR, 8, 2)
    play(state, "pass")
    assert lesson(state) == 2 * prediction.situation(c.PAIR, 9, 3) + 1  # a pair, or a bomb
    play(state, "pass", "pass")
    assert state.mover == 1
    assert lesson(state) == -1  # the trick was taken


def test_only_the_first_ninety_moves_teach():
    state = set_up(["4D 9C", "5D 2C", "3D TH", "6D 7H"], ply=89)
    play(state, "4D")
    assert lesson(state) >> 1 == prediction.situation(c.SINGLE, 89, 1) < MiniTichu().situations
    play(state, "5D")
    assert lesson(state) == -1


def test_in_tichu_the_next_player_is_told_apart_from_who_might_bomb():
    """Seat 2 is asked for a bomb; whether seat 1, who plays next, can beat the king is what is counted."""
    state = set_up(["KD 9C", "AD 2C", "6D 6H 6C 6S", "3D 4H"], game=Tichu(), phase=tichu.PLAYING, ply=7)
    play(state, "KD")
    assert state.mover == 2
    assert lesson(state) == 2 * prediction.situation(c.SINGLE, 7, 1) + 1
    play(state, "no bomb 2", "pass", "pass", "pass")
    assert state.record.phase == tichu.BOMBING
    assert lesson(state) == -1  # all have passed


def studied(match, moves, seen):
    counts, dealt = np.zeros((match.rules.situations, 2), np.int64), np.zeros(3, np.int64)
    study.interpreted(
        *(match.rules, np.uint64(match.seed), np.uint64(0), np.array(moves), seen),
        *(memory_for_worlds(match.rules, 0, counters.chances_of(counts)), np.zeros(3, match.rules.state)),
        *(*np.zeros((2, match.rules.max_moves), np.int64), counts, dealt, np.zeros(1, np.uint64)),
    )
    return counts, dealt


def test_a_situation_of_tichu_teaches_once_whatever_is_called_in_it():
    """A round of random moves in which every seat calls Tichu at its first turn, a lead or not."""
    match = Match("tichu", ("random",), 3)
    state = State(match.rules)
    settle_chance(state, match.seed, 0, 0)
    chooser, moves, met, taught, shown = random.Random(1), [], 0, {}, 0
    while not state.is_over:
        legal, in_play = state.legal_moves(), state.record.phase == tichu.PLAYING
        calls = TICHU if in_play else NO_CALL
        moves.append(calls if calls in legal else chooser.choice(legal))
        if lesson(state) >= 0:
            met += 1
            taught[int(state.record.ply)] = lesson(state)
            shown += in_play and 0 < moves[-1] < TICHU
        state.play(moves[-1])
    assert met >= len(taught) + 3
    counts, dealt = studied(match, moves, seen=False)
    assert counts.sum() == len(taught)
    assert all(counts[found >> 1, found & 1] > 0 for found in taught.values())
    assert dealt[0] > 20
    counts, _ = studied(match, moves, seen=True)
    assert counts[:, 1].sum() == shown > 10


def test_every_situation_has_a_number_of_its_own():
    numbers = {
        prediction.situation(kind, turn, seat)
        for kind in range(c.SINGLE, c.BOMB + 1)
        for turn in range(prediction.TURNS)
        for seat in range(4)
    }
    assert numbers == set(range(prediction.SITUATIONS))


# --- dealing ---------------------------------------------------------------------------------------

POOLS = [
    ("2D 3H 5C 8S 8D TC TH JD QS KC KD AH Phx Drg", c.SINGLE, 1, 16),
    ("5D 5H 5C 7S 7D 9C 9H 9S 9D JD JS Phx", c.PAIR, 2, 10),
    ("5D 5H 5C 7S 7D 7C 9C 9H 9S 9D JD JS", c.THREE, 3, 10),
    ("5D 5H 6C 6S 7D 7C 8C 8H 9S 9D Phx", c.STAIRS, 6, 12),
    ("5D 5H 5C 7S 7D 7C 9C 9H JS JD Phx", c.FULL_HOUSE, 5, 8),
    ("Mah 2D 3D 3H 4D 5C 5D 6D 7S 7D 8D 9C Phx", c.STRAIGHT, 5, 10),
    ("2D 3D 4D 5D 6D 7D 8D 9S 9D 9C 9H", c.BOMB, 4, 6),
]


@pytest.mark.parametrize(("words", "kind", "length", "height"), POOLS)
def test_every_higher_combination_is_equally_likely(words, kind, length, height):
    """As the rules list them: cards told apart, and what the Phoenix stands for."""
    pool, moves, drawn = np.int64(mask(words)), np.zeros(2560, np.int64), np.zeros(20_000, np.int64)
    n = list_answers(pool, kind, length, height, moves)
    expected = Counter((moves[:n] & c.DECK).tolist())
    assert len(expected) > 3
    draw(pool, 14, kind, length, height, moves, drawn, stream(5))
    found = Counter(drawn.tolist())
    assert set(found) <= set(expected)
    observed = [found[cards] for cards in expected]
    weights = np.array(list(expected.values())) / n
    assert chisquare(observed, weights * len(drawn)).pvalue > 1e-4


def test_nothing_is_drawn_where_nothing_is_higher():
    moves, drawn = np.zeros(2560, np.int64), np.zeros(10, np.int64)
    for kind, length in ((c.PAIR, 2), (c.STRAIGHT, 5), (c.FULL_HOUSE, 5)):
        draw(np.int64(mask("2D 2H 3C 5S 7S")), 14, kind, length, 28, moves, drawn, stream(1))
        assert not drawn.any()
    draw(np.int64(mask("2D 2H 2C 2S 7S")), 3, c.PAIR, 2, 28, moves, drawn, stream(1))
    assert not drawn.any()  # a bomb, for which there is no room


def test_the_next_player_gets_a_higher_card_as_often_as_learned_and_by_chance():
    """One of two kings is unseen among six cards, two for each of the others; only it beats the queen."""
    state = set_up(["QD 2D", "3D 3H", "4D 4H", "KD 5H"])
    by_chance, chance = 2 / 6, 0.6
    for learned in (0.0, chance, 1.0):
        has, _ = deal_worlds(state, "QD", learned)
        expected = learned + (1 - learned) * by_chance
        assert binomtest(int(has.sum()), len(has), expected).pvalue > 1e-3


@entry
def predict(game, view, seat, move, chances, moves, rng):
    game.predict(view[0], seat, move, chances, moves, rng)


def is_foreseen(state, word):
    """Whether a sure chance puts something into another hand when the mover makes a move."""
    game, view = state.game, state.view()
    before, moves = view.array.copy(), np.zeros(game.max_moves, np.int64)
    sure = np.ones(game.situations)
    predict(game, view.array, view.seat, np.int64(parse_play(word)), sure, moves, stream(1))
    return bool((view.array != before).any())


def test_nothing_is_foreseen_when_the_trick_is_taken_or_the_round_is_over():
    state = set_up(["QD 2D", "3D 3H", "4D 4H", "KD AH"])
    assert is_foreseen(state, "QD")
    play(state, "QD")
    assert is_foreseen(state, "pass")
    play(state, "pass", "pass")
    assert not is_foreseen(state, "pass")  # the last of all to pass
    assert not is_foreseen(state, "AH")  # which nothing unseen beats
    assert not is_foreseen(set_up(["Dog 2D", "3D 3H", "4D 4H", "KD 5H"]), "Dog")
    state = set_up(["2D", "3D 3H", "", "KD 5H"])
    assert is_foreseen(state, "2D")
    state.record.finished[2] = 1
    assert not is_foreseen(state, "2D")  # the round is over


def test_worlds_that_are_foreseen_agree_with_the_view():
    """What is hidden stays hidden, what is known stays known: the Mah Jong, and how many cards each has."""
    for seed in range(15):
        state = deal(MiniTichu(), seed)
        for ply in range(40):
            if state.is_over:
                break
            view, seat = state.view(), state.mover
            texts = state.move_texts()
            word = texts[seed * ply % len(texts)]
            _, into = deal_worlds(state, word, 1.0, n=3, seed=ply)
            world = into[:1].view(np.recarray)
            assert [int(hand).bit_count() for hand in world[0].hands] == state.record.left.tolist()
            assert state.game.inventory(world[0]) == list(range(56))
            state.game.hide(world[0], seat)
            assert world[0] == view.array[0]
            play(state, word)


# --- agents ----------------------------------------------------------------------------------------


def test_games_that_learn_nothing_refuse_counters():
    with pytest.raises(Unsupported, match="learns nothing from finished games"):
        Match("briskola", ("flat:10,belief=counters",), 0).check()
    with pytest.raises(Unsupported, match="learns nothing from finished games"):
        learn("briskola", "random", 10, counters.Path("never.npz"))


def test_what_counters_cannot_do_is_said():
    game = MiniTichu()
    for spec, error, words in (
        ("castelein-mc:belief=kounters", BadOption, "counters or cards or a whole number"),
        ("castelein-mc:lessons=1000", BadOption, "add belief=counters"),
        ("castelein-mc:belief=counters,lessons=1234567", BadOption, "lessons=1234567"),
        ("uct:10,belief=counters,learned=castelein-mc", Unsupported, "worlds=fresh"),
        ("ismcts:10,belief=counters", Unsupported, "no counters of ismcts"),
        ("ismcts:10,belief=counters,learned=nowhere.npz", InputError, "no file nowhere.npz"),
    ):
        with pytest.raises(error, match=words):
            make_agent(spec, game).start(game, 0)


@pytest.mark.parametrize("spec", ["castelein-mc", pytest.param("castelein-mcts", marks=pytest.mark.soak)])
def test_agents_with_the_counters_of_the_game_give_the_same_advice_for_the_same_view(spec):
    state = deal(MiniTichu(), 3)
    play(state, state.move_texts()[0])
    first, again = (make_agent(f"{spec}:belief=counters,lessons=1000") for _ in range(2))
    assert first.advise(state.view(), 1).rows == again.advise(state.view(), 1).rows
    assert Match("mini-tichu", (f"{spec}:belief=counters",), 0).code != Match("mini-tichu", (spec,), 0).code


# --- learning --------------------------------------------------------------------------------------


def test_learning_goes_on_where_it_ended(tmp_path):
    whole, parts = tmp_path / "whole.npz", tmp_path / "parts.npz"
    once = learn("mini-tichu", "random", 25, whole, seed=4, step=10)
    for rounds in (7, 10, 18, 25, 20):
        again = learn("mini-tichu", "random", rounds, parts, seed=4, step=10)
    assert whole.read_bytes() == parts.read_bytes()
    assert again.rounds == once.rounds == 25
    assert (once.chances(20) != once.chances()).any()
    assert [step["rounds"] for step in once.to_dict()["steps"]] == [10, 20, 25]
    made = once.counts.sum()
    assert 25 * 30 < made < 25 * 90  # some seventy moves a round, less the leads
    with pytest.raises(BadOption, match="lessons=15"):
        once.chances(15)
    with pytest.raises(BadOption, match="choose another file"):
        learn("mini-tichu", "random", 30, parts, seed=5, step=10)
    parts.write_bytes(b"something else")
    with pytest.raises(InputError, match="holds no counters"):
        learn("mini-tichu", "random", 30, parts, seed=4, step=10)


@pytest.mark.parametrize(
    "change",
    [
        {"rounds": None}, {"rounds": "x"}, {"rounds": -1}, {"rounds": 1.5}, {"rounds": 1000}, {"step": 0},
        {"situations": 5}, {"colour": 1}, {"counts": np.zeros(0, int)}, {"counts": np.zeros((1, 5, 2), int)},
        {"counts": np.zeros((1, 2520, 2))}, {"dealt": np.zeros((1, 2), int)}, {"dealt": np.full((1, 3), -1)},
    ],
)  # fmt: skip
def test_a_damaged_file_of_counters_is_named(tmp_path, change):
    """Counts of another shape would be written past their end."""
    path = tmp_path / "counters.npz"
    about = {"game": "mini-tichu", "agent": "random", "seed": 0, "situations": 2520, "step": 10, "rounds": 3}
    arrays = {"counts": np.zeros((1, 2520, 2), int), "dealt": np.zeros((1, 3), int)}
    told = {key: change.get(key, value) for key, value in about.items()} | {
        key: value for key, value in change.items() if key not in arrays
    }
    np.savez(path, about=json.dumps(told), **{key: change.get(key, value) for key, value in arrays.items()})
    with pytest.raises(InputError, match=r"counters\.npz holds no counters of `kibitz learn`"):
        learn("mini-tichu", "random", 30, path, step=10)


@pytest.mark.parametrize("n", [60, pytest.param(3000, marks=pytest.mark.soak)])
def test_a_file_of_counters_with_some_bytes_changed(tmp_path, n):
    path, rng = tmp_path / "counters.npz", random.Random(n)
    learn("mini-tichu", "random", 3, path, step=10)
    whole, errors = path.read_bytes(), 0
    for _ in range(n):
        content = bytearray(whole[: rng.choice([len(whole), rng.randrange(len(whole))])])
        for _ in range(min(len(content), 9)):
            content[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(content)
        try:
            counters.load(path)
        except InputError:
            errors += 1
    assert errors > n / 2


def test_counters_of_what_was_seen_are_another_file(tmp_path):
    """Who passes may have had a higher combination, so what is seen is less than what was held."""
    held = learn("mini-tichu", "random", 3, tmp_path / "held.npz")
    seen = learn("mini-tichu", "random", 3, tmp_path / "seen.npz", seen=True)
    assert (held.counts.sum(axis=2) == seen.counts.sum(axis=2)).all()
    assert (held.counts[..., 1] >= seen.counts[..., 1]).all()
    assert held.counts[..., 1].sum() > seen.counts[..., 1].sum() > 0
    assert counters.load(tmp_path / "seen.npz").seen
    with pytest.raises(BadOption, match="what was held"):
        learn("mini-tichu", "random", 4, tmp_path / "held.npz", seen=True)


def test_counters_from_a_file_are_used(tmp_path):
    path = tmp_path / "own.npz"
    learn("mini-tichu", "random", 3, path)
    game = MiniTichu()
    agent = make_agent(f"castelein-mc:belief=counters,learned={path}", game)
    agent.start(game, 0)
    assert agent.knowledge(game) == counters.load(path).chances().tobytes()
    assert make_agent("castelein-mc", game).knowledge(game) == b""
