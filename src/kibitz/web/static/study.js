// @ts-check
// Study: a line of play from a link, from a text that is pasted, or from a file that is dropped.

import { alarm, byId, make } from "./dom.js";
import { ask, Connection } from "./net.js";
import { lineView, linkOf } from "./review.js";

/** @param {HTMLElement} main @param {string} letters what the link holds @returns {() => void} */
export function study(main, letters) {
  byId("where").textContent = "Study";
  if (!letters) return desk(main);
  try {
    const line = unpacked(letters);
    return lineView(main, (hear, show) => new Connection("", hear, show, () => ({
      type: "study", game: line.game, start: line.start, moves: line.moves,
    })), Number(line.ply) || 0).close;
  } catch {
    alarm("This link holds no line of play; it may be incomplete.");
    return desk(main);
  }
}

/** @param {string} letters */
function unpacked(letters) {
  const bytes = Uint8Array.from(atob(letters.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const line = JSON.parse(new TextDecoder().decode(bytes));
  if (typeof line.game !== "string" || !Array.isArray(line.moves)) throw new Error("no line");
  return line;
}

/** Where something to study can be put. @param {HTMLElement} main @returns {() => void} */
function desk(main) {
  const text = /** @type {HTMLTextAreaElement} */ (make("textarea", {
    id: "pasted", rows: "10", spellcheck: "false", "aria-describedby": "what",
  }));
  const file = /** @type {HTMLInputElement} */ (make("input", { id: "file", type: "file", onchange: () => void take(file.files) }));
  const found = make("section", { "aria-label": "What was found", "aria-live": "polite" });
  const form = make("form", { onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    void read(text.value);
  } },
    make("p", { id: "what" }, "Boards of bridge as PBN or LIN, a record of Kibitz (a table's file, or what " +
      "kibitz replay --json prints), or a position such as: briskola 7: 12D"),
    make("label", { for: "pasted" }, "Paste a text, drop a file anywhere,"), text,
    make("label", { for: "file" }, "or choose a file"), file, make("p", {}, make("button", {}, "Study")));
  main.append(make("h2", {}, "Study a game"), form, found);

  /** @param {string} pasted */
  async function read(pasted) {
    alarm("");
    try {
      const answer = await ask("/api/lines", { text: pasted });
      const links = answer.lines.map((/** @type {any} */ line) => {
        const what = `${line.title}, ${line.game}: ${line.moves.length} moves`;
        return make("li", {}, make("a", { href: linkOf({ game: line.game, start: line.start, moves: line.moves, ply: 0 }) }, what));
      });
      found.replaceChildren(make("p", {}, `${answer.notation}:`), make("ul", {}, ...links));
      /** @type {HTMLElement} */ (found.querySelector("a"))?.focus();
    } catch (error) {
      alarm(String(/** @type {Error} */ (error).message));
    }
  }

  /** @param {FileList | null | undefined} files */
  async function take(files) {
    const dropped = files?.[0];
    if (!dropped) return;
    if (dropped.size > 60_000) alarm("The file is too large: 60,000 letters can be read at once.");
    else await read((text.value = await dropped.text()));
  }

  /** @param {DragEvent} event */
  const over = (event) => event.preventDefault();
  /** @param {DragEvent} event */
  const drop = (event) => {
    event.preventDefault();
    void take(event.dataTransfer?.files);
  };
  addEventListener("dragover", over);
  addEventListener("drop", drop);
  return () => {
    removeEventListener("dragover", over);
    removeEventListener("drop", drop);
  };
}
