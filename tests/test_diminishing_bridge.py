"""DiminishingBridge: a naive twin, positions by hand, what each seat sees, and the thesis's numbers."""

import math
import random

import numpy as np
import pytest

from kibitz import games
from kibitz.agents import make_agent
from kibitz.arena.play import Batch, Match
from kibitz.errors import BadOption, ParseError
from kibitz.games.diminishing_bridge.bids import likelihood_of_bids, rounded_to
from kibitz.games.diminishing_bridge.hands import hand_worth
from kibitz.games.diminishing_bridge.players import count_tricks
from kibitz.games.diminishing_bridge.rules import (
    BID,
    BIDDING,
    NO_BID,
    NO_CARD,
    PLAYING,
    SECRET,
    UNSEEN,
    DiminishingBridge,
)
from kibitz.games.diminishing_bridge.scoreboard import game_value
from kibitz.games.diminishing_bridge.sense import TUNED, look_out, sensible_bid, sensible_card, worth
from kibitz.games.diminishing_bridge.snelleman import (
    RANDOM,
    RULE_BASED,
    TRUMPING,
    Snelleman,
    nearest_bid,
    strategic_value,
)
from kibitz.kernel import entry
from kibitz.position import State, deal
from kibitz.protocol import SILENT
from kibitz.rng import stream
from kibitz.search.objective import Habit
from kibitz.search.worlds import begin, memory_for_worlds
from kibitz.testing import check_game, check_hidden, walk
from tests import naive_bridge
from tests.naive_bridge import NaiveBridge

NAME = "diminishing-bridge"
LARGE = ["", "published=true"]
SMALL = [
    *("seats=2,cards=5", "seats=3,cards=5", "seats=5,cards=4", "seats=6,cards=4"),
    *("seats=7,cards=3", "seats=8,cards=3", "published=true,cards=4"),
    *("order=rising,cards=4", "order=falling-rising,cards=3", "order=falling-rising,twice=false,cards=3"),
    *("cards=7,rounds=1", "cards=6,rounds=2,order=rising", "order=falling-rising,cards=4,rounds=2"),
    *(
        "suits=7,ranks=9,cards=4",
        "suits=1,ranks=12",
        "suits=3,ranks=5,seats=3",
        "suits=8,ranks=7,seats=8,cards=3",
    ),
    *("suits=5,ranks=4,seats=3,first_trump=false,order=falling-rising", "screw=false,cards=3"),
    *("K=5,trick_factor=2,losing_factor=3,cards=4", "devils=true,cards=3", "luciferen=true,cards=3"),
    *("devils=true,luciferen=true,cards=2,seats=3", "absolute=0,K=1,cards=6", "absolute=1,K=1,cards=6"),
    *("absolute=2,K=1,cards=6", "turn_up=next,cards=4"),
]


def load(options):
    return games.load(f"{NAME}:{options}" if options else NAME)


def twin_of(options):
    """The naive twin with the same options."""
    given = {}
    for name, value in (option.split("=") for option in options.split(",") if option):
        given[name] = {"true": True, "false": False}.get(value, int(value) if value.isdigit() else value)
    given.pop("turn_up", None)  # the twin is told which card it is
    return NaiveBridge(**given)


def cards_of(game, mask):
    return {divmod(card, game.ranks) for card in range(game.deck_size()) if int(mask) >> card & 1}


def begin_twin(state, twin):
    """Tell the twin what was dealt, after checking that it could be."""
    game, record = state.game, state.record
    hands = [cards_of(game, record.hands[seat]) for seat in range(game.seats)]
    assert len(set().union(*hands)) == game.seats * twin.size
    trumps = {suit for suit, _ in cards_of(game, record.trumps)}
    assert len(cards_of(game, record.trumps)) == game.ranks * len(trumps)
    if twin.shows_trump():
        shown = divmod(int(record.shown), game.ranks)
        assert shown not in set().union(*hands)
        assert trumps == {shown[0]}
    else:
        assert record.shown == NO_CARD
        assert len(trumps) == (1 if twin.published and twin.done == 0 else 0)
    twin.begin_round(hands, min(trumps, default=None))


def as_number(game, move):
    """A move of the twin as the game's."""
    if move == "unseen":
        return UNSEEN
    kind, what = move
    return BID + what if kind == "bid" else what[0] * game.ranks + what[1]


# --- whole games ---


