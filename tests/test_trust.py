"""Files run when a person names them, and not when data does: one loader, two doors."""

import importlib.machinery
import importlib.util
import json
import os
import py_compile
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from kibitz import cache, games, sources, specs, trust
from kibitz.agents import make_agent, make_known_agent
from kibitz.arena import play
from kibitz.arena.executors import Processes
from kibitz.arena.play import Batch, Match
from kibitz.arena.store import Store
from kibitz.errors import BadGame, InputError, KibitzError, UnknownName, Untrusted
from kibitz.experiments import description
from kibitz.web.lines import Line, read
from kibitz.web.tables import Chair, Start, Tables, read_table
from tests.faulty_games import write
from tests.test_cli import call

EXAMPLE = (Path(__file__).parents[1] / "examples" / "high_card.py").read_text(encoding="utf-8")
PEOPLE = [Chair("a"), Chair("b")]


class Spy:
    """A game whose file leaves a trace whenever its code runs."""

    def __init__(self, folder):
        self.file, self._trace = folder / "spy.py", folder / "it_ran"
        code = f"open({str(self._trace)!r}, 'a').close()\n"
        text = EXAMPLE.replace("from typing", code + "from typing", 1)
        text = text.replace(
            "    def deal(", "    def every_move(game):\n        return range(CARDS)\n\n    def deal("
        )
        self.file.write_text(text, encoding="utf-8")

    def __str__(self):
        return str(self.file)

    def has_run(self):
        found = self._trace.exists()
        self._trace.unlink(missing_ok=True)
        return found


@pytest.fixture
def spy(tmp_path, monkeypatch):
    monkeypatch.setattr(trust, "_allowed", {})
    monkeypatch.setattr(games, "_served", {})
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # a few games need no machine code
    monkeypatch.setattr("numba.core.config.DISABLE_JIT", 1)
    return Spy(tmp_path)


# --- one parser ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("briskola:/../../x.py", "briskola", [(None, "/../../x.py")]),
        ("briskola:x.py:seats=2", "briskola", [("x.py:seats", "2")]),
        ("my_game.py:seats=3", "my_game.py", [("seats", "3")]),
        ("../folder.py/my_game.py", "../folder.py/my_game.py", []),
        ("./odd:name.py:seats=2", "./odd:name.py", [("seats", "2")]),
        (r"C:\games\my_game.py:seats=2", r"C:\games\my_game.py", [("seats", "2")]),
        ("castelein-mcts:learned=a.npz", "castelein-mcts", [("learned", "a.npz")]),
        ("my_game.pyc", "my_game.pyc", []),
    ],
)
def test_a_string_is_taken_apart_in_one_way(text, name, options):
    assert specs.split(text) == (name, options)


@pytest.mark.parametrize(
    "spec",
    ["briskola:{}", "briskola:/..{}", "briskola:/../../../../../../../../..{}", "{}", "{}:seats=2", " {}"],
)
def test_no_string_from_a_visitor_runs_a_file(spy, tmp_path, spec):
    text = spec.format(spy)
    record = json.dumps({"game": text, "moves": [], "seed": 1, "deal": 0})
    with Tables(tmp_path / "tables") as tables:
        for attempt in (
            lambda: tables.create(text, PEOPLE),
            lambda: Line(text, Start(1), []),
            lambda: read(record),
        ):
            with pytest.raises(KibitzError) as refused:
                attempt()
            there = str(refused.value)
            spy.file.rename(tmp_path / "gone")
            with pytest.raises(KibitzError) as refused:  # nor do messages tell whether there is such a file
                attempt()
            assert str(refused.value) == there
            (tmp_path / "gone").rename(spy.file)
    assert not spy.has_run()


# --- a person's door, and that of data ------------------------------------------------------------------


