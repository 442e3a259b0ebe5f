"""What a game is: the one place that says which methods the rules of a game consist of.

A game is a `NamedTuple` of its parameters, marked with `@game`. A position is one NumPy record of
the game's `state` type. Methods get the game as their first argument and write into buffers that
they are given; they allocate nothing, raise nothing and draw random numbers only from `rng`
(`kibitz.rng.below(rng, n)`), so that the same text runs interpreted and compiled, and stays fit for a
GPU.

Three words are used strictly. The **state** is the whole truth. A **view** is a state from which
`hide` has blanked all that one seat cannot know. A **world** is a view that `resample` has filled
again with a random truth that agrees with it. Agents get views and nothing else.

The laws, which `kibitz.testing.check_game` tests:

- `hide(resample(hide(state))) == hide(state)` for every seat;
- every world that agrees with a view is equally likely;
- two truths with the same view give the same legal moves and, for one seed, the same advice;
- a move that `legal` lists is one that `play` accepts, and no other is tried.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Protocol

import numpy as np

from kibitz.kernel import kernel
from kibitz.rng import below

CHANCE = -1
"""What `mover` returns while a chance event is due, for `deal` to settle."""

SILENT = -1
"""The label of a move from which an observer learns nothing."""

UNNOTICED = -2
"""The label of a move of which an observer does not even know that it was due."""

MOST_EVENTS = 1000
"""A game may have at most `max_plies` and this many chance events."""


class Game(Protocol):
    """A game: its parameters, and its methods. `REQUIRED` names what every game must have.

    Class attributes that are optional: `choices`, the values that a parameter may take
    (`choices = {"seats": (2, 3, 4)}`, or words for numbers, `{"order": {"falling": 0, "rising": 1}}`);
    `help`, a line for each parameter; `expert`, the string of the strongest agent known; `expert_misses`, the
    extra of Kibitz without which it is a weaker one; `objectives`,
    what agents can maximize besides points and wins, by name (`kibitz.search.objective`); `counted`,
    the names of what `tally` writes; `shares`, the ones that people look at and of what they are a share,
    `games`, `wins` or another count (`shares = {"bids_made": "rounds"}`).
    """

    seats: int
    """How many play: the one parameter that every game has, a field of the tuple."""

    state: ClassVar[np.dtype[Any]]
    """The type of a position, of fixed size. `i8` fields are the easy choice. Fields of few bytes
    are quicker to copy, but must be cast to `np.int64` before they are shifted, returned or
    mixed with signed numbers (unsigned and signed together become a float)."""

    max_moves: int
    """The most moves that can be legal (or `possible`) at once: the size of the callers' buffers."""

    max_plies: int
    """The most moves in a game; a game that is not over by then is stopped and refused."""

    def deal(self, state: Any, rng: Any) -> None:
        """Settle the chance event that is due: the first shuffle (on a record of zeros), dice."""

    def mover(self, state: Any) -> int:
        """The seat that decides now, or `CHANCE` while `deal` is due."""

    def legal(self, state: Any, moves: Any) -> int:
        """Write the mover's legal moves into `moves` and return how many there are (never 0)."""

    def play(self, state: Any, move: int) -> None:
        """Carry out a legal move, in place."""

    def is_over(self, state: Any) -> bool:
        """Whether the game has ended."""

    def returns(self, state: Any, out: Any) -> None:
        """Write the game's own score, one number per seat (partners: their common score)."""

    def hide(self, state: Any, seat: int) -> None:
        """Blank in place all that `seat` cannot know, leaving no trace of its order either."""

    plan: ClassVar[np.dtype[Any]]
    """The type of the record that `prepare` fills in for `sample`; a game without these two needs none."""

    def resample(self, view: Any, seat: int, rng: Any) -> None:
        """Fill every blank of a view: a uniformly random world that agrees with it."""

    def prepare(self, view: Any, seat: int, plan: Any) -> None:
        """Write into `plan`, once per decision, what all worlds of a view have in common."""

    def sample(self, view: Any, seat: int, plan: Any, rng: Any) -> None:
        """The same as `resample`, using what `prepare` wrote: for games that define these two instead."""

    def likelihood(self, world: Any, seat: int) -> float:
        """How well a world of `seat`'s view explains the play of the others, up to a constant factor."""

    def rearrange(self, world: Any, seat: int, plan: Any, rng: Any) -> None:
        """Change a world that `sample` has dealt, so that worlds occur as often as they are likely, given the
        play of the others.
        """

    situations: ClassVar[int]
    """The number of situations that `lesson` distinguishes; 0 if nothing is learned."""

    def lesson(self, state: Any, moves: Any) -> int:
        """What a position of a finished game teaches: twice the number of its situation, plus 1 if what
        `predict` expects is true in it; −1 if it teaches nothing. `moves` is a buffer.
        """

    def shows(self, state: Any, move: int) -> int:
        """What a move shows of it, for counters of what was seen: 1 confirmed, 0 not shown, −1 irrelevant."""

    def predict(self, view: Any, seat: int, move: int, chances: Any, moves: Any, rng: Any) -> None:
        """Fill some blanks of a view before the rest is dealt, as expected after `seat`'s `move`.

        `chances` says for every situation how often the expected was true in the games learned from.
        """

    def team(self, seat: int) -> int:
        """The number of the side that `seat` plays for."""

    def score_range(self) -> tuple[float, float]:
        """The lowest and the highest score that `returns` can give."""

    def random_move(self, state: Any, moves: Any, rng: Any) -> int:
        """A uniformly random legal move, found faster than by listing all of them."""

    def sensible_move(self, state: Any, moves: Any, rng: Any) -> int:
        """The move that a sensible person would choose, using only what the mover sees.

        It is the game's rule-based agent, and its playout policy.
        """

    def label(self, state: Any, move: int, observer: int) -> int:
        """A code for all that `observer` learns from `move`, called before it is played.

        A public move is its own label. A move that reveals more to the observer (a card that it
        draws) has a label of its own; one that reveals nothing (a secret bid) is `SILENT`; one that
        nobody else knows was decided (a bomb that is not played) is `UNNOTICED`.
        """

    def playout_move(self, state: Any, moves: Any, rng: Any) -> int:
        """The move to expect of another seat in playouts: sensible, as far as that seat has proved to be."""

    def promising(self, state: Any, moves: Any) -> int:
        """Write the legal moves worth searching, judged by what the mover sees."""

    def alike(self, state: Any, move: int) -> int:
        """A code shared by moves that a search may treat as one, with little loss."""

    def possible(self, view: Any, moves: Any) -> int:
        """Write the moves that the mover may be able to make, as far as the view shows."""

    def grant(self, view: Any, move: int, rng: Any) -> None:
        """Fill blanks of the view so that the mover can make the possible move `move`."""

    def worlds_left(self, view: Any, seat: int) -> int:
        """How many worlds agree with the view, if each of them is small enough to be solved
        exactly; else 0.
        """

    def world(self, view: Any, seat: int, number: int) -> None:
        """Fill the view with world `number` of `worlds_left`."""

    def outcomes(self, state: Any, moves: Any, odds: Any) -> int:
        """Write every outcome of the chance event that is due, with its probability, and return how many
        there are; `play` carries one out. Return 0 if there are too many to list, as for a shuffle.
        """

    features: ClassVar[tuple[str, ...]]
    """The names of what `measure` writes; with `weights` (the worth of one each) a linear evaluation."""

    weights: ClassVar[tuple[float, ...]]

    def measure(self, state: Any, out: Any) -> None:
        """Write the features of a position: for each, what seat 0 has minus what seat 1 has."""

    def evaluate(self, state: Any, out: Any) -> None:
        """Estimate what `returns` will be, one number per seat, within `score_range`."""

    def is_quiet(self, state: Any) -> bool:
        """Whether the evaluation of a position can be trusted, because nothing big is about to happen."""

    def urgency(self, state: Any, move: int) -> float:
        """How early a search should try a move: highest first."""

    def mirror(self, state: Any, move: int) -> int:
        """A code shared by moves that, by a symmetry of the game, lead to positions of the same value."""

    def tally(self, state: Any, out: Any) -> None:
        """Write what the game counts besides the score: `out[seat, i]` for name i of `counted`."""

    interpreted: ClassVar[bool]
    """Whether the rules cannot be compiled, such as those of another library; Python then runs them."""

    def every_move(self) -> Iterable[int]:
        """All moves that can ever be legal, by their codes from `filed`."""

    def filed(self, move: int) -> int:
        """The code of a move in `every_move`; moves without a meaningful difference may share one."""

    def validate(self) -> None:
        """Raise `BadOption` if the parameters do not make a game."""

    def exact_values(self, states: Any) -> Iterable[list[float]]:
        """For each position, in the order of `legal`: the value of every move to the mover's side if all see
        everything and play perfectly. Computed in Python by the game's own solver.
        """

    def move_text(self, move: int) -> str:
        """A move as people write it."""

    def text_at(self, state: Any, move: int) -> str:
        """A legal move as people write it, where that depends on the position: in chess, e4 is a different
        move for each side.
        """

    def tell(self, state: Any, move: int, observer: int) -> str:
        """A move as announced to `observer`, called before it is played; "" if nothing may be said."""

    def parse_move(self, text: str) -> int:
        """The move that `text` means; `ParseError` says what is understood."""

    def parse_position(self, text: str) -> Any:
        """The `State` that `text` describes in the game's own notation, for example a file."""

    def note(self, state: Any, text: str) -> None:
        """Add to a position what is known besides the cards, as people write it."""

    def seat_name(self, seat: int) -> str:
        """What people call a seat, such as "north"."""

    def usual_seat(self, state: Any) -> int:
        """The seat a person gets by default: one that has something to decide."""

    def announce(self, state: Any, observer: int) -> str:
        """Who makes the next move, in the words that `observer` reads: "you", or in Bridge "north (dummy)",
        whose cards declarer plays.
        """

    def introduce(self, state: Any, seat: int) -> str:
        """What a person should know before the first move beside the position; "" if that says it all."""

    def describe_result(self, state: Any, seat: int) -> str:
        """The result of a finished game in its players' words; "" where points and a winner say it all."""

    def picture(self, view: Any, seat: int) -> str:
        """The position as `seat` sees it, for a terminal."""

    def inventory(self, state: Any) -> list[int]:
        """Every card of a position, wherever it is: the same cards at every moment of a game."""


