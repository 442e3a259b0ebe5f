"""Who plays Bridge: exact values, McKay's search, hidden hands with what the auction told."""

import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest
from endplay.dds import calc_dd_table, par, solve_board
from endplay.types import Denom, Player, Vul

import kibitz
from kibitz import games
from kibitz.agents import make_agent
from kibitz.errors import BadOption, InputError, ParseError, Unsupported
from kibitz.games.bridge import dds
from kibitz.games.bridge.auction import promise, promises_text
from kibitz.games.bridge.players import MAKES
from kibitz.games.bridge.rules import ANY, Bridge, high_card_points
from kibitz.games.bridge.solution import boards_of, solve
from kibitz.games.briskola.rules import Briskola
from kibitz.position import State, deal
from kibitz.testing import check_hidden
from tests.test_bridge import card_of, to_endplay

CARDS = {
    f"{suit}{rank}": 13 * s + r for s, suit in enumerate("CDHS") for r, rank in enumerate("23456789TJQKA")
}


def ending(north, east, south, west, turn=2, declarer=2, strain=4, level=1, rules=None):
    """A position in which each seat has the cards given, as in 'SA SJ H3', and `turn` leads."""
    rules = rules or Bridge(declarer=declarer, strain=strain, level=level)
    state = State(rules)
    record = state.record
    record.strain, record.level, record.declarer = strain, level, declarer
    hands = [sum(1 << CARDS[card] for card in hand.split()) for hand in (north, east, south, west)]
    record.hands[:] = hands
    rules.open_play(record)
    record.turn, record.left = turn, hands[0].bit_count()
    record.played = (1 << 52) - 1 & ~sum(hands)
    return state


def played_down(seed, cards, rules=None):
    """A deal played at random until each hand has so many cards."""
    state, chosen = deal(rules or Bridge(strain=ANY, declarer=ANY), seed), random.Random(seed)
    while state.record.left > cards or state.record.on_table:
        state.play(chosen.choice(state.legal_moves()))
    return state


# --- exact values ----------------------------------------------------------------------------------


def test_card_values_are_those_of_endplay_at_every_moment():
    chosen, states = random.Random(1), []
    for seed in range(24):
        state = deal(Bridge(strain=ANY, declarer=ANY), seed)
        twin = to_endplay(state)
        for _ in range(chosen.randrange(20, 50)):
            move = chosen.choice(state.legal_moves())
            state.play(move)
            twin.play(card_of(move))
        states.append((state, twin))
    assert {int(state.record.on_table) for state, _ in states} == {0, 1, 2, 3}
    found = dds.card_values([state.record for state, _ in states])
    for (state, twin), values in zip(states, found, strict=True):
        assert sorted(values) == state.legal_moves()
        expected = {str(card): tricks for card, tricks in solve_board(twin)}
        assert {str(card_of(card)): tricks for card, tricks in values.items()} == expected


def test_more_positions_than_the_solver_takes_at_once():
    states = [played_down(seed, 2) for seed in range(205)]
    found = list(dds.card_values([state.record for state in states]))
    assert len(found) == 205
    for i in (0, 199, 200, 204):
        assert list(dds.card_values([states[i].record])) == [found[i]]


def test_exact_values_count_the_tricks_already_made():
    state = played_down(3, 4, Bridge(double_dummy=True))
    side = int(state.game.team(state.mover))
    made = int(state.game.made(state.record, side))
    assert made > 0
    (values,) = dds.card_values([state.record])
    assert list(state.game.exact_values([state.record])) == [
        [float(made + values[move]) for move in state.legal_moves()]
    ]


