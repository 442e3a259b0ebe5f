"""Tichu: the whole game, with calls, exchange, wish, gift of the Dragon and bombs at any time.

The play of the cards is that of Mini-Tichu, and so are the fields of a position, which
`kibitz.games.tichu.round` describes. Beside them there are

| field    | meaning                                                                         |
|----------|---------------------------------------------------------------------------------|
| `eight`  | the first eight cards of each seat, until all have decided on Grand Tichu       |
| `called` | what each seat has called: 0 nothing, 1 Tichu, 2 Grand Tichu                    |
| `gave`   | the card that a seat gave, plus one, to the next seat, its partner, the previous one |
| `wish`   | the rank that is wished, or 0                                                   |
| `denied` | the ranks that a seat is known not to have, as it did not fulfil a wish          |
| `next`   | who is to play when nobody bombs; the trick's last player: he takes it          |
| `scores` | the points of both sides, `gained` those of the last round                      |
| `rounds` | how many have been played                                                       |
| `phase`  | what is to be decided, see below                                                |

All fourteen cards are dealt at once, but until the calls of Grand Tichu are made a seat sees eight of its
own. So a search for that call deals the other six like all cards that are not seen.

A bomb may be played at any time. After every play, and before a trick is taken, those who hold one that
is high enough are asked in the order of the seats. Nobody else notices that there was a question.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.belief import unseen
from kibitz.bits import lowest, random_card, random_subset, size
from kibitz.games.tichu import catalogue, prediction, text
from kibitz.games.tichu.any_play import count_kinds, nth_play, total
from kibitz.games.tichu.combinations import (
    ACE,
    BOMB,
    DECK,
    DOG,
    DRAGON,
    MAH_JONG,
    NOTHING,
    PASS,
    SINGLE,
    cards_of,
    has_bomb,
    list_answers,
    list_bombs,
    list_leads,
    of_rank,
    rank_mask,
)
from kibitz.games.tichu.decisions import (
    card_to_give,
    is_worth_a_bomb,
    is_worth_grand_tichu,
    is_worth_tichu,
    opponent_to_reward,
    rank_to_wish,
)
from kibitz.games.tichu.holding import trade
from kibitz.games.tichu.margin import OBJECTIVES
from kibitz.games.tichu.round import (
    FEW_CARDS,
    FIELDS,
    add_to_hand,
    begin_play,
    cards_left,
    count_round,
    deal_hands,
    go_out,
    is_double_victory,
    lead_from,
    next_to_play,
    partner,
    put_down,
    take_trick,
    unseen_cards,
)
from kibitz.games.tichu.sense import promising_plays, sensible_play, without_suits
from kibitz.games.tichu.text import GIFT, GIVE, GRAND_TICHU, NO_BOMB, NO_CALL, TICHU, WISH
from kibitz.kernel import game, inlined
from kibitz.protocol import CHANCE, SILENT, UNNOTICED
from kibitz.rng import among, below, next_word

DEALING, GRAND, BEFORE, EXCHANGE, AFTER, PLAYING, WISHING, BOMBING, GIVING, OVER = range(10)
ASKING, COUNTING = 10, 11
"""What a move leaves to be done: ask who can bomb, count the round. No position that is seen is in these."""
MOST_ROUNDS = 40
"""A game to a number of points ends here at the latest: sides that call at random never get there."""
SOME_CARD = -1
"""In a view: a card was given, but it is not known which."""
_OUT_OF_TURN = np.int64(60)
_LEARNED, _CALL = np.int64(1 << 61), np.int64(57)
_ONE = np.int64(1)


@game
class Tichu(NamedTuple):
    """Parameters."""

    seats: int = 4
    target: int = 0
    calls: bool = True
    phoenix_led: int = 3

    state = np.dtype(
        [
            *FIELDS,
            *(("eight", "i8", (4,)), ("denied", "i2", (4,))),
            *(("scores", "i2", (2,)), ("gained", "i2", (2,))),
            *(("called", "i1", (4,)), ("gave", "i1", (4, 3))),
            *((name, "i1") for name in ("wish", "next", "rounds")),
            *(("calls_made", "i1", (4, 2)), ("calls_won", "i1", (4, 2)), ("doubles", "i1", (2,))),
        ],
        align=True,
    )
    max_moves = 2560
    objectives = OBJECTIVES
    expert = "ismcts:4000,objective=ahead,playout=sensible,c=0.6,merge=true,prune=true"
    plan = unseen.PLAN
    situations = prediction.SITUATIONS
    choices = {"seats": (4,), "phoenix_led": {"0.5": 1, "1.5": 3}}
    help = {
        "target": "the points that a side needs to win; 0: one round",
        "calls": "whether Tichu and Grand Tichu can be called",
        "phoenix_led": "what the Phoenix counts when it is led alone: below the Mah Jong, or above",
    }
    counted = ("rounds", "tichu", "tichu_won", "grand_tichu", "grand_tichu_won", "double_victories")
    shares = {"tichu_won": "tichu", "grand_tichu_won": "grand_tichu", "double_victories": "rounds"}

    def validate(game):
        from kibitz.errors import BadOption

        if not 0 <= game.target <= 10_000:
            raise BadOption(
                f"target={game.target} cannot be played; give 0, one round, or up to 10000 points"
            )

    @property
    def max_plies(game):
        return 512 * (MOST_ROUNDS if game.target > 0 else 1)

    # --- the course of play ---

    def deal(game, state, rng):
        """Deal a round: eight cards each, and six more that are not seen yet."""
        for seat in range(4):
            state.finished[seat] = state.called[seat] = state.denied[seat] = state.won[seat] = 0
            state.gone[seat] = 0
            for k in range(3):
                state.gave[seat, k] = 0
        state.played = state.top = state.ply = 0
        state.kind = state.length = state.height = state.pile = 0
        state.last = state.starter = state.turn = state.next = state.wish = 0
        deal_hands(state, rng)
        if game.calls:
            for seat in range(4):
                state.eight[seat] = random_subset(rng, state.hands[seat], 8)
            state.phase = GRAND
        else:
            state.phase = EXCHANGE

    def mover(game, state):
        return CHANCE if state.phase == DEALING or state.phase == OVER else np.int64(state.turn)

    def is_over(game, state):
        return state.phase == OVER

    def may_call(game, state, seat):
        """Tichu may be called until one's own first card is played, while nobody is out."""
        out = 0
        for other in range(4):
            out += np.int64(state.finished[other])
        return game.calls and out == 0 and state.called[seat] == 0 and state.left[seat] == 14

    def legal(game, state, moves):
        seat = np.int64(state.turn)
        if state.phase == PLAYING:
            return game.legal_plays(state, seat, moves)
        moves[0] = NO_CALL
        if state.phase == GRAND:
            moves[1] = GRAND_TICHU
            return 2
        if state.phase == BEFORE or state.phase == AFTER:
            moves[1] = TICHU
            return 2
        if state.phase == BOMBING:
            moves[0] = NO_BOMB + seat
            return game.list_higher_bombs(state, seat, moves, 1)
        if state.phase == GIVING:
            moves[0], moves[1] = GIFT + ((seat + 1) & 3), GIFT + ((seat + 3) & 3)
            return 2
        n = 0
        if state.phase == WISHING:
            for rank in range(ACE + 1):
                if rank != 1:
                    moves[n] = WISH + rank
                    n += 1
            return n
        cards = state.hands[seat] & ~game.given_by(state, seat)  # EXCHANGE
        while cards != 0:
            moves[n] = GIVE + lowest(cards)
            cards &= cards - 1
            n += 1
        return n

    def legal_plays(game, state, seat, moves):
        """Any combination to lead; a higher one, a bomb or a pass to follow; or what fulfils the wish."""
        hand = state.hands[seat]
        if state.kind == NOTHING:
            n = list_leads(hand, moves)
        else:
            moves[0] = PASS
            kind, length, height = np.int64(state.kind), np.int64(state.length), np.int64(state.height)
            n = list_answers(hand, kind, length, height, moves, 1)
        wish = np.int64(state.wish)
        if wish != 0 and of_rank(hand, wish) != 0:
            fulfilling = 0
            for i in range(n):
                if of_rank(cards_of(moves[i]), wish) != 0:
                    moves[fulfilling] = moves[i]
                    fulfilling += 1
            n = fulfilling if fulfilling > 0 else n
        if game.may_call(state, seat):
            moves[n] = TICHU
            n += 1
        return n

    def list_higher_bombs(game, state, seat, moves, n):
        """The bombs of a seat that beat what lies on the table."""
        if state.kind == BOMB:
            return list_bombs(state.hands[seat], np.int64(state.length), np.int64(state.height), moves, n)
        return list_bombs(state.hands[seat], 0, 0, moves, n)

    def play(game, state, move):
        seat, asked = np.int64(state.turn), np.int64(0)
        if state.phase == PLAYING or state.phase == BOMBING:
            if move == TICHU:
                state.called[seat] = 1
            elif move == NO_BOMB + seat:
                asked = ((seat - np.int64(state.last) - 1) & 3) + 1
                state.phase = ASKING
            else:
                game.play_cards(state, seat, move)
        elif state.phase == WISHING:
            state.wish = move - WISH
            game.after_play(state, seat)
        elif state.phase == GIVING:
            take_trick(state, move - GIFT)
            if state.finished[seat] != 0 and state.finished[partner(seat)] != 0:
                state.phase = COUNTING
            else:
                game.next_trick(state, seat)
        elif state.phase == EXCHANGE:
            game.put_aside(state, seat, move - GIVE)
        else:
            if move != NO_CALL:
                state.called[seat] = 2 if move == GRAND_TICHU else 1
            game.ask_for_calls(state, seat + 1)
        # Many moves lead to these two; here they stand in a program once, which a GPU likes.
        if state.phase == ASKING:
            game.ask_for_bombs(state, asked)
        if state.phase == COUNTING:
            game.count_points(state)

    def ask_for_calls(game, state, seat):
        """The next seat that can still call is asked; after the last one the round goes on."""
        while True:
            while seat < 4 and state.called[seat] != 0:
                seat += 1
            if seat < 4:
                state.turn = seat
                return
            if state.phase != GRAND:
                break
            state.phase = BEFORE
            seat = 0
            for other in range(4):
                state.eight[other] = 0
        if state.phase == BEFORE:
            state.phase = EXCHANGE
            state.turn = 0
        else:
            game.begin_tricks(state)

    def is_last_asked(game, state, seat):
        """Whether nobody behind a seat can call."""
        waiting = 0
        for other in range(seat + 1, 4):
            waiting += np.int64(state.called[other] == 0)
        return waiting == 0

    def begin_tricks(game, state):
        """The play of the cards begins."""
        begin_play(state)
        state.next = state.turn
        state.phase = PLAYING

    def given_by(game, state, seat):
        """The cards that a seat has given away, or is about to."""
        cards = np.int64(0)
        for k in range(3):
            if state.gave[seat, k] != 0:
                cards |= _ONE << np.int64(state.gave[seat, k] - 1)
        return cards

    def put_aside(game, state, seat, card):
        """Put a card aside for the next seat, the partner, the previous one; all change hands at once."""
        given = size(game.given_by(state, seat))
        state.gave[seat, given] = card + 1
        if given < 2:
            return
        if seat < 3:
            state.turn = seat + 1
            return
        for giver in range(4):
            for k in range(3):
                bit = _ONE << np.int64(state.gave[giver, k] - 1)
                state.hands[giver] &= ~bit
                state.hands[(giver + 1 + k) & 3] |= bit
        state.phase = AFTER
        if game.calls:
            game.ask_for_calls(state, 0)
        else:
            game.begin_tricks(state)

    def play_cards(game, state, seat, move):
        """Put down a combination, or pass."""
        cards = cards_of(move)
        state.ply += 1
        if state.wish != 0:
            game.heed_wish(state, seat, cards)
        if move == PASS:
            state.next = next_to_play(state, seat)
            if state.next == state.last:
                state.phase = ASKING
            else:
                state.turn = state.next
            return
        put_down(state, seat, move, game.phoenix_led)
        if state.left[seat] == 0 and go_out(state, seat):
            game.end_round(state, seat)
        elif move == DOG:
            game.next_trick(state, partner(seat))
        elif cards & MAH_JONG != 0:
            state.phase = WISHING
        else:
            game.after_play(state, seat)

    def heed_wish(game, state, seat, cards):
        """A wish ends when it is fulfilled; who leads or follows a lower single otherwise lacks the rank."""
        wish = np.int64(state.wish)
        if of_rank(cards, wish) != 0:
            state.wish = 0
        elif state.phase == PLAYING and (
            state.kind == NOTHING or (state.kind == SINGLE and state.height < 2 * wish)
        ):
            state.denied[seat] |= _ONE << wish

    def after_play(game, state, seat):
        """Who holds a bomb may play it; then it is the next one's turn."""
        state.next = next_to_play(state, seat)
        state.phase = ASKING

    def ask_for_bombs(game, state, asked):
        """Ask who can bomb out of turn, from the seat behind the trick's last player on to himself.

        So many have been asked before. Whoever is to play next can bomb then.
        """
        last = np.int64(state.last)
        for k in range(asked, 4):
            seat = (last + 1 + k) & 3
            if (seat != state.next or seat == last) and game.can_bomb(state, seat):
                state.phase = BOMBING
                state.turn = seat
                return
        game.go_on(state)

    def go_on(game, state):
        """Nobody bombs: the next one is to play, or the trick is taken."""
        last = np.int64(state.last)
        state.phase = PLAYING
        if state.next != last:
            state.turn = state.next
        elif state.top == DRAGON:
            state.phase = GIVING
            state.turn = last
        else:
            take_trick(state, last)
            game.next_trick(state, last)

    def can_bomb(game, state, seat):
        """Whether a seat holds a bomb that beats what lies on the table."""
        length, height = np.int64(state.length), np.int64(state.height)
        if state.kind != BOMB:
            length = height = np.int64(0)
        return has_bomb(state.hands[seat], length, height)

    def next_trick(game, state, seat):
        """`seat` leads, or the next one that has cards."""
        lead_from(state, seat)
        state.next = state.turn
        state.phase = PLAYING

    def end_round(game, state, seat):
        """Both partners are out; a Dragon that lies on top is still given away."""
        if state.top == DRAGON and not is_double_victory(state):
            state.phase = GIVING
        else:
            take_trick(state, seat)
            state.phase = COUNTING

    def count_points(game, state):
        """Add the points of the round: cards or double victory, and the calls."""
        state.gained[0], state.gained[1] = count_round(state)
        for seat in range(4):
            if state.called[seat] != 0:
                kind = np.int64(state.called[seat]) - 1
                is_first = np.int64(state.finished[seat] == 1)
                state.gained[seat & 1] += 100 * (kind + 1) * (2 * is_first - 1)
                state.calls_made[seat, kind] += 1
                state.calls_won[seat, kind] += is_first
            if state.finished[seat] == 1 and state.finished[partner(seat)] == 2:
                state.doubles[seat & 1] += 1
        for side in range(2):
            state.scores[side] += state.gained[side]
        state.rounds += 1
        a, b = state.scores[0], state.scores[1]
        is_won = (a >= game.target or b >= game.target) and a != b
        state.phase = OVER if game.target == 0 or is_won or state.rounds == MOST_ROUNDS else DEALING

    def team(game, seat):
        return seat & 1

    def returns(game, state, out):
        """The points of each side after the rounds that are finished."""
        for seat in range(4):
            out[seat] = state.scores[seat & 1]

    def score_range(game):
        """In a round: two failed Grand Tichus and the Phoenix, or a double victory and a Grand Tichu."""
        if game.target == 0:
            return -425.0, 400.0
        return -425.0 * MOST_ROUNDS, game.target + 400.0

    def tally(game, state, out):
        for seat in range(4):
            out[seat, 0] = state.rounds
            for kind in range(2):
                out[seat, 1 + 2 * kind] = state.calls_made[seat, kind]
                out[seat, 2 + 2 * kind] = state.calls_won[seat, kind]
            out[seat, 5] = state.doubles[seat & 1]

    @inlined
    def random_move(game, state, moves, rng):
        """Any legal move; none is listed."""
        seat = np.int64(state.turn)
        if state.phase == PLAYING or state.phase == BOMBING:
            return game.random_play(state, seat, rng)
        if state.phase == EXCHANGE:
            return GIVE + random_card(rng, state.hands[seat] & ~game.given_by(state, seat))
        if state.phase == WISHING:
            number = below(rng, ACE)  # none, or a rank from 2 on
            return WISH + number + np.int64(number > 0)
        number = below(rng, 2)
        if state.phase == GIVING:
            return GIFT + ((seat + 1 + 2 * number) & 3)
        if number == 0:
            return np.int64(NO_CALL)
        return np.int64(GRAND_TICHU if state.phase == GRAND else TICHU)

    def random_play(game, state, seat, rng):
        """Any play, pass or call of Tichu; out of turn any bomb or none."""
        word = next_word(rng)  # drawn while the plays are counted, not after
        hand, wished, may_call = state.hands[seat], np.int64(0), np.int64(0)
        kind, length, height = np.int64(state.kind), np.int64(state.length), np.int64(state.height)
        if state.phase == PLAYING:
            wished = hand & rank_mask(state.wish) if state.wish != 0 else wished
            may_call = np.int64(game.may_call(state, seat))
        elif kind != BOMB:
            kind, length, height = np.int64(BOMB), np.int64(4), np.int64(0)  # all bombs are above this one
        # What does not fulfil a wish is what can be played without the wished cards: it is counted first.
        cards, n_others = hand & ~wished, np.int64(0)
        while True:  # once, or twice if there is a wish; so that it stands in a program once
            counts = count_kinds(cards, kind, length, height)
            if cards == hand:
                break
            cards, n_others = hand, total(counts)
        n = total(counts)
        if n == n_others:  # the wish cannot be fulfilled
            wished = n_others = np.int64(0)
        number = among(word, n - n_others + may_call)
        if number == n - n_others:
            return np.int64(TICHU)
        while True:  # any play, until one fulfils the wish
            number = number if wished == 0 else below(rng, n)
            move = nth_play(hand, kind, length, height, counts, number)
            if wished == 0 or cards_of(move) & wished != 0:
                break
        return NO_BOMB + seat if move == PASS and state.phase == BOMBING else move

    # --- how it is played well ---

    def sensible_move(game, state, moves, rng):
        seat = np.int64(state.turn)
        if state.phase == PLAYING:
            if game.may_call(state, seat) and is_worth_tichu(state, seat, moves):
                return np.int64(TICHU)
            return game.sensible_or_wished(state, seat, moves, rng)
        return game.sensible_decision(state, seat, moves)

    def sensible_decision(game, state, seat, moves):
        """What is not a play of cards in turn."""
        if state.phase == GRAND:
            return np.int64(GRAND_TICHU if is_worth_grand_tichu(state, seat) else NO_CALL)
        if state.phase == EXCHANGE:
            given = game.given_by(state, seat)
            return GIVE + card_to_give(state.hands[seat] & ~given, size(given) == 1, moves)
        if state.phase == WISHING:
            return WISH + rank_to_wish(state, seat)
        if state.phase == GIVING:
            return GIFT + opponent_to_reward(state, seat)
        if state.phase == BOMBING:
            n = game.legal(state, moves)
            return moves[n - 1] if is_worth_a_bomb(state, seat) else np.int64(NO_BOMB + seat)
        return np.int64(NO_CALL)  # Tichu can wait for the first turn

    def sensible_or_wished(game, state, seat, moves, rng):
        """As in Mini-Tichu, but for the wish."""
        play = sensible_play(state, moves, rng)
        wish = np.int64(state.wish)
        if wish == 0 or of_rank(state.hands[seat], wish) == 0 or of_rank(cards_of(play), wish) != 0:
            return play
        n = game.legal_plays(state, seat, moves)
        for i in range(n):
            if moves[i] == play:
                return play
        return moves[0]

    def promising(game, state, moves):
        """Plays as in Mini-Tichu, and whether to bomb; calls, gifts and the wish are made by thumb."""
        seat = np.int64(state.turn)
        if state.phase == BOMBING or state.phase == GIVING:
            return game.legal(state, moves)
        if state.phase != PLAYING:
            moves[0] = game.sensible_decision(state, seat, moves)
            return 1
        may_call = game.may_call(state, seat)
        if may_call and is_worth_tichu(state, seat, moves):
            moves[0] = TICHU
            return 1
        n = game.legal_plays(state, seat, moves)
        return promising_plays(state, moves, n - 1 if may_call else n)

    def alike(game, state, move):
        """Plays of the same ranks that leave the same bombs."""
        is_play = move < TICHU and move != PASS
        return without_suits(state.hands[state.turn], move) if is_play else np.int64(move)

    # --- what a seat sees ---

    def label(game, state, move, observer):
        """What is given is not seen until all have given; who does not bomb is not even asked aloud."""
        seat = np.int64(state.turn)
        if state.phase == GRAND and seat == 3:  # everyone takes six more cards
            is_call = np.int64(move == GRAND_TICHU)
            return _LEARNED | is_call << _CALL | state.hands[observer] & ~state.eight[observer]
        if state.phase == AFTER and game.is_last_asked(state, seat):
            return _LEARNED | np.int64(move == TICHU) << _CALL | game.who_leads(state, 56)
        if state.phase == EXCHANGE:
            if seat == 3 and state.gave[3, 1] != 0:
                return game.received(state, move - GIVE, observer)
            return np.int64(move) if observer == seat else np.int64(SILENT)
        if state.phase == BOMBING and move != NO_BOMB + seat:
            return np.int64(move) | (seat + 4) << _OUT_OF_TURN
        return np.int64(UNNOTICED if state.phase == BOMBING and observer != seat else move)

    def received(game, state, card, observer):
        """A code of the three cards that a seat gets, of its own last gift, and of who leads if told."""
        code = np.int64(card if observer == 3 else 56)
        for k in range(3):
            code = 64 * code + game.gift(state, (observer + 3 - k) & 3, k, card)
        return _LEARNED + 4 * code + (0 if game.calls else game.who_leads(state, card))

    def gift(game, state, giver, k, last):
        """The card that a seat has put aside for another; `last` is the last one of all."""
        return np.int64(last) if giver == 3 and k == 2 else np.int64(state.gave[giver, k]) - 1

    def who_leads(game, state, last):
        """Who has the Mah Jong, or gets it with the gifts; `last` is the last one of all."""
        for seat in range(4):
            if state.hands[seat] & MAH_JONG != 0:
                for k in range(3):
                    if state.phase == EXCHANGE and game.gift(state, seat, k, last) == 0:
                        return (seat + 1 + k) & 3
                return seat
        return 0

    def hide(game, state, seat):
        """Take away what only others know; the cards given to them, and who has the Mah Jong, are known."""
        for other in range(4):
            if other == seat:
                if state.phase == GRAND:
                    state.hands[other] = state.eight[other]
                continue
            state.eight[other] = 0
            known = np.int64(0)
            if state.phase > EXCHANGE:
                given = np.int64(state.gave[seat, (other - seat + 3) & 3])
                known = _ONE << (given - 1) if given > 0 else known
                if state.phase > AFTER and other == state.starter:
                    known |= MAH_JONG
            state.hands[other] &= known
            for k in range(3):
                is_seen = state.phase > EXCHANGE and (other + 1 + k) & 3 == seat
                if state.gave[other, k] != 0 and not is_seen:
                    state.gave[other, k] = SOME_CARD
        if state.phase == BOMBING and state.turn != seat:
            game.go_on(state)

    def blanks(game, view, seat):
        """How many cards of a hand are not known."""
        return np.int64(view.left[seat]) - size(view.hands[seat])

    def barred(game, view, seat):
        """The cards that a seat is known not to have: it did not fulfil a wish."""
        ranks = np.int64(view.denied[seat])
        cards = np.int64(0)
        while ranks != 0:
            cards |= rank_mask(lowest(ranks))
            ranks &= ranks - 1
        return cards

    def prepare(game, view, seat, plan):
        """Count the cards that are not seen."""
        unseen.prepare(plan, game, view, unseen_cards(view))

    def sample(game, view, seat, plan, rng):
        """Deal the unseen cards; who has given something gave any of the cards that he can have given."""
        unseen.deal(plan, view.hands, 4, rng)
        for other in range(4):
            if other == seat:
                continue
            if view.phase == GRAND:
                view.eight[other] = random_subset(rng, view.hands[other], 8)
            elif view.phase == EXCHANGE:
                game.draw_gifts(view, other, rng)
        if view.phase > EXCHANGE:
            game.draw_exchange(view, seat, rng)

    def rearrange(game, world, seat, plan, rng):
        """Make worlds as frequent as they are likely by what each seat has played."""
        if world.phase > AFTER:
            trade(game, world, seat, plan.unseen, rng)
            game.draw_exchange(world, seat, rng)

    def fill(game, view, seat, card):
        """Let a seat have a card."""
        add_to_hand(view, seat, card)

    def worlds_left(game, view, seat):
        """The number of ways to deal the unseen cards, if few are left to play and nobody denied a wish.

        Who gave what to whom does not matter any more.
        """
        for other in range(4):
            if view.denied[other] != 0:
                return 0
        return unseen.ways_to_deal(game, view, 4) if cards_left(view) <= FEW_CARDS else 0

    def world(game, view, seat, number):
        """Deal the unseen cards, in order, as world `number` has them."""
        unseen.deal_way(game, view, 4, unseen_cards(view), number)

    def draw_gifts(game, view, giver, rng):
        """Let a seat have put aside any of its cards."""
        cards = view.hands[giver]
        for k in range(3):
            if view.gave[giver, k] == SOME_CARD:
                card = random_card(rng, cards)
                cards &= ~(_ONE << card)
                view.gave[giver, k] = card + 1

    def draw_exchange(game, view, seat, rng):
        """Let the others have got any of the cards that they can have got."""
        for other in range(4):
            if other != seat:
                game.draw_received(view, seat, other, rng)

    def draw_received(game, view, seat, receiver, rng):
        """Let any two of a seat's cards have come from the other two; what `seat` gave it is known."""
        cards = view.hands[receiver] | view.gone[receiver]
        for k in range(3):
            giver = (receiver + 3 - k) & 3
            if giver == seat:
                cards &= ~(_ONE << np.int64(view.gave[seat, k] - 1))
        for k in range(3):
            giver = (receiver + 3 - k) & 3
            if giver != seat:
                card = random_card(rng, cards)
                cards &= ~(_ONE << card)
                view.gave[giver, k] = card + 1

    def lesson(game, state, moves):
        """Whether the next player can beat what lies on the table, if nobody bombs before."""
        if state.phase != PLAYING and (state.phase != BOMBING or state.next == state.last):
            return -1
        return prediction.lesson(state, np.int64(state.next), moves)

    def shows(game, state, move):
        """Who plays had a higher combination; who passes may have one."""
        return np.int64(move != PASS) if state.phase == PLAYING and move < TICHU else -1

    def predict(game, view, seat, move, chances, moves, rng):
        """Give the next player a higher combination as often as learned, when cards are played."""
        if move < TICHU:
            prediction.predict(game, view, seat, move, chances, moves, rng)

    # --- numbered moves ---

    def every_move(game):
        return [*catalogue.plays(), *catalogue.other_moves()]

    def filed(game, move):
        """Plays of the same ranks share a number, unless they are bombs."""
        return catalogue.by_ranks(move)

    # --- how people see it ---

    def move_text(game, move):
        return text.move_text(int(move))

    def parse_move(game, words):
        return text.parse_move(words)

    def tell(game, state, move, observer):
        return text.tell(game, state, int(move), observer)

    def picture(game, view, seat):
        told = text.picture(game, view, seat)
        if view["phase"] == EXCHANGE and view["turn"] == seat:
            receiver = (seat + 1 + np.count_nonzero(view["gave"][seat])) & 3
            told += f", a card for seat {receiver}"
        return told

    def inventory(game, state):
        cards = int(DECK) if state["rounds"] + state["played"] == 0 else int(state["played"])
        for hand in state["hands"]:
            cards |= int(hand)
        return [card for card in range(56) if cards >> card & 1]