@pytest.mark.parametrize("options", [*LARGE, *SMALL])
def test_random_games_follow_the_naive_rules(options):
    game = load(options)
    victories = 0
    for seed in range(1 if options in LARGE else 6):
        chooser = random.Random(seed)
        state, twin, deals = State(game), twin_of(options), 0
        # Some get far ahead only if the others bid too much.
        favourite = seed % game.seats if seed % 2 else None
        while not twin.is_over():
            assert not state.is_over
            if state.mover < 0:
                state.settle_chance(seed, deals)
                deals += 1
                begin_twin(state, twin)
                continue
            assert state.mover == twin.turn()
            legal = {as_number(game, move): move for move in twin.legal()}
            assert set(state.legal_moves()) == set(legal)
            if twin.is_bidding():
                forbidden = int(game.forbidden(state.record))
                assert (forbidden if 0 <= forbidden <= twin.size else None) in (None, twin.forbidden())
            number = chooser.choice(sorted(legal))
            if favourite is not None and twin.is_bidding():
                number = min(legal) if twin.turn() == favourite else max(legal)
            state.play(number)
            twin.play(legal[number])
            assert list(state.record.scores[: game.seats]) == twin.scores
            assert list(state.record.made[: game.seats]) == twin.made
            if not twin.hands or any(twin.hands):
                assert list(state.record.tricks[: game.seats]) == twin.tricks
                for seat in range(game.seats):
                    assert cards_of(game, state.record.hands[seat]) == twin.hands[seat]
        assert state.is_over
        assert state.returns() == twin.scores
        assert state.record.victor == (-1 if twin.victor is None else twin.victor)
        assert deals == twin.done == state.record.number
        victories += twin.victor is not None
    if options in ("absolute=1,K=1,cards=6", "absolute=2,K=1,cards=6"):
        assert victories > 0
    if options == "absolute=0,K=1,cards=6":
        assert victories == 0


# Rounds of many seats, suits or cards take long, and are played by the naive rules above, too.
LONG = {"seats=5,cards=4", "seats=6,cards=4", "seats=7,cards=3", "seats=8,cards=3", "suits=7,ranks=9,cards=4"}
LONG |= {"suits=8,ranks=7,seats=8,cards=3", "suits=3,ranks=5,seats=3", "absolute=0,K=1,cards=6"}


@pytest.mark.parametrize(
    "options",
    [pytest.param(o, marks=pytest.mark.soak) if o in LONG else o for o in (*LARGE, *SMALL)],
)
def test_the_rules_pass_all_checks(options):
    assert all(check.ok for check in check_game(load(options), n=1))


