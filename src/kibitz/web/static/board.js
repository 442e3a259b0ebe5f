// @ts-check
// One board for all card games: the others around the table, the trick in the middle, one's hand below.
// It draws a scene, changes what is there in place, and knows no game.

/** @import { Deck } from "./cards.js" */
/** @import { Laid, OpenCard, Scene, Shown } from "./scene.js" */
/** @import { Opinion } from "./advice.js" */

import { make, patch, set } from "./dom.js";
import { mod } from "./scene.js";

const MOST_BACKS = 5;
const [WIDE, NARROW] = [16, 7]; // cards in a row

/** How many of the others sit left, above and right, by the number of seats. */
const AROUND = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 2, 0], [1, 1, 1], [1, 2, 1], [1, 3, 1], [2, 2, 2], [2, 3, 2]];

/** The empty board. */
export function makeBoard() {
  const felt = make("section", { class: "felt", "aria-label": "Table" },
    make("div", { class: "top" }), make("div", { class: "left" }),
    make("div", { class: "centre" }, make("div", { class: "trick", role: "group", "aria-label": "Trick" })),
    make("div", { class: "right" }), make("div", { class: "own" }));
  const hand = make("div", { class: "hand", role: "group", "aria-label": "Your hand" });
  return { felt, hand };
}

/**
 * @param {{felt: HTMLElement, hand: HTMLElement}} board
 * @param {Scene} scene
 * @param {Shown} shown
 * @param {{bottom: number, finished: Laid[] | null, opinions: Map<string, Opinion>, explain: (why: string) => void}} look
 *   who sits at the bottom, the finished trick if that is to be seen, what is thought of the moves, and who tells what cannot be done
 */
export function drawBoard({ felt, hand }, scene, shown, look) {
  const n = shown.chairs.length;
  const others = Array.from({ length: n - 1 }, (_, i) => (look.bottom + 1 + i) % n);
  const [left, above] = AROUND[n];
  const places = { left: others.slice(0, left), top: others.slice(left, left + above), right: others.slice(left + above), own: [look.bottom] };
  for (const [place, seats] of Object.entries(places)) {
    patch(/** @type {Element} */ (felt.querySelector(`.${place}`)), seats, String, () => makeSeat(),
      (element, seat) => drawSeat(element, seat, scene, shown, place, look));
  }
  drawMiddle(/** @type {HTMLElement} */ (felt.querySelector(".centre")), scene, shown, look.bottom, look.finished);
  drawHand(hand, scene.deck, scene.hand, scene.why, look);
}

function makeSeat() {
  return make("div", { class: "seat", role: "group" }, make("p", { class: "who" }), make("div", { class: "chips" }),
    make("div", { class: "cards" }), make("p", { class: "told" }));
}

/**
 * @param {HTMLElement} element
 * @param {number} seat
 * @param {Scene} scene
 * @param {Shown} shown
 * @param {string} place
 * @param {{opinions: Map<string, Opinion>, explain: (why: string) => void}} look
 */
function drawSeat(element, seat, scene, shown, place, look) {
  const { hidden, open, chips, said, told } = scene.seats[seat];
  const [name, chipBox, cards, words] = /** @type {HTMLElement[]} */ ([...element.children]);
  const who = shown.who(seat);
  const isTurn = seat === scene.turn;
  element.classList.toggle("turn", isTurn);
  const seen = open.map(({ card }) => scene.deck.name(card)).join(", ");
  set(element, { "aria-label": [who, shown.player(seat), isTurn ? "to play" : "", ...chips, said, told, hidden ? `${hidden} cards` : "",
    seen].filter(Boolean).join(", ") });
  const player = shown.player(seat);
  name.replaceChildren(who, ...(player ? [" ", make("span", { class: "player" }, player)] : []));
  chipBox.replaceChildren(...chips.map((text) => make("span", { class: "chip" }, text)),
    ...(said ? [make("span", { class: "chip said" }, said)] : []));
  words.textContent = told;
  words.hidden = !told;
  if (place === "own") return;
  if (place === "top" && open.some(({ act }) => act)) drawHand(cards, scene.deck, open, scene.why, look);
  else drawOthers(cards, scene.deck, hidden, open);
}

/** Backs, and cards that all can see, by suit. @param {HTMLElement} place @param {Deck} deck @param {number} hidden @param {OpenCard[]} open */
function drawOthers(place, deck, hidden, open) {
  const state = `${hidden} ${open.map(({ card }) => card).join(" ")}`;
  if (place.dataset.state === state && place.className === "cards") return;
  place.dataset.state = state;
  place.className = "cards";
  const suits = [...new Set(open.map(({ card }) => deck.suit(card)))];
  const piles = suits.map((suit) => make("div", {},
    .../** @type {any[]} */ (open.filter(({ card }) => deck.suit(card) === suit).map(({ card }) => deck.face(card)))));
  const backs = Array.from({ length: Math.min(hidden, MOST_BACKS) }, () => deck.face(null));
  place.replaceChildren(
    ...(piles.length ? [make("div", { class: "spread" }, ...piles)] : []),
    ...(backs.length ? [make("div", { class: "backs" }, .../** @type {any[]} */ (backs), make("span", {}, String(hidden)))] : []),
  );
}

/**
 * @param {HTMLElement} centre
 * @param {Scene} scene
 * @param {Shown} shown
 * @param {number} bottom
 * @param {Laid[] | null} finished
 */
