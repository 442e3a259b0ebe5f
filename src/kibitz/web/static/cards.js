// @ts-check
// Our own cards as SVG: the French and the Italian deck, and the four special cards of Tichu.
// A card is a number, as in kibitz/cards.py and kibitz/games/tichu/combinations.py.

/**
 * @typedef {object} Deck
 * @property {(card: number) => number} suit of which suit a card is; −1 for a special card
 * @property {(card: number) => number} rank how high it is in its suit
 * @property {(card: number) => string} text as the server writes it
 * @property {(card: number) => string} typed as people type it
 * @property {(card: number) => string} name in words
 * @property {(card: number) => string} sign as it is printed: the rank and the sign of the suit
 * @property {(card: number | null) => SVGElement} face as it is drawn; null: its back
 * @property {(text: string) => number | null} read the card of a text
 * @property {string[]} suits their names
 * @property {string[]} marks their signs
 * @property {string} letters by which suits are typed
 */

import { settings } from "./settings.js";

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [70, 100];

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {...(Node | string)} children
 * @returns {SVGElement}
 */
function draw(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** @param {string} d @param {string} kind */
const path = (d, kind) => draw("path", { d, class: kind });
/** @param {number} x @param {number} y @param {number} r @param {string} kind */
const disc = (x, y, r, kind) => draw("circle", { cx: x, cy: y, r, class: kind });
/** @param {string} transform @param {...Node} children */
const group = (transform, ...children) => draw("g", { transform }, ...children);
/** @param {number} x @param {number} y @param {string} kind @param {string} text */
const word = (x, y, kind, text) => draw("text", { x, y, class: kind }, text);
/** Once, and once more upside down. @param {() => Node} one @returns {Node[]} */
const twice = (one) => [one(), group(`rotate(180 ${WIDTH / 2} ${HEIGHT / 2})`, one())];

function blank() {
  return draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "card", "aria-hidden": "true", focusable: "false" },
    draw("rect", { x: 0.75, y: 0.75, width: WIDTH - 1.5, height: HEIGHT - 1.5, rx: 6, class: "paper" }));
}

function back() {
  const card = blank();
  card.append(draw("rect", { x: 5, y: 5, width: WIDTH - 10, height: HEIGHT - 10, rx: 3, class: "back" }));
  for (let y = 14; y < HEIGHT - 10; y += 12) {
    for (let x = 11 + (y % 24 === 14 ? 0 : 6); x < WIDTH - 8; x += 12) {
      card.append(path(`M${x} ${y - 4}l4 4-4 4-4-4z`, "back-sign"));
    }
  }
  return card;
}

/** Where the signs of a card of the ranks 2 to 10 lie: column and height, in parts of the card. */
const LEFT_RIGHT = [0.37, 0.63];
/** @type {Record<number, number[][]>} */
const PLACES = {
  1: [[0.5, 0.5]],
  2: column(0.5, 0.2, 0.8),
  3: column(0.5, 0.2, 0.5, 0.8),
  4: columns(0.2, 0.8),
  5: [...columns(0.2, 0.8), [0.5, 0.5]],
  6: columns(0.2, 0.5, 0.8),
  7: [...columns(0.2, 0.5, 0.8), [0.5, 0.35]],
  8: [...columns(0.2, 0.5, 0.8), [0.5, 0.35], [0.5, 0.65]],
  9: [...columns(0.2, 0.4, 0.6, 0.8), [0.5, 0.5]],
  10: [...columns(0.2, 0.4, 0.6, 0.8), [0.5, 0.3], [0.5, 0.7]],
};

/** @param {number} x @param {...number} heights */
function column(x, ...heights) {
  return heights.map((y) => [x, y]);
}

/** @param {...number} heights */
function columns(...heights) {
  return LEFT_RIGHT.flatMap((x) => column(x, ...heights));
}

// --- figures -------------------------------------------------------------------------------------------

const HEADS = {
  king: [["M35 40c-5 0-7-4-7-8h14c0 4-2 8-7 8z", "hair"], ["M27 24l-2-11 5 5 5-7 5 7 5-5-2 11z", "gold"]],
  queen: [["M26 41c-2-9 0-19 9-19s11 10 9 19l-4-1V29H30v11z", "hair"], ["M28 24c0-5 3-8 7-8s7 3 7 8z", "gold"]],
  jack: [["M28 36c-2-4-1-9 1-11h12c2 2 3 7 1 11l-2-6h-10z", "hair"], ["M26 26c1-9 16-10 18 0z", "ink"]],
  knight: [["M27 27c0-8 16-8 16 0l3 1v2H24v-2z", "ink"]],
};