def test_tables_and_par_are_those_of_endplay():
    states = [deal(Bridge(), seed) for seed in range(9)]  # more than are solved in one call
    for state, table in zip(states, dds.tables([s.record.hands for s in states]), strict=True):
        twin = calc_dd_table(to_endplay(state))
        strains = [Denom.find(letter) for letter in "CDHSN"]
        assert table.tricks == tuple(tuple(twin[strain, seat] for strain in strains) for seat in Player)
        for dealer, vulnerable in ((0, "none"), (3, "ew")):
            expected = par(twin, Vul[vulnerable], Player(dealer))
            assert table.par(dealer, vulnerable) == (expected.score, [str(c) for c in expected])


def test_a_hand_of_thirteen_top_tricks():
    """Known without a solver: south has all aces, kings, queens and a jack, and nobody can stop him."""
    deal_text = "S:AKQ.AKQ.AKQ.AKQJ JT9.JT9.JT9.T987 876.876.876.6543 5432.5432.5432.2"
    (found,) = solve(boards_of(Bridge(), deal_text))
    assert [tricks[4] for tricks in found.table.tricks] == [13, 0, 13, 0]
    assert found.state is None
    assert "13" in str(found)


def test_solving_a_deal_by_its_number():
    (found,) = solve(boards_of(games.load("bridge:strain=hearts,level=4"), "7"))
    assert found.state.record.strain == 2
    twin = solve_board(to_endplay(deal(games.load("bridge:strain=hearts"), 7)))
    assert {str(card_of(card)): n for card, n in found.cards.items()} == {str(card): n for card, n in twin}
    told = found.to_dict()
    assert told["cards"]["to_play"] == "west"
    assert told["table"]["south"]["H"] == 13 - max(found.cards.values())


# --- McKay's search --------------------------------------------------------------------------------


def mckay_by_hand(state, plays, c, p, rng):
    """The search of the paper in plain Python, for a root player's side: the value of every root card.

    Written from the paper's text: the whole path of each play is in the tree, the minimizing side is
    mirrored, values are recomputed from all children that were visited.
    """
    rules = state.game
    side = int(rules.team(state.mover))
    tree = {(): [0, 0.0]}  # line of cards → [visits, value in tricks of the root's side]

    def visit(position, line):
        if position.is_over:
            tree[line] = [tree[line][0] + 1, float(rules.made(position.record, side))]
            return
        is_max = int(rules.team(position.mover)) == side
        moves = position.legal_moves()
        for move in moves:
            tree.setdefault((*line, move), [0, 0.0])
        untried = [move for move in moves if tree[(*line, move)][0] == 0]
        if untried:
            move = rng.choice(untried)
        else:
            width = c * math.log(tree[line][0])

            def bound(move):
                visits, value = tree[(*line, move)]
                return (value if is_max else -value) + math.sqrt(width / visits)

            move = max(moves, key=bound)
        position.play(move)
        visit(position, (*line, move))
        tried = [tree[(*line, move)] for move in moves if tree[(*line, move)][0]]
        total = sum(visits for visits, _ in tried)
        good = sum((value if is_max else 13 - value) ** p * visits for visits, value in tried)
        mean = (good / total) ** (1 / p)
        tree[line] = [tree[line][0] + 1, mean if is_max else 13 - mean]

    for _ in range(plays):
        visit(State(rules, state.array.copy()), ())
    return tree


@pytest.mark.parametrize(
    ("c", "p", "n"),
    [
        (16, 1, 40),
        (2, 5, 40),
        *(pytest.param(c, p, 200, marks=pytest.mark.soak) for c, p in ((16, 1), (2, 5))),
    ],
)
def test_mckays_search_is_that_of_the_paper(c, p, n):
    """Random choices differ, so means over many searches are compared: of values and visits at the root."""
    state = played_down(5, 3, Bridge(double_dummy=True))
    moves = state.legal_moves()
    assert len(moves) == 3
    plays = 60
    ours, theirs = np.zeros((2, n, 2 * len(moves) + 1))
    agent = make_agent(f"mckay:{plays},c={c},p={p}", state.game)
    for i in range(n):
        found = agent.advise(state.view(), i)
        ours[i] = [x for row in found.rows for x in (row.value, row.visits)] + [found.value]
        tree = mckay_by_hand(state, plays, c, p, random.Random(i))
        theirs[i] = [x for m in moves for x in (tree[(m,)][1], tree[(m,)][0])] + [tree[()][1]]
    error = np.sqrt((ours.var(axis=0, ddof=1) + theirs.var(axis=0, ddof=1)) / n)
    assert np.all(np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) <= 4 * error + 1e-9)
    assert error.max() > 0


