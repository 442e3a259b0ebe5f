"""Rules of thumb for Tichu: what a sensible player does, and which plays are as good as each other."""

import random
from collections import Counter

import numpy as np
import pytest

from kibitz.agents import make_agent
from kibitz.arena.play import Batch, Match
from kibitz.errors import Unsupported
from kibitz.games import load
from kibitz.games.mini_tichu.rules import MiniTichu
from kibitz.games.tichu import combinations as c
from kibitz.games.tichu import sense
from kibitz.games.tichu.text import card_text, parse_play, play_text
from kibitz.kernel import entry
from kibitz.position import State, deal
from kibitz.search.montecarlo import pick
from kibitz.search.objective import Habit
from kibitz.testing import check_hidden


@entry
def list_leads(hand, plays):
    """The leads of a hand."""
    return c.list_leads(hand, plays)


@entry
def list_bombs(hand, plays):
    """The bombs of a hand."""
    return c.list_bombs(hand, 0, 0, plays, 0)


@entry
def keep_one_of_each(hand, plays, n):
    """The plays that are not alike."""
    return sense.drop_alike(hand, plays, n)


@entry
def codes(hand, plays, n, out):
    """The code of every play."""
    for i in range(n):
        out[i] = sense.without_suits(hand, plays[i])


@entry
def lay_out(hand, plays):
    """A hand as combinations, written to the front."""
    n = sense.lay_out(hand, plays)
    for i in range(n):
        plays[i] = plays[sense._LAID + i]
    return n


@entry
def as_one_play(hand):
    """All cards as one combination."""
    return sense.as_one_play(hand)


def compiled(function, *arguments):
    plays = np.zeros(MiniTichu.max_moves, np.int64)
    return plays[: function(*arguments, plays)].tolist()


def mask(words):
    return sum(parse_play(word) for word in words.split())


def set_up(*hands, turn=0):
    """A position in which `turn` leads; cards not named have been played."""
    state = State(MiniTichu())
    record = state.record
    masks = [mask(hand) for hand in hands]
    record.hands[:] = masks
    record.left[:] = [hand.bit_count() for hand in masks]
    record.played = (1 << 56) - 1 & ~sum(masks)
    record.turn, record.phase = turn, 1
    return state


def sensible(state):
    """What a sensible player plays, as people write it."""
    moves = np.zeros(MiniTichu.max_moves, np.int64)
    view = state.view()
    return play_text(int(pick(view.game, Habit(1.0), view.array, moves, np.zeros(1, np.uint64))))


def hands(n, count, seed):
    """Random hands: from all cards, from few ranks, and from two suits, so that combinations abound."""
    chosen = random.Random(seed)
    for i in range(count):
        low = chosen.randrange(2, 10)
        deck = [
            range(56),
            [*range(4), *range(4 * (low - 1), 4 * (low + 4))],
            [2, *(card for card in range(4, 56) if card % 4 < 2)],
        ][i % 3]
        yield np.int64(sum(1 << card for card in chosen.sample(list(deck), n)))


# --- what a sensible player does -------------------------------------------------------------------


@pytest.mark.parametrize("hand", ["5D 5H 6D 6C", "3D 4D 5H 6C Phx", "9D 9H 9C KD KS", "JD JH QD QH KS Phx"])
def test_it_goes_out_when_it_can(hand):
    state = set_up(hand, "AD AH AC 2D", "2H 3C", "2C 2S AS")
    assert parse_play(sensible(state)) & int(c.DECK) == mask(hand)


def test_it_goes_out_on_a_trick():
    state = set_up("8C 8S", "8D 8H 2C", "3C 3S 4D", "7D 7C 3H", turn=3)
    state.play("7D+7C")
    assert sensible(state) == "8C+8S"


def test_it_does_not_overtake_its_partners_ace():
    state = set_up("Drg 3D 4D 6D 8D", "5D 5H 7C 9C JC", "AD 3S 4S 6S 8S", "2D 5C 7S 9S JS", turn=2)
    state.play("AD")
    state.play("pass")
    assert sensible(state) == "pass"