/** A figure from head to belt, with its sign on the breast. @param {keyof typeof HEADS} who @param {Node} sign */
function figure(who, sign) {
  const body = group("", path("M20 50c0-9 5-12 11-13h8c6 1 11 4 11 13z", "ink"),
    path("M29 38l6 7 6-7z", "gold"), disc(35, 29, 6.5, "skin"));
  for (const [d, kind] of HEADS[who]) body.append(path(d, kind));
  if (who === "king" || who === "queen") for (const x of [28, 35, 42]) body.append(disc(x, who === "king" ? 13 : 17, 1.4, "ink"));
  if (who === "jack") body.append(path("M41 24c5-2 8-7 7-13-4 3-8 7-9 12z", "gold"));
  body.append(disc(32.8, 29, 0.9, "dark"), disc(37.2, 29, 0.9, "dark"), sign);
  return body;
}

// --- the French deck -----------------------------------------------------------------------------------

const FRENCH_SIGNS = [
  "M0-10a4.7 4.7 0 0 1 4.1 7A4.8 4.8 0 1 1 1.4 4.6C1.6 7.4 2.4 9.3 4 10.5h-8C-2.4 9.3-1.6 7.4-1.4 4.6" +
    "A4.8 4.8 0 1 1-4.1-3 4.7 4.7 0 0 1 0-10z",
  "M0-11L8.2 0 0 11-8.2 0z",
  "M0 10.5C-3 5.5-9.5 1.5-9.5-4A5 5 0 0 1 0-6.2 5 5 0 0 1 9.5-4C9.5 1.5 3 5.5 0 10.5z",
  "M0-10.5C2.6-5.6 9.4-2 9.4 3.2a4.8 4.8 0 0 1-8 3.5C1.8 8.6 2.6 9.8 4 10.8h-8C-2.6 9.8-1.8 8.6-1.4 6.7" +
    "a4.8 4.8 0 0 1-8-3.5C-9.4-2-2.6-5.6 0-10.5z",
];
const FRENCH_SUITS = ["clubs", "diamonds", "hearts", "spades"];
const FRENCH_MARKS = ["♣", "♦", "♥", "♠"];
const SUIT_LETTERS = "CDHSEFGIJLMN";
const FRENCH_RANKS = ["2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A"];
const FRENCH_NAMES = [
  "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "jack", "queen", "king", "ace",
];
/** @type {Record<string, keyof typeof HEADS>} */
const COURT = { J: "jack", Q: "queen", K: "king" };

/** A rank as it is printed in one's own language. @param {string} rank */
const printed = (rank) => settings.ranks["AKQJ".indexOf(rank)] ?? rank;

/** A sign of a suit; further suits than four have a letter. @param {number} suit @param {string} transform */
function frenchSign(suit, transform) {
  if (suit < 4) return draw("path", { d: FRENCH_SIGNS[suit], transform, class: `suit suit-${suit}` });
  const letter = word(0, 7, `suit letter suit-${suit % 4}`, SUIT_LETTERS[suit]);
  letter.setAttribute("transform", transform);
  return letter;
}

/** @param {string} rank @param {number} suit */
function frenchFace(rank, suit) {
  const card = blank();
  const colour = `suit suit-${suit % 4}`;
  card.append(...twice(() => group("", word(9.5, 18.5, `index ${colour} ${rank.length > 1 ? "long" : ""}`, printed(rank)),
    frenchSign(suit, "translate(9.5 27.5) scale(.56)"))));
  if (COURT[rank]) {
    card.append(draw("rect", { x: 18, y: 8, width: 34, height: 84, rx: 3, class: "frame" }));
    card.append(...twice(() => group("translate(7 0) scale(.8 1)", figure(COURT[rank],
      frenchSign(suit, "translate(35 45) scale(.4)")))));
    card.append(draw("path", { d: "M18 50h34", class: "belt" }));
    return card;
  }
  const number = rank === "A" ? 1 : Number(rank);
  for (const [x, y] of PLACES[number] ?? PLACES[1]) {
    const size = number === 1 || !PLACES[number] ? 2 : 0.58;
    const turned = y > 0.5 ? " rotate(180)" : "";
    card.append(frenchSign(suit, `translate(${x * WIDTH} ${y * HEIGHT}) scale(${size})${turned}`));
  }
  return card;
}

