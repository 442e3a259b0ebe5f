"""Briškola: the rule book by examples, a naive twin, and what each seat can see."""

import random
import re
from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.special import chdtrc

from kibitz.cards import ITALIAN
from kibitz.games.briskola.rules import BLANK, CARDS, MOST_UNSEEN, POINTS, Briskola
from kibitz.kernel import entry
from kibitz.position import State, deal
from kibitz.rng import stream
from kibitz.search.objective import score
from kibitz.search.worlds import memory_for_worlds, one_world
from tests.naive import STRENGTH
from tests.positions import cards_of, hand_of, naive_of, random_state, set_up
from tests.regold import DEALS, golden_file, transcript

SEATS = [2, 3, 4]
GAMES = [Briskola(2), Briskola(3), Briskola(4), Briskola(4, partners_look=True)]


def play(state, moves):
    for move in moves.split():
        state.play(move)
    return state


# --- the rule book ---


@pytest.mark.parametrize(("weak", "strong"), list(pairwise(STRENGTH)))
def test_strength_order(weak, strong):
    lead_weak = set_up([f"{weak}D 2S", f"{strong}D 4S"], turned="7C")
    lead_strong = set_up([f"{strong}D 2S", f"{weak}D 4S"], turned="7C")
    assert play(lead_weak, f"{weak}D {strong}D").mover == 1
    assert play(lead_strong, f"{strong}D {weak}D").mover == 0


def test_card_points():
    worth = {"1": 11, "3": 10, "13": 4, "12": 3, "11": 2}
    for rank in STRENGTH:
        state = play(set_up([f"{rank}D", "2B"], turned="7C"), f"{rank}D 2B")
        assert state.returns() == [worth.get(rank, 0), 0]
    assert POINTS.sum() == 120


def test_lowest_trump_beats_plain_ace():
    assert play(set_up(["1D 2S", "2C 4S"], turned="7C"), "1D 2C").returns() == [0, 11]


def test_trump_led_is_not_beaten_by_plain_ace():
    assert play(set_up(["2C 2S", "1D 4S"], turned="7C"), "2C 1D").returns() == [11, 0]


def test_higher_trump_beats_lower():
    state = set_up(["1D 5S", "2C 6S", "7C 7S"], turned="5C")
    assert play(state, "1D 2C 7C").returns() == [0, 0, 11]


def test_leader_keeps_when_nobody_follows():
    assert play(set_up(["2D 2S", "1B 4S"], turned="7C"), "2D 1B").returns() == [11, 0]


def test_no_duty_to_follow_suit():
    state = play(set_up(["2D 2S", "4D 4S 1B"], turned="7C"), "2D")
    assert sorted(state.move_texts()) == ["1B", "4D", "4S"]


@pytest.mark.parametrize("taker", [0, 1, 2])
def test_taker_draws_first_then_the_others_in_turn(taker):
    hands = ["4D", "5D", "6D"]
    hands[taker] = "1D"
    state = play(set_up(hands, turned="7C", stock="2S 4S"), " ".join(hands))
    assert state.mover == taker
    drawn = ["2S", "4S", "7C"]
    assert [hand_of(state, (taker + i) % 3) for i in range(3)] == [[card] for card in drawn]


def test_face_up_trump_is_drawn_last_and_known_to_all():
    state = set_up(["4D 2D 2S", "1D 3D 3S"], turned="7C", stock="5B 6B 7B")
    play(state, "4D 1D")
    assert hand_of(state, 1)[-1] == "5B"
    assert hand_of(state, 0)[-1] == "6B"
    play(state, "3D 2D")
    assert hand_of(state, 1)[-1] == "7B"
    assert hand_of(state, 0)[-1] == "7C"
    assert state.record.left == 0
    assert hand_of(state.view(1), 0) == ["7C"]  # the two other cards of seat 0 are blank
    assert sorted(hand_of(state.view(0), 0)) == ["2S", "6B", "7C"]


def test_sixty_sixty_is_a_draw():
    state = play(set_up(["11D", "2B"], turned="7C", points=(58, 60, 0, 0)), "11D 2B")
    assert state.is_over
    assert state.returns() == [60, 60]
    values = np.zeros(4)
    score(state.game, wins=1.0).value(state.game, state.record, values)
    assert list(values[:2]) == [0.5, 0.5]


