"""The conformance checks: right games pass, and every kind of fault is found."""

from pathlib import Path

import pytest

from kibitz.testing import CheckFailed, check_agent, check_game, check_hidden

EXAMPLE = Path(__file__).parents[1] / "examples" / "high_card.py"
BRISKOLA = ["briskola", "briskola:seats=3", "briskola:seats=4", "briskola:seats=4,partners_look=true"]


@pytest.mark.parametrize("game", [*BRISKOLA, str(EXAMPLE)])
def test_right_games_pass(game):
    assert all(check.ok for check in check_game(game, n=3))


@pytest.mark.parametrize("game", [*BRISKOLA, str(EXAMPLE)])
def test_nothing_hidden_reaches_any_agent(game):
    checks = check_hidden(game, n=1)
    assert len(checks) > 5
    tried = [check for check in checks if check.name.startswith("advice of ismcts")]
    assert tried
    assert not any("left out" in check.detail for check in tried)


FAULTS = {
    "a biased sample": (
        "if below(rng, hidden) < n:",
        "if n > 0:",
        "sampled worlds are equally likely",
    ),
    "a sample that forgets what lies open": (
        "game.give(view, UNUSED, CARDS, rng)",
        "game.give(view, UNUSED, CARDS, rng)\n        view.led = HIDDEN",
        "a view hides, a world hides back",
    ),
    "a hand of the wrong size": (
        " - has_led, rng)",
        ", rng)",
        "sampled worlds are equally likely",
    ),
    "a score out of range": (
        "state.tricks[0] / HAND, state",
        "2 * state.tricks[0] / HAND, state",
        "scores are within score_range",
    ),
    "a move listed twice": (
        "n += 1\n        return n",
        "n += 1\n        moves[n] = moves[0]\n        return n + 1",
        "moves are legal, games end",
    ),
    "a misspelt method": ("def hide(", "def hyde(", "methods have names of the protocol"),
    "a method that is missing": (
        "def hide(game, state, seat)",
        "def cover_up(game, state, seat)",
        "methods have names of the protocol",
    ),
    "a name that does not exist": (
        "state.place[card] = PLAYED",
        "state.place[crad] = PLAYED",
        "moves are legal, games end",
    ),
    "a game that does not end": (
        "state.tricks[winner] += 1",
        "state.place[card] = state.place[state.led] = winner",
        "moves are legal, games end",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found(fault, tmp_path):
    right, wrong, name = FAULTS[fault]
    text = EXAMPLE.read_text()
    assert right in text
    file = tmp_path / "faulty.py"
    file.write_text(text.replace(right, wrong))
    with pytest.raises(CheckFailed) as failed:
        check_game(str(file), n=3)
    broken = {check.name: check.detail for check in failed.value.checks if not check.ok}
    assert name in broken
    if fault == "a misspelt method":
        assert "did you mean 'hide'?" in broken[name]
    if fault == "a name that does not exist":
        line = file.read_text()[: file.read_text().index("[crad]")].count("\n") + 1
        assert broken[name] == f"NameError in line {line} (name 'crad' is not defined)"


# Each seat holds a row of cards; played cards leave a gap where they were.
LEAKY = '''
from typing import NamedTuple
import numpy as np
from kibitz import game
from kibitz.rng import below

@game
class Leaky(NamedTuple):
    """The place of a gap in the other's row tells which card was played: slot order leaks."""
    seats: int = 2
    state = np.dtype([("hands", "i8", (2, 3)), ("turn", "i8"), ("plies", "i8"), ("points", "i8", (2,))])
    max_moves, max_plies = 3, 6

    def deal(game, state, rng):
        state.turn = 1
        for i in range(6):
            state.hands[i // 3, i % 3] = i + 1
        for i in range(5, 0, -1):
            j = below(rng, i + 1)
            card = state.hands[i // 3, i % 3]
            state.hands[i // 3, i % 3] = state.hands[j // 3, j % 3]
            state.hands[j // 3, j % 3] = card
    def mover(game, state): return state.turn - 1
    def is_over(game, state): return state.plies == 6
    def legal(game, state, moves):
        n = 0
        for i in range(3):
            if state.hands[state.turn - 1, i] > 0:
                moves[n] = state.hands[state.turn - 1, i]
                n += 1
        return n
    def play(game, state, card):
        for i in range(3):
            if state.hands[state.turn - 1, i] == card:
                state.hands[state.turn - 1, i] = 0
        state.points[state.turn - 1] += card % 2
        state.plies += 1
        state.turn = 3 - state.turn
    def returns(game, state, out):
        out[0], out[1] = state.points[0] / 3, state.points[1] / 3
    def hide(game, state, seat):
        for i in range(3):
            if state.hands[1 - seat, i] > 0:
                state.hands[1 - seat, i] = -1
    def resample(game, view, seat, rng):
        for card in range(1, 7):
            seen, blanks = False, 0
            for i in range(6):
                seen = seen or view.hands[i // 3, i % 3] == card
                blanks += view.hands[i // 3, i % 3] < 0
            skip = below(rng, blanks) if blanks > 0 else 0
            for i in range(6):
                if not seen and view.hands[i // 3, i % 3] < 0:
                    if skip == 0:
                        view.hands[i // 3, i % 3] = card
                        seen = True
                    skip -= 1
'''


@pytest.mark.soak
def test_a_leak_of_slot_order_is_found(tmp_path):
    file = tmp_path / "leaky.py"
    file.write_text(LEAKY)
    with pytest.raises(CheckFailed) as failed:
        check_game(str(file), n=3)
    assert not all(c.ok for c in failed.value.checks if c.name == "a label holds all that is learned")


def test_an_agent_that_sees_the_truth_is_found():
    with pytest.raises(CheckFailed, match="cheating"):
        check_hidden("briskola", agents=("cheating:20",), n=1)


@pytest.mark.parametrize(
    "agent",
    ["random", "rule-based", "flat:20", "ismcts:30,keep=true,infosets=full", "expert:30", "cheating:30"],
)
def test_agents_pass(agent):
    assert all(check.ok for check in check_agent(agent, "briskola", n=1))