def redeal(state, seat, chooser):
    """Another truth for the same view: hidden cards dealt by trial, secret bids drawn anew."""
    game, record = state.game, state.record
    other = State(game, state.array.copy())
    if game.luciferen and record.phase == BIDDING:
        for s in range(game.seats):
            if s != seat and record.bids[s] != NO_BID:
                other.record.bids[s] = chooser.randint(0, int(record.cards))
    blind = game.is_blind(record)
    hidden = [s for s in range(game.seats) if (s == seat) == bool(blind)]
    seen = int(record.played) | (1 << int(record.shown) if record.shown >= 0 else 0)
    for s in set(range(game.seats)) - set(hidden):
        seen |= int(record.hands[s])
    free = [c for c in range(game.deck_size()) if not seen >> c & 1]
    for _ in range(300):
        chooser.shuffle(free)
        rest, fits = list(free), True
        for s in hidden:
            hand = [rest.pop() for _ in range(int(record.hands[s]).bit_count())]
            fits = fits and not any(record.voids[s] >> (c // game.ranks) & 1 for c in hand)
            other.record.hands[s] = sum(1 << c for c in hand)
        if fits and other.key() != state.key():
            return other
    return None


EACH = ("rule-based", "flat:8", "ismcts:12", "possible:12", "snelleman-rule-based", "snelleman-mc:8")


@pytest.mark.parametrize("options", SMALL)
def test_nothing_hidden_reaches_an_agent(options):
    checks = check_hidden(load(options), agents=EACH, n=1, redeal=redeal)
    assert len(checks) == 2 + len(EACH)
    assert not any("left out" in check.detail for check in checks)


def test_nothing_hidden_reaches_any_agent():
    checks = check_hidden(load("cards=4"), n=1, redeal=redeal)
    assert not any("left out" in check.detail for check in checks if "ismcts" in check.name)


@pytest.mark.parametrize(
    "options",
    [
        "suits=8,ranks=8",
        "cards=14",
        "seats=9",
        "rounds=14",
        "cards=5,rounds=6",
        "K=-1",
        "absolute=101",
        "order=up",
    ],
)
def test_parameters_that_make_no_game(options):
    with pytest.raises(BadOption):
        load(options)


# --- positions by hand ---


def card(game, text):
    return game.parse_move(text)


def mask(game, texts):
    return sum(1 << card(game, text) for text in texts.split())


def set_up(hands, trump="", bids=None, number=0, turn=None, played="", **options):
    """A round in progress: hands as texts by seat, the card turned up, bids (then it is played)."""
    game = DiminishingBridge(seats=len(hands), **options)
    state = State(game)
    record = state.record
    held = [mask(game, hand) for hand in hands]
    for seat, cards in enumerate(held):
        record.hands[seat] = cards
        record.bids[seat] = NO_BID if bids is None else bids[seat]
        record.table[seat] = NO_CARD
    record.number = number
    record.left = held[0].bit_count()
    record.cards = game.size_of(number)
    record.follow, record.played = game.deck(), mask(game, played)
    record.shown = card(game, trump) if trump else NO_CARD
    record.trumps = game.suit_cards(game.suit_of(record.shown)) if trump else 0
    record.turn = number % game.seats if turn is None else turn
    record.phase = BIDDING if bids is None else PLAYING
    record.victor = -1
    return state


def play(state, moves):
    for move in moves.split(", "):
        state.play(move)
    return state


@pytest.mark.parametrize(
    ("cards", "winner"),
    [
        ("2C, 3C, AC, KC", 2),
        ("2C, AD, AH, AC", 3),
        ("2C, AD, AH, AD", 0),  # nobody follows or trumps: the leader
        ("AC, 2S, KC, QC", 1),  # the lowest trump
        ("AC, 2S, 4S, 3S", 2),
        ("2S, AC, AD, AH", 0),
        ("KS, AS, AD, 2S", 1),
    ],
)
def test_who_takes_a_trick(cards, winner):
    texts = cards.split(", ")
    if len(set(texts)) < 4:
        texts[3] = "KD"
    state = set_up(
        [f"{texts[seat]} {['9H', '8H', '7H', '6H'][seat]}" for seat in range(4)], "TS", [0] * 4, 11
    )
    state.record.turn = 0
    for seat in range(4):  # as if nobody had to follow
        state.game.play(state.record, card(state.game, texts[seat]))
    assert state.mover == winner
    assert list(state.record.tricks[:4]) == [int(seat == winner) for seat in range(4)]


def test_suit_is_followed_if_possible():
    state = set_up(["2C 3D", "4C 5D", "6S 7S", "8C 9C"], "TS", [0] * 4, 11, turn=0)
    state.play("2C")
    assert state.move_texts() == ["4C"]
    state.play("4C")
    assert state.move_texts() == ["6S", "7S"]
    assert state.record.voids[2] == 0
    state.play("6S")
    assert state.record.voids[2] == 1 << int(state.game.suit_of(card(state.game, "2C")))


@pytest.mark.parametrize(
    ("bids", "published", "forbidden"),
    [((1, 1, 0), False, 1), ((1, 1, 2), False, None), ((0, 0, 0), False, 3), ((3, 1, 0), True, 1)],
)
def test_the_dealer_is_screwed(bids, published, forbidden):
    state = set_up(["2C 3C 4C", "5C 6C 7C", "8C 9C TC", "JC QC KC"], "TS", None, 10, published=published)
    for bid in bids:
        assert state.mover != state.game.dealer(state.record)
        assert len(state.legal_moves()) == 4
        state.play(f"bid {bid}")
    assert state.mover == state.game.dealer(state.record) == 1
    assert state.legal_moves() == [BID + n for n in range(4) if n != forbidden]


def test_points_of_a_round():
    state = set_up(["AC", "KC", "2S", "QC"], "3S", [1, 0, 1, 0], 12, turn=0)
    state.record.scores[:4] = [5, 5, 5, 5]
    play(state, "AC, KC, 2S, QC")
    assert state.is_over
    assert state.returns() == [4, 15, 16, 15]
    out = np.zeros((4, 4))
    state.game.tally(state.record, out)
    assert out.tolist() == [[0, 13, 0, 11], [0, 13, 1, 10], [0, 13, 1, 11], [0, 13, 1, 10]]


@pytest.mark.parametrize("rounds_left", range(1, 6))
@pytest.mark.parametrize("published", [False, True])
def test_absolute_victory_is_won_with_more_than_n_times_n_plus_11(rounds_left, published):
    """s₍₁₎ − s₍₂₎ > n(n + 11), in the published tables with two rounds left or more."""
    n = rounds_left
    for lead in (n * (n + 11), n * (n + 11) + 1):
        game = DiminishingBridge(published=published)
        state = State(game)
        state.record.number = 13 - n
        state.record.scores[:4] = [0, lead, -3, 0]
        wins = lead > n * (n + 11) and (n >= 2 or not published)
        assert game.absolute_victor(state.record) == (1 if wins else -1)


def test_equal_scores_are_no_absolute_victory():
    game = DiminishingBridge(K=0, trick_factor=0, losing_factor=0)
    state = State(game)
    state.record.number = 5
    state.record.scores[:4] = [3, 3, 0, 0]
    assert game.absolute_victor(state.record) == -1


def test_devils_bridge_shows_all_cards_but_ones_own():
    state = set_up(["AC", "KC", "2S", "QC"], "3S", None, 12, devils=True)
    for seat in range(4):
        view = state.view(seat)
        for other in range(4):
            seen = 0 if other == seat else int(state.record.hands[other])
            assert view.record.hands[other] == seen
        picture = str(view)
        own = state.game.move_text(int(state.record.hands[seat]).bit_length() - 1)
        assert own not in picture
    play(state, "bid 0, bid 0, bid 0, bid 0")
    assert state.move_texts() == ["unseen"]
    assert [int(state.game.label(state.record, UNSEEN, s)) for s in range(4)] == [card(state.game, "AC")] * 4
    play(state, "unseen, unseen, unseen, unseen")
    assert list(state.record.tricks[:4]) == [0, 0, 1, 0]


def test_devils_bridge_is_for_one_card_each():
    state = set_up(["AC 2C", "KC 3C", "2S 4C", "QC 5C"], "3S", None, 11, devils=True)
    assert state.view(0).record.hands[0] == state.record.hands[0]
    assert not state.view(0).record.hands[1:4].any()


def test_luciferen_bids_are_secret_until_the_last():
    state = set_up(["AC 2C", "KC 3C", "2S 4C", "QC 5C"], "3S", None, 11, turn=0, luciferen=True)
    state.record.number, state.record.cards = 12, 2  # seat 0 is the first
    for seat, bid in enumerate((1, 0, 2)):
        labels = [int(state.game.label(state.record, BID + bid, s)) for s in range(4)]
        assert labels == [BID + bid if s == seat else SILENT for s in range(4)]
        state.play(f"bid {bid}")
    assert list(state.view(0).record.bids[:4]) == [1, SECRET, SECRET, NO_BID]
    assert list(state.view(3).record.bids[:4]) == [SECRET, SECRET, SECRET, NO_BID]
    assert "has bid" in str(state.view(3))
    assert "bid  2" not in str(state.view(0))
    assert len(state.legal_moves()) == 3  # the dealer may bid anything
    assert state.game.label(state.record, BID + 1, 0) not in (SILENT, BID + 1)
    state.play("bid 1")
    assert list(state.view(0).record.bids[:4]) == [1, 0, 2, 1]


def test_luciferen_labels_tell_bids_apart():
    labels = set()
    for bids in np.ndindex(3, 3, 3):
        state = set_up(["AC 2C", "KC 3C", "2S 4C", "QC 5C"], "3S", None, 12, luciferen=True)
        state.record.cards = 2
        for bid in bids:
            state.play(BID + bid)
        labels |= {int(state.game.label(state.record, BID + bid, 0)) for bid in range(3)}
    assert len(labels) == 81


# --- text ---


@pytest.mark.parametrize(
    "options", ["", "suits=7,ranks=9", "suits=8,ranks=7", "suits=1,ranks=50", "suits=4,ranks=15"]
)
def test_moves_are_read_as_they_are_written(options):
    game = load(options)
    texts = [game.move_text(move) for move in (*range(game.deck_size()), UNSEEN)]
    texts += [game.move_text(BID + n) for n in range(game.largest() + 1)]
    assert len(set(texts)) == len(texts)
    numbers = [*range(game.deck_size()), UNSEEN, *range(BID, BID + game.largest() + 1)]
    assert [game.parse_move(text) for text in texts] == numbers


def test_words_of_people():
    game = load("")
    assert game.move_text(51) == "AS"
    assert game.move_text(BID + 3) == "bid 3"
    assert game.parse_move(" Bid 3 ") == game.parse_move("3") == game.parse_move("bid3") == BID + 3
    for words in ("bid 14", "bid", "XX", ""):
        with pytest.raises(ParseError):
            game.parse_move(words)


@pytest.mark.parametrize("options", ["cards=3", "devils=true,cards=2", "luciferen=true,cards=2"])
def test_pictures_show_no_hidden_card(options):
    """The picture of a view is the picture of any world that agrees with it, hidden again."""
    game = load(options)
    for state in walk(game, 3):
        for seat in range(game.seats):
            picture = str(state.view(seat))
            assert picture == str(state.view(seat).world(1).view(seat))
            if state.is_over or game.is_blind(state.record):
                continue
            for other in set(range(game.seats)) - {seat}:
                for hidden in cards_of(game, state.record.hands[other]):
                    text = game.move_text(hidden[0] * game.ranks + hidden[1])
                    assert text not in picture.split()


@pytest.mark.parametrize("spec", ["oh-hell", "oh-hell:ranks=14", "oh-hell:suits=6,ranks=10"])
@pytest.mark.parametrize("words", ["TC", "tc", "10c", "10 C", "T of clubs", "ten of clubs"])
def test_tens_in_both_spellings(spec, words):
    game = games.load(spec)
    assert game.move_text(game.parse_move(words)) == "10C"


# --- the thesis's players ---


def worth_of(texts, trump="2S"):
    """The strategic value of a hand."""
    state = set_up([texts, "", "", ""], trump, None, 0)
    state.record.turn = 0
    return float(strategic_value(state.game, state.record))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(
            ("AC", 0.731),
            ("KC", 0.673),
            ("QC", 0.577),
            ("JC", 0.442),
            ("TC", 0.269),
            ("9C", 0.058),
            ("8C", 0),
        ),
        *(("AS", 0.981), ("3S", 0.769)),
    ],
)
def test_strategic_values(text, value):
    assert worth_of(text) == pytest.approx(value, abs=5e-4)


