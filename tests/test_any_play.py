"""Any play of Tichu: counted and built without a list, against the list."""

import itertools
import random
from collections import Counter

import numpy as np

from kibitz import games
from kibitz.bits import size
from kibitz.games.tichu import combinations as c
from kibitz.games.tichu import rules
from kibitz.games.tichu.any_play import count_kinds, nth_play, total
from kibitz.games.tichu.text import TICHU, parse_play
from kibitz.kernel import entry
from kibitz.position import deal
from kibitz.rng import stream

ROOM = 2560


@entry
def list_plays(hand, kind, length, height, plays):
    """The legal plays, listed."""
    if kind == c.NOTHING:
        return c.list_leads(hand, plays)
    plays[0] = c.PASS
    return c.list_answers(hand, kind, length, height, plays, 1)


@entry
def build_plays(hand, kind, length, height, plays):
    """The legal plays, built one by one."""
    counts = count_kinds(hand, kind, length, height)
    n = total(counts)
    for number in range(min(n, len(plays))):
        plays[number] = nth_play(hand, kind, length, height, counts, number)
    return n


@entry
def describe(plays, n, before, tables):
    """Kind, number of cards and height of plays; a Phoenix lies on a card of height `before`, or was led."""
    for i in range(n):
        play = plays[i]
        tables[i, 0] = c.kind_of(play)
        tables[i, 1] = size(c.cards_of(play))
        tables[i, 2] = c.height_of(play, before, 1)


def tables_of(hand, before):
    """What a hand can put on the table."""
    plays, tables = np.zeros(ROOM, np.int64), np.zeros((ROOM, 3), np.int64)
    n = list_plays(np.int64(hand), *[np.int64(0)] * 3, plays)
    describe(plays, n, np.int64(before), tables)
    return sorted(
        {tuple(table) for play, table in zip(plays[:n], tables[:n].tolist(), strict=True) if play != c.DOG}
    )


def agree(hand, table):
    """Whether what is built is what is listed; the number of plays."""
    listed, built = np.zeros(ROOM, np.int64), np.zeros(ROOM, np.int64)
    arguments = (np.int64(hand), *(np.int64(x) for x in table))
    n, n_built = list_plays(*arguments, listed), build_plays(*arguments, built)
    assert n_built == n, (hex(hand), table)
    assert np.array_equal(np.sort(built[:n]), np.sort(listed[:n])), (hex(hand), table)
    return n


def random_hands(count, seed):
    """Hands of all sizes: of all cards, of few ranks (sets, stairs), of one to three suits (runs, bombs)."""
    chosen = random.Random(seed)
    for i in range(count):
        low, width = chosen.randrange(2, 12), chosen.randrange(3, 6)
        ranks, suits = (range(2, 15), range(low, min(15, low + width)), range(2, 15))[i % 3], range(4)
        if i % 3 == 2:
            suits = chosen.sample(range(4), chosen.randrange(1, 4))
        deck = [4 * (rank - 1) + suit for rank in ranks for suit in suits]
        deck += [card for card in range(4) if chosen.random() < 0.7]
        n = max(chosen.randrange(1, 15), chosen.randrange(1, 15))
        yield sum(1 << card for card in chosen.sample(deck, min(len(deck), n)))


def test_what_is_built_is_what_is_listed():
    """Leads, and answers to what another hand can lead: some of every kind."""
    chosen, answered = random.Random(1), Counter()
    for hand, other in zip(random_hands(1500, 1), random_hands(1500, 2), strict=True):
        assert agree(hand, (c.NOTHING, 0, 0)) > 0
        tables = tables_of(other, chosen.choice((0, 2, 4, 13, 28)))
        for kind in range(c.SINGLE, c.BOMB + 1):
            of_kind = [table for table in tables if table[0] == kind]
            for table in chosen.sample(of_kind, min(2, len(of_kind))):
                answered[kind] += agree(hand, table) > 1
    assert min(answered[kind] for kind in range(c.SINGLE, c.BOMB + 1)) > 40, answered


def cards(words):
    return sum(parse_play(word) for word in words.split())


