"""Arrows point one way: a lower layer never imports a higher one; the public names exist."""

import ast
from pathlib import Path

import kibitz

SOURCE = Path(kibitz.__file__).parent
LAYERS = [
    {"errors"},
    {"sources"},
    {"deadline", "reading", "showing", "cache", "ending", "compiling"},
    {"specs", "kernel", "cards"},
    {"rng", "trust", "archive"},
    {"bits", "precompiled"},
    {"gpu"},
    {"protocol"},
    {"belief"},
    {"position"},
    {"trial"},
    {"games"},
    {"search"},
    {"drawing"},
    {"agents"},
    {"games/players", "games/agents"},
    {"arena"},
    {"adapters"},
    {"games/twin"},
    {"testing", "bench", "terminal", "records", "warming"},
    {"peers"},
    {"plots"},
    {"experiments"},
    {"report"},
    {"web"},
    {"cli"},
    {"__main__"},
]
HEIGHT = {room: height for height, rooms in enumerate(LAYERS) for room in rooms}
# `@game` completes a class with the protocol's defaults, whose default moves draw random numbers.
# What is missing on the disk may have come with the package, in an archive of files as the kernel keeps them.
ALLOWED = {("kernel", "protocol"), ("kernel", "precompiled")}


PARTS = {"players", "agents", "twin"}
"""The modules in the folder of a game that stand above its rules."""


def room_of(module: str) -> str:
    """The package that a module belongs to; a part of a game that is no rule stands higher than the rules."""
    names = module.split(".")
    if names[1:2] == ["games"] and names[3:] and names[3] in PARTS:
        return f"games/{names[3]}"
    return names[1] if names[1:] else module


def imports(file: Path):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kibitz"):
            if node.module == "kibitz":
                yield from (f"kibitz.{alias.name}" for alias in node.names)
            else:  # the name may be that of a module
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("kibitz."))


def test_arrows_point_one_way():
    seen = set()
    for file in SOURCE.rglob("*.py"):
        room = room_of(".".join(["kibitz", *file.relative_to(SOURCE).with_suffix("").parts]))
        if room == "__init__":
            continue
        seen.add(room)
        for module in imports(file):
            other = room_of(module)
            if other == room or other == "__version__" or (room, other) in ALLOWED:
                continue
            assert HEIGHT[other] < HEIGHT[room], f"{file.name} must not import {module}"
    assert seen == set(HEIGHT)


def test_public_names_can_be_imported():
    for name in kibitz.__all__:
        assert getattr(kibitz, name) is not None


def test_only_the_kernel_knows_the_compiler():
    for file in SOURCE.rglob("*.py"):
        if file.name != "kernel.py":
            assert "njit" not in file.read_text(), file.name