def test_strategic_value_is_the_sum_over_the_hand():
    game = DiminishingBridge()
    for seed in range(20):
        state = deal(game, seed)
        state.record.trumps = game.suit_cards(seed % 5) if seed % 5 < 4 else 0
        trump = seed % 5 if seed % 5 < 4 else None
        hand = cards_of(game, state.record.hands[0])
        expected = naive_bridge.strategic_value(hand, trump, 4, 13)
        assert strategic_value(game, state.record) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("x", "others", "bid"),
    [
        *((1.49, (1, 1, 1), 1), (1.5, (1, 1, 1), 2), (2.5, (0, 0, 5), 3)),
        *((1.3, (2, 1, 1), 2), (1.7, (1, 1, 1), 1), (2.0, (1, 1, 1), 3), (1.5, (1, 1, 1), 1)),
        *(
            (0.2, (2, 2, 1), 1),
            (0.0, (5, 0, 0), 1),
            (5.2, (0, 0, 0), 4),
            (7.0, (1, 1, 1), 5),
            (6.0, (0, 0, 0), 4),
        ),
    ],
)
def test_bids_are_rounded_and_forbidden_bids_left(x, others, bid):
    """Halves up; a forbidden bid gives way to the side on which x lies, within 0 … r; r is 5."""
    if (x, others) in {(1.5, (1, 1, 1)), (1.7, (1, 1, 1)), (2.0, (1, 1, 1))}:
        is_forbidden = bid != 2
    else:
        is_forbidden = True
    state = set_up(["", "", "", ""], "2S", None, 8, screw=is_forbidden)
    state.record.bids[:3] = others
    state.record.turn = 3
    assert nearest_bid(state.game, state.record, x) == bid


