"""What hidden cards do to a search: strategy fusion, non-locality, and where nothing is hidden.

I. Frank and D. Basin, *Search in games with incomplete information: a case study using bridge card play*,
Artificial Intelligence 100, 1998, name two faults of searching sampled worlds one by one. Snelleman (2020)
leaves open what they do in DiminishingBridge. The first two games here have one of them each, with a right
decision that is known by hand.
"""

import itertools
import random
from typing import NamedTuple

import numpy as np
import pytest

from kibitz import games
from kibitz.agents import look, make_agent
from kibitz.games.diminishing_bridge.rules import BID, NO_CARD, PLAYING
from kibitz.kernel import game
from kibitz.position import State, View, deal
from kibitz.rng import below
from kibitz.testing import check_game, check_hidden

SEEDS = range(5)


def choices(spec, state):
    """What an agent plays, with several seeds."""
    agent = make_agent(spec, state.game)
    agent.start(state.game, state.mover)
    return {agent.choose(look(agent, state), seed) for seed in SEEDS}


def deals(rules, wanted):
    """One deal of each world, by number."""
    found = {int(state.record.world): state for state in (deal(rules, seed) for seed in range(100))}
    assert sorted(found) == list(range(1, wanted + 1))
    return found


# --- (a) strategy fusion ---

SAFE, GAMBLE = 1, 2


@game
class Coin(NamedTuple):
    """A coin lies under a cup. Seat 0 takes 0.7, or it gambles: it must call the coin, for 1 or nothing.

    Seat 1 has no say, but knocks on the table before the call, so that there is another mover between the two
    decisions. To gamble is worth 0.5.
    """

    seats: int = 2

    state = np.dtype([("world", "i8"), ("first", "i8"), ("call", "i8"), ("plies", "i8")])
    max_moves, max_plies = 2, 3
    choices = {"seats": (2,)}

    def deal(game, state, rng):
        state.world = 1 + below(rng, 2)
        state.plies = 1

    def mover(game, state):
        return -1 if state.plies == 0 else 1 if state.plies == 2 else 0

    def is_over(game, state):
        return state.first == SAFE or state.call != 0

    def legal(game, state, moves):
        moves[0], moves[1] = 1, 2
        return 1 if state.plies == 2 else 2

    def play(game, state, move):
        if state.plies == 1:
            state.first = move
        elif state.plies == 3:
            state.call = move
        state.plies += 1

    def returns(game, state, out):
        out[0] = 0.7 if state.first == SAFE else 1.0 if state.call == state.world else 0.0
        out[1] = 1.0 - out[0]

    def hide(game, state, seat):
        if state.plies > 0:
            state.world = 0

    def resample(game, view, seat, rng):
        if view.world == 0:
            view.world = 1 + below(rng, 2)


# --- (b) non-locality ---

PASS, DARE = 1, 2
STOP, GO = 1, 2
LEFT, RIGHT = 1, 2

# What seat 0 gets in the worlds 1, 2 and 3; seat 1 gets the rest.
PASSED = 0.27
STOPPED = (0.0, 0.0, 1.0)
WENT = {LEFT: (1.0, 1.0, 0.0), RIGHT: (0.2, 0.2, 0.6)}
_TABLE = np.array([STOPPED, WENT[LEFT], WENT[RIGHT]])