/**
 * The French deck without its lowest ranks, or with further suits, and ranks below.
 * @param {number} [suits] @param {number} [ranks] @param {string} [ten] how the ten is written
 * @returns {Deck}
 */
export function french(suits = 4, ranks = 13, ten = "10") {
  const low = Array.from({ length: 50 }, (_, i) => `L${50 - i}`);
  const lowNames = Array.from({ length: 50 }, (_, i) => `low ${50 - i}`);
  const texts = [...low, ...FRENCH_RANKS].slice(-ranks);
  const names = [...lowNames, ...FRENCH_NAMES].slice(-ranks);
  const suitNames = Array.from({ length: suits }, (_, i) => FRENCH_SUITS[i] ?? `suit ${SUIT_LETTERS[i].toLowerCase()}`);
  const marks = Array.from({ length: suits }, (_, i) => FRENCH_MARKS[i] ?? SUIT_LETTERS[i]);
  const suit = (/** @type {number} */ card) => Math.floor(card / ranks);
  const rank = (/** @type {number} */ card) => card % ranks;
  return complete(suits * ranks, {
    suit, rank, suits: suitNames, marks, letters: SUIT_LETTERS.slice(0, suits),
    text: (card) => texts[rank(card)].replace("10", ten) + SUIT_LETTERS[suit(card)],
    name: (card) => `${names[rank(card)]} of ${suitNames[suit(card)]}`,
    sign: (card) => printed(texts[rank(card)]) + marks[suit(card)],
    face: (card) => (card === null ? back() : frenchFace(texts[rank(card)], suit(card))),
  });
}

/**
 * @param {number} size
 * @param {Omit<Deck, "read" | "typed"> & {typed?: Deck["typed"]}} deck
 * @returns {Deck}
 */
function complete(size, deck) {
  const cards = new Map(Array.from({ length: size }, (_, card) => [deck.text(card).toUpperCase(), card]));
  return { typed: deck.text, ...deck, read: (text) => cards.get(text.toUpperCase()) ?? null };
}

// --- the Italian deck ----------------------------------------------------------------------------------

const ITALIAN_RANKS = ["2", "4", "5", "6", "7", "11", "12", "13", "3", "1"];
/** @type {Record<string, string>} */
const ITALIAN_NAMES = {
  1: "ace", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 11: "jack", 12: "knight", 13: "king",
};
/** @type {Record<string, keyof typeof HEADS>} */
const ITALIAN_COURT = { 11: "jack", 12: "knight", 13: "king" };
/** @type {Record<string, string>} */
const PLATES = { 11: "FANTE", 12: "CAVALLO", 13: "RE" };
const ITALIAN_SUITS = ["cups", "coins", "swords", "batons"];
/** Each sign in parts, from back to front. */
const ITALIAN_SIGNS = [
  [["M-7-10H7c0 7-1.5 10.5-5 12v4l4 2.5V11H-6V8.5L-2 6V2c-3.5-1.5-5-5-5-12z", "suit italian-0"], ["M-7-10H7v3H-7z", "gold"]],
  [["M0-10.5a10.5 10.5 0 1 1 0 21a10.5 10.5 0 1 1 0-21z", "suit italian-1"], ["M0-8a8 8 0 1 1 0 16a8 8 0 1 1 0-16z", "gold"],
    ["M0-6l1.6 4.4L6 0 1.6 1.6 0 6-1.6 1.6-6 0-1.6-1.6z", "suit italian-1"]],
  [["M0-12l2.4 4V4h-4.8V-8z", "suit italian-2"], ["M-6 3.5h12v2.6H-6z", "gold"], ["M-1.5 6h3v5h-3z", "suit italian-2"],
    ["M0 9.5a2 2 0 1 1 0 4a2 2 0 1 1 0-4z", "gold"]],
  [["M-2-12C3-13 5-9 3.5-5 5-2 4 1 3 3l1 8c-1 2-6 2-7 0l1-9c-2-3-2-5-.5-7C-4-8-4-11-2-12z", "suit italian-3"],
    ["M-1-7h3v2h-3zM-1.5 0h3v2h-3z", "gold"]],
];

/** @param {number} suit @param {string} transform */
function italianSign(suit, transform) {
  return group(transform, ...ITALIAN_SIGNS[suit].map(([d, kind]) => path(d, kind)));
}

