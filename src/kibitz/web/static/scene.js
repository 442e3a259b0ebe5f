// @ts-check
// What a game's module makes of a position, so that one board can draw all games; and what trick games share.

/** @import { Deck } from "./cards.js" */
/** @import { ChairShown, EventShown, PositionShown, Welcome } from "./protocol.js" */

import { isRed } from "./cards.js";
import { settings } from "./settings.js";

/**
 * What the table knows and can do.
 * @typedef {object} Shown
 * @property {Welcome} welcome
 * @property {PositionShown} position
 * @property {ChairShown[]} chairs
 * @property {EventShown[]} events
 * @property {number[]} selected the cards that were picked for a move of several cards, in order
 * @property {(move: string) => void} play make a legal move
 * @property {(texts: string[]) => void} playAll make several moves one after the other, by their texts
 * @property {(cards: number[]) => void} select pick cards
 * @property {(seat: number) => string} who a seat by name
 * @property {(seat: number) => string} player who sits there, where the name does not say it
 */

/**
 * A card that lies open: in one's hand, or in another that one sees.
 * @typedef {object} OpenCard
 * @property {number} card
 * @property {boolean} can whether it can be chosen now
 * @property {boolean} [picked] whether it is picked; undefined where cards are played at once
 * @property {(() => void) | null} act what happens when it is chosen; null: it is not one's own to play
 */

/**
 * @typedef {object} SeatScene
 * @property {number} hidden how many cards lie face down
 * @property {OpenCard[]} open
 * @property {string[]} chips what the seat is: dealer, dummy, partner
 * @property {string} said its last word: a bid, a pass, a call
 * @property {string} told tricks or points
 */

/**
 * @typedef {object} Laid
 * @property {number} seat
 * @property {number[]} cards
 * @property {boolean} best
 */

/**
 * @typedef {object} Choice
 * @property {string} key
 * @property {string} text
 * @property {string} [label] for those who listen, where the text is short
 * @property {boolean} [main]
 * @property {string} [why] why it cannot be chosen; it can, if there is none
 * @property {() => void} act
 */

/**
 * @typedef {object} Scene
 * @property {Deck} deck
 * @property {number | null} turn whose cards are to be played
 * @property {SeatScene[]} seats
 * @property {OpenCard[]} hand one's own, sorted
 * @property {Laid[]} trick
 * @property {{laid: Laid[], count: number} | null} last the last finished trick, and how many there were
 * @property {{cards: (number | null)[], text: string}[]} asides
 * @property {[string, string][]} facts
 * @property {{head: string[], rows: string[][]}} score
 * @property {Choice[]} choices
 * @property {string} prompt what one has to do, when it is one's turn
 * @property {string} why why a card that cannot be played cannot
 * @property {boolean} isPlay whether it is cards that are asked for
 * @property {(tricks: number) => string} [against] so many tricks of the mover's side, against the contract
 * @property {Set<number>} [leads] the numbers of the events with which tricks begin
 * @property {Map<number, number>} [owners] whose cards were played, by the number of the event, where that is not who moved
 */

/** A remainder that is never negative. @param {number} a @param {number} n */
export const mod = (a, n) => ((a % n) + n) % n;

/** The options that a game's text sets. @param {string} game @returns {Record<string, string>} */
export function optionsOf(game) {
  const set = game.includes(":") ? game.slice(game.indexOf(":") + 1) : "";
  return Object.fromEntries(set.split(",").filter(Boolean).map((pair) => pair.split("=")));
}

/** The cards of a set; what is not known is empty. @param {string | number | null | undefined} mask @returns {number[]} */
export function cardsOf(mask) {
  const found = [];
  for (let left = BigInt(mask ?? 0), card = 0; left > 0n; left >>= 1n, card++) if (left & 1n) found.push(card);
  return found;
}

/**
 * A hand in order: by suits whose colours alternate, trumps first where that can be, or by rank.
 * @param {Deck} deck @param {number[]} cards @param {number | null} [trump]
 */
