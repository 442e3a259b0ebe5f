"""Write the reference pages from the code: `python docs/generate.py`.

`docs/reference/*.md` are made here and nowhere else; a test fails when they are not current.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import kibitz
from kibitz import agents, errors, games, protocol
from kibitz.agents.classical import Classical
from kibitz.arena.tally import JUDGED, MEASURES
from kibitz.experiments import description
from kibitz.games import parts
from kibitz.search.montecarlo import FlatMonteCarlo, Searcher, TreeSearch, options_of
from kibitz.specs import Duration, Option
from kibitz.web import limits

REFERENCE = Path(__file__).parent / "reference"
NOTE = "<!-- Written by docs/generate.py from the code. Edit the code or that file, not this page. -->"
WIDTH = 96


def pages() -> dict[Path, str]:
    """Every generated page with the text that it must have."""
    made = {
        "cli.md": cli_page(),
        "agents.md": agents_page(),
        "protocol.md": protocol_page(),
        "experiments.md": experiments_page(),
        "limits.md": limits_page(),
        "api.md": api_page(),
    }
    return {REFERENCE / name: f"{NOTE}\n\n{text.strip()}\n" for name, text in made.items()}


# --- the command line -----------------------------------------------------------------------------

CLI_HEAD = """\
# The command line

Every command prints its result on standard output. Progress and messages about compilation go to
standard error. `--json` prints one JSON document instead of the table, with the fields `schema` and
`kibitz` (the version) first. `kibitz` and `python -m kibitz` are the same.

| exit code | meaning |
|----------:|---------|
| 0 | success |
| 1 | success, but the answer is no: a check failed |
| 2 | usage error: an unknown name, or an option or number that makes no sense |
| 3 | bad input: an illegal move, a text that is not a card, a game that breaks the protocol |
| 4 | an optional library is missing |
| 130 | interrupted; finished games are in the store, and `match` prints their table |

A second Ctrl-C or SIGTERM ends the program within two seconds, whatever it is doing; finished games are
still in the store.

An error is one line on standard error that says what was given, what is wrong and what would be
right. With `--json` it is one JSON object there, of schema `kibitz.error/1`. A misspelt option prints
a few lines about the usage.