/** @param {number} card */
function italianFace(card) {
  const [suit, rank] = [Math.floor(card / 10), ITALIAN_RANKS[card % 10]];
  const face = blank();
  face.append(draw("rect", { x: 4, y: 4, width: WIDTH - 8, height: HEIGHT - 8, rx: 4, class: `rim italian-${suit}` }));
  const index = () => group("", disc(9.5, 12, 8, "clear"), word(9.5, 17, `index small italian-${suit}`, rank));
  face.append(...(PLATES[rank] ? [index()] : twice(index)));
  if (PLATES[rank]) {
    const who = ITALIAN_COURT[rank];
    if (who === "knight") {  // behind his horse
      face.append(path("M12 84c1-16 6-24 15-28l-3-7c9-1 18 3 22 11 5 7 9 10 12 12l-4 7c-5 1-9 0-12-2 1 3 0 5-1 7z", "horse"),
        disc(43, 63, 1.3, "dark"));
    }
    const [x, y, size] = who === "knight" ? [6, 6, 0.92] : [-8, 3, 1.24];
    face.append(group(`translate(${x} ${y}) scale(${size})`, figure(who, italianSign(suit, "translate(35 46) scale(.3)"))));
    if (who !== "knight") face.append(path("M17 65h37l4 19H13z", `cloak italian-${suit}`));
    face.append(italianSign(suit, `translate(${who === "knight" ? 16 : 35} ${who === "knight" ? 42 : 73}) scale(${who === "knight" ? 0.7 : 0.6})`));
    face.append(draw("rect", { x: 17, y: 84, width: 36, height: 9, class: "plate" }), word(35, 91, "plate-text", PLATES[rank]));
    return face;
  }
  const size = rank === "1" ? 2.3 : Number(rank) > 3 ? 0.8 : 0.95;
  for (const [x, y] of PLACES[Number(rank)]) {
    face.append(italianSign(suit, `translate(${x * WIDTH} ${y * HEIGHT}) scale(${size})`));
  }
  return face;
}

export const ITALIAN = complete(40, {
  suit: (card) => Math.floor(card / 10),
  rank: (card) => card % 10,
  suits: ITALIAN_SUITS,
  marks: ITALIAN_SUITS,
  letters: "CDSB",
  text: (card) => ITALIAN_RANKS[card % 10] + "CDSB"[Math.floor(card / 10)],
  name: (card) => `${ITALIAN_NAMES[ITALIAN_RANKS[card % 10]]} of ${ITALIAN_SUITS[Math.floor(card / 10)]}`,
  sign: (card) => `${ITALIAN_RANKS[card % 10]} ${ITALIAN_SUITS[Math.floor(card / 10)]}`,
  face: (card) => (card === null ? back() : italianFace(card)),
});

/** The French card in the place of an Italian one: hearts for cups, diamonds for coins, clubs for batons. @param {number} card */
function frenchInstead(card) {
  const [suit, rank] = [[2, 1, 3, 0][Math.floor(card / 10)], ITALIAN_RANKS[card % 10]];
  return { suit, rank: { 1: "A", 11: "J", 12: "Q", 13: "K" }[rank] ?? rank };
}

/** The cards of Briškola, Italian or French as one likes. @returns {Deck} */
export const italian = () => (settings.deck === "french" ? FRENCH_INSTEAD : ITALIAN);

const FRENCH_INSTEAD = complete(40, {
  ...ITALIAN,
  suits: ["hearts", "diamonds", "spades", "clubs"],
  marks: ["♥", "♦", "♠", "♣"],
  letters: "HDSC",
  typed: (card) => frenchInstead(card).rank + "CDHS"[frenchInstead(card).suit],
  name: (card) => `${FRENCH_NAMES[FRENCH_RANKS.indexOf(frenchInstead(card).rank)]} of ${FRENCH_SUITS[frenchInstead(card).suit]}`,
  sign: (card) => printed(frenchInstead(card).rank) + FRENCH_MARKS[frenchInstead(card).suit],
  face: (card) => (card === null ? back() : frenchFace(frenchInstead(card).rank, frenchInstead(card).suit)),
});

// --- Tichu ---------------------------------------------------------------------------------------------

