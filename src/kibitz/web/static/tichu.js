// @ts-check
// Tichu and Mini-Tichu: combinations by picking cards, and all that is called, given and wished.

/** @import { Choice, Laid, OpenCard, Scene, Shown } from "./scene.js" */

import { TICHU } from "./cards.js";
import { cardsOf, standing } from "./scene.js";

const CARDS = 14;
const GIFTS = 3;
const CALLED = ["", "Tichu", "Grand Tichu"];
const OUT = ["", "first out", "second out", "third out"];
const RANKS = "..23456789TJQKA";

/** @param {Shown} shown @returns {Scene} */
export function tichu(shown) {
  const { fields, moves, window } = shown.position;
  const me = shown.welcome.seat;
  const seats = shown.chairs.map((_, seat) => seat);
  const known = (/** @type {number} */ seat) => cardsOf(fields.hands?.[seat]);
  const { trick, last, passed } = course(shown);
  const top = cardsOf(fields.top);
  const gives = moves.filter(({ text }) => text.startsWith("give "));
  const own = me === null ? [] : known(me).sort((a, b) => TICHU.rank(b) - TICHU.rank(a) || a - b);
  const { hand, choices } = me === null ? { hand: [], choices: [] } : gives.length ? exchange(shown, own) : combinations(shown, own);
  const isWhole = fields.called !== undefined;
  const points = isWhole ? fields.scores : [0, 0];
  const taken = (/** @type {number} */ side) => fields.won[side] + fields.won[side + 2];
  return {
    deck: TICHU,
    isPlay: gives.length > 0 || moves.some(({ text }) => text === "pass" || cardsIn(text)),
    turn: shown.position.turn,
    seats: seats.map((seat) => ({
      hidden: seat === me ? 0 : fields.left[seat] - known(seat).length,
      open: seat === me ? [] : known(seat).map((card) => ({ card, can: false, act: null })),
      chips: [
        ...(me !== null && seat === (me + 2) % 4 ? ["partner"] : []),
        ...(isWhole && fields.called[seat] ? [CALLED[fields.called[seat]]] : []),
        ...(fields.finished[seat] ? [OUT[fields.finished[seat]] ?? "out"] : []),
      ],
      said: passed.has(seat) ? "pass" : "",
      told: `${String(fields.won[seat]).replace("-", "−")} points`,
    })),
    hand,
    trick: top.length && !trick.some(({ cards }) => same(cards, top))
      ? [{ seat: fields.last, cards: top, best: true }]
      : trick.map((laid) => ({ ...laid, best: laid.seat === fields.last && same(laid.cards, top) })),
    last,
    asides: [],
    facts: [
      ...(fields.wish ? [/** @type {[string, string]} */ (["Wish", rankName(fields.wish)])] : []),
      ["Trick", `${fields.pile} points`],
      ...(isWhole ? [/** @type {[string, string]} */ (["Round", String(fields.rounds + 1)])] : []),
    ],
    score: {
      head: ["", "tricks", ...(isWhole ? ["game"] : [])],
      rows: [0, 1].map((side) => [
        `${shown.who(side)} and ${shown.who(side + 2)}`, String(taken(side)), ...(isWhole ? [String(points[side])] : []),
      ]),
    },
    choices,
    prompt: gives.length ? "Your turn: pick three cards to give away" : prompt(shown, top),
    why: gives.length ? "" : window || !moves.length ? "" : "No combination with these cards can be played now.",
  };
}

/** @param {Shown} shown @param {number[]} top */
function prompt(shown, top) {
  const { moves, window, fields } = shown.position;
  const has = (/** @type {string} */ word) => moves.some(({ text }) => text.startsWith(word));
  if (window) return "You can bomb now";
  if (has("grand")) return "Your turn: call Grand Tichu?";
  if (has("no call")) return "Your turn: call Tichu?";
  if (has("wish") || has("no wish")) return "Your turn: wish a rank";
  if (has("dragon")) return "Your turn: who gets the Dragon's trick?";
  const wish = fields.wish ? `, the wish is ${rankName(fields.wish)}` : "";
  return top.length ? `Your turn: beat ${top.map(TICHU.sign).join(" ")} or pass${wish}` : `Your turn: lead any combination${wish}`;
}

// --- one's moves ---------------------------------------------------------------------------------------

/** The cards of a play, from its text. @param {string} text @returns {number[] | null} */
function cardsIn(text) {
  const cards = text.split("+").map((part) => TICHU.read(part.split("=")[0]));
  return cards.every((card) => card !== null) ? /** @type {number[]} */ (cards) : null;
}

/** A play as it is printed; what the Phoenix stands for is said. @param {string} text */
function printed(text) {
  const wild = text.split("=")[1];
  return (cardsIn(text) ?? []).map(TICHU.sign).join(" ") + (wild ? ` as ${wild.replace("T", "10")}` : "");
}

/**
 * Any card that, with those picked, is part of a play can be picked; what is picked can be played.
 * @param {Shown} shown @param {number[]} own
 * @returns {{hand: OpenCard[], choices: Choice[]}}
 */
