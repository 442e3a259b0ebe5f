// @ts-check
// What the adviser thinks of every move, while it thinks; one can stop it, or let it think on.

/** @import { AdviceShown, MoveShown, RowShown } from "./protocol.js" */

import { make, set } from "./dom.js";

export const COMPILING = "the first search of a game is compiled, which can take minutes";

/**
 * The place for advice.
 * @param {(on: boolean) => void} think what happens when one wants it to think on, or to stop
 */
export function makeAdvice(think) {
  const words = make("p", { class: "soft" });
  const rows = make("div", { class: "rows", tabindex: "0", role: "region", "aria-label": "The value of every move" });
  const button = make("button", { type: "button", onclick: () => {
    if (!shown) return;
    isStopped = !shown.done;
    think(shown.done);
  } });
  const element = make("div", { class: "advice" }, rows, words, button);
  /** @type {AdviceShown | null} */
  let shown = null;
  let isStopped = false; // what was on its way when one pressed Stop does not think on

  /**
   * @param {AdviceShown | null} found
   * @param {string} state what to say while there is none
   * @param {(move: MoveShown) => string} name
   * @param {string} whose what it uses
   */
  function draw(found, state, name, whose) {
    if (!found) isStopped = false;
    const advice = found && isStopped ? { ...found, done: true } : found;
    shown = advice;
    rows.hidden = !advice;
    button.hidden = !advice || (advice.done && advice.exact);
    button.textContent = advice?.done ? "Think deeper" : "Stop";
    words.textContent = advice ? `${described(advice)} This advice uses only what ${whose} can see.` : state;
    rows.replaceChildren(...(advice ? [table(advice, name)] : []));
    set(element, { "aria-busy": advice && !advice.done ? "true" : null });
  }

  return { element, draw };
}

/** Who thought, for how long, and how much. @param {AdviceShown} advice */
function described({ agent, seed, seconds, limit, iterations, worlds, exact, done }) {
  const speed = seconds > 0 ? `, ${Math.round(iterations / seconds)} a second` : "";
  return `${agent}, seed ${seed}: ${seconds.toFixed(1)} of ${Number(limit.toFixed(1))} s, ${iterations} iterations${speed}, ` +
    `${worlds} worlds${exact ? ", exact" : ""}${done ? "." : " …"}`;
}

/** @param {AdviceShown} advice @param {RowShown} row */
export const isBest = (advice, row) => row.moves.some(({ move }) => move === advice.best);

/** @param {AdviceShown} advice @param {(move: MoveShown) => string} name */
function table(advice, name) {
  const rows = [...advice.rows].sort((a, b) => Number(isBest(advice, b)) - Number(isBest(advice, a)) ||
    b.visits - a.visits || (b.value ?? 0) - (a.value ?? 0));
  const most = Math.max(1, ...rows.map(({ visits }) => visits));
  const number = (/** @type {number | null} */ value) => (value === null ? "–" : inFigures(value, advice));
  const further = Object.keys(rows[0]?.shares ?? {});
  const head = ["move", advice.unit || "value", "±", ...further, "visits", "avail."];
  return make("table", {}, make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col" }, text)))),
    make("tbody", {}, ...rows.map((row) => {
      const bar = make("span", { class: "bar" });
      bar.style.width = `${(1.5 * row.visits) / most}rem`;
      return make("tr", { class: isBest(advice, row) ? "best" : "" },
        make("td", {}, (isBest(advice, row) ? "★ " : "") + row.moves.map(name).join(" "),
          ...(isBest(advice, row) ? [make("span", { class: "unseen" }, ", its choice")] : [])),
        make("td", {}, number(row.value)), make("td", {}, number(row.stderr)),
        ...further.map((share) => make("td", {}, `${Math.round(100 * row.shares[share])} %`)),
        make("td", { title: row.visits }, bar, ` ${short(row.visits)}`), make("td", { title: row.available }, short(row.available)));
    })));
}

/** A count, in thousands where it is large. @param {number} count */
const short = (count) => (count < 10_000 ? String(count) : `${Math.round(count / 1000)}k`);

/** A value, with more digits where values are shares of one. @param {number} value @param {AdviceShown} advice */
export function inFigures(value, advice) {
  const isShare = advice.rows.every((row) => Math.abs(row.value ?? 0) <= 1);
  return value.toFixed(isShare ? 3 : 1).replace("-", "−");
}

/**
 * What is thought of a move, in a word, and whether none is better.
 * @typedef {{text: string, best: boolean}} Opinion
 */

/** Opinions by the number of the move. @param {AdviceShown | null} advice @returns {Map<string, Opinion>} */
export function opinions(advice) {
  const known = (advice?.rows ?? []).filter(({ value }) => value !== null);
  return new Map(known.flatMap((row) => row.moves.map(({ move }) =>
    /** @type {[string, Opinion]} */ ([move, { text: inFigures(row.value ?? 0, /** @type {AdviceShown} */ (advice)),
      best: isBest(/** @type {AdviceShown} */ (advice), row) }]))));
}
