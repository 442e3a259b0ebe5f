// @ts-check
// Where we are: what stands behind the # of the address says it, and no server is told.
// Nothing: the lobby. A token: a table. Else the name of a page, and what it is about.

import { alarm, byId } from "./dom.js";
import { lobby } from "./lobby.js";
import "./settings.js";
import { sit } from "./table.js";

/** @type {() => void} */
let leave = () => {};

/** @type {Record<string, (main: HTMLElement, about: string) => Promise<() => void>>} */
const PAGES = {
  review: async (main, token) => (await import("./review.js")).review(main, token),
  study: async (main, line) => (await import("./study.js")).study(main, line, isEmbedded),
  laboratory: async (main, name) => (await import("./laboratory.js")).laboratory(main, name),
  trees: async (main, name) => (await import("./laboratory.js")).trees(main, name),
};
const isEmbedded = location.pathname === "/view"; // in the page of somebody else: a line, and nothing but
let visit = 0;

async function go() {
  leave();
  alarm("");
  const main = byId("main");
  main.replaceChildren();
  const here = ++visit;
  const [name, about] = location.hash.slice(1).split(/=(.*)/s);
  if (isEmbedded && name !== "study") return alarm("This page shows a line of play that is in its link.");
  if (Object.hasOwn(PAGES, name)) {
    leave = () => {};
    const left = await PAGES[name](main, about ?? "");
    if (here === visit) leave = left;
    else left(); // somebody was quicker than the page
  } else if (/^[\w-]{20,64}$/.test(name)) leave = sit(main, name);
  else {
    leave = lobby(main);
    if (name) alarm("This link opens nothing; it may be incomplete.");
  }
  main.focus({ preventScroll: true });
}

/** A text or file to study, wherever it is pasted or dropped. @param {DataTransfer | null} brought */
async function take(brought) {
  const file = brought?.files[0];
  const text = file ? await file.text() : brought?.getData("text");
  if (text) await (await import("./study.js")).take(text);
}

if (!isEmbedded) {
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    void take(event.dataTransfer);
  });
  addEventListener("paste", (event) => {
    if (!/** @type {Element} */ (event.target).matches?.("input, textarea")) void take(event.clipboardData);
  });
}
document.documentElement.classList.toggle("embedded", isEmbedded);
addEventListener("hashchange", () => void go());
void go();
