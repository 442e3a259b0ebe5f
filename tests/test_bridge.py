"""Bridge: against endplay's rules and scores, what each seat sees, and double-dummy values of endings."""

import random

import pytest
from endplay import types
from endplay.dds import solve_board

from kibitz import games
from kibitz.games.bridge.rules import ANY, OVER, Bridge
from kibitz.games.bridge.score import duplicate_score
from kibitz.position import State, deal
from kibitz.testing import check_game, check_hidden

OPTIONS = [
    "",
    "double_dummy=true",
    "strain=any,level=any,declarer=any",
    "strain=hearts,declarer=east,scoring=duplicate",
    "strain=clubs,level=7,doubled=redoubled,vulnerable=true,scoring=duplicate,declarer=any",
]


def load(options):
    return games.load(f"bridge:{options}" if options else "bridge")


@pytest.mark.parametrize("options", OPTIONS)
def test_the_rules_pass_all_checks(options):
    check_game(load(options), n=3)


@pytest.mark.parametrize("options", OPTIONS)
def test_nothing_hidden_reaches_an_agent(options):
    check_hidden(load(options), ("random", "flat:8", "ismcts:20", "determinized:20,trees=2"), n=1)


# --- endplay as the oracle -------------------------------------------------------------------------


def to_endplay(state):
    """The same deal for endplay."""
    record = state.record
    hands = []
    for seat in range(4):
        suits = []
        for suit in (3, 2, 1, 0):
            ranks = [r for r in range(12, -1, -1) if int(record.hands[seat]) >> (13 * suit + r) & 1]
            suits.append("".join("23456789TJQKA"[r] for r in ranks))
        hands.append(".".join(suits))
    found = types.Deal("N:" + " ".join(hands))
    found.trump = types.Denom.find("CDHSN"[int(record.strain)])
    found.first = list(types.Player)[record.turn]
    return found


def card_of(move):
    suit, rank = divmod(move, 13)
    return types.Card(f"{'CDHS'[suit]}{'23456789TJQKA'[rank]}")


def test_ten_thousand_random_plays_follow_endplay():
    """Who is to play, which cards are legal, and who takes each trick, on 193 deals of all strains."""
    rules, chosen, plays = Bridge(strain=ANY, declarer=ANY), random.Random(1), 0
    for seed in range(193):
        state = deal(rules, seed)
        twin = to_endplay(state)
        while not state.is_over:
            legal = state.legal_moves()
            assert int(state.record.turn) == list(types.Player).index(twin.curplayer)
            assert {str(card_of(m)) for m in legal} == {str(card) for card in twin.legal_moves()}
            move = chosen.choice(legal)
            state.play(move)
            twin.play(card_of(move))
            plays += 1
        assert state.record.phase == OVER
        assert sum(state.record.tricks) == 13
    assert plays >= 10_000


@pytest.mark.parametrize("vulnerable", [False, True])
def test_every_score_is_endplays(vulnerable):
    penalties = (types.Penalty.passed, types.Penalty.doubled, types.Penalty.redoubled)
    vul = types.Vul.both if vulnerable else types.Vul.none
    state = State(Bridge())
    record = state.record
    for strain in range(5):
        for level in range(1, 8):
            for doubled in range(3):
                record.strain, record.level, record.doubled = strain, level, doubled
                record.vulnerable = vulnerable
                for made in range(14):
                    contract = types.Contract(
                        level=level,
                        denom=types.Denom.find("CDHSN"[strain]),
                        declarer=types.Player.south,
                        penalty=penalties[doubled],
                        result=made - 6 - level,
                    )
                    assert duplicate_score(record, made) == contract.score(vul), (level, strain, made)


def most_tricks(rules, state, side):
    """The tricks that a side takes from here on if all cards are known and all play well."""
    if state.record.left == 0:
        return 0
    best = None
    for move in state.legal_moves():
        after = State(rules, state.array.copy())
        before = rules.made(after.record, side)
        after.play(move)
        value = rules.made(after.record, side) - before + most_tricks(rules, after, side)
        helps = int(rules.team(int(state.record.turn))) == side
        if best is None or (value > best if helps else value < best):
            best = value
    return int(best)


@pytest.mark.parametrize("seed", range(6))
def test_endings_are_worth_what_dds_says(seed):
    rules, chosen = Bridge(strain=ANY, declarer=ANY, double_dummy=True), random.Random(seed)
    state = deal(rules, seed)
    while state.record.left > 3 or state.record.on_table:
        state.play(chosen.choice(state.legal_moves()))
    side = int(rules.team(int(state.record.turn)))
    found = dict(solve_board(to_endplay(state)))
    assert max(found.values()) == most_tricks(rules, state, side)
    for card, tricks in found.items():
        move = next(m for m in state.legal_moves() if card_of(m) == card)
        after = State(rules, state.array.copy())
        after.play(move)
        assert most_tricks(rules, after, side) == tricks


# --- what a seat sees ------------------------------------------------------------------------------


def test_dummy_is_open_after_the_lead_and_played_by_declarer():
    state = deal(Bridge(), 5)
    assert state.mover == 3
    assert [bool(hand) for hand in state.view(2).record.hands] == [False, False, True, False]
    state.play(state.legal_moves()[0])
    assert state.mover == 2  # south plays north's cards
    assert state.record.turn == 0
    for seat in range(4):
        seen = [bool(hand) for hand in state.view(seat).record.hands]
        assert seen == [other in (0, seat) for other in range(4)]
    assert all(state.open_view().record.hands)


def test_worlds_agree_with_what_was_shown():
    """Somebody did not follow: in no world does he hold a card of that suit."""
    rules, chosen = Bridge(), random.Random(3)
    state = deal(rules, 3)
    while not any(state.record.voids[seat] for seat in (1, 3)):
        state.play(chosen.choice(state.legal_moves()))
    out = next(seat for seat in (1, 3) if state.record.voids[seat])
    while state.mover != 2:
        state.play(chosen.choice(state.legal_moves()))
    barred = int(rules.barred(state.record, out))
    assert barred
    for seed in range(50):
        world = state.view().world(seed)
        assert not int(world.record.hands[out]) & barred
        assert int(world.record.hands[2]) == int(state.record.hands[2])