def test_mckays_card_is_the_one_of_the_highest_value():
    view = deal(games.load("bridge:double_dummy=true"), 2).view()
    found = kibitz.advise(view, "mckay:2000,c=16,p=3", 1)
    assert found.unit == "points"
    assert max(row.value for row in found.rows) == next(r.value for r in found.rows if r.move == found.best)
    assert 0 <= found.value <= 13
    by_visits = kibitz.advise(view, "mckay:2000,c=16,p=3,chosen=visits", 1)
    assert [row.visits for row in by_visits.rows] == [row.visits for row in found.rows]
    best = max(by_visits.rows, key=lambda row: row.visits)
    assert by_visits.best == best.move


def test_a_p_that_grows_values_the_best_more():
    """At 200 visits p is 1 + 0.5·ln 200 = 3.6: the root is worth more than with the mean."""
    state = played_down(5, 4, Bridge(double_dummy=True))
    means = []
    for options in ("p=1", "p=1,growth=0.5"):
        agent = make_agent(f"mckay:200,c=16,{options}", state.game)
        means.append(np.mean([agent.advise(state.view(), i).value for i in range(150)]))
    assert means[0] < means[1]
    zero, plain = (
        kibitz.advise(state.view(), f"mckay:200,c=16,p=2{extra}", 1).value for extra in (",growth=0", "")
    )
    assert zero == plain


def test_proved_values_are_those_of_the_solver():
    state = played_down(8, 3, Bridge(double_dummy=True))
    found = kibitz.advise(state.view(), "mckay:20000,backup=proved", 1)
    (exact,) = state.game.exact_values([state.record])
    assert found.value == pytest.approx(max(exact))
    assert exact[state.legal_moves().index(found.best)] == max(exact)


# --- what the auction tells ------------------------------------------------------------------------


def test_promises_are_read_and_written():
    record = deal(Bridge(), 1).record
    promise(record, "N: hcp 15-17, s 4-5; EAST: Hearts 6+, hcp 11-; w: c 3")
    told = "north: hcp 15-17, spades 4-5; east: hcp 0-11, hearts 6-13; west: clubs 3-3"
    assert promises_text(record) == told
    promise(record, told)
    assert promises_text(record) == told
    promise(record, "")
    assert promises_text(record) == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("N", "says nothing of north"),
        ("Q: hcp 3", "'Q' is not a seat"),
        ("N: hcp", "is not a range of hcp"),
        ("N: hcp 38", "cannot be"),
        ("N: hcp 17-15", "cannot be"),
        ("N: spades 14+", "cannot be"),
        ("N: stars 3", "'stars' is not a suit"),
        ("N: s 8+, h 6+", "no hand of 13 cards"),
        ("N: s 0, h 0-4, d 4-, c 4-", "no hand of 13 cards"),
        ("N: hcp 3; north: hcp 4", "named twice"),
    ],
)
def test_promises_that_mean_nothing(text, message):
    with pytest.raises(ParseError, match=message) as error:
        promise(deal(Bridge(), 1).record, text)
    assert error.value.exit_code == 3


def test_points_are_counted_as_players_do():
    assert high_card_points(np.int64(sum(1 << CARDS[card] for card in ["SA", "HK", "DQ", "CJ", "ST"]))) == 10
    assert high_card_points(np.int64((1 << 52) - 1)) == 40