function drawMiddle(centre, scene, shown, bottom, finished) {
  const n = shown.chairs.length;
  const trick = /** @type {HTMLElement} */ (centre.querySelector(".trick"));
  trick.classList.toggle("finished", finished !== null);
  patch(trick, finished ?? scene.trick, ({ seat, cards }) => `${seat}:${cards.join(" ")}`,
    ({ seat, cards }) => {
      const figure = make("figure", { class: cards.length > 1 ? "several" : "" },
        make("div", {}, .../** @type {any[]} */ (cards.map(scene.deck.face))), make("figcaption", {}));
      const angle = Math.PI * (0.5 + (2 * mod(seat - bottom, n)) / n);
      figure.style.setProperty("--x", Math.cos(angle).toFixed(3));
      figure.style.setProperty("--y", Math.sin(angle).toFixed(3));
      figure.style.setProperty("--far", n > 4 ? "2" : "1");
      return figure;
    },
    (figure, { seat, cards, best }) => {
      figure.classList.toggle("best", best);
      const caption = finished && best ? `${shown.who(seat)} ${shown.who(seat) === "You" ? "take" : "takes"} it` : shown.who(seat);
      /** @type {HTMLElement} */ (figure.lastChild).textContent = caption;
      set(figure, { "aria-label": `${shown.who(seat)}: ${cards.map(scene.deck.name).join(", ")}${best ? ", best so far" : ""}` });
    });
  const asides = [...centre.querySelectorAll(".aside")];
  const state = JSON.stringify(scene.asides);
  if (centre.dataset.state === state) return;
  centre.dataset.state = state;
  for (const aside of asides) aside.remove();
  centre.prepend(...scene.asides.map(({ cards, text }) => make("figure", { class: "aside" },
    make("div", { class: "pile" }, .../** @type {any[]} */ (cards.map(scene.deck.face))), make("figcaption", {}, text))));
}

/**
 * A hand from which one plays: one stop of the tab key, arrows go along it.
 * @param {HTMLElement} place
 * @param {Deck} deck
 * @param {OpenCard[]} cards
 * @param {string} why
 * @param {{opinions: Map<string, Opinion>, explain: (why: string) => void}} look
 */
function drawHand(place, deck, cards, why, { opinions, explain }) {
  if (!place.classList.contains("hand")) {
    place.className = "hand";
    place.replaceChildren();
    delete place.dataset.state;
  }
  const inRow = (/** @type {number} */ most) => Math.max(2, Math.ceil(cards.length / Math.max(1, Math.ceil(cards.length / most))));
  place.style.setProperty("--wide", String(inRow(WIDE)));
  place.style.setProperty("--narrow", String(inRow(NARROW)));
  /** @type {Map<Element, OpenCard>} */
  const now = new Map();
  held.set(place, { cards: now, why });
  patch(place, cards, ({ card }) => String(card),
    ({ card }) => {
      const button = make("button", { type: "button" }, /** @type {any} */ (deck.face(card)));
      button.addEventListener("click", () => {
        const { cards: now, why: reason } = held.get(place) ?? { cards: new Map(), why: "" };
        const open = now.get(button);
        if (open?.can && open.act) open.act();
        else explain(reason);
      });
      return button;
    },
    (button, open) => {
      now.set(button, open);
      set(button, {
        "aria-disabled": String(!open.can),
        "aria-pressed": open.picked === undefined ? null : String(open.picked),
        "aria-label": `${deck.name(open.card)}${open.can ? (open.picked === undefined ? ", playable" : "") : ", not now"}`,
      });
      // Where cards are picked one by one, a card is no move.
      drawOpinion(button, open.picked === undefined ? opinions.get(String(open.card)) : undefined);
    });
  rove(place);
}

/** Let all cards be drawn anew, for they look different now. @param {{felt: HTMLElement, hand: HTMLElement}} board */
export function forget({ felt, hand }) {
  for (const drawn of [hand, ...felt.querySelectorAll(".cards, .hand, .trick")]) drawn.replaceChildren();
  for (const drawn of felt.querySelectorAll("[data-state]")) drawn.removeAttribute("data-state");
}

/** What the buttons of a hand stand for now. @type {WeakMap<Element, {cards: Map<Element, OpenCard>, why: string}>} */
const held = new WeakMap();

/** What is thought of a move, on its button: it covers nothing that one needs, and moves nothing. @param {HTMLElement} button @param {Opinion | undefined} opinion */
export function drawOpinion(button, opinion) {
  let note = button.querySelector(".opinion");
  if (!opinion) {
    note?.remove();
    return;
  }
  if (!note) button.append((note = make("span", { class: "opinion" })));
  note.classList.toggle("best", opinion.best);
  note.textContent = (opinion.best ? "★ " : "") + opinion.text;
}

/** Let a group be one stop of the tab key. @param {HTMLElement} group */
export function rove(group) {
  const buttons = /** @type {HTMLElement[]} */ ([...group.querySelectorAll("button")]);
  const stop = buttons.find((button) => button === document.activeElement) ??
    buttons.find((button) => button.tabIndex === 0 && button.getAttribute("aria-disabled") !== "true") ??
    buttons.find((button) => button.getAttribute("aria-disabled") !== "true") ?? buttons[0];
  for (const button of buttons) button.tabIndex = button === stop ? 0 : -1;
}
