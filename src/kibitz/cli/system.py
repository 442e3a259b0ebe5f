"""`kibitz games`, `agents`, `info`, `check` and `cache`: what is installed, and whether it works."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz import __version__, showing
from kibitz.cli import output, paths
from kibitz.cli.options import GameArgument, Jobs, Json, Seed, own_name
from kibitz.errors import BadOption, quoted

if TYPE_CHECKING:
    from kibitz.terminal import Story


def games(
    name: Annotated[
        str | None, typer.Argument(help="Explain the parameters of this game.", callback=own_name)
    ] = None,
    as_json: Json = False,
) -> None:
    """List the games and their parameters, or explain one game's.

    Example: kibitz games briskola
    """
    from kibitz import games as registry
    from kibitz import specs, trust
    from kibitz.errors import UnknownName

    if name is not None and specs.is_file(name):
        trust.allow(name)
    elif name is not None and name not in registry.known():
        raise UnknownName("game", name, registry.known())
    found: list[dict[str, Any]] = []
    for each in [name] if name else registry.known():
        cls = registry.game_class(each)
        options = [
            {"name": o.name, "default": o.default, "takes": o.takes, "help": o.help}
            for o in registry.parameters(cls).values()
        ]
        about = registry.about(cls)
        expert = getattr(cls, "expert", None)
        found.append({"name": each, "about": about, "parameters": options, "expert": expert})
    if as_json:
        output.document("games", {"games": found})
        return
    for game in found:
        print(f"{game['name']}: {game['about']}")
        for o in game["parameters"]:
            meaning = f"  {o['help']}" if name and o["help"] else ""
            print(f"    {o['name']}={output.as_typed(o['default'])}{meaning}  ({o['takes']})")
        if game["expert"]:
            print(f"    expert is {game['expert']}")


def agents(
    name: Annotated[str | None, typer.Argument(help="Show the options of this agent.")] = None,
    as_json: Json = False,
) -> None:
    """List the agents, or show the options of one.

    Example: kibitz agents ismcts
    """
    from kibitz.agents import SETTINGS
    from kibitz.errors import UnknownName

    if name is not None and name not in SETTINGS:
        raise UnknownName("agent", name, SETTINGS)
    found: dict[str, dict[str, Any]] = {}
    for each in [name] if name else SETTINGS:
        setting = SETTINGS[each]
        options = {
            o.name: {"value": setting.values.get(o.name, o.default), "takes": o.takes, "help": o.help}
            for o in setting.options().values()
        }
        found[each] = {"about": setting.help, "options": options}
    if as_json:
        output.document("agents", {"agents": found})
        return
    width = max(map(len, found))
    for each, about in found.items():
        print(f"{each:<{width}}  {about['about']}")
        if name:
            for option, o in about["options"].items():
                print(f"    {option}={output.as_typed(o['value'])}  {o['help']} ({o['takes']})")


def info(as_json: Json = False) -> None:
    """Show versions, processor, GPU and where Kibitz keeps files.

    Example: kibitz info
    """
    from kibitz import bench, gpu
    from kibitz import cache as compiled
    from kibitz.arena.store import default_store

    about = bench.machine()
    content = {
        "machine": about,
        "gpu": gpu.device().to_dict(),
        "compiled_code": str(compiled.root()),
        "results": str(default_store()),
    }
    if as_json:
        output.document("info", content)
        return
    rows = {
        "kibitz": __version__,
        "python": f"{about['python']}, Numba {about['numba']}, NumPy {about['numpy']}",
        "processor": f"{about['processor']}, {about['cores']} cores",
        "GPU": str(gpu.device()),
        "compiled code": content["compiled_code"],
        "results": content["results"],
    }
    width = max(map(len, rows))
    print("\n".join(f"{name:<{width}}  {value}" for name, value in rows.items()))


def check(
    game: GameArgument,
    n_games: Annotated[int, typer.Option("--games", min=1, help="Random games per check.")] = 10,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Check that a game keeps the protocol and can be played.

    Also checks that it hides what it must from each seat.

    Example: kibitz check my_game.py
    """
    from kibitz import games as registry
    from kibitz import testing

    story = output.story()
    loaded = registry.load_untried(game)
    checks = testing.check_all(loaded, n_games, seed)
    story.close()
    ok = all(check.ok for check in checks)
    if as_json:
        output.document("check", {"game": game, "ok": ok, "checks": [vars(check) for check in checks]})
    else:
        for done in checks:
            mark = "BROKEN" if not done.ok else "–" if done.detail.startswith("left out") else "ok"
            print(f"{mark:<6} {done.name}: {done.detail}")
        print(f"{game} {'keeps' if ok else 'breaks'} the protocol")
    raise typer.Exit(0 if ok else 1)