def test_worlds_keep_the_promises_and_are_equally_likely():
    """East has promised the queen of spades or two hearts; all ways to deal an ending are counted."""
    state = ending("SA SJ S3", "SQ H8 H7", "SK ST S2", "S9 S8 D2")
    promise(state.record, "E: hearts 2+, hcp 0-2")
    view, counts = state.view(2), Counter()
    state.record.gone[1] = 0
    for i in range(1200):
        counts[int(view.world(i).record.hands[1])] += 1
    unseen = [CARDS[card] for card in ["SQ", "H8", "H7", "S9", "S8", "D2"]]
    allowed = {
        sum(1 << card for card in hand)
        for hand in itertools.combinations(unseen, 3)
        if {CARDS["H8"], CARDS["H7"]} <= set(hand)
    }
    assert set(counts) == allowed
    expected = 1200 / len(allowed)
    assert sum((n - expected) ** 2 / expected for n in counts.values()) < 16.3  # p = 0.001, 3 degrees


def test_cards_played_count_for_what_was_promised():
    state = deal(Bridge(), 4)
    state.play(state.legal_moves()[-1])
    leader = 3
    led = int(state.record.gone[leader])
    points = int(high_card_points(np.int64(led)))
    suit = led.bit_length() // 14
    promise(state.record, f"W: hcp {points}-{points + 6}, {'cdhs'[suit]} 5+")
    for i in range(20):
        world = state.view(0).world(i)
        hand = int(world.record.hands[leader]) | led
        assert points <= int(high_card_points(np.int64(hand))) <= points + 6
        assert (hand >> 13 * suit & 0x1FFF).bit_count() >= 5


# --- perfect-information Monte Carlo ---------------------------------------------------------------


def test_with_nothing_hidden_it_is_the_solver():
    state = played_down(2, 6, Bridge(double_dummy=True, strain=ANY))
    found = kibitz.advise(state.view(), "pimc:3", 1)
    (exact,) = state.game.exact_values([state.record])
    assert [row.value for row in found.rows] == exact
    assert all(row.stderr == 0 for row in found.rows)


@pytest.mark.parametrize("plies", [0, 1, 2, 25, 40])
def test_values_are_means_over_worlds(plies):
    """Leader, declarer, dummy's turn and defenders: the worlds that it draws, solved one by one."""
    state, chosen = deal(Bridge(declarer=2, level=3), 11), random.Random(3)
    for _ in range(plies):
        state.play(chosen.choice(state.legal_moves()))
    n = 4 if plies < 10 else 30
    found = kibitz.advise(state.view(), f"pimc:{n}", 5)
    for row in found.rows:
        assert row.visits == found.worlds == n
        assert 0 <= row.shares[MAKES] <= 1
        total = row.value * n
        assert total == pytest.approx(round(total))
    assert found.unit == "tricks"
    assert "contract makes" in str(found)


def test_declarer_and_defenders_want_opposite_things():
    """Declarer takes the card with which the contract makes most often, a defender most seldom."""
    for seat in (1, 2, 3):
        state = played_down(21, 5, Bridge(declarer=2, level=2))
        while state.mover != seat:
            state.play(state.legal_moves()[0])
        found = kibitz.advise(state.view(), "pimc:40,objective=contract", 1)
        shares = [row.shares[MAKES] for row in found.rows]
        best = next(row.shares[MAKES] for row in found.rows if row.move == found.best)
        assert best == (max(shares) if seat == 2 else min(shares))


def test_a_defender_counts_his_own_tricks_in_an_ending():
    """Cards that are in no hand were played before, and nobody knows who took those tricks."""
    state = ending("S2 S3", "SA SK", "S4 S5", "S6 S7", turn=1)
    found = kibitz.advise(state.view(), "pimc:5", 1)
    assert {row.value for row in found.rows} == {2.0}


