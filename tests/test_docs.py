"""The documentation is true: its programs run, its outputs come out, its links and pages exist.

- A `python` block is run; blocks of one page share their names. One that begins with an indented
  line continues the block before it (the methods of a class, told one by one).
- A `text` block that follows a `python` or `console` block at once is its output.
- A line `$ kibitz …` in a `console` block is run if it is quick, else only parsed. What follows it
  in the block is its output. Times (`1.2 s`) may differ, and `...` stands for anything.

`python -m tests.test_docs PAGE …` writes the outputs of these pages anew. Read the difference.
"""

import ast
import contextlib
import doctest
import functools
import importlib
import importlib.util
import io
import math
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import types
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest.mock import patch

import pytest
import typer

import kibitz
from kibitz import cli, experiments, games, kernel
from kibitz.agents import SETTINGS, Setting, make_agent
from kibitz.testing import check_agent, check_hidden

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
COMMAND = typer.main.get_command(cli.app)
MOST_ITERATIONS = 4_000_000  # of a match that is run: some seconds
NOT_RUN = ("play", "serve", "bench", "learn")  # these wait for people, or take long
HEADINGS = (
    *("Rules as implemented", "Options", "Seats and cards", "Moves", "What each seat sees", "Scoring"),
    *("Search notes", "Measured strength", "Sources and disputed points", "Version history"),
)


def name_of(page):
    return page.relative_to(ROOT).as_posix()


# --- pages as programs ----------------------------------------------------------------------------

FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1``` *$", re.M | re.S)


@dataclass
class Example:
    """A program or a command of a page, and the output that the page shows."""

    page: Path
    line: int
    language: str
    source: str
    start: int
    indent: str = ""
    expected: str = ""
    wants_output: bool = field(default=False, repr=False)

    def __str__(self):
        return f"{name_of(self.page)}:{self.line}"


def examples(page):
    """The `python` and `console` blocks of a page, with their outputs."""
    text = page.read_text(encoding="utf-8")
    found, end = [], 0
    for match in FENCE.finditer(text):
        indent, language = match[1], match[2]
        body = textwrap.dedent(match[3]) if indent else match[3]
        line = text.count("\n", 0, match.start(3)) + 1
        follows = not text[end : match.start()].strip()
        end = match.end()
        last = found[-1] if found else None
        if language == "python" and body.startswith(" "):
            padding = "\n" * (line - last.line - last.source.count("\n"))
            last.source += padding + body
            last.wants_output = True
        elif language == "python":
            found.append(Example(page, line, language, body, match.start(), indent, wants_output=True))
        elif language == "console":
            found += _commands(Example(page, line, language, body, match.start(), indent))
        elif language == "text" and follows and last is not None and last.wants_output:
            last.expected, last.start = body, match.start()
        if language not in ("python", "console") and last is not None:
            last.wants_output = False
    return found


def _commands(block):
    """The commands of a console block, lines ended by a backslash joined."""
    lines = block.source.replace("\\\n", " ").splitlines()
    found = []
    for number, line in enumerate(lines):
        if line.startswith("$ "):
            command = line[2:].partition("  #")[0]
            found.append(replace(block, line=block.line + number, source=command))
        elif found:
            found[-1].expected += line + "\n"
    if found:
        found[-1].wants_output = not found[-1].expected.strip()
    return found


def run_python(page):
    """Run all programs of a page as one module; pairs of (example, output)."""
    # A module with a file, and code at its own lines of it: compiled code is kept on disk as that of
    # other modules is, and tracebacks point to the page.
    module = types.ModuleType("kibitz_page_" + re.sub(r"\W", "_", name_of(page)))
    module.__file__ = str(page)
    sys.modules[module.__name__] = module
    try:
        for example in examples(page):
            if example.language == "python":
                source = "\n" * (example.line - 1) + example.source
                code = compile(source, str(page), "exec", dont_inherit=True)
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    exec(code, vars(module))
                yield example, out.getvalue()
    finally:
        del sys.modules[module.__name__]


def workshop(folder):
    """A folder in which commands can write what they like, with the files that pages speak of."""
    for name in ("examples", "benchmarks", "docs"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def run_kibitz(words):
    """Exit code and output of a command, in this process."""
    with (
        patch.object(sys, "argv", ["kibitz", *words]),
        patch.object(kernel, "compile_report", kernel.compile_report),
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as err,
    ):
        try:
            cli.main()
            code = 0
        except SystemExit as done:
            code = done.code or 0
    return code, out.getvalue(), err.getvalue()


def words_of(example):
    """The words after `kibitz`, or None if it is another program."""
    words = shlex.split(example.source)
    return words[1:] if words[0] == "kibitz" else None


def is_quick(words):
    """Whether a command takes no more than some seconds."""
    verb, values = words[0], parse(words)
    if verb == "experiment":
        return values["dry_run"]
    if verb in NOT_RUN or values.get("ray") or (verb == "cache" and values["action"] != "path"):
        return False
    if verb == "reproduce":
        return not values["names"] and not values["quick"]
    if verb not in ("match", "tournament"):
        return True
    game = games.load(values["game"])
    agents = [make_agent(spec, game) for spec in values["agents"]]
    if any(getattr(agent, "time", None) for agent in agents):
        return False
    pairs = len(agents) * (len(agents) - 1) / 2 if verb == "tournament" else 1
    iterations = sum(getattr(agent, "iterations", 1) for agent in agents) / len(agents)
    n_games = min(values["n_games"], 600 if values.get("until_decided") else math.inf)
    return pairs * iterations * n_games * game.max_plies <= MOST_ITERATIONS


@functools.cache
def commands_with_output():
    """All commands whose output a page shows."""
    found = [e for page in PAGES for e in examples(page) if e.language == "console"]
    return {e.source for e in found if e.expected.strip()}


def is_shown_with_output(example):
    """Whether another page shows the same command with its output, which is tested there."""
    return not example.expected.strip() and example.source in commands_with_output()


def parse(words):
    """The values of a verb's parameters; an unknown verb, option or value is an error."""
    if words[0].startswith("-"):
        return {}
    commands, words = COMMAND.commands, list(words)
    while True:
        name = words.pop(0)
        assert name in commands, f"there is no verb '{name}'"
        if not hasattr(commands[name], "commands"):
            return commands[name].make_context(name, words).params
        commands = commands[name].commands


def same(expected, output):
    checker = doctest.OutputChecker()
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    timeless = (re.sub(r"\b\d+(\.\d+)? (s|min)\b", "… s", text) for text in (expected, output))
    return checker.check_output(*timeless, options)


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_programs_run_and_print_what_is_shown(page):
    for example, output in run_python(page):
        if example.expected:
            assert same(example.expected, output), f"{example} now prints\n{output}"


def is_quick_or_an_experiment(words):
    return is_quick(words) or (words[0] == "experiment" and not parse(words)["ray"])


@pytest.mark.parametrize(
    ("page", "is_run"),
    [
        *(pytest.param(page, is_quick, id=name_of(page)) for page in PAGES),
        *(
            pytest.param(
                page, is_quick_or_an_experiment, id=f"{name_of(page)}, experiments", marks=pytest.mark.soak
            )
            for page in PAGES
            if "$ kibitz experiment run" in page.read_text(encoding="utf-8")
        ),
    ],
)
def test_commands_do_what_is_shown(page, is_run, tmp_path, monkeypatch):
    """All commands of a page, one after the other, in a folder of their own."""
    monkeypatch.chdir(workshop(tmp_path))
    monkeypatch.setenv("KIBITZ_DATA_DIR", str(tmp_path / "data"))
    for example in (e for e in examples(page) if e.language == "console"):
        words = words_of(example)
        if words is None:
            target = re.match(r"make (\w+)", example.source)
            if target:
                assert re.search(rf"^{target[1]}:", (ROOT / "Makefile").read_text(), re.M), example.source
            continue
        parse(words)
        if is_run(words) and not is_shown_with_output(example):
            code, output, errors = run_kibitz(words)
            assert code == 0, f"{example}: {errors}"
            if example.expected.strip():
                assert same(example.expected, output), f"{example} now prints\n{output}"


def test_the_example_experiment_is_the_one_that_is_shown():
    shown = re.search(r"```toml\n(.*?)```", (DOCS / "laboratory.md").read_text(encoding="utf-8"), re.S)
    assert shown[1] == (ROOT / "examples" / "budget.toml").read_text(encoding="utf-8")


def test_the_example_game_is_the_same_wherever_it_is_shown():
    def rules(source):
        return [ast.dump(n) for n in ast.parse(source).body if not _is_docstring(n)]

    example = rules((ROOT / "examples" / "high_card.py").read_text(encoding="utf-8"))
    shown = 0
    for page in PAGES:
        source = "".join(e.source for e in examples(page) if e.language == "python")
        if "class HighCard" in source:
            shown += 1
            game = source[source.index("from typing import NamedTuple") :]  # there may be others before
            assert rules(game)[: len(example)] == example, f"{name_of(page)} shows another game"
    assert shown > 0


def _is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


# --- docstrings and generated pages ---------------------------------------------------------------

MODULES = ["kibitz", *(m.name for m in pkgutil.walk_packages(kibitz.__path__, "kibitz."))]


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])
def test_docstrings_are_true(name):
    report = io.StringIO()
    runner = doctest.DocTestRunner(verbose=False)
    for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name), name):
        runner.run(test, out=report.write)
    assert runner.summarize(verbose=False).failed == 0, report.getvalue()


def generated():
    spec = importlib.util.spec_from_file_location("kibitz_docs_generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pages()


def test_generated_pages_are_current():
    for path, text in generated().items():
        assert path.read_text(encoding="utf-8") == text, f"run `python docs/generate.py`: {path.name} is old"


# --- nothing is left out --------------------------------------------------------------------------


def all_docs():
    return "\n".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))


def verbs(commands, before=""):
    for name, command in commands.items():
        if hasattr(command, "commands"):
            yield from verbs(command.commands, f"{before}{name} ")
        else:
            yield before + name, command


def test_every_verb_agent_and_option_has_a_mention():
    text = all_docs()
    for verb, command in verbs(COMMAND.commands):
        assert f"kibitz {verb}" in text
        for option in [o for p in command.params for o in p.opts if o.startswith("--")]:
            assert option in text, f"{verb} {option}"
    for agent, setting in SETTINGS.items():
        assert f"`{agent}`" in text
        for option in setting.options():
            assert f"`{option}`" in text, f"{agent}, option {option}"
    for name in experiments.PUBLISHED:
        assert f"`{name}`" in (DOCS / "measuring.md").read_text(encoding="utf-8")


def test_every_public_name_is_explained():
    text = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    for name in set(kibitz.__all__) - {"__version__"}:
        assert f"### {name}\n" in text or f"| `{name}` |" in text
        assert getattr(kibitz, name).__doc__


@pytest.mark.parametrize("game", games.GAMES)
def test_every_game_has_a_page_with_all_headings_and_parameters(game):
    text = (DOCS / "games" / f"{game.replace('-', '_')}.md").read_text(encoding="utf-8")
    found = re.findall(r"^## (.+)$", text, re.M)
    assert [heading.partition(" (")[0] for heading in found] == list(HEADINGS)
    for name in games.parameters(games.game_class(game)):
        assert f"`{name}`" in text
    assert f"games/{game.replace('-', '_')}.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


INTERVAL = r"\d \(\d[\d.]* … \d[\d.]*\)"


@pytest.mark.parametrize("game", games.GAMES)
def test_every_page_of_a_game_gives_the_answer_first(game):
    """After title and description: how strong, what is reproduced, and by which version and command."""
    text = (DOCS / "games" / f"{game.replace('-', '_')}.md").read_text(encoding="utf-8")
    title, description, answer, *_ = text.split("\n\n")
    assert title.startswith("# ")
    assert description.endswith(".")
    assert description.count(". ") == 0, "one sentence"
    points = [" ".join(point.split()) for point in re.split(r"^- ", answer, flags=re.M)[1:]]
    assert len(points) == 3, answer
    strong, published, measured = points
    assert strong.startswith("**How strong:** ")
    assert re.search(INTERVAL, strong), "a strength has an interval"
    assert published.startswith("**Published:** ")
    assert re.match(r"\*\*Measured\*\* with Kibitz \d+\.\d+\.\d+ by `(kibitz|python) ", measured)


