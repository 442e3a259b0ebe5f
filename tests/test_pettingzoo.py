"""Our games as environments of PettingZoo: its own tests, masks, what is hidden, and learning."""

import random
import re
import runpy
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from kibitz import adapters, games
from kibitz.errors import BadOption, MissingExtra, install_command
from kibitz.position import State

pytest.importorskip("pettingzoo")

GAMES = [*games.GAMES, "briskola:seats=4", "diminishing-bridge:seats=3,cards=2,devils=true,luciferen=true"]


def environment(spec, **options):
    from kibitz.adapters import pettingzoo

    return pettingzoo.env(spec, **options)


@pytest.mark.parametrize("spec", GAMES)
def test_pettingzoos_own_tests_pass(spec):
    from pettingzoo.test import api_test, seed_test

    with warnings.catch_warnings():
        # It wants an observation to be one array, but a mask beside it is its own custom.
        warnings.filterwarnings("ignore", "Observation")
        api_test(environment(spec), num_cycles=30)
        seed_test(lambda: environment(spec), 5)


@pytest.mark.parametrize("spec", GAMES)
def test_the_performance_test_of_pettingzoo_passes(monkeypatch, capsys, spec):
    from pettingzoo.test import performance_benchmark

    clock = iter(range(10**6))  # it measures for five seconds
    monkeypatch.setattr(sys.modules[performance_benchmark.__module__].time, "time", lambda: next(clock))
    performance_benchmark(environment(spec))
    assert "turns per second" in capsys.readouterr().out


def play(table, seed, choose):
    """Play a game; the rewards of all seats."""
    total = dict.fromkeys(table.possible_agents, 0.0)
    table.reset(seed=seed)
    for agent in table.agent_iter():
        observation, reward, over, cut, _ = table.last()
        total[agent] += reward
        table.step(None if over or cut else choose(observation, agent))
    return total


def test_rewards_add_up_to_the_score():
    table, chooser = environment("briskola"), random.Random(1)
    total = play(table, 3, lambda seen, _: chooser.choice(np.flatnonzero(seen["action_mask"]).tolist()))
    assert list(total.values()) == State(table.unwrapped.game, table.unwrapped.position).returns()
    assert sum(total.values()) == 120


def test_a_seat_sees_its_view_and_only_the_mover_has_actions():
    table = environment("briskola", render_mode="ansi")
    table.reset(seed=4)
    raw = table.unwrapped
    for agent in table.possible_agents:
        seen = table.observe(agent)
        view = State(raw.game, raw.position).view(raw.possible_agents.index(agent))
        assert (seen["observation"] == raw.encoding.vector(view.array)).all()
        assert seen["action_mask"].any() == (agent == table.agent_selection)
    assert "▒▒" in table.render()
    with pytest.raises(BadOption, match="render_mode 'human'"):
        environment("briskola", render_mode="human")


def test_an_action_that_the_mask_forbids_is_refused():
    table = environment("tic-tac-toe")
    table.reset(seed=1)
    table.step(4)
    with pytest.raises(ValueError, match="the mask allows 0, 1, 2, 3, 5"):
        table.step(4)


def test_without_pettingzoo_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    monkeypatch.delitem(sys.modules, "kibitz.adapters.pettingzoo", raising=False)
    monkeypatch.delattr(adapters, "pettingzoo", raising=False)
    with pytest.raises(MissingExtra, match=re.escape(install_command("pettingzoo"))):
        environment("briskola")


def test_the_learner_of_the_example_improves():
    example = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "learn_by_table.py"))
    before, after = example["learn"](games=1500, tests=150, seed=1)
    assert before < 0.3
    assert after > before + 0.25