@game
class Ambush(NamedTuple):
    """Seat 0 passes or dares; then seat 1, which alone knows the world, stops or goes on; then seat 0 turns.

    - In the worlds 1 and 2 seat 1 stops: it gets all, and never more than 0.8 if it goes on.
    - In world 3 seat 1 goes on: it gets nothing if it stops, and at least 0.4 if it goes on.
    - So a seat 0 that is asked to turn knows that it is in world 3, and turns right: 0.6, not 0.
    - So to dare is worth (0 + 0 + 0.6) / 3 = 0.2. It passes, for 0.27.
    """

    seats: int = 2

    state = np.dtype([("world", "i8"), ("moves", "i8", (3,)), ("plies", "i8")])
    max_moves, max_plies = 2, 3
    choices = {"seats": (2,)}

    def deal(game, state, rng):
        state.world = 1 + below(rng, 3)
        state.plies = 1

    def mover(game, state):
        return -1 if state.plies == 0 else 1 if state.plies == 2 else 0

    def is_over(game, state):
        return state.moves[0] == PASS or state.moves[1] == STOP or state.moves[2] != 0

    def legal(game, state, moves):
        moves[0], moves[1] = 1, 2
        return 2

    def play(game, state, move):
        state.moves[state.plies - 1] = move
        state.plies += 1

    def returns(game, state, out):
        out[0] = PASSED if state.moves[0] == PASS else _TABLE[state.moves[2], state.world - 1]
        out[1] = 1.0 - out[0]

    def hide(game, state, seat):
        if seat == 0 and state.plies > 0:
            state.world = 0

    def resample(game, view, seat, rng):
        if view.world == 0:
            view.world = 1 + below(rng, 3)

    def likelihood(game, world, seat):
        """A seat 1 in its senses would have stopped in the worlds 1 and 2."""
        return 1.0 if world.moves[1] != GO or world.world == 3 else 0.0


def another_world(state, seat, chooser):
    """Another truth that the seat cannot tell from this one, if there is one."""
    other = copy_of(state)
    other.record.world = state.record.world % 2 + 1
    return other if other.view(seat).key() == state.view(seat).key() else None


@pytest.mark.parametrize(
    "rules", [Coin(), pytest.param(Ambush(), marks=pytest.mark.soak)], ids=["coin", "ambush"]
)
def test_the_games_hide_what_they_must(rules):
    agents = ("ismcts:50", "determinized:50", "flat:50")
    assert all(check.ok for check in check_game(rules, n=3))
    assert all(check.ok for check in check_hidden(rules, agents, n=3, redeal=another_world))


def test_strategy_fusion():
    """A tree of one world knows the coin, so it counts on calling it right, in whatever world it is.

    Every tree of `determinized` values the gamble at 1 and votes for it: it fuses two strategies, "call
    heads" and "call tails", into one that nobody can play. In the tree of `ismcts` the coin is another one
    in every iteration and the call is one node, so both calls are worth 0.5. `flat` calls at random and takes
    what is safe as well. To `cheating` the gamble is worth 1 indeed.
    """
    for state in deals(Coin(), 2).values():
        assert choices("determinized:2000", state) == {GAMBLE}
        assert choices("determinized:20000,trees=200", state) == {GAMBLE}  # more worlds do not help
        assert choices("uct:2000", state) == {GAMBLE}
        assert choices("cheating:2000", state) == {GAMBLE}
        assert choices("ismcts:2000", state) == {SAFE}
        assert choices("flat:2000", state) == {SAFE}
        believed = {}
        for spec in ("determinized:2000", "ismcts:2000"):
            rows = make_agent(spec).advise(state.view(), 1).rows
            believed[spec] = [row.value for row in rows]
        assert believed["determinized:2000"] == pytest.approx([0.7, 1.0], abs=0.05)
        assert believed["ismcts:2000"] == pytest.approx([0.7, 0.5], abs=0.1)


def test_strategy_fusion_costs_what_it_should():
    """Played out, the gamble of `determinized` brings half of the games: less than the safe 0.7."""
    won = []
    for seed in range(60):
        state = deal(Coin(), seed)
        agent = make_agent("determinized:2000", state.game)
        while not state.is_over:
            state.play(agent.choose(state.view(), seed) if state.mover == 0 else state.legal_moves()[0])
        won.append(state.returns()[0])
    assert set(won) == {0.0, 1.0}
    assert np.mean(won) < 0.7


def test_the_right_decisions_of_the_ambush():
    """By dominance alone, step by step, from the table."""
    for world in range(3):
        after_going = [1 - WENT[turn][world] for turn in (LEFT, RIGHT)]
        if world < 2:
            assert 1 - STOPPED[world] > max(after_going)
        else:
            assert 1 - STOPPED[world] < min(after_going)
    assert WENT[RIGHT][2] > WENT[LEFT][2]
    dare = (STOPPED[0] + STOPPED[1] + WENT[RIGHT][2]) / 3
    assert dare < PASSED