def test_the_page_of_diminishing_bridge_can_be_read_in_a_quarter_of_an_hour():
    text = (DOCS / "games" / "diminishing_bridge.md").read_text(encoding="utf-8")
    assert len(text.split()) < 3500


def test_every_room_is_in_the_drawing_of_the_layers():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    drawing = text.partition("## Layers")[2].partition("\n|")[0]
    for path in Path(kibitz.__file__).parent.iterdir():
        if not path.name.startswith(("_", ".")) and (path.is_dir() or path.suffix == ".py"):
            assert re.search(rf"\b{path.stem}\b", drawing), f"{path.stem} is not drawn"


def test_every_page_is_in_the_table_of_contents():
    contents = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        assert page.relative_to(DOCS).as_posix() in contents


# --- links, and no strangers ----------------------------------------------------------------------

LINKED = [*PAGES, ROOT / "CHANGELOG.md"]


def prose(page):
    """The text of a page without its blocks of code."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text(encoding="utf-8")))


def anchors(page):
    titles = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", LINKED, ids=name_of)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"https?://|mailto:", target):
            continue
        path, _, anchor = target.partition("#")
        goal = (page.parent / path).resolve() if path else page
        assert goal.exists(), f"{target} does not exist"
        assert not anchor or anchor in anchors(goal), f"{target}: no such heading"


@pytest.mark.parametrize("page", LINKED, ids=name_of)
def test_pages_load_nothing_and_name_no_machine(page):
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"<(script|iframe|link)\b|!\[[^\]]*\]\((https?:)?//", prose(page), re.I)
    assert not re.search(r"(?<![\w.])/(home|root|tmp|work|Users)/", text)


def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path):
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    loads = re.compile(
        r"""<(?:script|img|iframe|source|object|embed)\b[^>]*?\b(?:src|data)\s*=\s*"""
        r"""["']?((?:https?:)?//[^"'\s>]+)"""
        r"""|<link\b[^>]*?\bhref\s*=\s*["']?((?:https?:)?//[^"'\s>]+)"""
        r"""|(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""",
        re.I,
    )
    seen = 0
    for file in tmp_path.rglob("*"):
        if file.suffix in (".html", ".css", ".svg"):
            seen += 1
            strangers = [m for found in loads.findall(file.read_text(encoding="utf-8")) for m in found if m]
            assert not strangers, f"{file.name} loads {strangers}"
    assert seen > len(list(DOCS.rglob("*.md")))


