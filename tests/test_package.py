"""What is installed: the base is enough for games; what an extra brings is named where it is missing."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata, util
from pathlib import Path

import pytest

import kibitz
from kibitz import plots
from kibitz.arena.statistics import Estimate
from kibitz.errors import MissingExtra, install_command, needs
from kibitz.games.bridge import dds, files
from kibitz.web import lines
from kibitz.web.hosting import refusal
from tests import try_package, try_release

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
BASE = {"numba", "numpy", "platformdirs", "rich", "scipy", "typer"}
COMES_WITH_NUMBA = {"llvmlite"}


def name_of(requirement):
    return re.split(r"[<>=!~\[ ]", requirement)[0]


# --- what is asked for ----------------------------------------------------------------------------------


def test_the_base_is_small_and_all_names_every_extra_but_the_gpu():
    assert {name_of(each) for each in PROJECT["dependencies"]} == BASE
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    named = set(re.fullmatch(r"kibitz\[(.*)\]", everything)[1].split(","))
    assert named == set(extras) - {"all", "dev", "gpu"}


def test_numba_has_bounds_and_the_tested_version_lies_within_them():
    (numba,) = (each for each in PROJECT["dependencies"] if name_of(each) == "numba")
    low, high = re.fullmatch(r"numba>=([\d.]+),<([\d.]+)", numba).groups()
    tested = re.search(r"^numba==([\d.]+)$", (ROOT / "constraints.txt").read_text(), re.M)[1]
    number = [tuple(map(int, each.split("."))) for each in (low, tested, high)]
    assert number[0] <= number[1] < number[2]
    assert (number[1][0], number[1][1] + 1) == number[2]  # the next one, which nobody has tested


def test_the_versions_of_python_that_are_named_are_those_that_are_tried():
    minors = try_package.supported((ROOT / "pyproject.toml").read_text("utf-8"))
    named = [each.rpartition(" :: ")[2] for each in PROJECT["classifiers"] if " :: Python :: 3." in each]
    assert named == [f"3.{minor}" for minor in minors]
    assert f"Python 3.{minors[0]} to 3.{minors[-1]}" in (ROOT / "Makefile").read_text("utf-8")
    assert f"Python 3.{minors[0]} to 3.{minors[-1]}" in (ROOT / "README.md").read_text("utf-8")


def test_other_interpreters_are_looked_for_on_the_path_and_in_pyenv(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setattr(try_package, "works", lambda python, minor: "broken" not in Path(python).read_text())
    assert try_package.interpreter(13) is None
    for name, text in (("bin/python3.13", "broken"), ("pyenv/versions/3.13.0/bin/python", "whole")):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o700)
    assert try_package.interpreter(13) == str(tmp_path / "pyenv/versions/3.13.0/bin/python")
    (tmp_path / "bin/python3.13").write_text("whole")
    assert try_package.interpreter(13) == str(tmp_path / "bin/python3.13")
    assert try_package.interpreter(1) is None


def test_an_interpreter_must_be_of_the_version_that_it_is_named_by():
    assert not try_package.works(sys.executable, sys.version_info.minor + 1)


def test_what_keeps_a_version_from_being_released(tmp_path):
    texts = {
        "src/kibitz/__init__.py": '__version__ = "1.2.3"\n',
        "CITATION.cff": "title: Kibitz\nversion: 1.2.3\n",
        "CHANGELOG.md": "# Changelog\n\n## 1.2.3 - 2026-01-02\n",
    }
    for name in ("kibitz-1.2.3-py3-none-any.whl", "kibitz-1.2.3.tar.gz"):
        (tmp_path / name).touch()
    assert try_release.missing(tmp_path, True, ["v1.2.2"], texts) == ("1.2.3", [])
    texts["CITATION.cff"] = "title: Kibitz\nversion: 1.2.2\n"
    texts["CHANGELOG.md"] = "# Changelog\n\n## 1.2.3 - unreleased\n"
    (tmp_path / "kibitz-1.2.2.tar.gz").touch()
    version, found = try_release.missing(tmp_path, False, ["v1.2.3"], texts)
    assert version == "1.2.3"
    says = ("CITATION.cff does not name", "CHANGELOG.md has no heading", "kibitz-1.2.2.tar.gz",
            "a tag v1.2.3", "not everything is committed")  # fmt: skip
    assert len(found) == len(says)
    assert all(words in line for words, line in zip(says, found, strict=True))


def imported(file):
    """The libraries that a file imports, and whether it does so before anybody calls it."""
    tree = ast.parse(file.read_text("utf-8"))
    late = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for inner in ast.walk(node)}  # fmt: skip
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        yield from ((name.partition(".")[0], id(node) in late) for name in names)


def test_libraries_of_an_extra_are_imported_where_they_are_needed_only():
    """`endplay` has one door; all but the table in the browser and PettingZoo import what they need late."""
    source = Path(kibitz.__file__).parent
    here = BASE | COMES_WITH_NUMBA | {"kibitz"} | set(sys.stdlib_module_names)
    for file in source.rglob("*.py"):
        place = file.relative_to(source).as_posix()
        for library, is_late in imported(file):
            if library in here:
                continue
            assert library != "endplay" or place == "games/bridge/dds.py"
            assert is_late or place.startswith("web/") or place == "adapters/pettingzoo.py", (place, library)


# --- what is missing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("origin", "has_pip", "command"),
    [
        (None, True, '"{python}" -m pip install "kibitz[dds]"'),
        (None, False, 'pip --python "{python}" install "kibitz[dds]"'),
        (
            {"url": "file:///home/me/kib%20itz", "dir_info": {"editable": True}},
            True,
            '"{python}" -m pip install -e "/home/me/kib itz[dds]"',
        ),
        (
            {"url": "file:///tmp/kibitz-0.2.0-py3-none-any.whl", "archive_info": {}},
            True,
            '"{python}" -m pip install "kibitz[dds] @ file:///tmp/kibitz-0.2.0-py3-none-any.whl"',
        ),
    ],
    ids=["index", "no pip", "checkout", "wheel"],
)
def test_the_command_installs_from_where_kibitz_came(monkeypatch, origin, has_pip, command):
    class Installed:
        def read_text(self, name):
            return None if origin is None else json.dumps(origin)

    monkeypatch.setattr(metadata, "distribution", lambda name: Installed())
    monkeypatch.setattr(util, "find_spec", lambda name: has_pip or None)
    assert install_command("dds") == command.format(python=sys.executable)


def test_an_import_that_fails_in_kibitz_itself_is_no_missing_extra():
    with pytest.raises(ModuleNotFoundError, match="no_such_part"), needs("Something", "web"):
        import kibitz.no_such_part  # noqa: F401
    with pytest.raises(MissingExtra, match="Something needs the extra 'web'"), needs("Something", "web"):
        import no_such_library  # noqa: F401


def test_visitors_of_a_server_learn_no_path_of_it():
    error = MissingExtra("The solver", "dds")
    assert sys.executable in str(error)
    message = refusal(error).message
    assert "'dds'" in message
    assert sys.executable not in message


def test_bridge_without_dds(monkeypatch):
    """Deals, files and lines need no solver; who asks for exact values is told the extra."""
    monkeypatch.setitem(sys.modules, "endplay", None)
    state = kibitz.deal("bridge", seed=7)
    text = files.write_pbn([files.board_of(state)])
    (board,) = files.read_pbn(text)
    assert board.hands == tuple(int(hand) for hand in state.record.hands)
    assert not dds.is_installed()
    assert not lines.has_solver(state.game)
    with pytest.raises(MissingExtra, match=re.escape(install_command("dds"))):
        list(dds.card_values([state.record]))
    with pytest.raises(MissingExtra, match=re.escape(install_command("dds"))):
        list(dds.tables([board.hands]))


def test_the_expert_in_bridge_without_dds():
    """In a process of its own, for the rules are imported once."""
    code = "import sys; sys.modules['endplay'] = None; from kibitz import cli; cli.main()"
    words = ["advise", "bridge", "7", "--json"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["iterations"] == 20_000
    assert "the expert in Bridge is ismcts:20000" in done.stderr
    assert install_command("dds") in done.stderr


def test_bridge_with_dds():
    assert dds.is_installed()
    assert lines.has_solver(kibitz.load("bridge"))
    assert not lines.has_solver(kibitz.load("briskola"))


def test_figures_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=re.escape(install_command("plot"))):
        plots.curves({"a": [(1.0, Estimate(0.5, 0.1, 0.4, 0.6, 9))]}, "x", "y")


def test_serve_without_fastapi():
    """In a process of its own, for the modules of the table are imported once."""
    code = (
        "import sys; sys.modules['fastapi'] = None\n"
        "from kibitz.cli import main\n"
        "sys.argv = ['kibitz', 'serve']\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == MissingExtra.exit_code
    assert install_command("web") in " ".join(done.stderr.split())


def test_the_public_names_can_be_found():
    assert {"match", "load", "View", "advise"} <= set(dir(kibitz))
    assert (Path(kibitz.__file__).parent / "py.typed").is_file()


def test_the_citation_names_this_version():
    text = (Path(__file__).parents[1] / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {kibitz.__version__}\n" in text