REQUIRED = (
    *("state", "max_moves", "max_plies", "seats"),
    *("deal", "mover", "legal", "play", "is_over", "returns"),
)


def hide(game, state, seat):
    """Nothing is hidden in a game of perfect information."""


def resample(game, view, seat, rng):
    """Nothing was hidden, so the view is the world."""


def prepare(game, view, seat, plan):
    """Nothing is known beforehand."""


def sample(game, view, seat, plan, rng):
    """Every world is made from the view alone."""
    game.resample(view, seat, rng)


def likelihood(game, world, seat):
    """Nothing is concluded from what the others have done."""
    return 1.0


def rearrange(game, world, seat, plan, rng):
    """All worlds are equally likely."""


def lesson(game, state, moves):
    """Nothing is learned."""
    return -1


def shows(game, state, move):
    """Nothing is asked."""
    return -1


def predict(game, view, seat, move, chances, moves, rng):
    """Nothing is filled in."""


def tally(game, state, out):
    """Nothing but the score is counted."""


def every_move(game):
    """None: a move is identified by its place in the list of legal ones."""
    return ()


def filed(game, move):
    """Every move is distinct."""
    return move


def validate(game):
    """Any parameters will do."""


def team(game, seat):
    """All seats play for themselves."""
    return seat


def score_range(game):
    """A game that does not say otherwise scores from 0 to 1."""
    return 0.0, 1.0


