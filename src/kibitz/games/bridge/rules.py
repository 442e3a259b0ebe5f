"""Bridge, the play of the cards: thirteen tricks in a contract, with hidden hands or double dummy.

Four seats, north, east, south and west, in two partnerships. The seat left of declarer leads; then
dummy, declarer's partner, is laid open, and declarer plays its cards. Suit must be followed; the
highest trump takes the trick, else the highest card of the suit led. With `double_dummy=true` all
hands are open from the start.

The contract lies in the position, for every deal has one of its own: `strain`, `declarer` and `level`
of the game say what is dealt, `any` draws it. The fields for the play are those of
`kibitz.games.tricks`; beside them

| field        | meaning                                                                 |
|--------------|-------------------------------------------------------------------------|
| `strain`     | trump suit, from clubs to spades, or `NOTRUMP`                          |
| `level`      | of the contract: six tricks more are to be made                         |
| `declarer`   | the seat that plays its own cards and dummy's                           |
| `doubled`    | 0, 1 for doubled, 2 for redoubled                                       |
| `vulnerable` | whether declarer's side is                                              |
| `phase`      | `DEALING`, `PLAYING` or `OVER`                                          |
| `promised`   | seats of whose hands, as dealt, the auction has told something, a mask  |
| `points`     | of such a seat the fewest and the most high-card points                 |
| `lengths`    | and the fewest and the most cards of each suit                          |

*Laws of Duplicate Bridge 2017*, World Bridge Federation: laws 41 to 44 for the play, 77 for the score.
"""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

import numpy as np

from kibitz.belief import unseen
from kibitz.bits import list_cards, random_card, random_subset, size
from kibitz.errors import ParseError
from kibitz.games import tricks
from kibitz.games.bridge import auction, dds, text
from kibitz.games.bridge.score import duplicate_score
from kibitz.games.tricks import NO_CARD
from kibitz.kernel import game, kernel
from kibitz.protocol import CHANCE
from kibitz.rng import below

NORTH, EAST, SOUTH, WEST = 0, 1, 2, 3
CLUBS, DIAMONDS, HEARTS, SPADES, NOTRUMP = 0, 1, 2, 3, 4
ANY = -1
DEALING, PLAYING, OVER = 0, 1, 2
TRICKS, DUPLICATE = 0, 1
NAMED, MINIBRIDGE = 0, 1

_RANKS, _CARDS = 13, 52
_ONE = np.int64(1)
_SUIT, _DECK = np.int64((1 << _RANKS) - 1), np.int64((1 << _CARDS) - 1)


TRIES = 100_000
"""So many deals at most are looked at for one that agrees with the auction."""

# The cards of each honour in all suits, from the jack, which counts 1, to the ace.
_HONOURS = tuple(np.int64(sum(1 << (_RANKS * suit + rank) for suit in range(4))) for rank in range(9, _RANKS))


@kernel
def high_card_points(cards):
    """Four for an ace, three for a king, two for a queen, one for a jack."""
    jacks, queens, kings, aces = _HONOURS
    return size(cards & jacks) + 2 * size(cards & queens) + 3 * size(cards & kings) + 4 * size(cards & aces)


@kernel
def _level(strain, points):
    """The level of a contract that a side with so many points can hope to make."""
    if points >= 33:
        return 7 if points >= 37 else 6
    if strain == NOTRUMP:
        return 3 if points >= 25 else 2 if points >= 23 else 1
    if strain >= HEARTS:
        return 4 if points >= 25 else 3 if points >= 23 else 2
    return 5 if points >= 29 else 3 if points >= 23 else 2