def choose(state, kind=RULE_BASED, as_run=False, seed=1):
    """The card that a policy of the thesis plays."""
    policy, moves = Snelleman(kind, as_run), np.zeros(64, np.int64)
    with np.errstate(over="ignore"):
        move = policy.choose(state.game, state.record, moves, stream(seed))
    return state.game.move_text(int(move))


def test_trumping_plays_a_trump_if_it_may():
    state = set_up(["2C 3S 4S", "5C 6C 7C", "8C 9C TC", "JC QC KC"], "TS", [1] * 4, 10, turn=0)
    assert {choose(state, TRUMPING, seed=seed) for seed in range(40)} == {"3S", "4S"}
    assert {choose(state, RANDOM, seed=seed) for seed in range(40)} == {"2C", "3S", "4S"}
    state = set_up(["2C 3S 4S", "5C 6C 7C", "8C 9C TC", "JC QC KC"], "TS", [1] * 4, 10, turn=3)
    state.play("JC")
    assert choose(state, TRUMPING) == "2C"


# Seat 0 leads or follows; nothing else of clubs is out above its cards than what the others hold.
@pytest.mark.parametrize("as_run", [False, True])
def test_rule_based_that_has_its_tricks_throws_its_highest_loser(as_run):
    """t ≥ b: as written the highest value at or below zero, as run the lowest (the most negative)."""
    state = set_up(["2C 9C TC", "5D 6D 7D", "8D 9D TD", "KC QC 3H"], "TS", [0] * 4, 10, turn=3)
    state.play("QC")
    # −c_r / (c_r + 1 + H + T): the two is worth 0, the ten the most below zero
    assert choose(state, as_run=as_run) == ("10C" if as_run else "2C")


@pytest.mark.parametrize("as_run", [False, True])
def test_rule_based_that_wants_tricks_and_cannot_win_throws_its_lowest(as_run):
    """t < b, no card can win: as written a lowest valued one, as run the last of them."""
    state = set_up(["2C 9C TC", "5D 6D 7D", "8D 9D TD", "KC QC 3H"], "TS", [1] * 4, 10, turn=3)
    state.play("QC")
    assert choose(state, as_run=as_run) == "10C"


def test_rule_based_that_wants_tricks_plays_its_highest():
    """As written, t < b, a card may win, and may be beaten: a highest valued one."""
    state = set_up(["2C 9D AC", "5D 6D 7D", "8D JD TD", "KC QC 3H"], "TS", [1] * 4, 10, turn=0)
    assert choose(state) == "AC"


def test_rule_based_that_wants_tricks_takes_them_cheaply_if_nobody_can_beat_it():
    """As written, t < b: everyone behind has neither the suit nor trumps."""
    state = set_up(["KC 9C TC", "5D 6D 7D", "8D 9D TD", "8C QD 3H"], "TS", [1] * 4, 10, turn=3)
    state.play("8C")
    suits = [int(state.game.suit_of(card(state.game, text))) for text in ("8C", "TS")]
    assert choose(state) == "KC"
    state.record.voids[1] = state.record.voids[2] = sum(1 << suit for suit in suits)
    assert choose(state) == "9C"


def test_rule_based_as_run_takes_the_lowest_of_the_later_half():
    """W listed by suit and rank; of ⌈|W|/2⌉ last ones the lowest value."""
    # V: 3C 1/(1+11+T), …: clubs low, trump ace 12/12
    state = set_up(["3C 4C AC KS", "5D 6D 7D 8H", "8D 9D TD 9H", "8C QD 3H JD"], "TS", [1] * 4, 9, turn=0)
    assert choose(state, as_run=True) in ("AC", "KS")
    game, record = state.game, state.record
    unseen = ((1 << 52) - 1) & ~int(record.hands[0]) & ~(1 << int(record.shown))
    policy = Snelleman(RULE_BASED, True)
    worth = {t: policy.worth(game, record, np.int64(card(game, t)), np.int64(unseen)) for t in ("AC", "KS")}
    assert worth["AC"] == pytest.approx(12 / (12 + 0 + 11))  # trumps unseen: 13 less the shown and the king
    assert worth["KS"] == pytest.approx(11 / (11 + 1))
    assert choose(state, as_run=True) == "AC"