def random_move(game, state, moves, rng):
    """List all moves and take one."""
    return moves[below(rng, game.legal(state, moves))]


def sensible_move(game, state, moves, rng):
    """A random move."""
    return game.random_move(state, moves, rng)


def label(game, state, move, observer):
    """All moves are public."""
    return move


def playout_move(game, state, moves, rng):
    """The rules of thumb."""
    return game.sensible_move(state, moves, rng)


def promising(game, state, moves):
    """Any move may turn out well."""
    return game.legal(state, moves)


def alike(game, state, move):
    """Every move is of its own kind."""
    return move


def possible(game, view, moves):
    """The mover is known to be able to make its legal moves."""
    return game.legal(view, moves)


def grant(game, view, move, rng):
    """A legal move needs nothing to be filled in."""


def worlds_left(game, view, seat):
    """0: no ending is solved exactly."""
    return 0


def world(game, view, seat, number):
    """There is only one."""


def outcomes(game, state, moves, odds):
    """Not listed."""
    return 0


def measure(game, state, out):
    """No feature is measured."""


def evaluate(game, state, out):
    """The middle of the range, plus the score so far, minus the average score."""
    game.returns(state, out)
    low, high = game.score_range()
    shift = (low + high) / 2
    for seat in range(game.seats):
        shift -= out[seat] / game.seats
    for seat in range(game.seats):
        out[seat] += shift