def test_a_person_may_name_a_file_and_data_may_not(spy):
    with pytest.raises(Untrusted, match=r"spy\.py' is a file, and files that are named by data are not run"):
        games.load_known(str(spy))
    assert not spy.has_run()
    assert games.load(f"{spy}:seats=2").seats == 2
    assert spy.has_run()
    assert games.load_known(str(spy)).seats == 2  # once a person has allowed it


def test_a_file_that_an_agent_names_is_opened_for_a_person_only(spy, tmp_path):
    counters = tmp_path / "mine.npz"
    shutil.copy(next(Path(games.__file__).parent.glob("mini_tichu/counters/*.npz")), counters)
    rules, agent = games.load("mini-tichu"), f"ismcts:10,belief=counters,learned={counters}"
    with pytest.raises(Untrusted, match=r"mine\.npz"):
        make_known_agent(agent, rules).start(rules, 0)
    with pytest.raises(KibitzError, match="neither the name of an agent nor a file"):
        make_agent("ismcts:10,belief=counters,learned=../castelein-mc", rules).start(rules, 0)
    make_agent(agent, rules).start(rules, 0)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "efg_game(filename=/x/y)",
            "efg_game,filename=y",
            "nfg_game(filename=y.nfg)",
            "efg_game(filename =y)",
        ),
        *("bargaining(instances_file=y)", "colored_trails,boards_file=y", "crossword(word_list_file=y)"),
        *("crossword(puzzles_root=y)", "python_hangman(word_list_file=y)", "chess(fen=../../y)"),
        "repeated_game(stage_game=nfg_game(filename=y),num_repetitions=2)",
    ],
)
def test_a_game_of_openspiel_that_reads_a_file_is_refused(text, tmp_path):
    game = f"openspiel:{text}"
    with pytest.raises(Untrusted, match="reads a file"):
        games.load_known(game)
    header = {"schema": "kibitz.table/1", "game": game, "seed": 3, "chairs": [{"name": "a", "agent": ""}] * 2}
    (tmp_path / f"{'a' * 16}.jsonl").write_text(json.dumps(header) + "\n")
    with pytest.raises(KibitzError, match="reads a file"):
        read_table(tmp_path, "a" * 16, to_look=True)


FILES_OF_OPENSPIEL = {"boards_file", "filename", "instances_file", "puzzles_root", "word_list_file"}
TEXTS_OF_OPENSPIEL = {
    *("betting", "bettingAbstraction", "bidding_rule", "blind", "blind_schedule", "boardCards", "fen"),
    *(
        "firstPlayer",
        "forbidden_states",
        "gameversion",
        "grid",
        "handReaches",
        "history",
        "initial_distribution",
    ),
    *("initial_distribution_value", "maxRaises", "network", "numBoardCards", "observation_type", "obstype"),
    *("payoff", "payoffs", "pile_sizes", "points_order", "positional_reward", "positional_reward_value"),
    *("raiseSize", "returns_type", "scoring_type", "ship_sizes", "ship_values", "stack", "string_rep"),
    "subgame",
}


def test_the_parameters_of_openspiel_that_name_files_are_known():
    """A text that a new version takes is to be looked at before it is listed as harmless."""
    pytest.importorskip("pyspiel")
    code = """
import json, pyspiel
from open_spiel.python import games  # those in Python
found = {
    kind.short_name: {name: str(type(value)) for name, value in kind.parameter_specification.items()}
    for kind in pyspiel.registered_games()
}
print(json.dumps(found))
"""
    # In a process of its own, for other tests register games.
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    refused, texts = set(), set()
    for game, parameters in json.loads(done.stdout.splitlines()[-1]).items():
        for name, kind in parameters.items():
            if games._OPENS_A_FILE.search(f"{game}({name}=x)"):
                refused.add(name)
            elif kind == str(str):
                texts.add(name)
    assert refused == FILES_OF_OPENSPIEL
    assert texts <= TEXTS_OF_OPENSPIEL


