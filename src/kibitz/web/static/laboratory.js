// @ts-check
// The laboratory: experiments of the store while they run, and trees that are searched step by step.

import { alarm, announce, byId, make, patch } from "./dom.js";
import { ask } from "./net.js";
import { table } from "./review.js";

const LOOK_AGAIN = 3000; // milliseconds

/** @param {HTMLElement} main @param {string} name of an experiment; all, if empty @returns {() => void} */
export function laboratory(main, name) {
  byId("where").textContent = "Laboratory";
  let isOpen = true;
  const again = () => {
    if (isOpen) setTimeout(() => void look(), LOOK_AGAIN);
  };
  const look = name ? one() : all();
  void look();
  return () => {
    isOpen = false;
  };

  function all() {
    const list = make("ul", { class: "tables" });
    const none = make("p", {});
    main.append(make("h2", {}, "Experiments"), list, none,
      make("p", {}, make("a", { href: "/#trees" }, "Trees, searched step by step")));
    return async () => {
      if (!isOpen) return;
      try {
        const found = await ask("/api/experiments");
        none.textContent = found.length ? "" : "None yet: kibitz reproduce and kibitz experiment run make some.";
        patch(list, found, (/** @type {any} */ each) => each.name,
          (each) => make("li", {}, make("a", { href: `/#laboratory=${encodeURIComponent(each.name)}` }, each.title), " ",
            make("progress", {}), " ", make("span", {})),
          (element, each) => {
            const bar = /** @type {HTMLProgressElement} */ (element.querySelector("progress"));
            bar.max = each.wanted || 1;
            bar.value = each.games;
            bar.setAttribute("aria-label", `progress of ${each.title}`);
            const text = each.readable ? `${each.games} of ${each.wanted} games` : "cannot be read here";
            /** @type {HTMLElement} */ (element.querySelector("span")).textContent = text;
          });
        alarm("");
      } catch (error) {
        alarm(String(/** @type {Error} */ (error).message));
      }
      again();
    };
  }

  function one() {
    const wanted = decodeURIComponent(name);
    const bar = /** @type {HTMLProgressElement} */ (make("progress", { "aria-label": "progress" }));
    const count = make("span", {});
    const body = make("div", {});
    let games = -1;
    main.append(make("p", {}, make("a", { href: "/#laboratory" }, "All experiments")), make("p", {}, bar, " ", count), body);
    return async () => {
      if (!isOpen) return;
      try {
        const progress = (await ask("/api/experiments")).find((/** @type {any} */ each) => each.name === wanted);
        if (!progress) throw new Error("there is no such experiment");
        bar.max = progress.wanted || 1;
        bar.value = progress.games;
        count.textContent = `${progress.games} of ${progress.wanted} games`;
        if (progress.games !== games) show(body, await ask(`/api/experiments/${encodeURIComponent(wanted)}`));
        games = progress.games;
        alarm("");
      } catch (error) {
        alarm(String(/** @type {Error} */ (error).message));
      }
      again();
    };
  }
}

/** @param {HTMLElement} body @param {any} found */
function show(body, found) {
  const tables = (/** @type {any[]} */ listed) => listed.flatMap((each) => [
    ...(each.title ? [make("h3", {}, each.title)] : []), make("div", { class: "wide" }, table(each.columns, each.rows)),
  ]);
  const figures = found.figures.map((/** @type {string} */ caption, /** @type {number} */ number) =>
    make("figure", { class: "plot" },
      make("img", { src: `/api/experiments/${encodeURIComponent(found.name)}/${number}.svg?${found.games}`, alt: caption }),
      make("figcaption", {}, caption)));
  const versions = Object.entries(found.versions).map(([what, number]) => `${what} ${number}`).join(", ");
  body.replaceChildren(make("h2", {}, found.title),
    ...(found.question ? [make("p", {}, make("em", {}, found.question))] : []),
    ...(found.source ? [make("p", {}, found.source)] : []), make("p", {}, make("strong", {}, found.state)),
    ...tables(found.tables), make("ul", {}, ...found.findings.map((/** @type {string} */ text) => make("li", {}, text))),
    ...figures, ...(found.no_figures ? [make("p", {}, found.no_figures)] : []),
    make("details", {}, make("summary", {}, `What it cost: ${found.core_seconds} core seconds`), ...tables([found.cost])),
    make("p", {}, `Seed ${found.seed}; ${versions}.`));
}

/** @param {HTMLElement} main @param {string} about name and algorithm of a tree @returns {() => void} */
export function trees(main, about) {
  byId("where").textContent = "Trees";
  const [name, algorithm] = decodeURIComponent(about).split("/");
  let step = 0;
  /** @type {string[]} */ let captions = [];
  const picture = /** @type {HTMLImageElement} */ (make("img", { class: "tree", alt: "" }));
  const caption = make("p", { class: "status", "aria-live": "polite" });
  if (algorithm) void open().catch((error) => alarm(error.message));
  else void choose().catch((error) => alarm(error.message));
  addEventListener("keydown", key);
  return () => removeEventListener("keydown", key);

  async function choose() {
    const list = make("ul", { class: "tables" });
    main.append(make("h2", {}, "Trees, searched step by step"), list);
    for (const tree of await ask("/api/trees")) {
      const links = tree.algorithms.map((/** @type {string} */ each) =>
        make("a", { href: `/#trees=${encodeURIComponent(`${tree.name}/${each}`)}` }, each));
      list.append(make("li", {}, `${tree.name}: ${tree.about}. `, ...links.flatMap((/** @type {Node} */ each) => [each, " "])));
    }
  }

  async function open() {
    const found = await ask(`/api/trees/${name}/${algorithm}`);
    captions = found.captions;
    const button = (/** @type {string} */ text, /** @type {string} */ label, /** @type {() => void} */ act) =>
      make("button", { type: "button", "aria-label": label, onclick: act }, text);
    main.append(make("p", {}, make("a", { href: "/#trees" }, "All trees")), make("h2", {}, found.title),
      make("div", { class: "steps" }, button("⏮", "To the start", () => go(0)), button("◀", "Back", () => go(step - 1)),
        button("▶", "Forward", () => go(step + 1)), button("⏭", "To the end", () => go(Infinity))),
      caption, picture);
    go(0);
  }

  /** @param {number} to */
  function go(to) {
    step = Math.max(0, Math.min(captions.length - 1, to));
    caption.textContent = `${step} of ${captions.length - 1}: ${captions[step]}`;
    picture.src = `/api/trees/${name}/${algorithm}/${step}.svg`;
    picture.alt = captions[step];
    announce(captions[step]);
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    const to = { ArrowLeft: step - 1, ArrowRight: step + 1, Home: 0, End: Infinity }[event.key];
    if (to === undefined || !captions.length || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    go(to);
  }
}