def test_more_points_win():
    state = play(set_up(["12D", "2B"], turned="7C", points=(58, 59, 0, 0)), "12D 2B")
    values = np.zeros(4)
    score(state.game, wins=1.0).value(state.game, state.record, values)
    assert list(values[:2]) == [1.0, 0.0]


def test_three_seats_play_without_the_two_of_cups():
    state = deal(Briskola(3), 1)
    assert state.game.inventory(state.record) == list(range(1, CARDS))
    assert ITALIAN.name(0) == "due di coppe"
    assert state.record.left == 30
    tricks = 0
    while not state.is_over:
        for _ in range(3):
            state.play(state.legal_moves()[0])
        tricks += 1
    assert tricks == 13
    assert sum(state.returns()) == 120


def test_partners_of_four_seats_share_points():
    state = play(set_up(["4D", "5D", "3D", "1D"], turned="7C"), "4D 5D 3D 1D")
    assert state.returns() == [0, 21, 0, 21]
    assert [state.game.team(seat) for seat in range(4)] == [0, 1, 0, 1]


def test_partners_look_only_when_the_stock_is_empty_and_only_by_option():
    hands = ["4D 2S", "5D 4S", "6D 5S", "1D 6S"]
    late = set_up(hands, turned="7C", partners_look=True)
    assert sorted(hand_of(late.view(0), 2)) == ["5S", "6D"]
    assert hand_of(late.view(0), 1) == hand_of(late.view(0), 3) == []
    early = set_up(hands, turned="7C", stock="2B 4B 5B", partners_look=True)
    assert hand_of(early.view(0), 2) == []
    assert hand_of(set_up(hands, turned="7C").view(0), 2) == []


@pytest.mark.parametrize("seats", SEATS)
def test_first_deal(seats):
    state = deal(Briskola(seats), 5)
    assert list(state.record.held[:seats]) == [3] * seats
    assert state.record.turned == state.record.stock[0]
    assert state.record.trump == state.record.turned // 10
    assert state.mover == 0
    assert deal(Briskola(seats), 5).key() == state.key()
    assert deal(Briskola(seats), 6).key() != state.key()


# --- whole games ---


