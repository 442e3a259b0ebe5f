"""Rules of thumb for DiminishingBridge: a bid and a card, from nothing but what the mover sees.

They are quick, for they are the playout policy too. The bid is the worth of the hand, card by card.
Who still needs tricks takes them: with the highest card, with the lowest one that does it if nobody
plays behind. Who does not need any gets rid of the highest card that loses.
"""

from __future__ import annotations

import math

import numpy as np

from kibitz.bits import lowest, nth, random_card, size
from kibitz.kernel import kernel

_ONE = np.int64(1)
_TRUMP = _BID = 64
_SPREAD = 0.5  # of bids around the worth of a hand
_CARELESS = 0.5  # the share of cards that others choose for reasons not known here


@kernel
def mover_sees(game, state):
    """The mask of the cards that the mover does not see."""
    seen = state.played | state.hands[state.turn]
    if state.shown >= 0:
        seen |= _ONE << np.int64(state.shown)
    return game.deck() & ~seen


@kernel
def hand_worth(game, state, hand, played, left):
    """The tricks that a hand can be expected to take, of the `left` that are played for.

    A card's chance is logistic in the cards above it, and the trumps, that others can be expected to
    hold, in the length of its suit in the hand and in the number of tricks; fitted to the means of
    random playouts on many deals of decks of 24 to 52 cards with three to six seats.
    """
    seen = played | hand
    if state.shown >= 0:
        seen |= _ONE << np.int64(state.shown)
    unseen = game.deck() & ~seen
    in_play = min(1.0, left * (game.seats - 1) / max(1, size(unseen)))
    trumps = size(unseen & state.trumps) * in_play
    for_tricks = 2.86 * math.log(max(1, left)) - 4.11
    worth = 0.0
    rest = hand
    while rest != 0:
        card = lowest(rest)
        rest &= rest - 1
        suit, bit = game.suit_cards(game.suit_of(card)), _ONE << card
        above = size(unseen & suit & ~(bit | (bit - 1))) * in_play
        length = size(hand & suit)
        if suit == state.trumps:
            z = 0.78 - 0.74 * above + 0.48 * length
        else:
            z = for_tricks - 0.89 * above - 0.08 * trumps - 0.4 * length
        worth += 1.0 / (1.0 + math.exp(-z))
    return worth


@kernel
def worth_to_mover(game, state):
    """The tricks that the mover's hand can be expected to take."""
    return hand_worth(game, state, state.hands[state.turn], state.played, np.int64(state.left))


@kernel
def sensible_bid(game, state):
    """The worth of the hand, to the nearest allowed number."""
    tricks = 1.0 / game.seats if game.is_blind(state) else worth_to_mover(game, state)
    forbidden = game.forbidden(state)
    best = -1
    for bid in range(state.cards + 1):
        if bid != forbidden and (best < 0 or abs(bid - tricks) < abs(best - tricks)):
            best = bid
    return best


@kernel
def promising_bids(game, state, moves):
    """The allowed bids that are no more than one and a half tricks off the worth of the hand."""
    if game.is_blind(state):
        return game.legal(state, moves)
    worth = worth_to_mover(game, state)
    forbidden = game.forbidden(state)
    n = 0
    for bid in range(state.cards + 1):
        if bid != forbidden and abs(bid - worth) <= 1.5:
            moves[n] = _BID + bid
            n += 1
    return n if n > 0 else game.legal(state, moves)


# --- cards ----------------------------------------------------------------------------------------


@kernel
def takers(trumps, follow, best, cards):
    """Those of `cards` that beat the strength `best`; all of them, if nothing lies on the table."""
    if best < 0:
        return cards
    if best >= _TRUMP:
        return cards & trumps & ~((_ONE << (best - _TRUMP)) - 1)
    return cards & (trumps | (follow & ~((_ONE << best) - 1)))