const SPECIAL = [
  { text: "Mah", name: "Mah Jong", parts: [
    ["M35 26a26 26 0 1 1 0 52a26 26 0 1 1 0-52z", "gold"], ["M35 31a21 21 0 1 1 0 42a21 21 0 1 1 0-42z", "paper plain"],
    ["M31 40l6-4h3v28h5v4H29v-4h5V43l-3 1z", "suit suit-2"]] },
  { text: "Dog", name: "Dog", parts: [
    ["M18 40c5-6 10-5 13-2 4-1 8-1 11 0 3-3 8-4 12 2l-2 12c-1 3-3 3-5 1 0 10-4 19-12 21-8-2-12-11-12-21-2 2-4 2-5-1z", "fur"],
    ["M30 62c2-2 8-2 10 0l-3 5h-4z", "dark"], ["M28 50a2 2 0 1 1 0 4a2 2 0 1 1 0-4zM42 50a2 2 0 1 1 0 4a2 2 0 1 1 0-4z", "dark"]] },
  { text: "Phx", name: "Phoenix", parts: [
    ["M35 84C23 76 14 64 13 46c6 4 10 6 13 6-4-8-3-16 3-24 1 5 3 8 6 10 3-2 5-5 6-10 6 8 7 16 3 24 3 0 7-2 13-6-1 18-10 30-22 38z", "fire"],
    ["M35 76c-7-6-10-12-10-19 4 2 7 2 10-1 3 3 6 3 10 1 0 7-3 13-10 19z", "gold"],
    ["M35 42c4 0 6 3 6 6l4 2-4 2c-1 3-3 5-6 5s-6-3-6-7 2-8 6-8z", "fire"], ["M38 46a1.3 1.3 0 1 1 0 2.6a1.3 1.3 0 1 1 0-2.6z", "paper plain"]] },
  { text: "Drg", name: "Dragon", parts: [
    ["M22 28c8-6 22-5 27 3 4 8-1 15-10 17-8 2-13 4-12 9 1 6 12 6 18 1l6 6c-8 10-28 11-33 1-4-10 3-18 14-20 6-2 9-4 7-8-2-3-9-3-13 1z", "jade"],
    ["M22 28l-9 2 5 4-4 5 9-1z", "jade"], ["M29 24l1-8 5 6zM38 23l4-7 3 8z", "gold"], ["M46 58l9-1-3 10z", "gold"],
    ["M25 30a1.7 1.7 0 1 1 0 3.4a1.7 1.7 0 1 1 0-3.4z", "paper plain"]] },
];

/** @param {{text: string, name: string, parts: string[][]}} special */
function specialFace({ name, parts }) {
  const face = blank();
  face.append(draw("rect", { x: 4, y: 4, width: WIDTH - 8, height: HEIGHT - 8, rx: 4, class: "rim special" }));
  face.append(...twice(() => word(8, 15, "special-name", name)));
  for (const [d, kind] of parts) face.append(path(d, kind));
  return face;
}

const TICHU_SUITS = [1, 2, 0, 3]; // star, jade, pagoda, sword are drawn as diamonds, hearts, clubs, spades

/** @type {Deck} */
export const TICHU = complete(56, {
  suit: (card) => (card < 4 ? -1 : card % 4),
  rank: (card) => (card < 4 ? [1, 0, 15, 16][card] : Math.floor(card / 4) + 1),
  suits: TICHU_SUITS.map((suit) => FRENCH_SUITS[suit]),
  marks: TICHU_SUITS.map((suit) => FRENCH_MARKS[suit]),
  letters: "DHCS",
  text: (card) => (card < 4 ? SPECIAL[card].text : "..23456789TJQKA"[Math.floor(card / 4) + 1] + "DHCS"[card % 4]),
  name: (card) => (card < 4 ? SPECIAL[card].name
    : `${FRENCH_NAMES[Math.floor(card / 4) - 1]} of ${FRENCH_SUITS[TICHU_SUITS[card % 4]]}`),
  sign: (card) => (card < 4 ? SPECIAL[card].name
    : printed(FRENCH_RANKS[Math.floor(card / 4) - 1]) + FRENCH_MARKS[TICHU_SUITS[card % 4]]),
  face: (card) => (card === null ? back() : card < 4 ? specialFace(SPECIAL[card])
    : frenchFace(FRENCH_RANKS[Math.floor(card / 4) - 1], TICHU_SUITS[card % 4])),
});

/** Whether a suit of a deck is red, for hands in which colours alternate. @param {Deck} deck @param {number} suit */
export const isRed = (deck, suit) => deck.marks[suit] === "♦" || deck.marks[suit] === "♥";
