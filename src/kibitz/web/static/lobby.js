// @ts-check
// The lobby: a new table, and one's own tables.

/** @import { TableMade, TableShown } from "./protocol.js" */

import { alarm, byId, make } from "./dom.js";
import { CARD_GAMES, seatName, titleOf } from "./games.js";
import { keep, keepLinks, linksOf, tokens } from "./keep.js";
import { ask } from "./net.js";
import { settingsDialog } from "./settings.js";

/** @import { Link } from "./keep.js" */
/** @typedef {{name: string, agent: string}} Level */
/** @typedef {{name: string, default: any, choices: any[], takes: string, help: string}} Option */
/** @typedef {{name: string, about: string, options: Option[], levels: Level[]}} Game */

const [YOU, PERSON, AGENT, OTHER] = ["you", "person", "agent", "other"];

/** @param {HTMLElement} main @returns {() => void} */
export function lobby(main) {
  byId("where").textContent = "";
  const dialog = settingsDialog(() => {});
  const own = make("section", { "aria-labelledby": "own" }, make("h2", { id: "own" }, "Your tables"));
  const fresh = make("section", { "aria-labelledby": "new" }, make("h2", { id: "new" }, "A new table"));
  main.append(make("div", { class: "lobby" }, fresh, own,
    make("p", {}, make("button", { type: "button", onclick: () => dialog.showModal() }, "Settings"))), dialog);
  void showOwn(own);
  void showForm(fresh);
  return () => {};
}

/** @param {HTMLElement} section */
async function showOwn(section) {
  const kept = tokens();
  /** @type {TableShown[]} */
  const found = kept.length ? await ask("/api/tables/mine", { tokens: kept }) : [];
  const list = make("ul", { class: "tables" });
  for (const table of found) {
    const seats = table.chairs.map((chair) => chair.agent.split(":")[0] || chair.name || "a person");
    const state = table.over ? "over" : table.your_turn ? "your turn" : "";
    const what = table.seat === null ? "watch" : seatName(table.game, table.seat);
    list.append(make("li", {}, make("a", { href: `/#${table.token}` }, `${titleOf(table.game)}: ${seats.join(", ")}`), ` ${what} `,
      make("strong", {}, state)));
  }
  section.append(found.length ? list : make("p", {}, "None yet in this browser."));
}

/** @param {HTMLElement} section */
async function showForm(section) {
  /** @type {Game[]} */
  const games = await ask("/api/games");
  const order = Object.keys(CARD_GAMES);
  const place = (/** @type {Game} */ { name }) => (order.includes(name) ? order.indexOf(name) : order.length);
  games.sort((a, b) => place(a) - place(b));
  let chosen = games[0];
  const about = make("p", { class: "soft", id: "about" });
  const options = make("div");
  const seats = make("fieldset");
  const seed = /** @type {HTMLInputElement} */ (
    make("input", { id: "seed", inputmode: "numeric", pattern: "[0-9]{1,18}", autocomplete: "off" })
  );
  const links = make("div", { class: "links" });

  const tiles = games.map((game) => {
    const look = CARD_GAMES[game.name];
    const radio = /** @type {HTMLInputElement} */ (make("input", { type: "radio", name: "game", value: game.name, id: `game-${game.name}`,
      onchange: () => {
        chosen = game;
        showGame();
      } }));
    radio.checked = game === chosen;
    return make("label", { class: "game" }, radio,
      ...(look ? [make("span", { class: "fan", "aria-hidden": "true" }, .../** @type {any[]} */ (look.fan()))] : []),
      make("span", {}, titleOf(game.name)));
  });

  const fields = () => /** @type {HTMLInputElement[]} */ ([...options.querySelectorAll("select, input")]);
  const spec = () => {
    const set = fields().filter((field) => field.value !== field.dataset.default).map((field) => `${field.name}=${field.value}`);
    return set.length ? `${chosen.name}:${set.join(",")}` : chosen.name;
  };

  const showSeats = () => {
    const n = Number(fields().find(({ name }) => name === "seats")?.value || chosen.options.find(({ name }) => name === "seats")?.default || 2);
    const own = CARD_GAMES[chosen.name]?.bottom ?? 0;
    seats.replaceChildren(make("legend", {}, "Who sits where"),
      ...Array.from({ length: n }, (_, seat) => seatRow(seatName(chosen.name, seat), seat, seat === own, chosen.levels)));
  };

  const showGame = () => {
    about.textContent = chosen.about;
    options.replaceChildren();
    for (const option of chosen.options) {
      const value = String(option.default);
      const choices = typeof option.default === "boolean" ? ["false", "true"] : option.choices.map(String);
      const field = choices.length
        ? select(option.name, choices.map((choice) => [choice, { true: "yes", false: "no" }[choice] ?? choice]), value)
        : make("input", { id: option.name, name: option.name, value, autocomplete: "off" });
      field.dataset.default = value;
      const row = make("div", { class: "option" }, make("label", { for: option.name }, option.name.replaceAll("_", " ")), field,
        make("small", {}, option.help ?? ""));
      if (choices.length !== 1) options.append(row);
    }
    showSeats();
  };

  options.addEventListener("change", (event) => {
    if (/** @type {HTMLSelectElement} */ (event.target).name === "seats") showSeats(); // else who sits where stays
  });
  const form = make("form", { onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    void open();
  } },
    make("fieldset", { class: "games" }, make("legend", { class: "unseen" }, "Game"), ...tiles), about, seats,
    make("details", {}, make("summary", {}, "Rules and deal"), options,
      make("div", { class: "option" }, make("label", { for: "seed" }, "deal number"), seed,
        make("small", {}, "at random, if empty; the same number is the same deal"))),
    make("button", { class: "main" }, "Open the table"), links);
  section.append(form);
  showGame();

  async function open() {
    const rows = /** @type {any[]} */ ([...seats.querySelectorAll(".seat-row")]);
    const chairs = rows.map((row) => row.chair());
    const own = rows.findIndex((row) => row.isYou());
    alarm("");
    try {
      /** @type {TableMade} */
      const made = await ask("/api/tables", { game: spec(), seats: chairs, seed: seed.value || null, undo: true });
      const token = made.seats[own] ?? made.watch;
      const others = Object.entries(made.seats).filter(([seat]) => Number(seat) !== own)
        .map(([seat, other]) => ({ what: seatName(chosen.name, Number(seat)), token: other }));
      keep(token);
      keepLinks(token, [...others, { what: "To watch", token: made.watch }]);
      if (!others.length) {
        location.hash = token;
        return;
      }
      links.replaceChildren(
        make("p", {}, "Send these links; whoever has one has the seat. They stay at your table, under “Links”."),
        make("ul", {}, ...linksOf(token).map(link)),
        make("a", { href: `/#${token}`, class: "go" }, own < 0 ? "Watch" : "Sit down"),
      );
      /** @type {HTMLElement} */ (links.querySelector(".go")).focus();
    } catch (error) {
      alarm(/** @type {Error} */ (error).message);
    }
  }
}