function combinations(shown, own) {
  const { moves, window } = shown.position;
  const plays = moves.flatMap(({ move, text }) => {
    const cards = cardsIn(text);
    return cards ? [{ move, text, cards: new Set(cards) }] : [];
  });
  const picked = shown.selected.filter((card) => own.includes(card));
  const fitting = plays.filter(({ cards }) => picked.every((card) => cards.has(card)));
  const whole = fitting.filter(({ cards }) => cards.size === picked.length);
  const words = moves.filter(({ text }) => !cardsIn(text));
  const offered = window ? plays : whole;
  return {
    hand: own.map((card) => {
      const isPicked = picked.includes(card);
      return {
        card,
        can: isPicked || fitting.some(({ cards }) => cards.has(card)),
        picked: isPicked,
        act: () => shown.select(isPicked ? picked.filter((other) => other !== card) : [...picked, card]),
      };
    }),
    choices: [
      ...offered.map(({ move, text }) => ({
        key: move, text: `${window ? "Bomb" : "Play"} ${printed(text)}`, main: true, act: () => shown.play(move),
      })),
      ...words.map(({ move, text }) => ({
        key: move, text: inWords(shown, text), label: spoken(text), main: text === "pass" && fitting.length === 0, act: () => shown.play(move),
      })),
      ...(picked.length ? [{ key: "clear", text: "Clear", act: () => shown.select([]) }] : []),
    ],
  };
}

/** A move that is no play of cards. @param {Shown} shown @param {string} text */
function inWords(shown, text) {
  if (text.startsWith("no bomb")) return "No bomb";
  if (text.startsWith("wish ")) return text.slice(5).replace("T", "10");
  if (text.startsWith("dragon to ")) return `Dragon to ${shown.who(Number(text.slice(10)))}`;
  return text === "grand tichu" ? "Grand Tichu" : text[0].toUpperCase() + text.slice(1);
}

/** @param {string} text */
const spoken = (text) => (text.startsWith("wish ") ? `wish ${rankName(RANKS.indexOf(text.slice(5)))}` : undefined);

/**
 * Three cards are put aside, one for each of the others, and given together.
 * @param {Shown} shown @param {number[]} own
 * @returns {{hand: OpenCard[], choices: Choice[]}}
 */
function exchange(shown, own) {
  const me = shown.welcome.seat ?? 0;
  const given = shown.position.fields.gave[me].filter((/** @type {number} */ card) => card > 0).map((/** @type {number} */ card) => card - 1);
  const picked = shown.selected.filter((card) => own.includes(card) && !given.includes(card));
  const all = [...given, ...picked];
  const slots = [1, 2, 3].map((k) => ({
    to: (me + k) % 4, card: /** @type {number | undefined} */ (all[k - 1]), isPicked: k > given.length && k <= all.length,
  }));
  const missing = GIFTS - all.length;
  return {
    hand: own.map((card) => {
      const isPicked = picked.includes(card);
      return {
        card,
        can: isPicked || (missing > 0 && !given.includes(card)),
        picked: isPicked || given.includes(card),
        act: () => shown.select(isPicked ? picked.filter((other) => other !== card) : [...picked, card]),
      };
    }),
    choices: [
      ...slots.map(({ to, card, isPicked }) => ({
        key: `slot${to}`,
        text: `${shown.who(to)}: ${card === undefined ? "–" : TICHU.sign(card)}`,
        label: `To ${shown.who(to)}: ${card === undefined ? "nothing yet" : `${TICHU.name(card)}, take back`}`,
        why: isPicked ? undefined : "Pick a card from your hand.",
        act: () => shown.select(picked.filter((other) => other !== card)),
      })),
      {
        key: "give", text: "Give", main: true, why: missing ? `Pick ${missing} more.` : undefined,
        act: () => shown.playAll(picked.map((card) => `give ${TICHU.text(card)}`)),
      },
    ],
  };
}

/** @param {number} rank */
const rankName = (rank) => (rank === 14 ? "ace" : rank === 13 ? "king" : rank === 12 ? "queen" : rank === 11 ? "jack" : rank < 2 ? "none" : String(rank));

// --- the course of the round, from what was told --------------------------------------------------------

/** @param {number[]} a @param {number[]} b */
const same = (a, b) => a.length === b.length && a.every((card) => b.includes(card));

/**
 * What each seat last put down in this trick, who has passed since the last play, and the last trick.
 * A trick ends when all others who have cards have passed, or with the Dog.
 * @param {Shown} shown
 */
function course(shown) {
  const seats = shown.chairs.length;
  /** @type {Map<number, Laid>} */
  let laid = new Map();
  /** @type {Laid | null} */
  let best = null;
  /** @type {Set<number>} */
  let passed = new Set();
  /** @type {{laid: Laid[], count: number} | null} */
  let last = null;
  let count = 0;
  let left = Array(seats).fill(CARDS);
  const finish = () => {
    if (best) last = { laid: [...laid.values()].map((one) => ({ ...one, best: one === best })), count: ++count };
    laid = new Map();
    passed = new Set();
    best = null;
  };
  const events = standing(shown.events);
  const isCleared = shown.position.fields.kind === 0;
  for (const { kind, seat, text, number } of events) {
    if (kind === "deal" || kind === "over") {
      finish();
      left = Array(seats).fill(CARDS);
    }
    if (kind !== "move" || seat === null) continue;
    const cards = cardsIn(text);
    if (cards) {
      best = { seat, cards: cards.sort((a, b) => TICHU.rank(a) - TICHU.rank(b)), best: false };
      laid.delete(seat);
      laid.set(seat, best);
      left[seat] -= cards.length;
      passed = new Set();
      if (text === "Dog") finish();
    } else if (text === "pass") {
      passed.add(seat);
    }
    const waiting = left.filter((cardsLeft, other) => cardsLeft > 0 && other !== best?.seat && !passed.has(other));
    // After the last pass the trick may lie there still: somebody may bomb, or give the Dragon away.
    const isLatest = number === events.at(-1)?.number;
    if (best && waiting.length === 0 && (isCleared || !isLatest)) finish();
  }
  return { trick: [...laid.values()], last, passed };
}