@kernel
def intention(cards, winners, leads, is_last, wants):
    """Which of the cards are thought of, and whether the highest or the lowest of them is played."""
    losers = cards & ~winners
    if wants:
        return (winners, not is_last) if winners != 0 else (cards, False)
    if leads:
        return cards, False
    return (losers, True) if losers != 0 else (cards, is_last)


@kernel
def sensible_card(game, state, rng):
    """A card that takes the trick if tricks are needed, else one that does not."""
    seat = state.turn
    cards = game.playable(state)
    if cards & (cards - 1) == 0:
        return lowest(cards)
    leads = state.on_table == 0
    best = -1 if leads else np.int64(state.best)
    winners = takers(state.trumps, state.follow, best, cards)
    wants = state.tricks[seat] < state.bids[seat]
    cards, high = intention(cards, winners, leads, state.on_table + 1 == game.seats, wants)
    suit = cards & game.suit_cards(game.suit_of(random_card(rng, cards)))
    return nth(suit, size(suit) - 1) if high else lowest(suit)


# --- what bids and cards tell of hands ------------------------------------------------------------


@kernel
def likelihood_of_round(game, world, seat):
    """How well the hands of a world explain what the others have bid and played in this round.

    The round is taken back card by card, and at each one it is asked how likely its owner would have
    chosen it from the hand that he has in this world: by these rules of thumb, or carelessly. What he
    has then is the hand that he was dealt, whose worth should be near his bid.
    """
    played = (np.int64(world.cards) - np.int64(world.left)) * game.seats + np.int64(world.on_table)
    log = 0.0
    for i in range(played - 1, -1, -1):
        owner = who_played(game, world, i)
        card = _ONE << np.int64(world.line[i])
        if (i + 1) % game.seats == 0:
            world.tricks[who_won(game, world, i, played)] -= 1
        world.hands[owner] |= card
        if owner != seat:
            log += math.log(chance_of_card(game, world, owner, i, card))
    for other in range(game.seats):
        if other != seat and world.bids[other] >= 0:
            worth = hand_worth(game, world, world.hands[other], 0, np.int64(world.cards))
            off = (np.int64(world.bids[other]) - worth) / _SPREAD
            log -= 0.5 * off * off
    for i in range(played):
        world.hands[who_played(game, world, i)] &= ~(_ONE << np.int64(world.line[i]))
        if (i + 1) % game.seats == 0:
            world.tricks[who_won(game, world, i, played)] += 1
    return math.exp(log)


@kernel
def who_played(game, world, i):
    """The seat of card `i` of the round."""
    return (np.int64(world.leaders[i // game.seats]) + i) % game.seats


@kernel
def who_won(game, world, i, played):
    """The seat that won the trick which card `i` has ended: it leads the next."""
    return np.int64(world.leaders[(i + 1) // game.seats] if i + 1 < played else world.turn)


@kernel
def chance_of_card(game, world, owner, i, card):
    """How likely `owner` plays card `i` of the round, with the hand that he has now."""
    lead = i // game.seats * game.seats
    follow, best = game.deck(), np.int64(-1)
    for k in range(lead, i):
        other = np.int64(world.line[k])
        bit = _ONE << other
        if k == lead:
            follow = game.suit_cards(game.suit_of(other))
        strength = other + _TRUMP if bit & world.trumps != 0 else other
        if bit & (world.trumps | follow) != 0 and strength > best:
            best = strength
    hand = world.hands[owner]
    cards = hand & follow if hand & follow != 0 else hand
    if cards & (cards - 1) == 0:
        return 1.0
    wants = world.tricks[owner] < world.bids[owner]
    winners = takers(world.trumps, follow, best, cards)
    thought_of, high = intention(cards, winners, i == lead, i + 1 == lead + game.seats, wants)
    chance = _CARELESS / size(cards)
    if thought_of & card != 0:
        suit = thought_of & game.suit_cards(game.suit_of(lowest(card)))
        better = suit & ~(card | (card - 1)) if high else suit & (card - 1)
        if better == 0:
            chance += (1.0 - _CARELESS) * size(suit) / size(thought_of)
    return chance