def test_deals_that_become_too_rare_end_the_search(monkeypatch):
    """The second time no deal is found that agrees: what was solved before counts."""
    from kibitz.games.bridge import players

    state, draw, calls = played_down(4, 4), players.draw_worlds, []

    def rarely(*arguments):
        draw(*arguments)
        calls.append(arguments)
        arguments[5][:] = len(calls) == 1

    monkeypatch.setattr(players, "draw_worlds", rarely)
    assert kibitz.advise(state.view(), "pimc:10000", 1).worlds == len(calls[0][4])
    assert len(calls) == 2


def test_duplicate_scoring_values_scores():
    rules = games.load("bridge:scoring=duplicate,level=4,strain=spades")
    state = played_down(6, 4, rules)
    found = kibitz.advise(state.view(), "pimc:20", 1)
    assert found.unit == "score"
    side = int(rules.team(state.mover))
    assert all(abs(row.value) >= 20 for row in found.rows)
    assert all((row.value > 0) == (side == 1) for row in found.rows if row.shares[MAKES] == 0)


def test_choosing_may_end_early_and_advice_does_not():
    state = ending("SA H2 D2 C2", "H3 H4 H5 H6", "SK SQ SJ ST", "D3 D4 D5 D6")
    agent = make_agent("pimc:200", state.game)
    agent.start(state.game, 2)
    assert agent.choose(state.view(), 1) in state.legal_moves()
    assert agent.used < 200
    assert agent.advise(state.view(), 1).worlds == 200
    patient = make_agent("pimc:200,early=0", state.game)
    patient.choose(state.view(), 1)
    assert patient.used == 200


def test_an_auction_that_cannot_be_is_an_error(monkeypatch):
    state = ending("SA SJ S3", "SQ H8 H7", "SK ST S2", "S9 S8 D2")
    promise(state.record, "E: hearts 3+")
    with pytest.raises(InputError, match=r"no deal was found .*hearts 3-13"):
        kibitz.advise(state.view(2), "pimc:5", 1)


def test_other_games_are_refused():
    with pytest.raises(Unsupported, match="plays bridge only"):
        make_agent("pimc", Bridge()).start(Briskola(), 0)
    with pytest.raises(BadOption, match="points or contract"):
        make_agent("pimc:1,objective=glory", Bridge())


def test_advice_depends_on_nothing_hidden():
    check_hidden(Bridge(strain=ANY, declarer=ANY, level=ANY), ("pimc:3",), n=1)


def tricks_of_pimc(state, worlds):
    """The tricks that declarer makes from here if pimc chooses his cards and the defenders see all."""
    agent = make_agent(f"pimc:{worlds},early=0", state.game)
    agent.start(state.game, 2)
    while not state.is_over:
        if state.mover == 2:
            move = agent.choose(state.view(), 1)
        else:
            (exact,) = state.game.exact_values([state.record])
            move = state.legal_moves()[int(np.argmax(exact))]
        state.play(move)
    return int(state.game.made(state.record, 0))


def test_strategy_fusion_a_two_way_finesse_is_put_off():
    """Known to go wrong: A J 3 opposite K T 2, either defender may have the queen, entries on both sides.

    Whoever sees the cards takes all five tricks, so pimc is sure of five, whatever it plays before the
    guess. But the guess remains one: in the world where it guesses wrong it makes four.
    """
    north, south = "SA SJ S3 HA DA", "SK ST S2 H2 D2"
    guarded, clubs = "SQ S9 S8 C9 C8", "C7 C6 C5 C4 C3"
    made = []
    for east, west in ((guarded, clubs), (clubs, guarded)):
        state = ending(north, east, south, west)
        advice = kibitz.advise(state.view(), "pimc:100", 1)
        best = max(advice.rows, key=lambda row: row.value)
        assert (best.value, best.stderr) == (5.0, 0.0)
        made.append(tricks_of_pimc(state, 100))
    assert sorted(made) == [4, 5]