# --- writing the outputs anew ---------------------------------------------------------------------


def outputs(page):
    for example, output in run_python(page):
        yield example, output
    for example in examples(page):
        words = words_of(example) if example.language == "console" else None
        if words and is_quick(words):  # a later one may need what an earlier one has written
            code, output, errors = run_kibitz(words)
            assert code == 0, f"{example}: {errors}"
            yield example, output


def renew(page):
    """Put the true outputs in place of those that a page shows."""
    for example, output in list(outputs(page)):
        if not example.expected.strip() or same(example.expected, output):
            continue
        if "..." in example.expected:
            print(f"{example}: shortened by hand, so mend it by hand; it now prints\n{output}")
            continue
        lines = [line.rstrip() for line in output.strip("\n").splitlines()]
        new = textwrap.indent("\n".join(lines) + "\n", example.indent)
        old = textwrap.indent(example.expected, example.indent)
        text = page.read_text(encoding="utf-8")
        head, tail = text[: example.start], text[example.start :]
        assert old in tail, f"{example}: not found"
        page.write_text(head + tail.replace(old, new, 1), encoding="utf-8")
        print(f"{example}: written anew")
        renew(page)
        return


if __name__ == "__main__":
    os.environ["NO_COLOR"] = "1"
    for each in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as scratch:
            os.chdir(workshop(Path(scratch)))
            os.environ["KIBITZ_DATA_DIR"] = str(Path(scratch) / "data")
            renew((ROOT / each).resolve())


# --- recipes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", ["halving", "first-move"])
def test_the_agents_of_the_recipes_can_be_named_and_pass_their_checks(agent, monkeypatch):
    """The class of a page, named as the page says, does what its last steps demand."""
    page = ROOT / "CONTRIBUTING.md"
    line = re.search(rf'^ *\+ *"{agent}": (Setting\(.*\)),$', page.read_text(encoding="utf-8"), re.M)[1]
    module, _, name = re.search(r'"(kibitz[\w.]+):(\w+)"', line)[0].strip('"').partition(":")
    runs = run_python(page)
    for example, _ in runs:
        if f"class {name}" in example.source:
            page_module = sys.modules["kibitz_page_CONTRIBUTING_md"]
            monkeypatch.setitem(sys.modules, module, page_module)
            monkeypatch.setitem(SETTINGS, agent, eval(line, {"Setting": Setting}))
            spec = f"{agent}:60" if agent == "halving" else agent
            assert all(check.ok for check in check_agent(spec, "briskola", n=1))
            assert all(check.ok for check in check_hidden("briskola", n=1, agents=(spec,)))
            return
    raise AssertionError(f"there is no class {name}")