def cache(
    action: Annotated[
        str, typer.Argument(help="path, warm (compile games ahead), export, import or clear.")
    ] = "path",
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GAME]... | FILE",
            help="Games to compile with warm (default: all); the file for export or import.",
        ),
    ] = None,
    trust_file: Annotated[
        bool, typer.Option("--trust", help="With import: take in the code, which can do whatever you can do.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="With export: overwrite the file.")] = False,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Show, fill, export, import or delete the compiled code.

    Example: kibitz cache warm briskola
    """
    from kibitz import cache as compiled
    from kibitz.errors import UnknownName

    names, actions = names or [], ("path", "warm", "export", "import", "clear")
    if action not in actions:
        raise UnknownName("action of cache", action, actions)
    if action in ("export", "import"):
        if len(names) != 1:
            raise BadOption(f"{action} takes one file: kibitz cache {action} kibitz-code.zip")
    elif names and action != "warm":
        raise BadOption(f"'{names[0]}' is a game, which goes with warm: kibitz cache warm {names[0]}")
    if jobs is not None and jobs < 1:
        raise BadOption(f"--jobs {jobs} cannot be used; give at least 1")
    done: dict[str, Any] = {"freed": compiled.clear() if action == "clear" else 0}
    if action == "warm":
        warm([own_name(game) or game for game in names], jobs)
    elif action == "export":
        done["exported"] = _export_code(Path(names[0]), force)
    elif action == "import":
        done["imported"] = _import_code(Path(names[0]), trust_file)
    content = {"path": str(compiled.root()), "bytes": compiled.size(), **done}
    if as_json:
        output.document("cache", content)
    elif action == "clear":
        print(f"{done['freed'] / 1e6:.1f} MB deleted from {content['path']}")
    elif action == "export":
        print(
            f"{names[0]}: {showing.numbered(done['exported'], 'compiled function')}, "
            f"{Path(names[0]).stat().st_size / 1e6:.1f} MB"
        )
    elif action == "import":
        are = "is" if done["imported"] == 1 else "are"
        print(f"{showing.numbered(done['imported'], 'compiled function')} {are} new in {content['path']}")
    else:
        print(f"{content['path']}: {content['bytes'] / 1e6:.1f} MB")


def _export_code(file: Path, force: bool) -> int:
    """Write an archive of the compiled code; returns the number of compiled functions in it."""
    from kibitz import archive
    from kibitz.errors import InputError

    paths.must_be_new(file, force)
    packed, taken = archive.pack(archive.collect())
    if not taken:
        raise InputError("there is no compiled code of these sources to export; `kibitz cache warm` makes it")
    file.write_bytes(packed)
    return taken


def _import_code(file: Path, trusted: bool) -> int:
    """Take in an archive, if it fits this machine; returns the number of compiled functions that are new."""
    from kibitz import archive
    from kibitz.errors import Untrusted

    found = archive.read(file)
    if not trusted:
        raise Untrusted(
            f"{quoted(str(file))} holds {showing.numbered(len(found.files), 'compiled function')} for "
            f"{found.about}. Compiled code is a program: it can do whatever you can do. If you trust whoever "
            f"made it, repeat the command with --trust"
        )
    return found.unpack()


def warm(
    names: list[str],
    jobs: int | None = None,
    story: Story | None = None,
    part: tuple[float, float] = (0.0, 1.0),
) -> None:
    """Compile what these games need, or all games if none is named, with a progress bar or a part of one."""
    from kibitz import games as registry
    from kibitz import trust, warming

    trust.allow(*names)
    story = story or output.story()
    try:
        bar = story.progress("compiling ahead", part=part)
        warming.warm(names or list(registry.known()), bar, jobs)
    finally:
        story.close()
