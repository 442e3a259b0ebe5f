"""The command line as a user meets it: answers, --json, exit codes, no tracebacks."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import kibitz

KIBITZ = [sys.executable, "-m", "kibitz"]
EXAMPLE = Path(__file__).parents[1] / "examples" / "high_card.py"


def run(*arguments, **options):
    return subprocess.run([*KIBITZ, *map(str, arguments)], capture_output=True, text=True, **options)


def document(*arguments):
    done = run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert content["kibitz"] == kibitz.__version__
    assert content["schema"].startswith("kibitz.")
    return content


def test_help_does_not_load_numba():
    code = "import sys; from kibitz import cli; print('numba' in sys.modules, 'numpy' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["False", "False"]
    assert "reproduce" in run("--help").stdout
    assert run("--version").stdout.strip() == f"kibitz {kibitz.__version__}"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("match", "brisola", "random"), 2, "did you mean 'briskola'"),
        (("match", "briskola", "randm"), 2, "did you mean 'random'"),
        (("match", "briskola", "ismcts:itertions=3"), 2, "did you mean 'iterations'"),
        (("match", "briskola:sets=2", "random"), 2, "did you mean 'seats'"),
        (("match", "briskola:seats=5", "random"), 2, "2 or 3 or 4"),
        (("match", "briskola", "ismcts:0"), 2, "from 1 to"),
        (("match", "briskola", "ismcts:-5"), 2, "from 1 to"),
        (("match", "briskola", "ismcts:abc"), 2, "a whole number"),
        (("match", "briskola", "ismcts:time=soon"), 2, "a time such as"),
        (("match", "briskola", "ismcts:worlds=true"), 2, "cheating"),
        (("match", "briskola", "random", "random", "random"), 2, "2 seats"),
        (("match", "briskola", "random", "--games", "0"), 2, "at least 1"),
        (("match", "briskola", "random", "--games", "many"), 2, "--games"),
        (("match", "nowhere.py", "random"), 3, "no file"),
        (("match", EXAMPLE, "possible:10"), 3, "worlds=fresh"),
        (("match", EXAMPLE, "expert"), 3, "no 'expert'"),
        (("advise", "briskola", "7: 1C"), 3, "legal are"),
        (("advise", "briskola", "7: XX"), 3, "is no card"),
        (("advise", "briskola", "seven"), 3, "is no position"),
        (("advise", "briskola", "7", "--agent", "cheating:10"), 3, "can see"),
        (("play", "briskola", "--seat", "2"), 2, "seats 0 to 1"),
        (("reproduce", "karamatik"), 2, "did you mean 'karamatic'"),
        (("reproduce", "--scale", "0"), 2, "above 0"),
        (("reproduce", "--out", "no/such/folder/page.html"), 3, "no folder"),
        (("cache", "wram"), 2, "did you mean 'warm'"),
        (("agents", "ismtcs"), 2, "did you mean 'ismcts'"),
        (("march",), 2, "No such command"),
    ],
)
def test_bad_input(arguments, code, says, tmp_path):
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_named_before_the_work(tmp_path):
    page = tmp_path / "page.html"
    page.mkdir()
    done = run("reproduce", "--quick", "--out", page)
    assert done.returncode == 3
    assert "is a folder" in done.stderr


def test_errors_as_json():
    done = run("match", "brisola", "random", "--json")
    assert done.returncode == 2
    assert done.stdout == ""
    assert json.loads(done.stderr)["error"] == "UnknownName"


def test_games_and_agents():
    assert document("games")["games"][0]["name"] == "briskola"
    options = document("agents", "ismcts")["agents"]["ismcts"]["options"]
    assert options["worlds"]["value"] == "fresh"
    assert "karamatic-mcts" in run("agents").stdout


def test_match_answers():
    table = document("match", "briskola", "rule-based", "random", "--games", 6, "--seed", 4)
    assert (table["game"], table["games"], table["seed"]) == ("briskola", 6, 4)
    first = table["agents"][0]
    assert first["games"] == 6
    assert first["win_rate"] == first["wins"] / 6
    assert first["win_rate_ci"][0] <= first["win_rate"] <= first["win_rate_ci"][1]
    assert first["points_per_game"] == first["points"] / 6
    assert "paired by deal" in run("match", "briskola", "random", "random", "--games", 4).stdout


def test_advise_answers():
    found = document("advise", "briskola", "7", "--agent", "ismcts:200", "--seed", 3)
    assert found["iterations"] == 200
    assert sum(row["visits"] for row in found["rows"]) == 200
    text = run("advise", "briskola", "7", "--agent", "ismcts:200", "--seed", 3).stdout
    assert f"▸ {found['best_text']}" in text
    assert "▒▒" in text


def test_check_answers():
    done = run("check", EXAMPLE, "--games", 2)
    assert done.returncode == 0, done.stdout
    assert "keeps the protocol" in done.stdout


def test_cache_shows_its_path_and_clears(tmp_path):
    environment = {**os.environ, "KIBITZ_CACHE_DIR": str(tmp_path / "code")}
    assert str(tmp_path) in run("cache", env=environment).stdout
    run("match", EXAMPLE, "random", "--games", 1, env=environment)
    assert any((tmp_path / "code").rglob("*.nbc"))
    assert "deleted" in run("cache", "clear", env=environment).stdout
    assert not (tmp_path / "code").exists()


def test_ctrl_c_prints_what_is_done(tmp_path):
    command = [
        *KIBITZ,
        "match",
        "briskola",
        "ismcts:2000",
        "random",
        "--games",
        "100000",
        "--jobs",
        "2",
        "--json",
    ]
    leader, follower = pty.openpty()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=follower, text=True)
    os.close(follower)
    seen = b""
    deadline = time.monotonic() + 120
    while b"games" not in seen and time.monotonic() < deadline:  # the progress bar: deals are done
        seen += os.read(leader, 1024)
    process.send_signal(signal.SIGINT)
    answer, _ = process.communicate(timeout=60)
    os.close(leader)
    assert process.returncode == 130
    table = json.loads(answer)
    assert not table["complete"]
    assert 0 < table["games"] < 100000


@pytest.mark.parametrize("agent", ["ismcts:1000000000", "ismcts:1000000000,threads=2", "flat:1000000000"])
def test_ctrl_c_ends_a_long_search(agent):
    command = [*KIBITZ, "advise", "briskola", "7", "--agent", agent]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(4)  # whether it compiles, loads or searches by now, it must end
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors


def test_a_full_disk_is_named():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*KIBITZ, "games"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_clearing_the_cache_deletes_nothing_else(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    assert run("cache", "clear", env={**os.environ, "KIBITZ_CACHE_DIR": str(tmp_path)}).returncode == 0
    assert (tmp_path / "thesis.txt").read_text() == "precious"


def test_a_game_without_moves_is_named(tmp_path):
    file = tmp_path / "none.py"
    file.write_text(
        EXAMPLE.read_text().replace("        return n\n\n    def play", "        return 0\n\n    def play")
    )
    for arguments in (("advise", file, "1"), ("match", file, "flat:10", "--games", 2)):
        done = run(*arguments)
        assert done.returncode == 3
        assert "lists 0 legal moves" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_closed_pipe_ends_quietly():
    done = subprocess.run(
        f"{sys.executable} -m kibitz agents | head -1", shell=True, capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr


def test_play_a_game_at_the_prompt():
    words = "?\nh\nt\nfoo\nre di coppe\n" + "1\n" * 25
    done = run("play", "briskola", "--seed", 7, "--agent", "random", "--hint", "flat:30", input=words)
    assert done.returncode == 0, done.stderr
    assert "is no card" in done.stdout
    assert "flat:30: 30 iterations" in done.stdout
    assert any(word in done.stdout for word in ("You win", "You lose", "A draw"))
    assert "▒▒" in done.stdout


def test_leaving_a_game():
    assert "left the game" in run("play", "briskola", "--agent", "random", input="q\n").stdout
    assert "left the game" in run("play", "briskola", "--agent", "random", input="").stdout
