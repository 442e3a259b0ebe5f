"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

MOST = 10**9
"""Limit for numbers of games and moves: more than anyone waits for, and far below the limits of 64 bits."""


def own_name(game: str | None) -> str | None:
    """The string with the game's own name, for `oh-hell` or `Bridge`."""
    from kibitz import games as registry

    return game and registry.canonical(game)


GameArgument = Annotated[
    str,
    typer.Argument(help="A game, such as briskola, briskola:seats=4 or my_game.py.", callback=own_name),
]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Random seed: the same seed gives the same result.")]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust", help="Run the files that the data names, after listing them (default: run none)."
    ),
]
Moves = Annotated[bool, typer.Option("--moves", help="Also store the moves of every game.")]

# How large an experiment is.
Quick = Annotated[bool, typer.Option("--quick", help="Play few games: minutes instead of an hour.")]
Scale = Annotated[float | None, typer.Option(help="Games to play, as a multiple of the published number.")]
ExperimentSeed = Annotated[
    int | None, typer.Option("--seed", min=0, help="Seed (default: the experiment's own).")
]

# Where games are played, and where their results go.
Jobs = Annotated[int | None, typer.Option(help="Worker processes (default: all cores).")]
Ray = Annotated[
    str | None,
    typer.Option("--ray", help="Play on this Ray cluster: auto, or an address such as 10.0.0.1:6379."),
]
OnGpu = Annotated[bool, typer.Option("--gpu", help="Use a GPU for the matches in which no agent searches.")]
StoreOption = Annotated[
    Path | None, typer.Option("--store", help="Store for the results (default: in your data folder).")
]