def test_parameters_in_openspiel_allow_no_file(spy):
    pytest.importorskip("pyspiel")
    from kibitz.adapters.openspiel import KibitzGame

    from_data = type("FromData", (KibitzGame,), {"short": "kibitz_from_data", "name": "briskola"})
    with pytest.raises(KibitzError, match="seats"):
        from_data({"seats": str(spy)})
    with pytest.raises(Untrusted):
        games.load_known(str(spy))


def test_a_file_that_has_changed_since_it_was_allowed_does_not_run(spy):
    trust.allow(str(spy))
    spy.file.write_text(spy.file.read_text() + "\n# changed\n")
    with pytest.raises(Untrusted, match="has changed since it was allowed"):
        games.load_known(str(spy))
    assert not spy.has_run()


def test_helpers_beside_a_file_are_part_of_its_digest(tmp_path):
    game, helper, package = tmp_path / "a.py", tmp_path / "cards_of_mine.py", tmp_path / "parts"
    game.write_text("import os, cards_of_mine\nfrom parts.one import thing\n")
    helper.write_text("x = 1\n")
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text("thing = 1\n")
    (tmp_path / "stranger.py").write_text("")
    digests = [trust.digest(str(game))]
    for file in (helper, package / "one.py"):
        file.write_text(file.read_text() + "y = 2\n")
        digests.append(trust.digest(str(game)))
    assert len(set(digests)) == 3
    (tmp_path / "stranger.py").write_text("z = 3\n")
    assert trust.digest(str(game)) == digests[-1]
    assert trust.digest(str(tmp_path / "none.py")) == ""


def game_with(folder, imports, **helpers):
    """A game that begins with some imports, beside files of these names and texts."""
    for place, text in helpers.items():
        file = folder / place.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.with_suffix(".py").write_text(text)
    file = folder / "helped.py"
    file.write_text(EXAMPLE.replace("from typing", f"{imports}\nfrom typing", 1), encoding="utf-8")
    return file


def loaded_from(folder):
    return [
        name for name, module in sys.modules.items() if str(folder) in str(getattr(module, "__file__", ""))
    ]


IMPORTS = {
    "a folder without __init__.py": "from {0}.one import mark",
    "behind a semicolon": "x = 1; import {0}",
    "after a condition": "if 1: import {0}",
    "on a line that goes on": "import os, \\\n    {0}",
    "in brackets": "from {0} import (\n    mark,\n)",
    "in a function": "def late():\n    import {0}\nlate()",
}


@pytest.mark.parametrize("form", IMPORTS)
def test_every_form_of_an_import_is_part_of_the_digest(spy, tmp_path, form):
    name = "hlp_" + form.replace(" ", "_").replace("__init__.py", "init")
    helper = f"{name}__one" if "folder" in form else name
    imported = IMPORTS[form].format(name)
    file = game_with(tmp_path, imported, **{helper: "mark = 1\n"})
    before = trust.digest(str(file))
    games.load(str(file))  # and the helper is found
    game_with(tmp_path, imported, **{helper: "mark = 2\n"})
    assert trust.digest(str(file)) != before


def test_a_helper_may_be_imported_while_the_game_is_played(spy, tmp_path):
    late = "def now():\n    from hlp_late.below import mark\n    return mark"
    file = game_with(tmp_path, late, hlp_late__below="from . import other\nmark = other.mark\n",
                     hlp_late__other="mark = 3\n")  # fmt: skip
    module = sys.modules[type(games.load(str(file))).__module__]
    (tmp_path / "hlp_late" / "other.py").write_text("raise SystemExit\n")
    assert module.now() == 3  # by the text that was allowed


