// @ts-check
// DiminishingBridge: a bidding box, the card turned up, bids and tricks.

/** @import { Choice, Scene, Shown } from "./scene.js" */

import { french } from "./cards.js";
import { cardsOf, held, mod, optionsOf, playable, sorted, toFollow, tricks } from "./scene.js";

const [BIDDING, PLAYING] = [1, 2];
const [UNSEEN, BID] = [63, 64];
const [NO_BID, SECRET] = [-1, -2];

/** @param {Shown} shown @returns {Scene} */
export function diminishing(shown) {
  const { fields, moves } = shown.position;
  const options = optionsOf(shown.welcome.game);
  const deck = french(Number(options.suits ?? 4), Number(options.ranks ?? 13));
  const me = shown.welcome.seat;
  const n = shown.chairs.length;
  const isOn = fields.phase === BIDDING || fields.phase === PLAYING;
  const trumps = cardsOf(fields.trumps);
  const trump = trumps.length ? deck.suit(trumps[0]) : null;
  const known = (/** @type {number} */ seat) => (isOn ? cardsOf(fields.hands?.[seat]) : []);
  const bid = (/** @type {number} */ seat) =>
    fields.bids[seat] === NO_BID ? "" : fields.bids[seat] === SECRET ? "has bid" : `bid ${fields.bids[seat]}`;
  const own = me === null ? [] : sorted(deck, known(me), trump);
  const isBidding = moves.length > 0 && fields.phase === BIDDING;
  const follow = toFollow(shown, deck, own);
  return {
    ...tricks(shown, deck),
    deck,
    isPlay: fields.phase === PLAYING,
    turn: shown.position.turn,
    seats: shown.chairs.map((_, seat) => ({
      hidden: isOn ? held(fields, seat, n) - known(seat).length : 0,
      open: seat === me ? [] : playable(shown, sorted(deck, known(seat), trump), false),
      chips: isOn && seat === mod(fields.number - 1, n) ? ["dealer"] : [],
      said: isOn && fields.phase === BIDDING ? bid(seat) : "",
      told: isOn && fields.phase === PLAYING ? `${fields.tricks[seat]} of ${fields.bids[seat]}` : `${fields.scores[seat]} points`,
    })),
    hand: playable(shown, own, true),
    asides: isOn && fields.shown >= 0 ? [{ cards: [fields.shown], text: `trump ${deck.suits[deck.suit(fields.shown)]}` }] : [],
    facts: isOn
      ? [["Round", String(fields.number + 1)], ["Cards", String(fields.cards)],
        ["Trump", trump === null ? "none" : `${deck.marks[trump]} ${deck.suits[trump]}`], ["Bids", bids(fields, n)]]
      : [["Rounds", String(fields.number)]],
    score: {
      head: ["", "bid", "tricks", "last", "points"],
      rows: shown.chairs.map((_, seat) => [
        shown.who(seat), isOn ? bid(seat).replace("bid ", "") || "–" : "–", isOn ? String(fields.tricks[seat]) : "–",
        fields.number ? signed(fields.gained[seat]) : "–", String(fields.scores[seat]),
      ]),
    },
    choices: isBidding ? box(shown) : moves.filter(({ move }) => Number(move) === UNSEEN)
      .map(({ move }) => ({ key: move, text: "Play your card unseen", main: true, act: () => shown.play(move) })),
    prompt: isBidding ? "Your turn: how many tricks will you take?" : follow.prompt,
    why: isBidding ? "First bid how many tricks you will take." : follow.why,
  };
}

/** The bidding box: every number of tricks, that which the rules forbid marked. @param {Shown} shown @returns {Choice[]} */
function box(shown) {
  const { fields, moves } = shown.position;
  const legal = new Set(moves.map(({ move }) => Number(move) - BID));
  return Array.from({ length: fields.cards + 1 }, (_, bid) => ({
    key: String(BID + bid),
    text: String(bid),
    label: `bid ${bid}`,
    why: legal.has(bid) ? undefined : `The dealer may not bid ${bid}: all bids together would come true.`,
    act: () => shown.play(String(BID + bid)),
  }));
}

/** @param {any} fields @param {number} n */
function bids(fields, n) {
  const made = fields.bids.slice(0, n).filter((/** @type {number} */ bid) => bid >= 0);
  const sum = made.reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b, 0);
  return `${sum} for ${fields.cards} tricks`;
}

/** @param {number} points */
const signed = (points) => (points > 0 ? `+${points}` : String(points).replace("-", "−"));