def test_rule_based_values():
    """V as printed with + 1, as run without; 0/0 is no number, and counts as winning."""
    state = set_up(["2C 3D", "4H 5H", "6H 7H", "8H 9H"], "", [0] * 4, 11, turn=0)
    game, record = state.game, state.record
    none = np.int64(0)
    assert Snelleman(2, False).worth(game, record, np.int64(card(game, "2C")), none) == 0
    assert math.isnan(Snelleman(2, True).worth(game, record, np.int64(card(game, "2C")), none))
    three = np.int64(card(game, "3D"))
    assert Snelleman(2, False).worth(game, record, three, none) == pytest.approx(1 / 2)
    assert Snelleman(2, True).worth(game, record, three, none) == 1


def test_as_run_flips_by_what_lies_on_the_table():
    """When trump is led every trump is flipped; an off-suit trump only by the later cards."""
    state = set_up(["AS 3C", "2S 3D", "4H 5D", "6H 7D"], "TS", [0] * 4, 11, turn=1)
    state.play("2S")
    policy = Snelleman(RULE_BASED, True)
    assert policy.flips(state.game, state.record, np.int64(card(state.game, "AS")))
    state = set_up(["3S 4S", "2C 3C", "5S 6S", "7C 8C"], "TS", [0] * 4, 11, turn=1)
    play(state, "2C, 5S, 7C")
    assert policy.flips(state.game, state.record, np.int64(card(state.game, "3S")))
    state.record.table[1] = card(state.game, "5D")
    assert not policy.flips(state.game, state.record, np.int64(card(state.game, "3S")))


@entry
def choose_twice(game, policy, positions, moves, out, rng, again):
    out[0] = policy.choose(game, positions[0], moves, rng)
    out[1] = policy.choose(game, positions[1], moves, again)


@pytest.mark.parametrize(
    "options", ["cards=6", "published=true,cards=4", "devils=true,cards=3", "luciferen=true,cards=3"]
)
def test_policies_look_at_nothing_hidden(options):
    game = load(options)
    moves, out = np.zeros(game.max_moves, np.int64), np.zeros(2, np.int64)
    for kind, as_run in ((RANDOM, False), (TRUMPING, False), (RULE_BASED, False), (RULE_BASED, True)):
        policy = Snelleman(kind, as_run)
        for ply, state in enumerate(walk(game, 5)):
            if state.is_over:
                continue
            positions = np.concatenate([state.array, state.view().array])
            choose_twice(game, policy, positions, moves, out, stream(ply), stream(ply))
            assert out[0] == out[1] in state.legal_moves()


# --- the scoreboard ---

# --- rules of thumb and belief ---


def sensible(state):
    return state.game.move_text(int(sensible_card(state.game, state.record, TUNED)))


def test_a_hand_is_worth_what_it_was_dealt_however_much_of_it_is_gone():
    state = set_up(["AS KC 2D", "5D 6D 7D", "8D 9D TD", "JC QC 3H"], "TS", [1, 0, 0, 1], 10, turn=0)
    before = [hand_worth(state.game, state.record, seat) for seat in range(4)]
    assert before[0] > 0.8 > 0.4 > before[1]
    play(state, "AS, 5D, 8D, 3H")
    assert [hand_worth(state.game, state.record, seat) for seat in range(4)] == before


def test_every_higher_card_is_worth_more():
    worths = []
    for text in ("2C", "5C", "8C", "JC", "AC", "2S", "5S", "8S", "JS", "AS"):
        state = set_up([f"{text} 2D 2H", "5D 6D 7D", "8D 9D TD", "3H 4H 5H"], "TS", [0] * 4, 10, turn=0)
        worths.append(hand_worth(state.game, state.record, 0))
    assert worths[:5] == sorted(worths[:5])
    assert worths[5:] == sorted(worths[5:])
    assert worths[0] < 0.1 < worths[4] < worths[-1] < 1


@pytest.mark.parametrize(("needed", "chosen"), [(0, "JC"), (1, "AC")])
def test_the_last_to_play_takes_the_trick_if_and_only_if_it_is_needed(needed, chosen):
    """With a queen on the table: under it with the highest that loses, or over it with what takes it."""
    state = set_up(["2C JC AC", "3C 6D 7D", "QC 9D TD", "4C 8H 3H"], "TS", [needed, 0, 0, 1], 10, turn=1)
    play(state, "3C, QC, 4C")
    assert sensible(state) == chosen


def test_who_lacks_one_trick_keeps_the_sure_one_and_throws_a_doubtful_card():
    """The ace of trumps will take its trick whenever it is played, the king of clubs might take another."""
    state = set_up(["AS KC 2C", "5D 6D 7D", "8D 9D QC", "AC 8H 3H"], "TS", [1, 0, 0, 1], 10, turn=3)
    state.play("AC")
    assert sensible(state) == "KC"


