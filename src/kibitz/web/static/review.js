// @ts-check
// A line of play that lies open: step through it, let it be judged, look at worlds, play on from anywhere.

/** @import { AdviceShown, ExactShown, JudgedShown, LineShown, Outgoing, PlaceShown, StartGiven, WorldShown } from "./protocol.js" */

import { alarm, announce, byId, make, patch } from "./dom.js";
import { titleOf } from "./games.js";
import { keep } from "./keep.js";
import { ask, Connection } from "./net.js";
import { makeReplay, seatName } from "./replay.js";

const SVG = "http://www.w3.org/2000/svg";
const WORLDS = 12;
const STRAINS = ["♣", "♦", "♥", "♠", "NT"];
const SEATS = ["north", "east", "south", "west"];

/** The review of one's table. @param {HTMLElement} main @param {string} token @returns {() => void} */
export function review(main, token) {
  let isJoined = false;
  const page = lineView(main, (hear, show) => new Connection(token, (message) => {
    if (message.type === "welcome") {
      isJoined = true;
      byId("where").textContent = `${titleOf(message.game)}, review`;
      page.connection.send({ type: "review" });
    } else if (isJoined) hear(message);
  }, show), 0);
  const back = make("p", {}, make("a", { href: `/#${token}` }, "Back to the table"));
  main.prepend(back);
  return page.close;
}

/**
 * A line as it stands in a link.
 * @param {{game: string, start: StartGiven, moves: string[], ply: number}} line
 */