def test_non_locality():
    """What a position is worth depends on what the opponent would have done elsewhere in the tree.

    Seat 0 is asked to turn. Below that node LEFT is better: 2/3 against 1/3 over the three worlds, as all of
    them agree with the view. But in two of them seat 1 would not have gone on. Nothing below the node tells
    that, so every search that begins there with equally likely worlds turns left: the votes of many worlds,
    and information-set search no less. The cure is not in the tree but in the worlds: `belief` draws those
    that explain what seat 1 has done, and turns right.
    """
    for state in deals(Ambush(), 3).values():
        state.play(DARE)
        state.play(GO)
        for spec in ("determinized:5000,trees=100", "ismcts:5000", "flat:5000"):
            assert choices(spec, state) == {LEFT}
            assert choices(f"{spec},belief=100", state) == {RIGHT}
        rows = make_agent("flat:5000").advise(state.view(), 1).rows
        assert [row.value for row in rows] == pytest.approx([2 / 3, 1 / 3], abs=0.05)


def test_the_opponent_does_what_the_docstring_says():
    """Seat 1 knows the world, so all searches find its dominant move, and seat 0 is met in world 3 only."""
    for world, state in deals(Ambush(), 3).items():
        state.play(DARE)
        for spec in ("determinized:2000", "ismcts:2000"):
            assert choices(spec, state) == {GO if world == 3 else STOP}


def test_an_informed_opponent_in_the_tree_of_the_other():
    """The first decision: PASS (0.27) is right, for to dare is worth 0.2.

    In the tree of `ismcts` nodes are what the searching seat can tell apart, also where seat 1 moves: that
    seat chooses there as if it did not know the world either. It stops in all of them, which leaves seat 0
    with 1/3, so `ismcts` dares. `determinized` lets seat 1 know the world, and seat 0 too, which here does no
    harm: in two worlds of three it votes to pass.
    """
    for state in deals(Ambush(), 3).values():
        assert choices("ismcts:20000", state) == {DARE}
        assert choices("determinized:20000,trees=100", state) == {PASS}
        values = {row.move: row.value for row in make_agent("ismcts:20000").advise(state.view(), 1).rows}
        assert values[DARE] == pytest.approx(1 / 3, abs=0.05)


# --- (c) two seats, all cards dealt: nothing is hidden ---

OPEN = "diminishing-bridge:seats=2,suits=2,ranks=4,rounds=1"


def random_positions(rules, seeds):
    """Every position in which cards are played, of random games."""
    for seed in seeds:
        rng, state = random.Random(seed), deal(rules, seed)
        while not state.is_over:
            if state.mover < 0:
                state.settle_chance(seed, int(state.record.number))
                continue
            if state.record.phase == PLAYING:
                yield copy_of(state)
            state.play(rng.choice(state.legal_moves()))


def copy_of(state):
    return State(state.game, state.array.copy())


def after(state, move):
    state = copy_of(state)
    state.play(move)
    return state


def test_two_seats_with_all_cards_have_one_world():
    seen = 0
    for state in random_positions(games.load(OPEN), range(25)):
        for seat in (0, 1):
            view = View(state.game, seat, state.array)
            assert view.key() != state.key() or not state.record.hands[1 - seat]
            for seed in range(8):
                assert view.world(seed).key() == state.key()
            seen += 1
    assert seen == 25 * 8 * 2


def outcomes(state):
    """max^n: the points of the round that may come of a position, one vector for every way to break ties."""
    if state.is_over:
        return {tuple(int(x) for x in state.record.gained[: state.game.seats])}
    below_it = [outcomes(after(state, move)) for move in state.legal_moves()]
    if any(len(vectors) > 1 for vectors in below_it):
        return set().union(*below_it)  # depends on ties: of no use here
    mover = state.mover
    best = max(vector[mover] for vectors in below_it for vector in vectors)
    return {vector for vectors in below_it for vector in vectors if vector[mover] == best}


