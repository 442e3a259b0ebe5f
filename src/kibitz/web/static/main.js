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
  study: async (main, line) => (await import("./study.js")).study(main, line),
  laboratory: async (main, name) => (await import("./laboratory.js")).laboratory(main, name),
  trees: async (main, name) => (await import("./laboratory.js")).trees(main, name),
};
let visit = 0;

async function go() {
  leave();
  alarm("");
  const main = byId("main");
  main.replaceChildren();
  const here = ++visit;
  const [name, about] = location.hash.slice(1).split(/=(.*)/s);
  if (Object.hasOwn(PAGES, name)) {
    leave = () => {};
    const left = await PAGES[name](main, about ?? "");
    if (here === visit) leave = left;
    else left(); // somebody was quicker than the page
  } else leave = name ? sit(main, name) : lobby(main);
  main.focus({ preventScroll: true });
}

addEventListener("hashchange", () => void go());
void go();