Compiled code is kept in the user's cache folder, results of experiments in the user's data folder. The
environment variables `KIBITZ_CACHE_DIR` and `KIBITZ_DATA_DIR` name other folders. The folder of compiled
code must belong to you, and nobody else may be able to change it; otherwise Kibitz says so, takes no code
from it and compiles in every process. (On Windows this is not checked.) Each file is compared with a digest
before it is loaded, and its code is compiled again if they differ.
"""


def cli_page() -> str:
    """The help texts of all commands."""
    import typer

    from kibitz.cli import app

    root: Any = typer.main.get_command(app)
    context = root.make_context(
        "kibitz", [], resilient_parsing=True, terminal_width=WIDTH, max_content_width=WIDTH
    )
    parts = [CLI_HEAD, _block("kibitz --help", root.get_help(context))]
    for verb, command in _verbs(root.commands):
        inner = command.make_context(verb, [], parent=context, resilient_parsing=True)
        parts += [f"## kibitz {verb}\n", _block(f"kibitz {verb} --help", command.get_help(inner))]
    tree = inspect.cleandoc(errors.__doc__ or "").partition("\n\n")[2]
    parts += [
        "## Errors\n",
        "The same errors are Python exceptions, in `kibitz.errors`:\n",
        f"```text\n{inspect.cleandoc(tree)}\n```\n",
    ]
    return "\n".join(parts)


def _verbs(commands: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """All verbs, those in groups with the group's name before theirs."""
    for name, command in commands.items():
        if hasattr(command, "commands"):
            yield from _verbs(command.commands, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def _block(command: str, text: str) -> str:
    lines = [line.rstrip() for line in text.strip().splitlines()]
    return "\n".join([f"```text\n$ {command}", *lines, "```\n"])


# --- agents ---------------------------------------------------------------------------------------

AGENTS_HEAD = """\
# Agents

An agent is a string: a name, and after a colon its options, `ismcts:5000,c=0.7`. The first value
without a name is the number of iterations for one decision. The string is the same in Python
(`kibitz.make_agent`, `kibitz.match`, `kibitz.advise`), on the command line and in JSON documents. An option
that would change nothing, such as `trees=5` without `worlds=many`, is refused with the reason.

`kibitz agents` prints this table, `kibitz agents NAME` the options of one agent. What the settings
mean, and what the literature calls them: see [How Kibitz works](../how-it-works.md).

| agent | what it does | settings that make it |
|-------|--------------|-----------------------|
"""

AGENTS_NOTES = """
`random` and `rule-based` take no options. `rule-based` needs a game with the method
`sensible_move`; `possible` and `karamatic-mcts` need the methods `possible` and `grant` where the
game hides something (see [the protocol](protocol.md)). An agent that cannot play a game says what
is missing.

The agents `snelleman-…` and `boerenbridge` play [DiminishingBridge](../games/diminishing_bridge.md)
only. Three of them do not search and take one option, `as_run` (true or false), which matters to
`snelleman-rule-based`: the rules of the program behind the published tables. `snelleman-mc`,
`snelleman-mcts` and `boerenbridge` take the options below and `bidding` (`tricks`, `score` or `search`).

The agents `castelein-…` are for [Mini-Tichu](../games/mini_tichu.md) and [Tichu](../games/tichu.md).
`castelein-random` takes one option, `blind` (true or false): plays of Mini-Tichu that are equal but for
suits count as one. `castelein-mc` takes the options below and `rest` (`playouts` or `random`): how it decides
every decision in Tichu other than a play of cards in turn.

`cheating` is the only agent that gets the true position instead of a view. It shows how much the hidden
cards are worth, and cannot give advice. `worlds=true` under any other name is an error.

`expert` is another name for the setting that the game's page recommends:

"""

SEARCH_HEAD = """
## Options of every search

For `flat` and all searches by playouts below it in the table, which also says where an agent has another
default.

"""

FLAT_HEAD = """
## Options of flat Monte Carlo

For `flat`, `snelleman-mc` and `castelein-mc`.

"""

TREE_HEAD = """
## Options of tree search

For all other searches by playouts: they are one algorithm.

"""

CLASSICAL_HEAD = """
## Options of classical search

For `minimax`, `alphabeta` and `expectiminimax`, in games in which nothing is hidden; the
[lessons](../lessons.md) explain them. The table of agents says where one has another default.

"""

TREE_NOTES = """
An agent with `time=` thinks for that long, so its moves depend on the machine and on its load. All
other agents make the same move for the same view and seed, whatever the load and the number of
`--jobs`. `threads=` changes the result, because so many independent trees are grown, but the result
for a number of threads is always the same.

Some settings cannot be combined; Kibitz says so. Where a game hides something, `backup=power` and
`backup=proved` need positions that are known in the tree (`worlds=one`, `many` or `true`), and
`keep=true` needs `worlds=fresh` or `true`. Both backups need two sides. Where a seat learns more from
a move than the move itself (in Briškola the card that it draws), `keep=true` needs `infosets=full`.
`merge`, `prune` and `belief` need a game with the method `alike`, `promising` or `likelihood`;
`belief=counters` needs `lesson` and `predict`, and `worlds=fresh`; `belief=cards` needs `rearrange`.
`prune=true` cannot be combined with `worlds=possible` or `backup=proved`.
"""


def agents_page() -> str:
    """All agents, and all options with what they take."""
    rows = [
        f"| `{name}` | {setting.help} | {_settings(name, setting)} |"
        for name, setting in agents.SETTINGS.items()
    ]
    experts = []
    for name in games.GAMES:
        best = getattr(games.game_class(name), "expert", None)
        if best:
            experts.append(f"- {name}: `{best}`")
    common = options_of(Searcher)
    flat, tree = (
        {name: o for name, o in options_of(search).items() if name not in common}
        for search in (FlatMonteCarlo, TreeSearch)
    )
    return "".join(
        [
            AGENTS_HEAD + "\n".join(rows) + "\n",
            AGENTS_NOTES + "\n".join(experts) + "\n",
            SEARCH_HEAD + _options(common),
            FLAT_HEAD + _options(flat),
            TREE_HEAD + _options(tree),
            TREE_NOTES,
            CLASSICAL_HEAD + _options(options_of(Classical)),
        ]
    )


def _settings(name: str, setting: agents.Setting) -> str:
    if name == "expert":
        return "the game's own, see below"
    options = setting.options()
    changed = [f"`{key}={_value_text(value)}`" for key, value in setting.values.items() if key in options]
    return ", ".join(changed) or "none" if options else "no options"


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _options(options: dict[str, Option]) -> str:
    rows = ["| option | default | takes | what it does |", "|--------|---------|-------|--------------|"]
    rows += [f"| `{o.name}` | {_default(o)} | {o.takes} | {o.help} |" for o in options.values()]
    return "\n".join(rows) + "\n"


def _default(option: Option) -> str:
    if option.default is None:
        return "none"
    if option.kind is bool:
        return str(option.default).lower()
    words = {"objective": {0.0: "points"}, "playout": {0.0: "random"}}.get(option.name, {})
    if option.default in words:
        return words[option.default]
    is_number = option.kind in (int, float, Duration)
    return f"{option.default:g}" if is_number else str(option.default)


# --- the protocol ---------------------------------------------------------------------------------

PROTOCOL_HEAD = """\
# The methods of a game

{about}

The [tutorial](../tutorial.md) writes a game step by step; `kibitz check my_game.py` tests the laws.

## A game and its parameters

A game is a `typing.NamedTuple` marked with `kibitz.game`. Its fields are the game's parameters:
whole numbers, floats or bools with defaults. `seats` must be one of them. In a string the parameters
follow the name: `briskola:seats=4`, `my_game.py:hand=3`. Compiled methods see the fields of the game
and its methods, but none of the names below.

| name in the class | meaning |
|-------------------|---------|
"""

CLASS_NAMES = """\
| `choices` | optional: the values that a parameter may have, such as `{"seats": (2, 3, 4)}` |
| `expert` | optional: the agent that `expert` stands for, such as `"ismcts:8000"` |
| `for_play` | optional: what `kibitz play` adds unless an option is named: `{"level=3": ("strain",)}` |
| `help` | optional: a line about each parameter, by its name |
| `objectives` | optional: what agents can maximize besides points and wins, by name |
| `counted` | optional: the names of what `tally` writes, such as `("rounds", "bids_made")` |
| `shares` | optional: which of these `kibitz match` shows, as a share of what: `{"bids_made": "rounds"}` |
"""


def protocol_page() -> str:
    """The protocol in the words of its docstrings."""
    tree = ast.parse(inspect.getsource(protocol))
    game = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Game")
    about = inspect.cleandoc(protocol.__doc__ or "").partition("\n\n")[2]
    required, optional, fields = [], [], []
    for node, after in zip(game.body, [*game.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = after.value.value if isinstance(after, ast.Expr) else ""  # type: ignore[attr-defined]
            fields.append(f"| `{node.target.id}` | {' '.join(inspect.cleandoc(text).split())} |")
        elif isinstance(node, ast.FunctionDef):
            where = required if node.name in protocol.REQUIRED else optional
            where.append(_method(node))
    constants = [
        f"| `{node.targets[0].id}` | {_value(node.targets[0].id)} | {after.value.value} |"  # type: ignore[attr-defined]
        for node, after in zip(tree.body, tree.body[1:], strict=False)
        if isinstance(node, ast.Assign) and isinstance(after, ast.Expr)
    ]
    return "\n".join(
        [
            PROTOCOL_HEAD.format(about=about) + "\n".join(fields) + "\n" + CLASS_NAMES,
            "## Required methods\n",
            *required,
            "## Optional methods\n",
            "A game that leaves one out gets the default, and `cls.defaulted` names it.\n",
            *optional,
            f"## Parts beside the rules\n\n{inspect.cleandoc(parts.__doc__ or '')}\n",
            "## Constants\n",
            "| name | value | meaning |\n|------|------:|---------|",
            *constants,
        ]
    )


def _value(name: str) -> int:
    return int(getattr(protocol, name))


def _method(node: ast.FunctionDef) -> str:
    arguments = ", ".join(["game", *(a.arg for a in node.args.args[1:])])
    lines = [f"### {node.name}({arguments})\n", ast.get_docstring(node) or "", ""]
    if node.name in protocol.OPTIONAL:
        lines.append(f"Default: {_lower(inspect.getdoc(protocol.OPTIONAL[node.name]) or '')}\n")
    return "\n".join(lines)


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


# --- experiments ----------------------------------------------------------------------------------

EXPERIMENTS_HEAD = """\
# Experiments as data

An experiment is a TOML file: the question, the games to play for it, and what to show. [Ask a
question](../laboratory.md) writes one step by step; `kibitz experiment run FILE` runs it. Every key is
checked before anything is played.

"""

TABLES = {
    description.Experiment: "At the top",
    description.MatchGrid: "[match.NAME]",
    description.Tournament: "[tournament.NAME]",
    description.RowPlan: "[[row]]",
    description.FigurePlan: "[[figure]]",
    description.LearnedPlan: "[[learned]]",
    description.ComputedPlan: "[[computed]]",
}


def experiments_page() -> str:
    """All keys of an experiment, from the docstrings."""
    tree = ast.parse(inspect.getsource(description))
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    parts = [EXPERIMENTS_HEAD]
    for cls, heading in TABLES.items():
        node = classes[cls.__name__]
        parts += [f"## {heading}\n", f"{ast.get_docstring(node)}\n", _keys(cls, node)]
    rows = [f"| `{name}` | {words} |" for name, words in MEASURES.items()]
    rows += [
        "| `COUNT` | what the game counts by this name (`counted` in [the protocol](protocol.md)) |",
        "| `COUNT of games`, `of wins`, `of OTHER` | as a share of games, of games won or of another count |",
    ]
    parts += ["## Measures\n", "| measure | meaning |\n|---------|---------|", *rows]
    rows = [f"| `{name}` | {words} |" for name, words in JUDGED.items()]
    parts += ["", JUDGED_HEAD, "| measure | meaning |\n|---------|---------|", *rows]
    return "\n".join(parts)


JUDGED_HEAD = """\
With `judged = true` no game is played. One agent makes the first decision of every deal, and an exact
solver, `exact_values` in [the protocol](protocol.md), evaluates it. The forecast is the value that the agent
gives to the position, at the root of a tree; the estimate is the value that it gives to its own move.
"""


def _texts(node: ast.ClassDef) -> dict[str, str]:
    """What stands below each field of a class."""
    return {
        line.target.id: " ".join(after.value.value.split())  # type: ignore[attr-defined]
        for line, after in zip(node.body, node.body[1:], strict=False)
        if isinstance(line, ast.AnnAssign) and isinstance(after, ast.Expr)
    }


def _keys(cls: Any, node: ast.ClassDef) -> str:
    texts = _texts(node)
    rows = ["| key | takes | default | meaning |", "|-----|-------|---------|---------|"]
    for f in fields(cls):
        kind = str(f.type).removesuffix(" | None")
        is_heading = f.name == "name" and "NAME" in TABLES[cls]
        if kind not in description.KINDS or f.name in description.NOT_KEYS or is_heading:
            continue
        needed = f.default is MISSING and f.default_factory is MISSING and f.name != "name"
        default = (
            "required" if needed else "" if f.default in ("", None, MISSING, 0, ()) else f"`{f.default}`"
        )
        rows.append(f"| `{f.name}` | {description.KINDS[kind][0]} | {default} | {texts[f.name]} |")
    return "\n".join(rows) + "\n"


# --- Python ------------------------------------------------------------------------------------------

API_HEAD = """\
# The Python API

Everything here is in the package `kibitz`: `import kibitz`, then `kibitz.deal("briskola", seed=7)`. Names are
loaded when they are first used. What a class for a game must have is in [the methods of a game](protocol.md).
The tests of a game and of an agent are in `kibitz.testing`: `check_game`, `check_hidden` and `check_agent`.
Everything else in the package may change from version to version.

"""

ERRORS_HEAD = """
## Errors

Whatever Kibitz refuses raises a subclass of `kibitz.KibitzError`, whose message says what was given, what
is wrong and what would be right.

| error | subclass of | when |
|-------|-------------|------|
"""


def api_page() -> str:
    """All public names with their signatures, in the words of their docstrings."""
    public = {name: getattr(kibitz, name) for name in kibitz.__all__ if name != "__version__"}
    classes = {name: thing for name, thing in public.items() if isinstance(thing, type)}
    refusals = {name: cls for name, cls in classes.items() if issubclass(cls, kibitz.KibitzError)}
    parts = [API_HEAD, "## Functions\n\n"]
    parts += [_function(name, thing, "###") for name, thing in sorted(public.items()) if name not in classes]
    parts.append("## Classes\n\n")
    parts += [_class(name, cls) for name, cls in sorted(classes.items()) if name not in refusals]
    rows = [
        f"| `{name}` | `{cls.__bases__[0].__name__}` | {(inspect.getdoc(cls) or '').splitlines()[0]} |"
        for name, cls in refusals.items()
    ]
    return "".join(parts) + ERRORS_HEAD + "\n".join(rows)


def _function(name: str, function: Any, heading: str) -> str:
    return f"{heading} {name}\n\n```text\n{name}{_signature(function)}\n```\n\n{_doc(function)}\n\n"


def _class(name: str, cls: Any) -> str:
    """A class with its attributes, its properties and its public methods, inherited ones too."""
    parts = [f"### {name}\n\n{_doc(cls)}\n\n"]
    attributes, methods = [], {}
    for base in reversed(cls.__mro__[:-1]):
        if not base.__module__.startswith("kibitz"):
            continue
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        texts = _texts(node)  # type: ignore[arg-type]
        for line in node.body:  # type: ignore[attr-defined]
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                attributes.append(
                    (line.target.id, ast.unparse(line.annotation), texts.get(line.target.id, ""))
                )
        for member, thing in vars(base).items():
            if member.startswith("_"):
                continue
            if isinstance(thing, property):
                kind = inspect.signature(thing.fget).return_annotation  # type: ignore[arg-type]
                attributes.append((member, kind, " ".join((inspect.getdoc(thing) or "").split())))
            elif inspect.isfunction(thing):
                methods[member] = thing
    lines = [f"- `{name}`: {kind}{f'. {text}' if text else ''}" for name, kind, text in attributes]
    parts += ["\n".join(lines) + "\n\n"] if lines else []
    parts += [_function(member, method, "####") for member, method in methods.items()]
    return "".join(parts)


def _signature(function: Any) -> str:
    """What a function takes and returns, one argument a line if they are many."""
    signature = inspect.signature(function)
    words = {"_C": "type", "_F": "function"}
    taken = []
    for name, parameter in signature.parameters.items():
        if name == "self":
            continue
        kind = parameter.annotation
        default = "" if parameter.default is inspect.Parameter.empty else f" = {parameter.default!r}"
        star = "*" * (parameter.kind == inspect.Parameter.VAR_POSITIONAL)
        taken.append(f"{star}{name}: {words.get(kind, kind)}{default}")
    returns = words.get(signature.return_annotation, signature.return_annotation)
    line = f"({', '.join(taken)}) -> {returns}"
    return line if len(line) < WIDTH - 10 else "(\n    " + ",\n    ".join(taken) + f",\n) -> {returns}"


def _doc(thing: Any) -> str:
    """A docstring as Markdown: its examples as code. Tests run them."""
    lines: list[str] = []
    is_example = False
    for line in (inspect.getdoc(thing) or "").splitlines():
        begins, ends = line.startswith(">>>") and not is_example, is_example and not line
        lines += ["```pycon"] * begins + ["```"] * ends + [line]
        is_example = (is_example or begins) and not ends
    return "\n".join([*lines, *["```"] * is_example])


# --- the limits of a server ------------------------------------------------------------------------

LIMITS_HEAD = """\
# Limits of the server

What `kibitz serve` allows one client, one table, and all together. A client is an address: one computer, or
everybody behind one router (of IPv6 the network, /64). If a web server stands in front, say so with
`--proxy ADDRESS`; otherwise it counts as one client, and what it says about addresses is not believed.

Whoever asks for too much is refused with a message that says so, and can try again later; connections that
are too many or too slow are closed. The worker process is shared fairly: the client that has used it least is
served first, and no client can occupy the last slot. When all connections or all lines of play are taken,
whoever has most of them gives way to whoever has fewer. These are the numbers in `kibitz.web.limits`; they
are not options, except `--pause`."""


def limits_page() -> str:
    """All numbers of `kibitz.web.limits`, in the words of the code."""
    source = inspect.getsource(limits)
    node = next(n for n in ast.parse(source).body if isinstance(n, ast.ClassDef) and n.name == "Limits")
    texts, defaults = _texts(node), {f.name: f.default for f in fields(limits.Limits)}
    parts, lines = [LIMITS_HEAD], source.splitlines()
    for line in lines[node.lineno - 1 : node.end_lineno]:
        words = line.strip()
        if words.startswith("# ---"):
            parts += [f"\n## {words.strip('#- ')}\n", "| limit | value | meaning |", "|---|---:|---|"]
        elif (name := words.partition(":")[0]) in defaults:
            parts.append(f"| `{name}` | {_plain(defaults[name])} | {texts[name]} |")
    parts += ["\n## Agents\n", "The most that an agent's string may ask for at a table or for advice.\n"]
    parts += ["| option | most |", "|---|---:|"]
    parts += [f"| `{name}` | {_plain(most)} |" for name, most in limits.AGENTS.items()]
    parts += [f"| `{name}` of `pimc` in Bridge | {_plain(most)} |" for name, most in limits.SOLVER.items()]
    return "\n".join(parts)


def _plain(number: float) -> str:
    """A number for people: 10, not 10.0.

    >>> _plain(64_000), _plain(10.0), _plain(0.4)
    ('64,000', '10', '0.4')
    """
    return f"{int(number):,}" if number == int(number) else f"{number:g}"


def main() -> None:
    """Write all pages."""
    REFERENCE.mkdir(exist_ok=True)
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(f"{path.parent.name}/{path.name}: {len(text.splitlines())} lines")


if __name__ == "__main__":
    main()
