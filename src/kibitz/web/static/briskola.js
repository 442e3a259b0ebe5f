// @ts-check
// Briškola: three cards each, a stock with the trump card under it.

/** @import { Scene, Shown } from "./scene.js" */

import { italian } from "./cards.js";
import { playable, sorted, tricks } from "./scene.js";

const BLANK = 40; // a card that is not known

/** @param {Shown} shown @returns {Scene} */
export function briskola(shown) {
  const { fields } = shown.position;
  const deck = italian();
  const me = shown.welcome.seat;
  const n = shown.chairs.length;
  const known = (/** @type {number} */ seat) => (fields.hands?.[seat] ?? []).filter((/** @type {number} */ card) => card !== BLANK);
  const partner = n === 4 && me !== null ? (me + 2) % 4 : -1;
  const trump = deck.suits[fields.trump];
  const stock = fields.left
    ? [{ cards: fields.left > 1 ? [null, fields.turned] : [fields.turned], text: `${fields.left} in the stock` }]
    : [];
  const sides = n === 4 ? [[0, 2], [1, 3]] : Array.from({ length: n }, (_, seat) => [seat]);
  return {
    ...tricks(shown, deck),
    deck,
    isPlay: true,
    turn: shown.position.turn,
    seats: shown.chairs.map((_, seat) => ({
      hidden: fields.held[seat] - known(seat).length,
      open: seat === me ? [] : playable(shown, sorted(deck, known(seat), fields.trump), false),
      chips: seat === partner ? ["partner"] : [],
      said: "",
      told: `${fields.points[seat]} points`,
    })),
    hand: me === null ? [] : playable(shown, sorted(deck, known(me), fields.trump), true),
    asides: stock,
    facts: [["Trump", trump], ["Stock", String(fields.left)]],
    score: {
      head: ["", "points"],
      rows: sides.map((side) => [
        side.map(shown.who).join(" and "), String(side.reduce((sum, seat) => sum + fields.points[seat], 0)),
      ]),
    },
    choices: [],
    prompt: fields.on_table ? "Your turn: play any card" : "Your turn: lead any card",
    why: "",
  };
}