def test_it_stops_an_opponent_who_is_about_to_go_out():
    state = set_up("AD KS 4D 6D 8D", "5D 5H 7C 9C JC", "3H 3S 4S 6S 8S", "QD 7S", turn=3)
    state.play("QD")
    assert sensible(state) in ("KS", "AD")


def test_a_hand_is_laid_out_in_full():
    """Every card once, in combinations that the rules know."""
    for hand in hands(14, 300, 1):
        laid, legal = compiled(lay_out, hand), set(compiled(list_leads, hand))
        assert set(laid) <= legal
        assert sum(play & int(c.DECK) for play in laid) == int(hand)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_a_hand_that_is_one_play_is_known_as_such(n):
    for hand in hands(n, 600, n):
        whole = [play for play in compiled(list_leads, hand) if play & int(c.DECK) == int(hand)]
        assert (int(as_one_play(hand)) in whole) if whole else as_one_play(hand) == c.PASS


def test_its_plays_are_legal():
    """From all positions of games at random, in which hands are not those of sensible players."""
    for seed in range(60):
        state, chosen = deal(MiniTichu(), seed), random.Random(seed)
        while not state.is_over:
            words = state.move_texts()
            assert sensible(state) in words
            state.play(chosen.choice(words))


def test_nothing_hidden_reaches_it():
    """Nor a search that prunes and plays out by it."""
    search = "ismcts:40,playout=sensible,merge=true,prune=true"
    check_hidden(MiniTichu(), ("rule-based", "castelein-random:blind=true", search), n=1)


def won(first, second, deals, seed):
    """The share of decided rounds that the first agent wins."""
    scores = Batch(Match("mini-tichu", (first, second), seed), 0, deals).play().scores
    ahead = np.concatenate([scores[:, 0, 0] - scores[:, 0, 1], scores[:, 1, 1] - scores[:, 1, 0]])
    return (ahead > 0).sum() / (ahead != 0).sum()


def test_it_beats_players_at_random():
    assert won("rule-based", "castelein-random", 300, 1) > 0.9


# --- plays that are alike --------------------------------------------------------------------------


def by_rank(cards):
    """How many cards there are of every rank; special cards are told apart."""
    return Counter(card if card < 4 else 4 * (card // 4) for card in range(56) if int(cards) >> card & 1)


def test_plays_that_are_alike_differ_in_nothing_but_suits_and_leave_the_same_bombs():
    with_flush = 0
    for hand in hands(11, 600, 3):
        plays = np.zeros(MiniTichu.max_moves, np.int64)
        out = np.zeros(MiniTichu.max_moves, np.int64)
        n = list_leads(hand, plays)
        codes(hand, plays, n, out)
        classes = {}
        for play, code in zip(plays[:n].tolist(), out[:n].tolist(), strict=True):
            rest = hand & ~c.cards_of(play)
            ranks = tuple(sorted(by_rank(play & int(c.DECK)).items()))
            meaning = (int(c.kind_of(np.int64(play))), play >> 56, ranks)
            told = (meaning, tuple(sorted(compiled(list_bombs, rest))))
            assert classes.setdefault(code, told) == told, [card_text(i) for i in range(56) if hand >> i & 1]
        flushes = any(c.is_flush(np.int64(bomb)) for bomb in compiled(list_bombs, hand))
        with_flush += flushes
        if not flushes:  # all that are equal but for suits are alike
            assert len(set(classes.values())) == len(classes)
        kept = plays.copy()
        n_kept = keep_one_of_each(hand, kept, n)
        code_of = dict(zip(plays[:n].tolist(), out[:n].tolist(), strict=True))
        assert sorted(code_of[play] for play in kept[:n_kept].tolist()) == sorted(classes)
    assert with_flush > 20


def test_random_plays_may_be_blind_to_suits():
    blind = make_agent("castelein-random:blind=true", MiniTichu())
    state = set_up("8D 8H 8C 3D", "5D 5H", "AD", "2D")
    chosen = Counter(play_text(blind.choose(state.view(), seed)) for seed in range(400))
    assert set(chosen) == {"3D", "8D", "8D+8H", "8D+8H+8C"}
    assert min(chosen.values()) > 70
    with pytest.raises(Unsupported, match="mini-tichu only"):
        make_agent("castelein-random:blind=true").start(load("briskola"), 0)
