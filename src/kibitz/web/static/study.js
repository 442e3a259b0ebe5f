// @ts-check
// Study: a line of play from a link, from a text that is pasted, or from a file that is dropped.

/** @import { LinkedLine } from "./review.js" */

import { alarm, announce, byId, make } from "./dom.js";
import { ask, Connection } from "./net.js";
import { lineView, linkOf } from "./review.js";

const LARGEST = 60_000;
/** What was found in a text that was pasted or dropped anywhere. @type {any} */
let offered = null;

/** @param {HTMLElement} main @param {string} letters what the link holds @param {boolean} [isEmbedded] @returns {() => void} */
export function study(main, letters, isEmbedded = false) {
  byId("where").textContent = "Study";
  if (!letters) return desk(main);
  try {
    const line = unpacked(letters);
    const greeting = { type: "study", game: line.game, start: line.start, moves: line.moves };
    const options = { first: Number(line.ply) || 0, others: line.others ?? [], isEmbedded };
    return lineView(main, (hear, show) => new Connection("", hear, show, () => greeting), options).close;
  } catch {
    alarm("This link holds no line of play; it may be incomplete.");
    return desk(main);
  }
}

/** @param {string} letters @returns {LinkedLine} */
function unpacked(letters) {
  const bytes = Uint8Array.from(atob(letters.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const line = JSON.parse(new TextDecoder().decode(bytes));
  const isLine = (/** @type {any} */ moves) => Array.isArray(moves) && moves.every((text) => typeof text === "string");
  if (typeof line.game !== "string" || typeof line.start !== "object" || !isLine(line.moves) || !(line.others ?? []).every(isLine)) throw new Error("no line");
  return line;
}

/** Read what was pasted or dropped, and go to where it can be studied; or say what is wrong, and stay. @param {string} text */
export async function take(text) {
  const [, link] = text.trim().match(/^https?:\/\/\S+(#\S+)$/) ?? [];
  if (link) {
    location.hash = link;
    return;
  }
  alarm("");
  try {
    if (text.length > LARGEST) throw new Error("This is too long: 60,000 letters can be read at once.");
    offered = await ask("/api/lines", { text });
    if (location.hash === "#study") dispatchEvent(new HashChangeEvent("hashchange"));
    else location.hash = "study";
  } catch (error) {
    alarm(String(/** @type {Error} */ (error).message));
  }
}

/** Where something to study can be put. @param {HTMLElement} main @returns {() => void} */
function desk(main) {
  const text = /** @type {HTMLTextAreaElement} */ (make("textarea", {
    id: "pasted", rows: "10", required: "", spellcheck: "false", "aria-describedby": "what",
  }));
  const file = /** @type {HTMLInputElement} */ (make("input", { id: "file", type: "file", onchange: () =>
    void file.files?.[0]?.text().then(take) }));
  const found = make("section", { "aria-label": "What was found", "aria-live": "polite" });
  const form = make("form", { onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    void take(text.value);
  } },
    make("p", { id: "what" }, "Boards of bridge as PBN or LIN, a record of Kibitz (a table's file, or what " +
      "kibitz replay --json prints), or a position such as: briskola 7: 12D"),
    make("label", { for: "pasted" }, "Paste a text, drop a file on any page,"), text,
    make("label", { for: "file" }, "or choose a file"), file, make("p", {}, make("button", {}, "Study")));
  main.append(make("h2", {}, "Study a game"), form, found);
  if (!offered) return () => {};
  const links = offered.lines.map((/** @type {any} */ line) => {
    const what = `${line.title}, ${line.game}: ${line.moves.length} moves`;
    return make("li", {}, make("a", { href: linkOf({ game: line.game, start: line.start, moves: line.moves, ply: 0 }) }, what));
  });
  found.replaceChildren(make("p", {}, `${offered.notation}:`), make("ul", {}, ...links));
  announce(`${offered.notation} was read.`);
  setTimeout(() => /** @type {HTMLElement | null} */ (found.querySelector("a"))?.focus());
  offered = null;
  return () => {};
}
