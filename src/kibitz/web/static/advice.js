// @ts-check
// What the adviser thinks of every move, while it thinks.

/** @import { AdviceShown, RowShown } from "./protocol.js" */

import { make } from "./dom.js";

const MOST_ROWS = 12;

/**
 * @param {HTMLElement} place
 * @param {AdviceShown | null} advice
 * @param {string} state what to say while there is none
 * @param {(row: RowShown) => string} name
 */
export function drawAdvice(place, advice, state, name) {
  if (!advice) {
    place.replaceChildren(make("p", { class: "soft" }, state));
    return;
  }
  const rows = [...advice.rows].sort((a, b) => Number(b.move === advice.best) - Number(a.move === advice.best) ||
    b.visits - a.visits || (b.value ?? 0) - (a.value ?? 0));
  const most = Math.max(1, ...rows.map(({ visits }) => visits));
  const number = (/** @type {number | null} */ value) => (value === null ? "–" : inFigures(value, advice));
  const body = make("tbody");
  for (const row of rows.slice(0, MOST_ROWS)) {
    const isBest = row.move === advice.best;
    const bar = make("span", { class: "bar" });
    bar.style.width = `${(1.5 * row.visits) / most}rem`;
    body.append(make("tr", { class: isBest ? "best" : "" },
      make("td", {}, (isBest ? "★ " : "") + name(row)), make("td", {}, number(row.value)),
      make("td", {}, number(row.stderr)),
      make("td", {}, bar, ` ${row.visits}`)));
  }
  const head = ["move", advice.unit || "value", "±", "visits"].map((text) => make("th", { scope: "col" }, text));
  const speed = advice.seconds > 0 ? `, ${Math.round(advice.iterations / advice.seconds)} a second` : "";
  place.replaceChildren(
    make("table", {}, make("thead", {}, make("tr", {}, ...head)), body),
    make("p", { class: "soft" }, `${advice.agent}, seed ${advice.seed}: ${advice.iterations} iterations${speed}, ` +
      `${advice.worlds} worlds${advice.exact ? ", exact" : ""}${advice.done ? "." : " …"}`),
    make("p", { class: "soft" }, "This advice uses only what your seat can see."),
  );
}

/** A value, with more digits where values are shares of one. @param {number} value @param {AdviceShown} advice */
export function inFigures(value, advice) {
  const isShare = advice.rows.every((row) => Math.abs(row.value ?? 0) <= 1);
  return value.toFixed(isShare ? 3 : 1).replace("-", "−");
}