def is_quiet(game, state):
    """Every evaluation is trusted."""
    return True


def urgency(game, state, move):
    """All moves are equally urgent."""
    return 0.0


def mirror(game, state, move):
    """No symmetry is known."""
    return move


def exact_values(game, states):
    """There is no solver."""
    return []


def move_text(game, move):
    """The number of the move."""
    return str(move)


def text_at(game, state, move):
    """The same text in every position."""
    return game.move_text(move)


def tell(game, state, move, observer):
    """The move, unless the observer learns nothing of it."""
    return "" if game.label(state, move, observer) in (SILENT, UNNOTICED) else game.text_at(state, move)


def parse_move(game, text):
    """The number of the move."""
    from kibitz.errors import ParseError, quoted
    from kibitz.reading import whole_number

    move = whole_number(text)
    if move is None:
        raise ParseError(f"{quoted(text)} is not a move; a move of this game is a whole number")
    return move


def parse_position(game, text):
    """Only the notation common to all games."""
    from kibitz.errors import ParseError, quoted

    raise ParseError(f"{quoted(text)} is not a position; write the deal and the moves, such as '7: 3C 2D'")


def note(game, state, text):
    """Nothing besides the cards is known."""
    from kibitz.errors import Unsupported, quoted

    raise Unsupported(
        f"in {type(game).__name__} nothing is known besides the cards; leave out {quoted(text)}"
    )


def seat_name(game, seat):
    """Its number."""
    return f"seat {seat}"


def usual_seat(game, state):
    """The first one."""
    return 0


def announce(game, state, observer):
    """The mover: "you", or the name of the seat."""
    mover = int(game.mover(state))
    return "you" if mover == observer else game.seat_name(mover)


def introduce(game, state, seat):
    """The position says it all."""
    return ""


def describe_result(game, state, seat):
    """Points and a winner say it all."""
    return ""


def picture(game, view, seat):
    """The fields of the record, one a line."""
    return "\n".join(f"{name:>12}  {view[name]}" for name in view.dtype.names)


def inventory(game, state):
    """A game that does not say has no cards to count."""
    return []


OPTIONAL: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(hide, resample, prepare, sample, team, score_range, random_move, sensible_move),
        *(
            playout_move,
            promising,
            label,
            alike,
            likelihood,
            rearrange,
            lesson,
            shows,
            predict,
            possible,
            grant,
            worlds_left,
            world,
            outcomes,
            measure,
            evaluate,
            is_quiet,
            urgency,
            mirror,
            tally,
            every_move,
            filed,
            validate,
        ),
        *(exact_values, move_text, text_at, tell, parse_move, parse_position, note, picture, inventory),
        *(seat_name, usual_seat, announce, introduce, describe_result),
    )
}

ATTRIBUTES: dict[str, Any] = {
    "plan": np.dtype([("nothing", "i1")]),
    "situations": 0,
    "choices": {},
    "help": {},
    "expert": None,
    "expert_misses": "",
    "for_play": {},
    "objectives": {},
    "counted": (),
    "features": (),
    "weights": (),
    "shares": {},
    "interpreted": False,
}
"""Class attributes that a game may leave out, with what stands for them then."""


# The number of arguments of every method, the game itself included.
ARITY = {
    name: len(inspect.signature(method).parameters)
    for name, method in vars(Game).items()
    if inspect.isfunction(method) and not name.startswith("_")
}


@kernel
def awaits_move(game, state):
    """Whether a seat must decide: the game is not over and no chance event is due."""
    return not game.is_over(state) and game.mover(state) >= 0