export function sorted(deck, cards, trump = null) {
  const byRank = (/** @type {number} */ a, /** @type {number} */ b) => deck.rank(b) - deck.rank(a) || deck.suit(b) - deck.suit(a);
  if (settings.sort === "rank") return [...cards].sort(byRank);
  const suits = [...new Set(cards.map(deck.suit))].sort((a, b) => Number(b === trump) - Number(a === trump) || b - a);
  const red = suits.filter((suit) => isRed(deck, suit));
  const other = suits.filter((suit) => !isRed(deck, suit));
  const isRedFirst = red.length > other.length || (red.length === other.length && red.includes(suits[0]));
  const [first, second] = isRedFirst ? [red, other] : [other, red];
  const order = first.flatMap((suit, i) => (i < second.length ? [suit, second[i]] : [suit]));
  return [...cards].sort((a, b) => order.indexOf(deck.suit(a)) - order.indexOf(deck.suit(b)) || deck.rank(b) - deck.rank(a));
}

/**
 * Cards that are played at once, the legal ones marked.
 * @param {Shown} shown @param {number[]} cards @param {boolean} isOwn whether one plays them at all
 * @returns {OpenCard[]}
 */
export function playable(shown, cards, isOwn) {
  const legal = new Set(shown.position.moves.map(({ move }) => move));
  return cards.map((card) => ({
    card,
    can: isOwn && legal.has(String(card)),
    act: isOwn ? () => shown.play(String(card)) : null,
  }));
}

/**
 * What was told and still holds: who takes a move back takes back all that came after it, too.
 * @param {EventShown[]} events
 */
export function standing(events) {
  /** @type {EventShown[]} */
  const kept = [];
  for (const event of events) {
    const isOwn = (/** @type {EventShown} */ { kind, seat, text }) =>
      seat === event.seat && (kind === "move" || kind === "secret") && !text.startsWith("no bomb");
    if (event.kind !== "undo") kept.push(event);
    else if (kept.some(isOwn)) kept.length = kept.findLastIndex(isOwn);
  }
  return kept;
}

/**
 * The trick on the table and the last one, in games in which everybody plays one card to a trick.
 * @param {Shown} shown @param {Deck} deck
 * @param {{declarer?: number}} [options] who plays for his partner, too
 * @returns {{trick: Laid[], last: {laid: Laid[], count: number} | null, owners: Map<number, number>, leads: Set<number>}}
 */
export function tricks(shown, deck, { declarer = -1 } = {}) {
  const { fields } = shown.position;
  const n = shown.chairs.length;
  const plays = standing(shown.events).flatMap(({ kind, seat, text, number }) => {
    const card = kind === "move" ? deck.read(text) : null;
    return card === null || seat === null ? [] : [{ card, seat, number }];
  });
  const leader = mod(fields.turn - fields.on_table, n);
  const trick = Array.from({ length: fields.on_table }, (_, i) => {
    const seat = (leader + i) % n;
    return { seat, cards: [fields.table[i]], best: seat === fields.winning };
  });
  const count = Math.floor((plays.length - fields.on_table) / n);
  // A declarer plays two hands: who sits before the second player has led.
  const led = (/** @type {number} */ at) => (at >= n * count ? leader
    : plays[at].seat === declarer ? mod(plays[at + 1].seat - 1, n) : plays[at].seat);
  const owners = new Map(plays.map(({ number }, at) => [number, (led(at - (at % n)) + (at % n)) % n]));
  const leads = new Set(plays.filter((_, at) => at % n === 0).map(({ number }) => number));
  if (!count) return { trick, last: null, owners, leads };
  const winner = fields.on_table ? leader : fields.winning;
  const laid = plays.slice(n * (count - 1), n * count).map(({ card, number }) => {
    const seat = /** @type {number} */ (owners.get(number));
    return { seat, cards: [card], best: seat === winner };
  });
  return { trick, last: { laid, count }, owners, leads };
}

/** How many cards a seat holds, in games that follow kibitz/games/tricks.py. @param {any} fields @param {number} seat @param {number} n */
export function held(fields, seat, n) {
  const ago = mod(fields.turn - seat, n);
  return fields.left - (ago > 0 && ago <= fields.on_table ? 1 : 0);
}

/**
 * What is to be played: the suit that was led, if one has it.
 * @param {Shown} shown @param {Deck} deck @param {number[]} hand @param {string} [from]
 */
export function toFollow(shown, deck, hand, from = "") {
  const { fields } = shown.position;
  if (!fields.on_table) return { prompt: `Your turn: lead${from}`, why: "" };
  const suit = deck.suits[fields.led];
  const has = hand.some((card) => deck.suit(card) === fields.led);
  return has
    ? { prompt: `Your turn: follow ${suit}${from}`, why: `You must follow ${suit}.` }
    : { prompt: `Your turn: no ${suit}, play any card${from}`, why: "" };
}