def test_a_hand_is_worth_less_the_more_tricks_others_want():
    """Who needs none lets even a middling card pass; others take it, unless they play at random."""
    worths = {}
    for made in (6, 0):  # of ten
        for others in ((0, 0, 0), (1, 0, 0), (1, 1, 1)):
            state = set_up(["9S 9C 2D", "5D 6D 7D", "8D 9D TD", "JC QC 3H"], "TS", [1, *others], 10, turn=0)
            state.record.made[:4] = made
            outlook = look_out(state.game, state.record, TUNED)
            worths[made, sum(others)] = worth(state.game, state.record, TUNED, outlook)
    assert worths[6, 0] > worths[6, 1] > worths[6, 3]
    assert worths[0, 0] == worths[0, 1] == worths[0, 3]


def test_a_sensible_bid_minds_what_was_bid_before():
    """On the same hand: more after low bids than after high ones, and never the forbidden one."""
    hands = ["AS KS QC 9C 2D", "5D 6D 7D 8D 9D", "2H 3H 4H 5H 6H", "2C 3C 4C 5C 6C"]
    bids = {}
    for others in ((0, 0, 0), (3, 2, 2)):
        state = set_up(hands, "TS", None, 8, turn=3)
        state.record.hands[3], state.record.hands[0] = state.record.hands[0], state.record.hands[3]
        state.record.bids[:3] = others
        bids[others] = sensible_bid(state.game, state.record, TUNED)
    assert bids[0, 0, 0] > bids[3, 2, 2]
    state.record.bids[:3] = (1, 1, 5 - 2 - bids[3, 2, 2])
    assert sensible_bid(state.game, state.record, TUNED) != bids[3, 2, 2]


def test_bids_are_explained_by_the_hands_that_were_dealt():
    """Seat 1 has bid two and played a low card. That it had aces explains the bid; that they lie with
    seat 2, who bid none, does not, as long as they are trusted.
    """
    strong = set_up(["2C 3C 4C", "AS AD 5C", "2D 3D 4D", "2H 3H 4H"], "TS", [0, 2, 0, 0], 10, turn=0)
    weak = set_up(["2C 3C 4C", "2D 3D 5C", "AS AD 4D", "2H 3H 4H"], "TS", [0, 2, 0, 0], 10, turn=0)
    worlds = [play(state, "2C, 5C") for state in (strong, weak)]
    for world in worlds:
        world.record.made[:4] = 6  # of ten
    likely, unlikely = (likelihood_of_bids(world.game, world.record, 0) for world in worlds)
    assert likely > 10 * unlikely


def test_who_fails_is_believed_to_bid_by_the_values_of_its_cards():
    """Five aces and kings of plain suits are worth 3.5 by their values, 2.3 tricks at random."""
    hands = ["2C 3C 4C 5C 6C", "AC KC AD KD AH", "2D 3D 4D 5D 6D", "2H 3H 4H 5H 6H"]
    chances = {}
    for made in (0, 6):
        for bid in (2, 4):
            state = set_up(hands, "TS", [0, bid, 0, 0], 8, turn=0)
            state.record.made[:4] = made
            chances[made, bid] = likelihood_of_bids(state.game, state.record, 0)
    assert chances[6, 2] > chances[6, 4]
    assert chances[0, 4] > 3 * chances[0, 2]


@pytest.mark.parametrize(
    ("bids", "meant"),
    [
        ([2, 2, 0, 3], (2.5, 3.5)),
        ([1, 1, 0, 0], (-math.inf, 0.5)),
        ([1, 1, 1, 3], (2.0, 3.5)),  # who is dealt 2.2 tricks may not bid two
        ([1, 1, 1, 1], (0.5, 2.0)),
        ([2, 2, 1, 1], (-math.inf, 1.5)),  # nor who is dealt none, none
        ([5, 0, 0, 5], (4.5, math.inf)),
        ([0, 0, 0, 4], (3.5, math.inf)),
    ],
)
def test_a_bid_is_a_number_rounded_and_a_forbidden_one_is_not_among_them(bids, meant):
    hands = ["2C 3C 4C 5C 6C", "AC KC AD KD AH", "2D 3D 4D 5D 6D", "2H 3H 4H 5H 6H"]
    state = set_up(hands, "TS", bids, 8, turn=0)
    dealer = state.game.dealer(state.record)
    assert dealer == 3
    assert rounded_to(state.game, state.record, dealer) == meant


@pytest.mark.parametrize("cards", [1, 4, 8, 12])
def test_the_worth_of_a_hand_is_what_random_playouts_give(cards):
    game = games.load(f"diminishing-bridge:cards={cards},rounds=1")
    plan, world, moves = np.zeros(1, game.plan), np.zeros(1, game.state), np.zeros(game.max_moves, np.int64)
    off = []
    for number in range(60):
        view = deal(game, number).view(number % 4)
        counts = np.zeros(game.largest() + 1)
        count_tricks(
            *(game, Habit(0.0), view.array, view.seat, 1000, plan, world, moves, counts, stream(number))
        )
        tricks = np.arange(len(counts)) @ counts / 1000
        off.append(hand_worth(game, view.record, view.seat) - tricks)
    assert np.sqrt(np.mean(np.square(off))) < 0.17
    assert abs(np.mean(off)) < 0.06