@pytest.mark.parametrize("games", [60, pytest.param(5000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("game", GAMES, ids=str)
def test_random_games_follow_the_naive_rules(game, games):
    for seed in range(games):
        chooser = random.Random(seed)
        state = deal(game, seed)
        twin = naive_of(state)
        while not twin.is_over():
            assert not state.is_over
            assert state.mover == twin.turn
            assert set(state.move_texts()) == set(twin.legal())
            card = chooser.choice(sorted(twin.legal()))
            state.play(card)
            twin.play(card)
            assert list(state.record.points[: game.seats]) == twin.points
            for seat in range(game.seats):
                assert set(hand_of(state, seat)) == set(twin.hands[seat])
        assert state.is_over
        assert state.returns() == twin.scores()
        assert sum(twin.points) == 120


@pytest.mark.parametrize("seats", SEATS)
def test_golden_game(seats):
    stored = golden_file(seats).read_text(encoding="utf-8")
    moves = iter(re.findall(r"\d (\d+[CDSB])", stored))
    assert transcript(seats, DEALS[seats], lambda _state: next(moves)) == stored


# --- what a seat sees ---


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_hide_blanks_all_that_is_not_public(game):
    for plies in range(40):
        state = random_state(game, plies, plies)
        twin = naive_of(state)
        for seat in range(game.seats):
            record = state.view(seat).record
            for other in range(game.seats):
                seen = set(hand_of(state.view(seat), other))
                partner_shows = game.partners_look and not twin.stock and (seat + other) % 2 == 0
                if other == seat or partner_shows:
                    assert seen == set(twin.hands[other])
                else:
                    assert seen == set(twin.hands[other]) & {twin.turned}
            assert (record.stock[1:] == BLANK).all()
            assert record.left == len(twin.stock)
            if record.left:
                assert record.stock[0] == record.turned
            for public in ("played", "points", "held", "table", "best", "winning", "turn", "turned"):
                assert (record[public] == state.record[public]).all()


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_hide_leaves_no_trace_of_the_order_of_other_hands(game):
    for plies in (0, 5, 28, 33, 37):
        state = random_state(game, 3, plies)
        for seat in range(game.seats):
            view = state.view(seat).key()
            for other in set(range(game.seats)) - {seat}:
                held = int(state.record.held[other])
                for order in permutations(state.record.hands[other][:held].tolist()):
                    shuffled = State(game, state.array.copy())
                    shuffled.record.hands[other][:held] = order
                    assert shuffled.view(seat).key() == view, (plies, seat, other)


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_hide_leaves_no_trace_of_hidden_cards(game):
    for plies in range(0, 39, 3):
        state = random_state(game, 100 + plies, plies)
        for seat in range(game.seats):
            view = state.view(seat)
            for seed in range(3):
                world = view.world(seed)
                assert world.view(seat).key() == view.key()
                assert game.inventory(world.record) == game.inventory(state.record)
                assert (world.record.stock[world.record.left :] == BLANK).all()
                assert hand_of(world, seat) == hand_of(state, seat)


def test_hiding_twice_is_hiding_once():
    for game in GAMES:
        view = random_state(game, 4, 30).view(0)
        assert State(game, view.array).view(0).key() == view.key()


# --- worlds ---


def deal_of(state):
    """What a world deals: the hands as sets, the stock in order."""
    hands = [frozenset(hand_of(state, seat)) for seat in range(state.game.seats)]
    return (*hands, tuple(state.record.stock[: state.record.left].tolist()))


def naive_deals(state, seat):
    twin = naive_of(state)
    return [
        (*map(frozenset, world.hands), tuple(ITALIAN.parse(card) for card in world.stock))
        for world in twin.worlds(seat)
    ]


# (game, plies, worlds for the mover): with an empty stock, and with two to four cards in it
SMALL = [
    (Briskola(2), 34, 1),
    (Briskola(2), 32, 4),
    (Briskola(2), 31, 60),
    (Briskola(2), 30, 120),
    (Briskola(3), 30, 20),
    (Briskola(3), 32, 6),
    (Briskola(4), 28, 1680),
    (Briskola(4), 32, 90),
    (Briskola(4), 37, 2),
]


@pytest.mark.parametrize(("game", "plies", "most"), SMALL, ids=str)
def test_worlds_are_all_the_deals_that_agree_with_the_view(game, plies, most):
    state = random_state(game, 11, plies)
    view = state.view()
    n = game.worlds_left(view.record, view.seat)
    expected = naive_deals(state, view.seat)
    assert len(expected) == len(set(expected)) == n <= most
    found = []
    for number in range(n):
        world = State(game, view.array.copy())
        game.world(world.record, view.seat, number)
        assert world.view(view.seat).key() == view.key()
        found.append(deal_of(world))
    assert set(found) == set(expected)
    assert len(found) == len(set(found))


def test_worlds_of_partners_who_look():
    state = random_state(Briskola(4, partners_look=True), 11, 28)
    view = state.view(0)
    known_trump = any(hand_of(view, seat) for seat in (1, 3))
    assert state.game.worlds_left(view.record, 0) == (10 if known_trump else 20)


def test_worlds_too_large_to_be_solved_are_not_counted():
    for game in GAMES:
        assert game.worlds_left(deal(game, 1).view().record, 0) == 0
    view = random_state(Briskola(2), 11, 28).view()
    unseen = bin(int(view.game.unseen(view.record))).count("1")
    assert unseen == 8 <= MOST_UNSEEN
    assert view.game.worlds_left(view.record, view.seat) == 6720
    for game, plies in ((Briskola(2), 26), (Briskola(3), 27), (Briskola(4), 24)):
        earlier = random_state(game, 11, plies).view()
        assert game.worlds_left(earlier.record, earlier.seat) == 0


@pytest.mark.parametrize(("game", "plies"), [(Briskola(2), 30), (Briskola(3), 30), (Briskola(4), 33)])
def test_resample_deals_every_world_equally_often(game, plies):
    state = random_state(game, 11, plies)
    view = state.view()
    counts = dict.fromkeys(naive_deals(state, view.seat), 0)
    draws = 50 * len(counts)
    rng, world, drawn = stream(5), State(game), memory_for_worlds(game, 0)
    for _ in range(draws):
        one_world(game, drawn, view.array, view.seat, world.array, rng)
        counts[deal_of(world)] += 1
    chi_square = sum((n - 50) ** 2 / 50 for n in counts.values())
    assert chdtrc(len(counts) - 1, chi_square) > 0.001


# --- labels and possible moves ---


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_label_tells_the_card_played_and_the_card_drawn(game):
    for seed in range(10):
        chooser = random.Random(seed)
        state = deal(game, seed)
        while not state.is_over:
            move = chooser.choice(state.legal_moves())
            labels = [int(game.label(state.record, move, seat)) for seat in range(game.seats)]
            before = [set(hand_of(state, seat)) for seat in range(game.seats)]
            stock_was_left = state.record.left > 0
            state.play(move)
            for seat, label in enumerate(labels):
                drawn = [ITALIAN.parse(card) for card in set(hand_of(state, seat)) - before[seat]]
                if drawn and game.partners_look and stock_was_left and state.record.left == 0:
                    partner = sum(1 << ITALIAN.parse(card) for card in hand_of(state, (seat + 2) % 4))
                    assert label == (partner * 64 + drawn[0]) * 64 + move
                elif drawn and drawn[0] != state.record.turned:
                    assert label == CARDS * (1 + drawn[0]) + move
                else:
                    assert label == move  # nothing drawn, or the card that all have seen


def test_label_of_a_view_tells_no_drawn_card():
    state = play(deal(Briskola(2), 3), deal(Briskola(2), 3).move_texts()[0])
    view = state.view()
    assert [int(view.game.label(view.record, move, 1)) for move in view.legal_moves()] == (view.legal_moves())


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_possible_moves_are_those_of_some_world(game):
    for plies in (*range(0, 26, 5), *range(26, 39)):
        state = random_state(game, plies, plies)
        twin = naive_of(state)
        if state.is_over:
            continue
        for seat in range(game.seats):
            view = state.view(seat)
            buffer = np.zeros(game.max_moves, np.int64)
            found = buffer[: game.possible(view.record, buffer)].tolist()
            assert len(found) == len(set(found))
            hand, known = set(twin.legal()), set(hand_of(view, twin.turn))
            if known == hand:
                assert {ITALIAN.text(card) for card in found} == hand
            else:
                others = [hand_of(view, other) for other in range(game.seats) if other != twin.turn]
                hidden = {c for cards in (*twin.hands, twin.stock[1:]) for c in cards}
                hidden = hidden.difference(*others)
                assert {ITALIAN.text(card) for card in found} == hidden


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_granted_move_can_be_made_in_a_whole_deal(game):
    for plies in (3, 17, 29, 34):
        state = random_state(game, plies, plies)
        for seat in range(game.seats):
            view = state.view(seat)
            buffer = np.zeros(game.max_moves, np.int64)
            for move in buffer[: game.possible(view.record, buffer)].tolist():
                granted = State(game, view.array.copy())
                game.grant(granted.record, move, stream(1))
                with np.errstate(over="ignore"):
                    game.resample(granted.record, seat, stream(2))
                assert move in granted.legal_moves()
                assert game.inventory(granted.record) == game.inventory(state.record)
                assert granted.view(seat).key() == view.key()


# --- rules of thumb ---


@entry
def thumb(game, position, moves, rng):
    return game.sensible_move(position[0], moves, rng)


@pytest.mark.parametrize("games", [40, pytest.param(2000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("game", GAMES, ids=str)
def test_sensible_move_looks_at_nothing_hidden_and_leads_no_ace_into_trumps(game, games):
    moves = np.zeros(game.max_moves, np.int64)
    leads = 0
    for seed in range(games):
        for plies in range(0, 39, 3):
            state = random_state(game, seed, plies)
            if state.is_over:
                continue
            move = thumb(game, state.array, moves, stream(seed))
            assert move in state.legal_moves()
            assert thumb(game, state.view().array, moves, stream(seed)) == move
            twin = naive_of(state)
            unseen = [card for hand in (*twin.hands, twin.stock) for card in hand]
            unseen = [card for card in unseen if card not in twin.legal()]
            trumps = [card for card in unseen if card[-1] == twin.turned[-1]]
            worthless = [c for c in twin.legal() if c[:-1] in "24567" and c[-1] != twin.turned[-1]]
            if worthless and not twin.table and 5 * len(trumps) >= len(unseen) > 0:
                leads += 1
                assert ITALIAN.text(move)[:-1] != "1"
    assert leads > games


@pytest.mark.parametrize("hands", [["4S 5S"], ["4S 5S", "6S 7S"], ["4S 5S", "6S 7S", "4B 5B"]])
def test_sensible_move_leads_an_ace_that_nothing_can_take(hands):
    """All cups, the trumps, have been played; of three seats nobody ever had the two of cups."""
    state = set_up(["2S 1D", *hands], turned="7C")
    moves = np.zeros(CARDS, np.int64)
    assert ITALIAN.text(thumb(state.game, state.array, moves, stream(1))) == "1D"


def test_sensible_move_takes_a_rich_trick_and_leaves_a_poor_one():
    rich = play(set_up(["1D 2S", "4C 5B"], turned="7C"), "1D")
    poor = play(set_up(["2D 2S", "4D 5B"], turned="7C"), "2D")
    moves = np.zeros(CARDS, np.int64)
    assert thumb(rich.game, rich.array, moves, stream(1)) == ITALIAN.parse("4C")
    assert thumb(poor.game, poor.array, moves, stream(1)) == ITALIAN.parse("5B")


# --- compiled and interpreted ---


@entry
def ask_everything(game, position, other, move, out, moves, rng):
    """Ask every rule about a position, then make the move; answers in `out`, positions in `other`."""
    state = position[0]
    out[0], out[1] = game.mover(state), game.legal(state, moves)
    for i in range(out[1]):
        out[2 + i] = moves[i]
    out[5] = game.random_move(state, moves, rng)
    out[6] = game.sensible_move(state, moves, rng)
    for seat in range(game.seats):
        game.returns(state, moves)
        out[10 + seat] = moves[seat]
        out[20 + seat] = game.label(state, move, seat)
        other[seat] = state
        game.hide(other[seat], seat)
        out[30 + seat] = game.worlds_left(other[seat], seat)
        out[40 + seat] = game.possible(other[seat], moves)
        for i in range(out[40 + seat]):
            out[50 + 40 * seat + i] = moves[i]
        other[4 + seat] = other[seat]
        game.grant(other[4 + seat], moves[0], rng)
        game.resample(other[4 + seat], seat, rng)
        other[8 + seat] = other[seat]
        if out[30 + seat] > 0:
            game.world(other[8 + seat], seat, out[30 + seat] - 1)
    game.play(state, move)
    out[7] = game.is_over(state)


@pytest.mark.parametrize("games", [2, pytest.param(100, marks=pytest.mark.soak)])
@pytest.mark.parametrize("game", GAMES, ids=str)
def test_compiled_and_interpreted_rules_agree_bit_for_bit(game, games):
    for seed in range(games):
        chooser = random.Random(seed)
        state = deal(game, seed)
        while not state.is_over:
            move = np.int64(chooser.choice(state.legal_moves()))
            answers = []
            for ask in (ask_everything, ask_everything.interpreted):
                position, other = state.array.copy(), np.zeros(12, game.state)
                out, moves, rng = np.zeros(256, np.int64), np.zeros(CARDS, np.int64), stream(seed)
                ask(game, position, other, move, out, moves, rng)
                keys = State(game, position).key(), State(game, other).key()
                answers.append((*keys, out.tolist(), int(rng[0])))
            assert answers[0] == answers[1]
            state.play(int(move))


@entry
def shuffle(game, position, rng):
    game.deal(position[0], rng)


@pytest.mark.parametrize("seats", SEATS)
def test_compiled_and_interpreted_deals_agree_bit_for_bit(seats):
    game = Briskola(seats)
    for seed in range(20):
        compiled = np.zeros(1, game.state)
        shuffle(game, compiled, stream(seed))
        assert State(game, compiled).key() == deal(game, seed).key()


def test_every_card_is_dealt_everywhere_equally_often():
    n = 4000
    counts = np.zeros((CARDS, CARDS))
    position = np.zeros(1, Briskola.state)
    rng = stream(17)
    for _ in range(n):
        shuffle(Briskola(2), position, rng)
        record = position[0]
        order = [*record["hands"][:2].ravel(), *record["stock"][:34]]
        counts[range(CARDS), order] += 1
    expected = n / CARDS
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert chdtrc((CARDS - 1) ** 2, chi_square) > 0.001


def test_moves_as_people_write_them():
    state = set_up(["1D 13S", "2C 4S"], turned="7C")
    assert cards_of("1D 13S") == [state.game.parse_move(text) for text in ("asso di denari", "re spade")]
    assert state.move_texts() == ["1D", "13S"]