def late_decisions(wanted):
    """Positions with two or three cards each in which it matters what is played, and ties do not."""
    found = []
    for state in random_positions(games.load(OPEN), range(400)):
        record = state.record
        if record.left not in (2, 3) or len(state.legal_moves()) < 2:
            continue
        values = {move: outcomes(after(state, move)) for move in state.legal_moves()}
        if any(len(vectors) > 1 for vectors in values.values()):
            continue
        exact = {move: next(iter(vectors))[state.mover] for move, vectors in values.items()}
        if len(set(exact.values())) > 1:
            found.append((state, exact))
        if len(found) == wanted:
            return found
    raise AssertionError(f"only {len(found)} positions")


def test_where_nothing_is_hidden_searches_play_perfectly():
    """One world, many worlds and the real cards are the same here: all find the best of max^n."""
    positions = late_decisions(24)
    assert {int(state.record.left) for state, _ in positions} == {2, 3}
    for state, exact in positions:
        best = max(exact.values())
        for spec in ("uct:3000", "determinized:6000,trees=3", "cheating:3000", "ismcts:3000"):
            agent = make_agent(f"{spec},objective=round", state.game)
            assert exact[agent.choose(look(agent, state), 1)] == best, (spec, str(state))


# --- (d) promising cards ---

SMALL = [
    *("seats=3,suits=2,ranks=6,cards=3", "seats=3,suits=3,ranks=4,cards=3", "seats=3,suits=1,ranks=12"),
    *("seats=4,suits=2,ranks=6,cards=3", "seats=2,suits=2,ranks=6,cards=5"),
    *("seats=3,suits=2,ranks=6,cards=4,first_trump=false", "seats=4,suits=3,ranks=4,cards=3,published=true"),
]


def trick_winner(rules, trump, cards):
    """The place of the card that takes a trick: of trumps, else of the suit led, the highest."""
    pairs = [divmod(card, rules.ranks) for card in cards]
    ranked = [
        (2 if suit == trump else 1 if suit == pairs[0][0] else 0, rank, -place)
        for place, (suit, rank) in enumerate(pairs)
    ]
    return -max(ranked)[2]


def fates(state, card):
    """Who takes the trick if `card` is played, for every way in which the others may go on."""
    rules, record = state.game, state.record
    table = [int(c) for c in record.table[: record.on_table]] + [card]
    seen = int(record.played) | int(record.hands[record.turn])
    seen |= 1 << int(record.shown) if record.shown != NO_CARD else 0
    unseen = [c for c in range(rules.deck_size()) if not seen >> c & 1]
    trump = next((s for s in range(rules.suits) if int(rules.suit_cards(s)) == int(record.trumps)), None)
    return tuple(
        trick_winner(rules, trump, [*table, *others])
        for others in itertools.permutations(unseen, rules.seats - len(table))
    )


@pytest.mark.parametrize("options", SMALL)
def test_a_promising_card_stands_for_every_card_left_out(options):
    """No card is left out that could take or lose a trick where none of the listed ones does.

    The others may hold any unseen cards, also of suits that they have shown not to have: more than can be.
    """
    rules = games.load(f"diminishing-bridge:{options}")
    buffer, left_out = np.zeros(rules.max_moves, np.int64), 0
    for state in random_positions(rules, range(12)):
        legal = state.legal_moves()
        listed = [int(m) for m in buffer[: rules.promising(state.record, buffer)]]
        assert set(listed) <= set(legal)
        assert len(set(listed)) == len(listed) > 0
        kept = {fates(state, card) for card in listed}
        for card in set(legal) - set(listed):
            assert fates(state, card) in kept, (state.game.move_text(card), str(state))
            left_out += 1
    assert left_out > 10


def test_cards_with_a_card_of_the_table_between_them_are_both_promising():
    """A seat that holds the 3 and the 5 of the suit led, with the 4 on the table, has two different cards."""
    rules = games.load("diminishing-bridge:seats=2,suits=1,ranks=4,cards=2,rounds=1")
    for seed in range(200):
        state = deal(rules, seed)
        for _ in range(2):
            state.play(next(m for m in state.legal_moves() if m >= BID))
        card = state.legal_moves()[0]
        state.play(card)
        low, high = state.legal_moves()
        if (low, card, high) == (0, 1, 2):
            buffer = np.zeros(rules.max_moves, np.int64)
            assert list(buffer[: rules.promising(state.record, buffer)]) == [low, high]
            return
    raise AssertionError("no such deal")