def compiled_to(file, place, text):
    """A `.pyc` that Python would not compare with its source, with another program in it."""
    other = file.with_name("other_text.py")
    other.write_text(text)
    place.parent.mkdir(exist_ok=True)
    py_compile.compile(
        str(other), str(place), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    other.unlink()


def test_bytecode_beside_a_file_is_not_run(spy, tmp_path):
    file = game_with(tmp_path, "import hlp_cached", hlp_cached="mark = 1\n")
    hostile = f"open({str(tmp_path / 'it_ran')!r}, 'a').close()\n"
    for each in (file, tmp_path / "hlp_cached.py"):
        compiled_to(each, Path(importlib.util.cache_from_source(str(each))), hostile + each.read_text())
    games.load(str(file))
    assert not spy.has_run()


@pytest.mark.parametrize("suffix", [".pyc", importlib.machinery.EXTENSION_SUFFIXES[0]])
def test_a_helper_without_a_source_is_refused(spy, tmp_path, suffix):
    name = "hlp_bare_" + suffix[1:3]
    file = game_with(tmp_path, f"import {name}")
    compiled_to(file, tmp_path / (name + suffix), f"open({str(tmp_path / 'it_ran')!r}, 'a').close()\n")
    with pytest.raises(Untrusted, match=rf"helped\.py imports {name}.* beside it, which is not run"):
        games.load(str(file))
    assert not spy.has_run()


def test_a_helper_that_no_import_statement_names_is_refused(spy, tmp_path, monkeypatch):
    file = game_with(tmp_path, "__import__('hlp_by_' + 'text')", hlp_by_text="mark = 1\n")
    monkeypatch.syspath_prepend(tmp_path)  # as with `python -m kibitz` in this folder
    with pytest.raises(Untrusted, match=r"hlp_by_text\.py beside it, which is not run"):
        games.load(str(file))
    assert not loaded_from(tmp_path)


def test_a_file_that_is_replaced_after_it_was_looked_at_does_not_run(spy, tmp_path, monkeypatch):
    """What was compared with the digest is what runs."""
    file = game_with(tmp_path, "import hlp_replaced", hlp_replaced="mark = 1\n")
    trust.allow(str(file))
    run = sources.run

    def replace_and_run(*given):
        for each in (file, tmp_path / "hlp_replaced.py"):
            each.write_text("raise OSError('another program')\n")
        return run(*given)

    monkeypatch.setattr(sources, "run", replace_and_run)
    games.load_known(str(file))


def test_a_file_with_a_syntax_error_has_a_digest(tmp_path):
    file = tmp_path / "broken.py"
    digests = set()
    for text in (b"x = (", b"\0", b"# coding: none-such\n", b"(" * 10_000, b"x = '\\d'", b"\xff"):
        file.write_bytes(text)
        digests.add(trust.digest(str(file)))
    assert len(digests) == 6


def test_a_helper_may_not_have_the_name_of_another_files_helper(spy, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        file = game_with(tmp_path / name, "def f():\n    import hlp_twice", hlp_twice="mark = 1\n")
        if name == "a":
            games.load(str(file))
    with pytest.raises(BadGame, match=r"imports 'hlp_twice', but another module of that name"):
        games.load(str(file))


@pytest.mark.parametrize("ends", ["raise SystemExit(3)", "import sys; sys.exit()"])
def test_a_file_that_ends_the_program_is_refused_with_a_message(spy, tmp_path, ends):
    file = game_with(tmp_path, ends)
    for _ in range(2):
        with pytest.raises(BadGame, match=r"helped\.py cannot be loaded: SystemExit"):
            games.load(str(file))
    assert not loaded_from(tmp_path)


# --- edited files ---------------------------------------------------------------------------------------


def test_an_edited_file_is_not_answered_by_its_old_code(spy, tmp_path):
    file = game_with(tmp_path, "import hlp_edited", hlp_edited="mark = 1\n")
    code = Match(str(file), ("random", "random"), 1)
    games.load(str(file))
    for each in (tmp_path / "hlp_edited.py", file):
        before = each.read_text()
        each.write_text(before + "more = 2\n")
        with pytest.raises(Untrusted, match="has changed since it was loaded; start again"):
            games.load(str(file))
        each.write_text(before)
    games.load(str(file))
    whole = code.code
    file.write_text(file.read_text() + "more = 2\n")
    sources_now = cache.reachable_sources((type(code.rules).__module__,))
    assert b"more = 2" not in b"".join(sources_now.values())
    assert sources_now["hlp_edited"] == b"mark = 1\n"
    play._code_of.cache_clear()
    assert Match.code.func(code) == whole  # what has run, not what lies there


def test_edited_rules_are_tried_by_the_next_process(tmp_path):
    """Nothing that this process kept is taken for a trial of them."""
    file = write(tmp_path, "right")
    program = (
        "import sys; from kibitz import errors, games, trial; from pathlib import Path\n"
        "once = trial.play_once\n"
        "trial.play_once = lambda game: (print('tried', game.seats), once(game))\n"
        "file, edit = Path(sys.argv[1]), sys.argv[2:]\n"
        "if edit:\n"
        "    games.load(str(file))\n"
        "    file.write_text(file.read_text().replace(*edit))\n"
        "try:\n    games.load(f'{file}:seats=3')\n"
        "except errors.Untrusted:\n    print('refused')\n"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", program, str(file), *edit],
            env=os.environ | {"KIBITZ_CACHE_DIR": str(tmp_path / "code")},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for edit in (("below(rng, 50)", "below(rng, 51)"), (), ())
    ]
    assert said == ["tried 2\nrefused\n", "tried 3\n", ""]


def test_workers_inherit_what_their_parent_may_run(spy):
    match = Match(str(spy), ("random", "random"), 1)
    with Processes(2) as workers:
        with pytest.raises(Untrusted):
            list(workers.run(iter([Batch(match, 0, 1)])))
        trust.allow(str(spy))
        batches = [Batch(match, deal, 1) for deal in range(4)]
        assert len(list(workers.run(iter(batches)))) == 4


# --- what only looks, runs nothing ----------------------------------------------------------------------


@pytest.fixture
def data(spy, tmp_path):
    """A store, a record and an experiment that name the file, as somebody else may have made them."""
    toml = f'game = "{spy}"\ngames = 4\n[match.a]\nagents = ["random", "random"]\n[[row]]\nmatch = "a"\n'
    (tmp_path / "x.toml").write_text(toml)
    (tmp_path / "karamatic.toml").write_text(toml)  # the name of a published one
    store, record = tmp_path / "h.db", tmp_path / "rec.json"
    for name in ("x", "karamatic"):
        words = ("experiment", "run", tmp_path / f"{name}.toml", "--trust", "--store", store)
        made = call(*words, "--jobs", 1, "--moves")
        assert made.returncode == 0, made.stderr
    shown = call("replay", store, "--match", 1, "--trust", "--json")
    assert shown.returncode == 0, shown.stderr
    record.write_text(shown.stdout)
    forget(spy)
    return tmp_path


def forget(spy):
    """As in a new process."""
    trust._allowed.clear()
    play._code_of.cache_clear()
    for name in [name for name in sys.modules if name.startswith("kibitz_game_spy_")]:
        del sys.modules[name]
    spy.has_run()


LOOKING = {
    "report": ("report", "h.db", "--out", "r.html"),
    "report as JSON": ("report", "h.db", "--json"),
    "replay": ("replay", "h.db", "--match", 1),
    "reproduce": ("reproduce", "--store", "h.db"),
    "convert": ("convert", "rec.json", "o.openspiel"),
    "dry run": ("experiment", "run", "x.toml", "--dry-run", "--store", "h.db"),
    "run": ("experiment", "run", "x.toml", "--store", "h.db", "--jobs", 1),
    "export": ("export", "h.db", "o.csv"),
    "list of matches": ("replay", "h.db"),
}


@pytest.mark.parametrize("words", LOOKING.values(), ids=LOOKING)
def test_looking_at_somebodys_data_runs_no_file(spy, data, words):
    done = call(*words, folder=data)
    assert not spy.has_run()
    assert "Traceback" not in done.stderr
    if words[0] != "export" and words != LOOKING["list of matches"]:
        assert "files that are named by data are not run" in done.stderr
        assert "--trust" in done.stderr


@pytest.mark.parametrize("what", ["report as JSON", "replay", "convert", "dry run", "run"])
def test_with_trust_the_files_are_listed_and_run(spy, data, what):
    done = call(*LOOKING[what], "--trust", folder=data)
    assert done.returncode == 0, done.stderr
    assert spy.has_run()
    assert f"--trust: '{spy}' (sha256 " in done.stderr
    if LOOKING[what][0] != "experiment":
        assert ", as recorded)" in done.stderr


def test_files_that_run_with_a_trusted_one_are_listed(tmp_path):
    file = game_with(tmp_path, "import hlp_listed", hlp_listed="mark = 1\n")
    (tmp_path / "rec.json").write_text(json.dumps({"game": str(file), "moves": [], "seed": 1, "deal": 0}))
    done = call("convert", "rec.json", "out.openspiel", "--trust", folder=tmp_path)
    assert f"--trust: '{file}' (sha256 " in done.stderr
    assert "; with 'hlp_listed.py' beside it)" in done.stderr


@pytest.mark.parametrize("what", ["report", "replay", "convert"])
def test_a_file_other_than_the_recorded_one_is_refused_even_with_trust(spy, data, what):
    spy.file.write_text(spy.file.read_text() + "print('another program')\n")
    done = call(*LOOKING[what], "--trust", folder=data)
    assert done.returncode == 3
    assert "has changed since its digest was recorded" in done.stderr
    assert "another program" not in done.stdout
    assert not spy.has_run()


def test_a_file_must_agree_with_the_digest_of_the_match_that_is_replayed(spy, data):
    """That of another match in the store, which was played with the file as it is now, does not count."""
    spy.file.write_text(
        spy.file.read_text().replace("HIDDEN, UNUSED, PLAYED = -1, 2, 3", "HIDDEN, UNUSED, PLAYED = -1, 2, 4")
    )
    again = call("experiment", "run", "x.toml", "--trust", "--store", "h.db", "--jobs", 1, folder=data)
    assert again.returncode == 0, again.stderr
    forget(spy)
    old = call("replay", "h.db", "--match", 1, "--trust", folder=data)
    assert old.returncode == 3
    assert "has changed since its digest was recorded" in old.stderr
    assert not spy.has_run()
    new = call("replay", "h.db", "--match", 2, "--trust", folder=data)
    assert new.returncode == 0, new.stderr


def test_a_store_keeps_the_digest_of_what_has_played(spy, tmp_path):
    match = Match(str(spy), ("random", "random"), 1)
    trust.allow(str(spy))
    before, _ = trust.digest(str(spy)), match.code
    spy.file.write_text(spy.file.read_text() + "\n# edited meanwhile\n")
    with Store(tmp_path / "a.db") as store:
        store.number_of(match)
        assert store.files() == {str(spy): frozenset({before})}


def test_all_files_of_an_experiment_are_listed(spy, tmp_path):
    """Those of its counters, too, and of a game that no match uses; those beside it are found."""
    counters = tmp_path / "mine.npz"
    shutil.copy(next(Path(games.__file__).parent.glob("mini_tichu/counters/*.npz")), counters)
    other = spy.file.rename(tmp_path / "other.py")
    learned = f'[[learned]]\nagent = "{counters}"\n'
    match = '[match.a]\ngame = "mini-tichu"\nagents = ["random", "random"]\n'
    listed = []
    text = f'name = "e"\ngame = "mini-tichu"\n{match}{learned}'
    with pytest.raises(Untrusted, match=r"mine\.npz"):
        description.read(text, "e.toml")
    description.read(
        text, "e.toml", allow=lambda files: (listed.extend(files), trust.allow(*map("{}:".format, files)))
    )
    assert listed == [str(counters)]
    with pytest.raises(Untrusted, match="other"):
        description.read(
            text.replace('"mini-tichu"', '"other.py"', 1), "e.toml", folder=tmp_path, allow=listed.extend
        )
    assert listed[1:] == [str(other), str(counters)]
    assert not spy.has_run()


def test_a_report_lists_the_counters_of_an_experiment(spy, tmp_path):
    shutil.copy(next(Path(games.__file__).parent.glob("mini_tichu/counters/*.npz")), tmp_path / "mine.npz")
    (tmp_path / "e.toml").write_text(
        'game = "mini-tichu"\ngames = 2\n[match.a]\nagents = ["random"]\n[[learned]]\nagent = "mine.npz"\n'
    )
    words = ("--store", "h.db", "--jobs", 1, "--trust")
    made = call("experiment", "run", "e.toml", *words, folder=tmp_path)
    assert made.returncode == 0, made.stderr
    trust._allowed.clear()
    without = call("report", "h.db", "--json", folder=tmp_path)
    assert "mine.npz' is a file, and files that are named by data are not run" in without.stderr
    told = call("report", "h.db", "--json", "--trust", folder=tmp_path)
    assert "--trust: 'mine.npz' (sha256 " in told.stderr
    assert [each["name"] for each in json.loads(told.stdout)["experiments"]] == ["e"]


def test_a_name_without_values_is_an_error_with_trust_too(tmp_path):
    text = 'name = "e"\ngame = "briskola"\n[match.a]\nagents = ["flat:{n}", "random"]\n'
    with pytest.raises(KibitzError, match="n has no values"):
        description.read(text, "e.toml", allow=lambda files: None)


@pytest.mark.parametrize("words", [("check",), ("match", "random"), ("play",), ("bench",)])
def test_counters_are_no_game(tmp_path, words):
    file = tmp_path / "mine.npz"
    shutil.copy(next(Path(games.__file__).parent.glob("mini_tichu/counters/*.npz")), file)
    done = call(words[0], file, *words[1:])
    assert done.returncode == 2
    assert "'mine.npz' holds no game: a .npz file has counters" in done.stderr
    with pytest.raises(KibitzError):
        games.load_known(str(file))


def test_the_laboratory_of_the_server_runs_no_file(spy, data):
    from kibitz.web import laboratory

    assert [each["readable"] for each in laboratory.experiments(data / "h.db")] == [False, False]
    with pytest.raises(KibitzError, match="files that are named by data are not run"):
        laboratory.experiment(data / "h.db", "x")
    assert not spy.has_run()


def test_a_store_of_an_older_version_has_no_digests(spy, data):
    """With --trust its files run, for nothing was recorded that could disagree."""
    with sqlite3.connect(data / "h.db") as db:
        db.execute("UPDATE match SET files = '{}'")
    done = call("replay", data / "h.db", "--match", 1, "--trust")
    assert done.returncode == 0, done.stderr
    assert "as recorded" not in done.stderr


def test_another_text_of_the_same_code_is_noted(spy, tmp_path):
    with Store(tmp_path / "a.db") as store:
        trust.allow(str(spy))
        match = Match(str(spy), ("random", "random"), 1)
        number = store.number_of(match)
        spy.file.write_text(spy.file.read_text() + "\n# a comment\n")
        trust.allow(str(spy))
        assert store.number_of(match) == number
        assert store.files() == {str(spy): frozenset({trust.digest(str(spy))})}


# --- a file that is served ------------------------------------------------------------------------------


def test_a_game_named_when_the_server_starts_is_known_by_its_name(spy, tmp_path):
    assert games.make_known(str(spy)) == "spy"
    assert spy.has_run()
    with Tables(tmp_path / "tables") as tables:
        made = tables.create("spy:seats=2", PEOPLE)
        assert tables.table(made.table.name).game == "spy:seats=2"
        with pytest.raises(UnknownName):  # not by its path
            tables.create(str(spy), PEOPLE)
    with pytest.raises(KibitzError, match="there is such a game already"):
        games.make_known(str(spy))
    with pytest.raises(InputError, match="there is no file"):
        games.make_known(str(tmp_path / "none.py"))
