"""DiminishingBridge, the Dutch Boerenbridge, a kind of Oh Hell, for two to eight seats.

A game is a sequence of rounds with one scoreboard. Everyone gets the same number of cards, in each
round one card fewer; a card that was not dealt is turned up and names the trump suit. Then everyone
says how many tricks he will take, the dealer last, and not the number that would make all bids come
true together ("screw the dealer"). Suit must be followed; the highest trump takes the trick, else
the highest card of the suit led. Who takes exactly as many tricks as he bid gets K points and one for
every trick, anybody else loses a point for every trick too many or too few.

Position, one record:

| field       | meaning                                                                  |
|-------------|--------------------------------------------------------------------------|
| `hands`     | masks of cards; what a seat cannot see is missing                        |
| `played`    | mask of the cards played in this round; `gone`: by each seat             |
| `follow`    | mask of the suit led, of all cards while nobody has led                  |
| `trumps`    | mask of the trump suit, empty if there is none                           |
| `scores`    | the scoreboard; `gained` what the last finished round brought            |
| `bids`      | `NO_BID` if not made yet, `SECRET` if made and not known                 |
| `tricks`    | taken in this round                                                      |
| `voids`     | mask of the suits that a seat has shown not to have                      |
| `made`      | bids made so far in the game; `earnable`: points, had all of them been   |
| `table`     | the cards of the trick, `on_table` of them, in the order of play         |
| `phase`     | `DEALING`, `BIDDING`, `PLAYING` or `OVER`                                |
| `number`    | of the round, from 0; `cards` each seat gets in it, `left` each has      |
| `shown`     | the card turned up, `NO_CARD` if none                                    |
| `turn`      | the seat to bid or play; `led` the suit led                              |
| `best`      | strength of the card that wins the trick so far, `winning` its seat      |
| `victor`    | the seat that has won an absolute victory, else −1                       |

T. Snelleman, *Strategic Gambling in DiminishingBridge*, bachelor thesis, LIACS, Leiden University,
2020. `published=true` repeats three faults of the program behind its tables: the dealer may not bid
S − r instead of r − S; the first round is played with a trump suit, of which no card is shown; and
the card turned up is not a random one but the next from a random place on (`turn_up=next` alone).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.belief import unseen
from kibitz.bits import list_cards, lowest, random_card, random_subset, size
from kibitz.errors import BadOption
from kibitz.games import tricks
from kibitz.games.diminishing_bridge import text
from kibitz.games.diminishing_bridge.bids import likelihood_of_bids
from kibitz.games.diminishing_bridge.scoreboard import OBJECTIVES
from kibitz.games.diminishing_bridge.sense import (
    PREDICTABLE,
    TUNED,
    promising_bids,
    sensible_bid,
    sensible_card,
    trust,
)
from kibitz.games.tricks import NO_CARD
from kibitz.kernel import game, inlined
from kibitz.protocol import CHANCE, SILENT
from kibitz.rng import below, uniform

MOST_SEATS, MOST_CARDS, MOST_SUITS = 8, 63, 8
DEALING, BIDDING, PLAYING, OVER = 0, 1, 2, 3
FALLING, RISING, FALLING_RISING = 0, 1, 2
RANDOM, NEXT = 0, 1
NO_BID, SECRET = -1, -2
UNSEEN = 63
"""The move of a seat that does not see its own card (Devil's Bridge)."""
BID = 64
"""Move `BID + b` bids b tricks; lower moves are cards."""

_ONE, _ALL = np.int64(1), np.int64(-1)
# card * _RECIPROCAL[ranks] >> 16 is the suit: a division that costs no more than a product.
_RECIPROCAL = np.array([0] + [(1 << 16) // ranks + 1 for ranks in range(1, MOST_CARDS + 1)], np.int64)


@game
class DiminishingBridge(NamedTuple):
    """Parameters: the deck (`suits` × `ranks`), the rounds, the score and the variations."""

    seats: int = 4
    suits: int = 4
    ranks: int = 13
    cards: int = 0
    rounds: int = 0
    order: int = FALLING
    twice: bool = True
    first_trump: bool = True
    turn_up: int = RANDOM
    screw: bool = True
    K: int = 10
    trick_factor: int = 1
    losing_factor: int = 1
    devils: bool = False
    luciferen: bool = False
    absolute: int = 1
    published: bool = False

    state = np.dtype(
        [
            *(("hands", "i8", (MOST_SEATS,)), ("gone", "i8", (MOST_SEATS,))),
            *(("played", "i8"), ("follow", "i8"), ("trumps", "i8")),
            *(("scores", "i4", (MOST_SEATS,)), ("earnable", "i4", (MOST_SEATS,))),
            *(("gained", "i2", (MOST_SEATS,)), ("voids", "i2", (MOST_SEATS,)), ("best", "i2")),
            *((name, "i1", (MOST_SEATS,)) for name in ("bids", "tricks", "made", "table")),
            *((name, "i1") for name in ("phase", "number", "cards", "left", "shown", "turn", "led")),
            *((name, "i1") for name in ("on_table", "winning", "victor")),
        ],
        align=True,
    )
    max_moves = MOST_CARDS + 1
    plan = unseen.PLAN
    choices = {
        "seats": tuple(range(2, MOST_SEATS + 1)),
        "suits": tuple(range(1, MOST_SUITS + 1)),
        "order": {"falling": FALLING, "rising": RISING, "falling-rising": FALLING_RISING},
        "turn_up": {"random": RANDOM, "next": NEXT},
    }
    help = {
        "suits": "suits of the deck",
        "ranks": "ranks of a suit",
        "cards": "cards each in the largest round; 0: as many as the deck gives",
        "rounds": "how many sizes of rounds are played, from the largest; 0: all",
        "order": "falling, rising, or falling and then rising",
        "twice": "falling and rising: the smallest round is played twice",
        "first_trump": "show a trump card in the largest round too, if one is left over",
        "turn_up": "which undealt card names the trump suit: any, or the next from a random place on in the "
        "order of suits and ranks",
        "screw": "screw the dealer: he may not make the bids add up to the tricks",
        "K": "points for a bid made",
        "trick_factor": "points for a trick, if the bid is made",
        "losing_factor": "points lost for a trick too many or too few",
        "devils": "Devil's Bridge: with one card each, one sees all cards but one's own",
        "luciferen": "secret bids, shown together; the dealer may bid anything",
        "absolute": "the game ends when nobody can catch up any more, if so many rounds are left; 0: never",
        "published": "with the three faults of the program behind the thesis's tables",
    }
    objectives = OBJECTIVES
    expert = "boerenbridge:5000"
    counted = ("absolute_victories", "rounds", "bids_made", "earnable")
    shares = {"absolute_victories": "games", "bids_made": "rounds"}

    # --- the sizes of things ---

    def validate(game):
        """Whether the parameters make a game."""
        if game.ranks < 1 or game.suits * game.ranks > MOST_CARDS:
            raise BadOption(
                f"a deck of {game.suits} suits of {game.ranks} ranks cannot be used; "
                f"suits × ranks is at most {MOST_CARDS}"
            )
        if game.deck_size() < game.seats:
            raise BadOption(
                f"{game.deck_size()} cards are too few for {game.seats} seats; take more suits or ranks"
            )
        if not 0 <= game.cards <= game.deck_size() // game.seats:
            raise BadOption(
                f"{game.cards} cards cannot be dealt from {game.deck_size()} to each of {game.seats} seats; "
                f"give 1 to {game.deck_size() // game.seats}, or 0 for as many as there are"
            )
        if not 0 <= game.rounds <= game.largest():
            raise BadOption(f"rounds={game.rounds} cannot be used; give 1 to {game.largest()}, or 0 for all")
        for name in ("K", "trick_factor", "losing_factor", "absolute"):
            if not 0 <= getattr(game, name) <= 100:
                raise BadOption(f"{name}={getattr(game, name)} cannot be used; give 0 to 100")

    @property
    def max_plies(game):
        return sum(game.seats * (game.size_of(i) + 1) for i in range(game.number_of_rounds()))

    def deck_size(game):
        return game.suits * game.ranks

    @inlined
    def deck(game):
        """The mask of all cards."""
        return ~(_ALL << game.deck_size())

    def largest(game):
        """The cards of a seat in the largest round."""
        return game.cards if game.cards > 0 else game.deck_size() // game.seats

    def smallest(game):
        """The cards of a seat in the smallest round."""
        return game.largest() - game.rounds + 1 if game.rounds > 0 else 1

    def number_of_rounds(game):
        sizes = game.largest() - game.smallest() + 1
        if game.order == FALLING_RISING:
            return 2 * sizes - (0 if game.twice else 1)
        return sizes

    @inlined
    def size_of(game, number):
        """The cards of a seat in a round, by its number from 0."""
        if game.order == RISING:
            return game.smallest() + number
        sizes = game.largest() - game.smallest() + 1
        if number < sizes:
            return game.largest() - number
        return game.smallest() + number - sizes + (0 if game.twice else 1)

    def suit_of(game, card):
        return (card * _RECIPROCAL[game.ranks]) >> 16

    def suit_cards(game, suit):
        """The mask of a suit."""
        return ~(_ALL << game.ranks) << (suit * game.ranks)

    # --- the course of play ---

    def deal(game, state, rng):
        """Deal the next round; the seat behind the dealer bids and leads first."""
        cards = game.size_of(np.int64(state.number))
        left = game.deck()
        state.follow = left
        for seat in range(game.seats):
            if (seat + 1) * cards == game.deck_size():
                state.hands[seat] = left
            else:
                state.hands[seat] = random_subset(rng, left, cards)
            left &= ~state.hands[seat]
            state.gone[seat] = 0
            state.bids[seat] = NO_BID
            state.tricks[seat] = 0
            state.voids[seat] = 0
            state.table[seat] = NO_CARD
        state.shown, state.trumps = NO_CARD, 0
        if left != 0 and (game.first_trump or cards < game.largest()):
            shown = game.turned_up(left, rng)
            state.shown = shown
            state.trumps = game.suit_cards(game.suit_of(shown))
        elif game.published and state.number == 0:
            state.trumps = game.suit_cards(below(rng, game.suits))
        state.played = 0
        state.cards = state.left = cards
        state.on_table = 0
        state.turn = state.number % game.seats
        state.victor = -1
        state.phase = BIDDING

    def turned_up(game, undealt, rng):
        """The card that names the trump suit."""
        if game.turn_up == RANDOM and not game.published:
            return random_card(rng, undealt)
        place = below(rng, game.deck_size())
        from_there = undealt & (_ALL << place)
        return lowest(from_there if from_there != 0 else undealt)

    def mover(game, state):
        return np.int64(state.turn) if state.phase == BIDDING or state.phase == PLAYING else CHANCE

    def is_over(game, state):
        return state.phase == OVER

    def dealer(game, state):
        return (state.number + game.seats - 1) % game.seats

    def forbidden(game, state):
        """The bid that the mover may not make; −1 if there is none."""
        return game.forbidden_to(state, state.turn)

    def forbidden_to(game, state, seat):
        """The bid that a seat may not make, or might not, with all others known; −1 if there is none."""
        if not game.screw or game.luciferen or seat != game.dealer(state):
            return -1
        others = 0
        for other in range(game.seats):
            if other != seat:
                others += state.bids[other]
        return others - state.cards if game.published else state.cards - others

    def legal(game, state, moves):
        """All bids but the forbidden one; then cards that follow suit, or any."""
        n = 0
        if state.phase == BIDDING:
            forbidden = game.forbidden(state)
            for bid in range(state.cards + 1):
                if bid != forbidden:
                    moves[n] = BID + bid
                    n += 1
            return n
        if game.is_blind(state):
            moves[0] = UNSEEN
            return 1
        return list_cards(tricks.playable(state), moves, 0)

    def is_blind(game, state):
        """Whether nobody sees his own card in this round."""
        return game.devils and state.cards == 1

    @inlined
    def random_move(game, state, moves, rng):
        if state.phase == PLAYING:
            return random_card(rng, tricks.playable(state)) if not game.is_blind(state) else UNSEEN
        forbidden = game.forbidden(state)
        if 0 <= forbidden <= state.cards:
            bid = below(rng, state.cards)
            return BID + (bid if bid < forbidden else bid + 1)
        return BID + below(rng, state.cards + 1)

    @inlined
    def play(game, state, move):
        """Make a bid, or put a card on the table; the last one of a trick completes it."""
        seat = np.int64(state.turn)
        if state.phase == BIDDING:
            state.bids[seat] = move - BID
            state.turn = tricks.next_seat(game, seat)
            if seat == game.dealer(state):
                state.phase = PLAYING
            return
        tricks.put(game, state, lowest(state.hands[seat]) if move == UNSEEN else move)
        if state.left == 0:
            game.finish_round(state)

    def finish_round(game, state):
        """Write the scores down."""
        for seat in range(game.seats):
            bid, tricks = np.int64(state.bids[seat]), np.int64(state.tricks[seat])
            if bid == tricks:
                gained = game.K + game.trick_factor * tricks
                state.made[seat] += 1
            else:
                gained = -game.losing_factor * abs(bid - tricks)
            state.gained[seat] = gained
            state.scores[seat] += gained
            state.earnable[seat] += game.K + game.trick_factor * bid
        state.number += 1
        state.victor = game.absolute_victor(state)
        is_last = state.number == game.number_of_rounds()
        state.phase = OVER if is_last or state.victor >= 0 else DEALING

    def absolute_victor(game, state):
        """The seat that nobody can catch up with in the rounds that are left, else −1.

        For the published tables that was tested with two or more rounds left.
        """
        rounds_left = game.number_of_rounds() - state.number
        if game.absolute == 0 or rounds_left < (max(2, game.absolute) if game.published else game.absolute):
            return -1
        leader = 0
        for seat in range(1, game.seats):
            if state.scores[seat] > state.scores[leader]:
                leader = seat
        lost = won = 0  # the most that the leader can lose, and another win
        for number in range(state.number, game.number_of_rounds()):
            lost += game.losing_factor * game.size_of(number)
            won += game.K + game.trick_factor * game.size_of(number)
        for seat in range(game.seats):
            if seat != leader and state.scores[leader] - lost <= state.scores[seat] + won:
                return -1
        return leader

    def returns(game, state, out):
        """The scoreboard."""
        for seat in range(game.seats):
            out[seat] = state.scores[seat]

    def score_range(game):
        low = high = 0.0
        for number in range(game.number_of_rounds()):
            low -= game.losing_factor * game.size_of(number)
            high += game.K + game.trick_factor * game.size_of(number)
        return low, high

    def tally(game, state, out):
        """What is counted besides the score: absolute victories, rounds, bids made, earnable points."""
        for seat in range(game.seats):
            out[seat, 0] = 1.0 if state.victor == seat else 0.0
            out[seat, 1] = state.number
            out[seat, 2] = state.made[seat]
            out[seat, 3] = state.earnable[seat]

    # --- what a seat sees ---

    def hide(game, state, seat):
        """Take away the other hands; Devil's Bridge: one's own. Secret bids, while others bid."""
        blind = game.is_blind(state) and state.phase != DEALING
        for other in range(game.seats):
            if (other == seat) == blind:
                state.hands[other] = 0
            secret = game.luciferen and state.phase == BIDDING and other != seat
            if secret and state.bids[other] != NO_BID:
                state.bids[other] = SECRET

    def held(game, state, seat):
        """How many cards a seat has in its hand."""
        if state.phase != BIDDING and state.phase != PLAYING:
            return 0
        return tricks.held(game, state, seat)

    def blanks(game, view, seat):
        """How many cards of a hand are not known."""
        return game.held(view, seat) - size(view.hands[seat])

    def barred(game, view, seat):
        """The cards that a seat is known not to have."""
        return tricks.barred(game, view, seat)

    def unseen(game, view):
        """The mask of the cards that are neither played nor shown nor in a hand that is seen."""
        cards = tricks.not_seen(game, view)
        return cards & ~(_ONE << np.int64(view.shown)) if view.shown != NO_CARD else cards

    def prepare(game, view, seat, plan):
        """Count in how many ways the unseen cards can lie."""
        unseen.prepare(plan, game, view, game.unseen(view))

    def sample(game, view, seat, plan, rng):
        """Deal the unseen cards; a secret bid is any that can be made."""
        unseen.deal(plan, view.hands, game.seats, rng)
        if game.luciferen and view.phase == BIDDING:
            for other in range(game.seats):
                if view.bids[other] == SECRET:
                    view.bids[other] = below(rng, view.cards + 1)

    def likelihood(game, world, seat):
        return likelihood_of_bids(game, world, seat) if not game.is_blind(world) else 1.0

    def label(game, state, move, observer):
        """The bid or card; a secret bid is silent, until the last one reveals them all, and a card
        that its owner has not seen is seen by everybody."""
        if move == UNSEEN:
            return lowest(state.hands[state.turn])
        if not game.luciferen or state.phase != BIDDING:
            return move
        if state.turn != game.dealer(state):
            return move if observer == state.turn else SILENT
        bids = move
        for seat in range(game.seats):
            if seat != state.turn:
                bids = bids * (MOST_CARDS + 1) + np.int64(state.bids[seat])
        return bids

    # --- search over possible moves ---

    def possible(game, view, moves):
        """Every card of the mover that is known, or every unseen card that it may hold and play."""
        seat = view.turn
        if view.phase == BIDDING or game.is_blind(view) or game.blanks(view, seat) == 0:
            return game.legal(view, moves)
        return tricks.possible(game, view, moves)

    def grant(game, view, move, rng):
        """Put the card into the mover's hand; an unseen card of one's own is drawn."""
        if view.phase == PLAYING and game.blanks(view, view.turn) > 0:
            card = random_card(rng, game.unseen(view)) if move == UNSEEN else move
            view.hands[view.turn] |= _ONE << card

    # --- rules of thumb ---

    def promising(game, state, moves):
        """Bids near the worth of the hand; of cards with nothing between them that could matter, neither
        on the table nor to come, the lowest."""
        if state.phase == BIDDING:
            return promising_bids(game, state, moves)
        if game.is_blind(state):
            return game.legal(state, moves)
        return tricks.touching(game, state, moves)

    def sensible_move(game, state, moves, rng):
        if state.phase == BIDDING:
            return BID + sensible_bid(game, state, TUNED)
        return UNSEEN if game.is_blind(state) else sensible_card(game, state, TUNED)

    def playout_move(game, state, moves, rng):
        """Sensible, as far as the bids that the seat has made speak for it."""
        if state.phase == PLAYING and uniform(rng) >= PREDICTABLE * trust(state, state.turn):
            return game.random_move(state, moves, rng)
        return game.sensible_move(state, moves, rng)

    # --- numbered moves ---

    def every_move(game):
        """All cards, the card that is not seen, and all bids."""
        unseen = [UNSEEN] if game.devils else []
        return [*range(game.deck_size()), *unseen, *(BID + bid for bid in range(game.largest() + 1))]

    # --- how people see it ---

    def move_text(game, move):
        return text.move_text(game, move)

    def tell(game, state, move, observer):
        """A card that its owner has not seen is seen by all, a secret bid by nobody else."""
        learned = int(game.label(state, move, observer))
        if learned == SILENT:
            return ""
        return game.move_text(learned if move == UNSEEN else move)

    def parse_move(game, words):
        return text.parse_move(game, words)

    def picture(game, view, seat):
        return text.picture(game, view, seat)

    def inventory(game, state):
        places = [*(int(hand) for hand in state["hands"]), int(state["played"])]
        places += [1 << int(state["shown"])] if state["phase"] != DEALING and state["shown"] >= 0 else []
        if state["phase"] == DEALING or state["phase"] == OVER:
            places = []
        rest = int(game.deck())
        for cards in places:
            rest &= ~cards
        return sorted(c for mask in [*places, rest] for c in range(game.deck_size()) if mask >> c & 1)