def test_straights_of_one_suit_count_once():
    """As straights that are led or answer one, else as bombs."""
    hand = cards("Mah 2D 3D 4D 5D 6D 6H Phx")
    straights = [(c.STRAIGHT, *table) for table in ((5, 10), (5, 12), (5, 18), (6, 12), (7, 16))]
    for table in ((c.NOTHING, 0, 0), *straights):
        assert agree(hand, table) > 1, table
    for table in ((c.FULL_HOUSE, 5, 6), (c.STAIRS, 6, 8), (c.BOMB, 4, 28), (c.BOMB, 5, 10)):
        assert agree(hand, table) == 2, table
    assert agree(hand, (c.BOMB, 5, 12)) == 1


def test_the_richest_hand():
    """More plays than of any other that was found."""
    assert agree(cards("Phx TH TC TS JD JH JC JS QD QC QS KD KH KS"), (c.NOTHING, 0, 0)) > 1800


@entry
def draw(game, position, moves, drawn, rng):
    """Random moves of a position."""
    for i in range(len(drawn)):
        drawn[i] = game.random_move(position[0], moves, rng)


def is_bound(state, legal):
    """Whether a wish is to be fulfilled, by one of several plays."""
    wished = [move for move in legal if state.wish != 0 and c.of_rank(c.cards_of(move), state.wish) != 0]
    return len(wished) > 1 and set(legal) <= {*wished, TICHU}


def test_a_random_move_is_any_of_the_legal_ones():
    """Where there are few, all come equally often and no other: plays, calls, what fulfils a wish, bombs."""
    moves, drawn, seen = np.zeros(ROOM, np.int64), np.zeros(20000, np.int64), Counter()
    for name, seed in itertools.product(("mini-tichu", "tichu"), range(8)):
        game = games.load(name)
        assert "random_move" not in game.defaulted
        state, chooser, rng = deal(game, seed), random.Random(seed), stream(seed)
        while not state.is_over:
            legal = state.legal_moves()
            if 1 < len(legal) <= 40:
                draw(game, np.array([state.record]), moves, drawn, rng)
                found, mean = Counter(drawn.tolist()), len(drawn) / len(legal)
                assert found.keys() == set(legal)
                assert max(abs(n - mean) for n in found.values()) < 5 * mean**0.5
                seen[name] += 1
                if name == "tichu":
                    phase = state.record.phase
                    seen[int(phase)] += 1
                    seen["call"] += phase == rules.PLAYING and TICHU in legal
                    seen["wish"] += phase == rules.PLAYING and is_bound(state.record, legal)
            is_call = name == "tichu" and state.record.phase < rules.PLAYING
            is_wish = c.MAH_JONG in legal  # so that there is one
            state.play(legal[0] if is_call else c.MAH_JONG if is_wish else chooser.choice(legal))
    assert min(seen["mini-tichu"], seen["tichu"]) > 50
    phases = set(range(rules.DEALING + 1, rules.OVER))
    assert min(seen[what] for what in phases | {"call", "wish"}) > 0, seen


def test_out_of_turn_only_a_higher_bomb_beats_a_bomb():
    """All bombs beat a pair; four jacks are beaten by four queens and a flush, a flush by a higher one."""
    game = games.load("tichu")
    state = deal(game, 1)
    bombs = ["5D+5H+5C+5S", "9D+9H+9C+9S", "QD+QH+QC+QS"]
    state.record.hands[2] = cards(" ".join(bombs).replace("+", " ") + " 8S TS JS")
    state.record.phase, state.record.turn, state.record.next, state.record.last = rules.BOMBING, 2, 0, 1
    moves, drawn = np.zeros(ROOM, np.int64), np.zeros(2000, np.int64)
    flush = "8S+9S+TS+JS+QS"
    none = int(rules.NO_BOMB + 2)
    for table, beaten_by in (
        ((c.PAIR, 2, 28), [*bombs, flush]),
        ((c.BOMB, 4, 2 * 11), [bombs[2], flush]),
        ((c.BOMB, 5, 2 * 11), [flush]),
        ((c.BOMB, 6, 2 * 6), []),
    ):
        state.record.kind, state.record.length, state.record.height = table
        draw(game, np.array([state.record]), moves, drawn, stream(1))
        assert set(drawn.tolist()) == {none, *map(parse_play, beaten_by)} == set(state.legal_moves())