export function linkOf(line) {
  const bytes = new TextEncoder().encode(JSON.stringify(line));
  const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `${location.origin}/#study=${letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/**
 * Everything about a line; `connect` makes the connection that tells of it.
 * @param {HTMLElement} main
 * @param {(hear: (message: Outgoing) => void, show: (isConnected: boolean) => void) => Connection} connect
 * @param {number} first the move to begin at
 */
export function lineView(main, connect, first) {
  /** @type {LineShown} */ let line = /** @type {any} */ (null);
  /** @type {PlaceShown} */ let place = /** @type {any} */ (null);
  let ply = first;
  /** @type {Map<number, JudgedShown>} */ const judged = new Map();
  /** @type {WorldShown[]} */ let worlds = [];
  let isJudging = false;

  const status = make("p", { class: "status" });
  const slider = /** @type {HTMLInputElement} */ (make("input", {
    id: "ply", type: "range", min: "0", max: "0", oninput: () => go(Number(slider.value)),
  }));
  const seen = /** @type {HTMLSelectElement} */ (make("select", { id: "seen", onchange: () => look() }));
  const steps = make("div", { class: "steps", role: "group", "aria-label": "Step through the game" },
    button("|◀", "To the start (Home)", () => go(0)), button("◀", "Back (←)", () => go(ply - 1)),
    button("▶", "Forward (→)", () => go(ply + 1)), button("▶|", "To the end (End)", () => go(Infinity)));
  const board = makeReplay(tryOut);
  const moves = make("div", { class: "moves", role: "group", "aria-label": "What if: try another move" });

  const judgeAll = make("button", { type: "button", "aria-pressed": "false", onclick: () => judge(!isJudging) },
    "Judge all moves");
  const progress = /** @type {HTMLProgressElement} */ (make("progress", { "aria-label": "Judged", value: "0", max: "1" }));
  const chart = document.createElementNS(SVG, "svg");
  chart.setAttribute("class", "losses");
  chart.setAttribute("role", "img");
  const mistakes = make("ol", { class: "mistakes", "aria-label": "Biggest mistakes first" });

  const think = button("Think about this", "Think about this position", () => consider());
  const advice = make("div", { class: "advice" });
  const sample = button("Worlds", "Worlds that the mover could not tell apart", () => sampleWorlds());
  const sampled = make("div", { class: "worlds" });
  const openCards = /** @type {HTMLInputElement} */ (make("input", { id: "dd", type: "checkbox", onchange: () => doubleDummy() }));
  const solved = make("div", { class: "solved" });
  const solver = make("section", { "aria-label": "Double dummy", hidden: "" },
    make("label", { for: "dd" }, openCards, " Double dummy: by all four hands, which no seat could see"), solved);

  const share = button("Copy link", "Copy a link that holds this whole line", () => copy(linkOf(shared())));
  const record = button("Copy record", "Copy this line as a record of Kibitz", () => copy(JSON.stringify(shared())));
  const playOn = button("Play on from here", "Open a table that begins here", () => void open());
  const shownLink = make("p", { class: "link" });

  main.append(make("div", { class: "line" },
    make("div", {}, status,
      make("div", { class: "stepping" }, steps, make("label", { for: "ply" }, "Move"), slider,
        make("label", { for: "seen" }, "Seen by"), seen),
      board.element, moves, make("div", { class: "steps" }, playOn, share, record), shownLink),
    make("div", { class: "side" },
      make("section", { "aria-label": "Judgement" }, judgeAll, progress, chart, mistakes),
      make("section", { "aria-label": "This position" }, think, sample, advice, sampled), solver)));

  const connection = connect(hear, (isConnected) => main.classList.toggle("apart", !isConnected));

  /** @param {Outgoing} message */
  function hear(message) {
    if (message.type === "line") {
      line = message;
      judged.clear();
      byId("where").textContent = titleOf(line.game);
      slider.max = String(line.plies.length);
      seen.replaceChildren(make("option", { value: "" }, "everybody (open)"),
        ...Array.from({ length: line.seats }, (_, seat) => make("option", { value: String(seat) }, seatName(line.game, seat))));
      solver.toggleAttribute("hidden", !line.solver);
      renderJudged(0, 0);
      go(Math.min(ply, line.plies.length));
    } else if (message.type === "place" && message.ply === ply) {
      place = message;
      render();
    } else if (message.type === "judged") {
      judged.set(message.ply, message);
      renderJudged(message.done, message.total);
    } else if (message.type === "advice" && message.number === ply) renderAdvice(message);
    else if (message.type === "world" && message.ply === ply) {
      worlds.push(message);
      renderWorlds();
    } else if (message.type === "exact" && message.ply === ply) renderExact(message);
    else if (message.type === "refused") alarm(message.message);
  }

  /** @param {number} to */
  function go(to) {
    if (!line) return;
    ply = Math.max(0, Math.min(line.plies.length, to));
    slider.value = String(ply);
    worlds = [];
    alarm("");
    for (const part of [advice, sampled, solved]) part.replaceChildren();
    look();
    if (openCards.checked) doubleDummy();
  }

  function look() {
    connection.send({ type: "look", ply, seat: seen.value === "" ? null : Number(seen.value) });
  }

  /** @param {boolean} on */
  function judge(on) {
    isJudging = on;
    judgeAll.setAttribute("aria-pressed", String(on));
    connection.send({ type: "judge", on });
  }

  function consider() {
    advice.replaceChildren("thinking …");
    connection.send({ type: "consider", ply });
  }

  function sampleWorlds() {
    worlds = [];
    sampled.replaceChildren("sampling …");
    connection.send({ type: "worlds", ply, count: WORLDS });
  }

  function doubleDummy() {
    const isWanted = openCards.checked && !place?.over;
    solved.replaceChildren(isWanted ? "solving …" : "");
    if (isWanted) connection.send({ type: "double_dummy", ply });
  }

  /** What a link holds. @param {string[]} [others] the moves, if not all that are shown */
  function shared(others) {
    const texts = line.plies.map((each) => each.text);
    return { game: line.game, start: line.start, moves: others ?? texts, ply };
  }

  function say() {
    const last = ply ? line.plies[ply - 1] : null;
    const made = last ? `${seatName(line.game, last.seat)}: ${last.text}. ` : "The start. ";
    return made + (place.over ? `The game is over: ${place.scores.join(" – ")}.` : `${seatName(line.game, place.turn ?? 0)} is to move.`);
  }

  function render() {
    const text = `${ply} of ${line.plies.length}. ${say()}`;
    if (status.textContent !== text) announce(text);
    status.textContent = text;
    board.draw(line, place);
    const next = line.plies[ply]?.text;
    patch(moves, place.moves.slice(0, 120), (move) => move.move,
      (move) => make("button", { type: "button", onclick: () => tryOut(move.text) }, move.text),
      (element, move) => {
        const wasMade = move.text === next;
        element.classList.toggle("made", wasMade);
        element.setAttribute("aria-label", wasMade ? `${move.text}, which was played` : `what if ${move.text}`);
      });
    for (const part of [think, sample, playOn]) part.toggleAttribute("disabled", place.over);
  }

  /** @param {string} text */
  function tryOut(text) {
    if (text === line.plies[ply]?.text) {
      go(ply + 1);
      return;
    }
    const before = line.plies.slice(0, ply).map((each) => each.text);
    location.href = linkOf({ ...shared([...before, text]), ply: ply + 1 });
  }

  /** @param {number} done @param {number} total */
  function renderJudged(done, total) {
    progress.max = total || 1;
    progress.value = done;
    if (total && done === total) judge(false);
    const known = [...judged.values()].map((each) => ({ ...each, loss: each.loss ?? 0 }));
    const worst = known.filter((each) => each.loss > 0).sort((a, b) => b.loss - a.loss).slice(0, 10);
    patch(mistakes, worst, (each) => String(each.ply),
      (each) => make("li", {}, make("button", { type: "button", onclick: () => go(each.ply) })),
      (element, each) => {
        const { seat, text } = line.plies[each.ply];
        const best = each.advice.rows.find((row) => row.move === each.advice.best);
        const words = `move ${each.ply + 1}, seat ${seat}: ${text} loses ${number(each.loss)} ± ${number(each.error)} ` +
          `${each.advice.unit} against ${best?.text}`;
        /** @type {HTMLElement} */ (element.firstChild).textContent = words;
      });
    drawChart(known);
  }

  /** A bar for every move: how much it has lost. @param {{ply: number, loss: number}[]} known */
  function drawChart(known) {
    const width = Math.max(1, line.plies.length);
    const most = Math.max(1e-9, ...known.map((each) => each.loss));
    chart.setAttribute("viewBox", `0 0 ${width} 20`);
    chart.setAttribute("preserveAspectRatio", "none");
    chart.setAttribute("aria-label", `Losses of ${known.length} judged moves; the most is ${number(most)}`);
    chart.replaceChildren(...known.map((each) => {
      const bar = document.createElementNS(SVG, "rect");
      const height = (19 * each.loss) / most + 0.5;
      for (const [name, value] of Object.entries({ x: each.ply + 0.1, y: 20 - height, width: 0.8, height })) {
        bar.setAttribute(name, String(value));
      }
      return bar;
    }));
  }

  /** @param {AdviceShown} found */
  function renderAdvice(found) {
    const rows = [...found.rows].sort((a, b) => b.visits - a.visits || (b.value ?? 0) - (a.value ?? 0));
    advice.replaceChildren(
      table(["move", found.unit, "error", "visits"], rows.slice(0, 20).map((row) => [
        (row.move === found.best ? "▸ " : "") + row.text, number(row.value), `± ${number(row.stderr)}`, String(row.visits),
      ])),
      make("p", {}, `${found.agent}: ${found.iterations} iterations${found.done ? "" : " …"}. ` +
        "It uses only what the mover could see."));
  }

  function renderWorlds() {
    /** @type {Map<string, number>} */ const wins = new Map();
    for (const world of worlds) {
      const best = Math.max(...world.rows.map((row) => row.value ?? -Infinity));
      for (const row of world.rows) if (row.value === best) wins.set(row.text, (wins.get(row.text) ?? 0) + 1);
    }
    const counted = [...wins].sort((a, b) => b[1] - a[1]).slice(0, 10);
    sampled.replaceChildren(
      make("p", {}, `${worlds.length} of ${worlds[0].count} worlds that the mover could not tell from the truth.`),
      table(["move", "best in"], counted.map(([text, n]) => [text, `${n} of ${worlds.length}`])),
      ...worlds.map((world) => {
        const rows = [...world.rows].sort((a, b) => (b.value ?? 0) - (a.value ?? 0)).slice(0, 8);
        return make("details", {}, make("summary", {}, `World ${world.number}: ${rows[0].text}`),
          make("pre", {}, world.picture), table(["move", world.unit], rows.map((row) => [row.text, number(row.value)])));
      }));
  }

  /** @param {ExactShown} found */
  function renderExact(found) {
    const rows = [...found.rows].sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
    const parts = [table(["card", found.unit], rows.map((row) => [row.text, String(row.value)]))];
    if (found.table) {
      const lines = found.table.tricks.map((tricks, seat) => [SEATS[seat], ...tricks.map(String)]);
      parts.push(table(["", ...STRAINS], lines),
        make("p", {}, `Par, if north deals and nobody is vulnerable: ${found.table.par} for north-south ` +
          `(${found.table.contracts.join(", ") || "passed out"}).`));
    }
    solved.replaceChildren(...parts);
  }

  async function open() {
    const me = place.turn;
    const seats = Array.from({ length: line.seats }, (_, seat) =>
      seat === me ? { name: "you", agent: "" } : { name: "", agent: "rule-based" });
    try {
      const moves = shared().moves.slice(0, ply);
      const wanted = { game: line.game, seats, start: line.start, moves, undo: true };
      const made = await ask("/api/tables", wanted).catch(() =>
        ask("/api/tables", { ...wanted, seats: seats.map((s) => (s.agent ? { ...s, agent: "ismcts:300" } : s)) }));
      keep(made.seats[String(me)]);
      location.hash = made.seats[String(me)];
    } catch (error) {
      alarm(String(/** @type {Error} */ (error).message));
    }
  }

  /** @param {string} text */
  function copy(text) {
    shownLink.replaceChildren(make("code", {}, text));
    void navigator.clipboard?.writeText(text).then(() => announce("Copied."), () => {});
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    const isTyping = event.target instanceof HTMLTextAreaElement || event.target instanceof HTMLSelectElement;
    if (isTyping || event.target === slider || event.ctrlKey || event.metaKey || event.altKey || !line) return;
    const to = { ArrowLeft: ply - 1, ArrowRight: ply + 1, Home: 0, End: Infinity }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    go(to);
  }

  addEventListener("keydown", key);
  return {
    connection,
    close: () => {
      removeEventListener("keydown", key);
      connection.close();
    },
  };
}

/** @param {string} text @param {string} label @param {() => void} act */
function button(text, label, act) {
  return make("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
}

/** @param {string[]} head @param {string[][]} rows */
export function table(head, rows) {
  return make("table", {}, make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col" }, text)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((text) => make("td", {}, text))))));
}

/** @param {number | null} value */
const number = (value) => (value === null ? "–" : value.toFixed(2));
