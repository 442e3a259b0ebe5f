// @ts-check
// What the browser knows of each card game: its name, a few of its cards, and how a position becomes a scene.
// Other games are played as text and buttons.

/** @import { Scene, Shown } from "./scene.js" */

import { bridge, SEATS } from "./bridge.js";
import { briskola } from "./briskola.js";
import { french, italian, TICHU } from "./cards.js";
import { diminishing } from "./diminishing.js";
import { tichu } from "./tichu.js";

/**
 * @typedef {object} CardGame
 * @property {string} title
 * @property {(shown: Shown) => Scene} scene
 * @property {() => SVGElement[]} fan three cards, for the lobby
 * @property {string[]} [names] of the seats
 * @property {number} [bottom] who sits at the bottom if nobody looks from a seat (default: the first)
 */

/** In the order of the lobby. @type {Record<string, CardGame>} */
export const CARD_GAMES = {
  briskola: { title: "Briškola", scene: briskola, fan: () => [37, 9, 18].map(italian().face) },
  "diminishing-bridge": { title: "Diminishing Bridge", scene: diminishing, fan: () => [11, 38, 49].map(french().face) },
  bridge: { title: "Bridge", scene: bridge, names: SEATS, bottom: 2, fan: () => [25, 51, 36].map(french().face) },
  tichu: { title: "Tichu", scene: tichu, fan: () => [2, 3, 55].map(TICHU.face) },
  "mini-tichu": { title: "Mini-Tichu", scene: tichu, fan: () => [1, 0, 2].map(TICHU.face) },
};

/** The plain name of a game, without its options. @param {string} game */
export const plainName = (game) => game.split(":")[0];

/** What people call a game. @param {string} game */
export const titleOf = (game) => CARD_GAMES[plainName(game)]?.title ?? plainName(game).replace(/^./, (letter) => letter.toUpperCase());

/** What a seat is called. @param {string} game @param {number} seat */
export const seatName = (game, seat) => CARD_GAMES[plainName(game)]?.names?.[seat] ?? `Seat ${seat}`;
