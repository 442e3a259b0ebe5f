// @ts-check
// The keyboard: one key for everything, cards by suit and rank, arrows along what can be chosen.

/** @import { Deck } from "./cards.js" */

import { make } from "./dom.js";
import { settings } from "./settings.js";

const LONGEST = 2000; // milliseconds between suit and rank
/** What people press for a rank, beside its own text. @type {Record<string, string[]>} */
const RANKS = {
  0: ["10", "T", "13"], 8: ["8", "11"], 9: ["9", "12"], 1: ["1", "A"],
  a: ["A", "1"], k: ["K", "13"], q: ["Q", "12"], j: ["J", "11"], t: ["10", "T"],
};

/**
 * @typedef {object} Table
 * @property {() => Deck | null} deck
 * @property {() => {card: number, can: boolean, press: () => void}[]} cards
 * @property {() => {text: string, press: () => void}[]} choices
 * @property {Record<string, () => void>} letters what single letters do; capitals are pressed with shift
 * @property {(text: string) => void} say
 * @property {() => HTMLElement[]} groups
 */

/** @param {Table} table @returns {(event: KeyboardEvent) => void} */
export function keyboard(table) {
  let suit = "";
  let pressed = 0;

  /** @param {string} key the rank, with the suit that was pressed before or alone */
  function card(key) {
    const deck = table.deck();
    const own = settings.ranks.toLowerCase().indexOf(key); // a letter of one's own language
    const ranks = RANKS[own < 0 ? key : "akqj"[own]] ?? [key.toUpperCase()];
    const of = suit;
    suit = "";
    const found = table.cards().filter(({ card }) => ranks.some((rank) =>
      of ? deck?.typed(card) === rank + of : deck?.typed(card).slice(0, -1) === rank));
    const fitting = of ? found : found.filter(({ can }) => can);
    if (fitting.length === 1) fitting[0].press();
    else table.say(of ? "You do not hold this card." : "Press the suit first, then the rank.");
  }

  /** @param {string} key */
  const isSuit = (key) => table.cards().length > 0 && (table.deck()?.letters.includes(key.toUpperCase()) ?? false);

  return (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (target.matches("input, select, textarea") || document.querySelector("dialog[open]")) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isCommand = /^[A-Z]$/.test(event.key) && event.shiftKey && table.letters[event.key];
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (Date.now() - pressed > LONGEST) suit = "";
    if (/^Arrow/.test(key)) {
      event.preventDefault();
      walk(table.groups(), key === "ArrowRight" || key === "ArrowDown" ? 1 : -1);
    } else if (!settings.letters) {
      return;
    } else if (isCommand) {
      table.letters[event.key]();
    } else if (suit) {
      card(key);
    } else if (/^[0-9]$/.test(key)) {
      const choices = table.choices();
      const bid = choices.find(({ text }) => text === key);
      const one = bid ?? choices[Number(key) - 1] ?? (choices.length ? undefined : table.cards()[Number(key) - 1]);
      one?.press();
    } else if (isSuit(key)) {
      suit = key.toUpperCase();
      pressed = Date.now();
    } else if (table.letters[key]) {
      table.letters[key]();
    } else if (`akqj${settings.ranks.toLowerCase()}`.includes(key) && table.deck()) {
      card(key);
    }
  };
}

/** Move the focus along the group that has it, or into the first one. @param {HTMLElement[]} groups @param {number} step */
function walk(groups, step) {
  const group = groups.find((one) => one.contains(document.activeElement)) ?? groups.find((one) => one.querySelector("button"));
  const buttons = /** @type {HTMLElement[]} */ ([...(group?.querySelectorAll("button") ?? [])]);
  const at = buttons.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  const next = buttons[at < 0 ? 0 : (at + step + buttons.length) % buttons.length];
  for (const button of buttons) button.tabIndex = button === next ? 0 : -1;
  next?.focus();
}

const KEYS = [
  ["← →", "along the cards or choices; Tab to the next group"], ["Enter, Space", "play or pick what has the focus"],
  ["suit, rank", "a card, such as H 9 or S A; an ace, king, queen or jack alone if there is one"],
  ["0 … 9", "bid so many tricks, or the n-th choice, or the n-th card"], ["L", "advice on and off"],
  ["H", "a hint for this decision; Shift H, where H is a suit"], ["T", "the last trick"],
  [".", "say once more whose turn it is"], ["F", "turn the table"], ["N", "next deal, when the game is over"],
  ["Z", "take back a move, if the others agree"], ["Shift C", "claim tricks, in Bridge"], ["?", "these keys"],
];

/** All keys, in words. @returns {HTMLDialogElement} */
export function keysDialog() {
  return /** @type {HTMLDialogElement} */ (make("dialog", { "aria-labelledby": "keys-title" },
    make("h2", { id: "keys-title" }, "Keys"),
    make("table", {}, ...KEYS.map(([key, text]) => make("tr", {}, make("th", { scope: "row" }, make("kbd", {}, key)),
      make("td", {}, text)))),
    make("p", { class: "soft" }, "The box takes moves as they are written (play 9H, bid 2), and: hand, last, score, table, hint."),
    make("form", { method: "dialog" }, make("button", { class: "main" }, "Done"))));
}