def test_bids_that_nothing_explains_leave_all_worlds_alike():
    """Three seats bid all of five tricks each, and are trusted."""
    hands = ["AS KS QS AC KC", "2D 3D 5C 6C 7C", "6D 7D 4D 8D 9D", "2H 3H 4H 5H 6H"]
    state = set_up(hands, "TS", [1, 5, 5, 5], 8, turn=0)
    state.record.made[:4] = 10
    worlds = memory_for_worlds(state.game, 200)
    begin(state.game, worlds, state.view().array, 0, stream(1))
    odds = np.diff(worlds.odds, prepend=0.0)
    assert odds.max() < 1.5 * odds.min()


@pytest.mark.parametrize("seats", [2, 4, 6])
def test_game_value_is_the_formula(seats):
    game = DiminishingBridge(seats=seats)
    chooser = random.Random(seats)
    out = np.zeros(2 * seats)
    for _ in range(150):
        state = State(game)
        cards = chooser.randint(1, min(13, int(game.largest())))
        before = [chooser.randint(-20, 60) if chooser.random() < 0.7 else 10 for _ in range(seats)]
        state.record.scores[:seats], state.record.cards = before, cards
        value = game_value(game, state.record, 1.0)
        after = [
            s + chooser.choice([10 + chooser.randint(0, cards), -chooser.randint(1, cards)]) for s in before
        ]
        state.record.scores[:seats], state.record.victor = after, -1
        value.value(game, state.record, out)
        expected = [naive_bridge.game_value(before, after, j, cards) for j in range(seats)]
        assert out[:seats].tolist() == pytest.approx(expected)
        assert out[:seats].min() >= 0
        state.record.victor = 1
        value.value(game, state.record, out)
        assert out[:seats].tolist() == [float(seat == 1) for seat in range(seats)]


@pytest.mark.parametrize(
    "options", ["", "K=0,cards=5", "K=1,trick_factor=0,cards=3", "losing_factor=0,cards=3"]
)
def test_objectives_are_within_their_range_at_the_end_of_every_round(options):
    game = load(options)
    out = np.zeros(2 * game.seats)
    values, before = {}, 0
    for seed in range(2):
        for state in walk(game, seed):
            for name, value in values.items():
                if state.record.number > before:
                    value.value(game, state.record, out)
                    assert (out[: game.seats] >= -1e-9).all(), name
                    assert (out[: game.seats] <= 1 + 1e-9).all(), name
            if not state.is_over and state.record.phase == BIDDING:
                before = state.record.number
                values = {name: make(game, state.record, 1.0) for name, make in game.objectives.items()}


# --- matches ---


@pytest.mark.parametrize(
    ("game", "agents"),
    [
        (NAME, ("snelleman-rule-based", "snelleman-random", "snelleman-trumping")),
        (f"{NAME}:published=true", ("snelleman-rule-based:as_run=true", "snelleman-random")),
        (f"{NAME}:devils=true,cards=2", ("snelleman-rule-based", "snelleman-random")),
        (f"{NAME}:seats=3,cards=4,luciferen=true", ("rule-based", "random")),
        ("briskola", ("random", "rule-based")),
        ("briskola:seats=4", ("rule-based", "random")),
    ],
    ids=str,
)
def test_matches_in_compiled_code_are_the_same_games(game, agents):
    match = Match(game, agents, seed=3)
    quick, slow = Batch(match, 5, 3).play(), Batch(match, 5, 3, keep_moves=True).play()
    assert slow.moves
    assert not quick.moves
    assert quick.scores.tolist() == slow.scores.tolist()
    assert quick.counts == slow.counts
    assert quick.thought["decisions"] == slow.thought["decisions"]


def test_four_random_players_score_as_in_the_thesis():
    """Table 1: 29.66 points, 24.42 % won, 5.28 % absolute victories; the fourth place is an artefact."""
    match = Match(f"{NAME}:published=true", ("snelleman-random",) * 4, seed=1, rotate=False)
    games_played = 40_000
    played = Batch(match, 0, games_played).play()
    boards = played.scores[:, 0]
    points = boards.mean(axis=1)
    error = points.std() / math.sqrt(games_played)
    assert abs(points.mean() - 29.66) < 4 * error + 0.01
    ordered = np.sort(boards, axis=1)
    won = (ordered[:, -1] > ordered[:, -2]).mean() / 4
    assert abs(won - 0.2442) < 4 * 0.5 * math.sqrt(0.0232 / games_played) + 0.0002
    absolute = sum(played.counts["absolute_victories"][0]) / games_played / 4
    share = 4 * 0.0528
    assert abs(absolute - 0.0528) < 4 * math.sqrt(share * (1 - share) / games_played) / 4 + 0.0002


@pytest.mark.parametrize("spec", ["snelleman-mc:20", "snelleman-mcts:20"])
def test_monte_carlo_agents_play_legal_games(spec):
    match = Match(f"{NAME}:cards=3", (spec, "snelleman-random"), seed=2)
    assert Batch(match, 0, 1).play().scores.shape == (1, 4, 4)
    with pytest.raises(Exception, match="diminishing-bridge only"):
        make_agent(spec).start(games.load("briskola"), 0)