/**
 * Who sits at a seat: you, somebody else, or an agent whose strength is set in plain words.
 * @param {string} title @param {number} seat @param {boolean} isOwn @param {Level[]} levels
 */
function seatRow(title, seat, isOwn, levels) {
  const who = select(`seat${seat}`, [
    [YOU, "you"], [AGENT, "the computer"], [PERSON, "a person, by link"], [OTHER, "an agent by its string"],
  ], isOwn ? YOU : AGENT);
  const slider = /** @type {HTMLInputElement} */ (make("input", {
    id: `strength${seat}`, type: "range", min: "0", max: String(levels.length - 1), value: "1", "aria-label": `How strong seat ${seat} plays`,
  }));
  const strength = make("output", { for: `strength${seat}` });
  const text = /** @type {HTMLInputElement} */ (make("input", {
    id: `agent${seat}`, "aria-label": `Agent at seat ${seat}`, placeholder: "ismcts:2000", autocomplete: "off",
  }));
  const name = /** @type {HTMLInputElement} */ (make("input", {
    id: `name${seat}`, "aria-label": `Name at seat ${seat}`, placeholder: "name", maxlength: "40", autocomplete: "off",
  }));
  const show = () => {
    const level = levels[Number(slider.value)];
    strength.textContent = level.name;
    strength.title = level.agent;
    slider.setAttribute("aria-valuetext", `${level.name} (${level.agent})`);
    slider.hidden = strength.hidden = who.value !== AGENT;
    text.hidden = !(text.required = who.value === OTHER);
    name.hidden = who.value !== PERSON && who.value !== YOU;
  };
  who.addEventListener("change", () => {
    const rows = row.parentElement?.querySelectorAll("select") ?? [];
    for (const other of rows) if (who.value === YOU && other !== who && other.value === YOU) {
      other.value = AGENT;  // there is one of you
      other.dispatchEvent(new Event("change"));
    }
    show();
  });
  slider.addEventListener("input", show);
  show();
  const chair = () => ({
    name: name.hidden ? "" : name.value,
    agent: who.value === AGENT ? levels[Number(slider.value)].agent : who.value === OTHER ? text.value : "",
  });
  const row = make("div", { class: "seat-row" }, make("label", { for: `seat${seat}` }, title), who, slider, strength, text, name);
  return Object.assign(row, { chair, isYou: () => who.value === YOU });
}

/** A link to send. @param {Link} link */
export const link = ({ what, token }) => make("li", {}, `${what}: `, make("code", {}, `${location.origin}/#${token}`));

/**
 * @param {string} name
 * @param {string[][]} choices
 * @param {string} [value]
 */
function select(name, choices, value) {
  const field = /** @type {HTMLSelectElement} */ (make("select", { id: name, name }));
  for (const [key, text] of choices) field.append(make("option", { value: key }, text));
  if (value !== undefined) field.value = value;
  return field;
}
