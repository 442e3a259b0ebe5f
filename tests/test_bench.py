"""What `kibitz bench` says of the time that a start takes."""

from kibitz import bench


def test_starts_of_two_commands_are_measured_in_turns(monkeypatch):
    monkeypatch.setattr(bench, "ROUNDS", 1)
    monkeypatch.setattr(bench, "_FIRST_MOVE", "print(0.5)")
    commands, run = [], bench.subprocess.run
    monkeypatch.setattr(
        bench.subprocess, "run", lambda words, **how: commands.append(words[1:]) or run(words, **how)
    )
    found = bench._starts("tic-tac-toe")
    assert (found["cold"], found["warm"]) == (0.5, 0.5)
    advise, helped = ["-m", "kibitz", "advise", "tic-tac-toe", "7"], ["-m", "kibitz", "--help"]
    assert commands[4:] == [advise, helped, advise, helped]  # the first of each is not measured
    for name in ("advise", "help"):
        measured = found[name]
        assert 0 < measured["low"] == measured["median"] == measured["high"]


def test_starts_are_shown_with_their_range():
    rate = {"median": 2.0, "low": 1.0, "high": 3.0}
    result = {
        "game": "briskola",
        "machine": {"processor": "a processor", "cores": 2, "python": "3.11", "numba": "0.61"},
        "rounds": 9,
        **dict.fromkeys(("playouts", "search_iterations", "search_to_playouts"), rate),
        "interpreted_playouts": 1.0,
        "compiled_to_interpreted": 2.0,
        "threads_2_to_1": None,
        "c": None,
        "start": {
            "cold": 5.0,
            "warm": 0.4,
            "advise": {"median": 0.51, "low": 0.5, "high": 0.62},
            "help": {"median": 0.12, "low": 0.11, "high": 0.14},
        },
    }
    lines = [line.split("  ", 1) for line in bench.text(result).splitlines()]
    shown = {line[0]: line[1].strip() for line in lines if len(line) == 2}
    assert shown["kibitz advise briskola 7, seconds"] == "0.51  (0.50 … 0.62)"
    assert shown["kibitz --help, seconds"] == "0.12  (0.11 … 0.14)"