@game
class Bridge(NamedTuple):
    """Parameters: the contract that is dealt, what counts, and who sees what."""

    seats: int = 4
    strain: int = NOTRUMP
    level: int = 3
    declarer: int = SOUTH
    doubled: int = 0
    vulnerable: bool = False
    scoring: int = TRICKS
    double_dummy: bool = False
    contract: int = NAMED

    state = np.dtype(
        [
            *(("hands", "i8", (4,)), ("gone", "i8", (4,))),
            *(("played", "i8"), ("follow", "i8"), ("trumps", "i8")),
            *(("voids", "i2", (4,)), ("best", "i2"), ("tricks", "i1", (4,)), ("table", "i1", (4,))),
            *((name, "i1") for name in ("phase", "on_table", "turn", "led", "winning", "left")),
            *((name, "i1") for name in ("strain", "level", "declarer", "doubled", "vulnerable")),
            *(("promised", "i1"), ("points", "i1", (4, 2)), ("lengths", "i1", (4, 4, 2))),
        ],
        align=True,
    )
    max_moves = _RANKS * 4
    max_plies = _CARDS
    plan = unseen.PLAN
    expert = "pimc" if dds.is_installed() else "ismcts:20000"
    expert_misses = "" if dds.is_installed() else "dds"
    choices = {
        "seats": (4,),
        "strain": {
            "clubs": CLUBS,
            "diamonds": DIAMONDS,
            "hearts": HEARTS,
            "spades": SPADES,
            "notrump": NOTRUMP,
            "any": ANY,
        },
        "level": {**{str(level): level for level in range(1, 8)}, "any": ANY},
        "declarer": {"north": NORTH, "east": EAST, "south": SOUTH, "west": WEST, "any": ANY},
        "doubled": {"no": 0, "doubled": 1, "redoubled": 2},
        "scoring": {"tricks": TRICKS, "duplicate": DUPLICATE},
        "contract": {"named": NAMED, "minibridge": MINIBRIDGE},
    }
    for_play = {"contract=minibridge": ("strain", "level", "declarer")}
    help = {
        "strain": "what is trump; any: drawn with every deal",
        "level": "of the contract: six tricks more are to be made",
        "declarer": "who plays the contract",
        "doubled": "whether the contract is doubled",
        "vulnerable": "whether declarer's side is vulnerable",
        "scoring": "tricks of each side, or the score of duplicate bridge",
        "double_dummy": "all hands are open",
        "contract": "named by strain, level and declarer, or set by the cards as in minibridge",
    }

    # --- the course of play ---

    def deck(game):
        """The mask of all cards."""
        return _DECK

    def suit_of(game, card):
        return card // _RANKS

    def suit_cards(game, suit):
        """The mask of a suit."""
        return _SUIT << (suit * _RANKS)

    def deal(game, state, rng):
        """Deal all cards, and draw what the contract leaves open."""
        cards = _DECK
        for seat in range(3):
            state.hands[seat] = random_subset(rng, cards, _RANKS)
            cards &= ~state.hands[seat]
        state.hands[WEST] = cards
        strain = game.strain if game.strain != ANY else below(rng, 5)
        state.strain = strain
        state.level = game.level if game.level != ANY else 1 + below(rng, 7)
        state.declarer = game.declarer if game.declarer != ANY else below(rng, 4)
        state.doubled = game.doubled
        state.vulnerable = game.vulnerable
        if game.contract == MINIBRIDGE:
            game.set_contract(state)
        game.open_play(state)

    def set_contract(game, state):
        """The contract that suits the cards, as in minibridge.

        The side with more points declares, of its two seats the one with more. Trump is its longest major of
        eight cards or more; else its longest minor of nine or more, unless it has the points for 3 notrump;
        else there is none. Each trump beyond the eighth counts one point. How high: see `_level`.
        """
        north, south = high_card_points(state.hands[NORTH]), high_card_points(state.hands[SOUTH])
        east, west = high_card_points(state.hands[EAST]), high_card_points(state.hands[WEST])
        side = EAST if east + west > north + south else NORTH
        first, second = (east, west) if side == EAST else (north, south)
        cards = state.hands[side] | state.hands[side + 2]
        strain, longest, points = np.int64(NOTRUMP), 7, first + second
        for suit in (SPADES, HEARTS, DIAMONDS, CLUBS):
            length = size(cards & game.suit_cards(np.int64(suit)))
            is_minor = suit < HEARTS
            if is_minor and (strain in (SPADES, HEARTS) or length < 9 or 25 <= points < 29):
                continue
            if length > longest:
                strain, longest = np.int64(suit), length
        if strain != NOTRUMP:
            points += longest - 8
        state.strain = strain
        state.level = _level(strain, points)
        state.declarer = side if first >= second else side + 2

    def open_play(game, state):
        """Let the seat left of declarer lead: a position with hands and contract becomes one in play."""
        for seat in range(4):
            state.gone[seat] = 0
            state.voids[seat] = 0
            state.tricks[seat] = 0
            state.table[seat] = NO_CARD
        state.played = 0
        state.follow = _DECK
        state.trumps = 0 if state.strain == NOTRUMP else game.suit_cards(np.int64(state.strain))
        state.on_table = 0
        state.left = _RANKS
        state.turn = tricks.next_seat(game, np.int64(state.declarer))
        state.phase = PLAYING

    def dummy(game, state):
        return (np.int64(state.declarer) + 2) & 3

    def mover(game, state):
        """Declarer, when dummy is to play."""
        if state.phase != PLAYING:
            return CHANCE
        return np.int64(state.declarer) if state.turn == game.dummy(state) else np.int64(state.turn)

    def is_over(game, state):
        return state.phase == OVER

    def legal(game, state, moves):
        """Cards that follow suit, or any."""
        return list_cards(tricks.playable(state), moves, 0)

    def random_move(game, state, moves, rng):
        return random_card(rng, tricks.playable(state))

    def play(game, state, move):
        """Put a card on the table, declarer dummy's too."""
        tricks.put(game, state, move)
        if state.left == 0:
            state.phase = OVER

    def team(game, seat):
        return seat & 1

    def made(game, state, side):
        """The tricks that a side has taken."""
        return np.int64(state.tricks[side]) + np.int64(state.tricks[side + 2])

    def returns(game, state, out):
        """The tricks of the seat's side, or the score of duplicate bridge, which the others lose."""
        side = game.team(np.int64(state.declarer))
        score = 0.0
        if game.scoring == DUPLICATE and state.phase == OVER:
            score = duplicate_score(state, game.made(state, side))
        for seat in range(4):
            if game.scoring == TRICKS:
                out[seat] = game.made(state, game.team(seat))
            else:
                out[seat] = score if game.team(seat) == side else -score

    def score_range(game):
        """Thirteen undertricks, redoubled and vulnerable, are the most that can be lost or won."""
        return (0.0, 13.0) if game.scoring == TRICKS else (-7600.0, 7600.0)

    # --- what a seat sees ---

    def hide(game, state, seat):
        """Take away the hands of the others, but for dummy's after the lead."""
        if game.double_dummy or state.phase != PLAYING:
            return
        for other in range(4):
            is_open = other == game.dummy(state) and state.played != 0
            if other != seat and not is_open:
                state.hands[other] = 0

    def label(game, state, move, observer):
        """The card; the lead shows dummy's hand too."""
        dummy = game.dummy(state)
        if state.played != 0 or game.double_dummy or observer == dummy:
            return move
        return state.hands[dummy] << 6 | move

    def blanks(game, view, seat):
        """How many cards of a hand are not known."""
        return tricks.held(game, view, seat) - size(view.hands[seat])

    def barred(game, view, seat):
        """The cards that a seat is known not to have."""
        return tricks.barred(game, view, seat)

    def unseen(game, view):
        """The mask of the cards that are neither played nor in a hand that is seen."""
        return tricks.not_seen(game, view)

    def prepare(game, view, seat, plan):
        """Count in how many ways the unseen cards can lie."""
        unseen.prepare(plan, game, view, game.unseen(view))

    def sample(game, view, seat, plan, rng):
        """Deal the unseen cards; again, while a hand is not what the auction has promised.

        So all deals that keep the promises are equally likely. Where none is found in `TRIES` deals, the
        auction cannot be believed, and the last one stands.
        """
        unseen.deal(plan, view.hands, 4, rng)
        tries = 1
        while view.promised != 0 and tries < TRIES and not game.keeps_promises(view):
            for other in range(4):
                if plan.need[other] > 0:
                    view.hands[other] &= ~plan.unseen
            unseen.deal(plan, view.hands, 4, rng)
            tries += 1

    def keeps_promises(game, world):
        """Whether every hand, with the cards that it has played, is what the auction has told of it."""
        for other in range(4):
            if (world.promised >> other) & 1 != 0:
                cards = world.hands[other] | world.gone[other]
                if not world.points[other, 0] <= high_card_points(cards) <= world.points[other, 1]:
                    return False
                for suit in range(4):
                    length = size(cards & game.suit_cards(suit))
                    if not world.lengths[other, suit, 0] <= length <= world.lengths[other, suit, 1]:
                        return False
        return True

    # --- search ---

    def possible(game, view, moves):
        """Every card of the hand that is known, or every unseen card that it may hold and play."""
        if game.blanks(view, view.turn) == 0:
            return game.legal(view, moves)
        return tricks.possible(game, view, moves)

    def grant(game, view, move, rng):
        """Put the card into the hand to play from."""
        if game.blanks(view, view.turn) > 0:
            view.hands[view.turn] |= _ONE << move

    def promising(game, state, moves):
        """Of cards that take the same tricks the lowest."""
        return tricks.touching(game, state, moves)

    def exact_values(game, states):
        """The tricks of the mover's side at the end of the play, by the double-dummy solver."""
        from kibitz.games.bridge import dds

        moves = np.zeros(game.max_moves, np.int64)
        for state, values in zip(states, dds.card_values(states), strict=True):
            made = int(game.made(state, int(game.team(game.mover(state)))))
            yield [float(made + values[move]) for move in moves[: game.legal(state, moves)].tolist()]

    # --- numbered moves ---

    def every_move(game):
        return range(_CARDS)

    # --- how people see it ---

    def move_text(game, move):
        return text.CARDS.text(move)

    def tell(game, state, move, observer):
        """The card, which everybody sees."""
        return game.move_text(move)

    def seat_name(game, seat):
        return text.SEATS[seat]

    def usual_seat(game, state):
        """Declarer: dummy decides nothing, and whoever defends sees little of the plan."""
        return int(state.declarer)

    def announce(game, state, observer):
        """Dummy, when declarer plays its cards."""
        turn = int(state.turn)
        if turn == int(game.dummy(state)):
            return f"{text.SEATS[turn]} (dummy)"
        return "you" if turn == observer else text.SEATS[turn]

    def introduce(game, state, seat):
        """The contract, and where it comes from."""
        is_set = game.contract == MINIBRIDGE
        how = ", set by the cards as in minibridge (bridge:strain=spades,level=4 names one)" if is_set else ""
        return f"There is no bidding yet. The contract is {text.contract_text(state)}{how}."

    def describe_result(game, state, seat):
        """The contract, the tricks and the score of duplicate bridge."""
        return text.result_text(state, int(game.made(state, int(game.team(int(state.declarer))))))

    def parse_move(game, words):
        return text.CARDS.parse(words)

    def parse_position(game, words):
        """The first board of a PBN or LIN file, or a deal as PBN writes it; see `solution.boards_of`.

        A board without a contract gets the one of the game's parameters.
        """
        from kibitz.games.bridge import board as boards
        from kibitz.games.bridge import files, solution

        board = boards.all_right(islice(solution.each_board_of(game, words), 1))[0]
        drawn = {name: getattr(game, name) for name in ("level", "strain", "declarer", "doubled")}
        is_named = game.contract == NAMED
        known = {name: value for name, value in drawn.items() if is_named and value != ANY}
        state = files.position(board, game, **known)
        record = state.record
        if record.phase == PLAYING and game.blanks(record, np.int64(record.turn)) > 0:
            raise ParseError(f"{text.SEATS[int(record.turn)]} is to play, and its hand is not given")
        return state

    def note(game, state, words):
        """What the auction has told."""
        auction.promise(state, words)

    def picture(game, view, seat):
        return text.picture(game, view, seat)

    def inventory(game, state):
        places = [*(int(hand) for hand in state["hands"]), int(state["played"])]
        if state["phase"] == DEALING:
            places = [int(_DECK)]
        return sorted(card for mask in places for card in range(_CARDS) if mask >> card & 1)
