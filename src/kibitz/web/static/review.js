// @ts-check
// A line of play that lies open: step through it, let it be judged, look at worlds, play on from anywhere.

/** @import { Opinion } from "./advice.js" */
/** @import { AdviceShown, AuctionShown, ExactShown, JudgedShown, LineShown, Outgoing, PlaceShown, StartGiven, WorldShown } from "./protocol.js" */

import { COMPILING, isBest, makeAdvice, opinions } from "./advice.js";
import { drawOpinion } from "./board.js";
import { alarm, announce, byId, make, patch } from "./dom.js";
import { seatName, titleOf } from "./games.js";
import { keep } from "./keep.js";
import { ask, Connection } from "./net.js";
import { makeReplay } from "./replay.js";
import { makeSharing } from "./sharing.js";

const SVG = "http://www.w3.org/2000/svg";
const WORLDS = 12;
const STRAINS = ["♣", "♦", "♥", "♠", "NT"];
const SEATS = ["North", "East", "South", "West"];
const VULNERABLE = { none: "nobody is vulnerable", ns: "North and South are vulnerable", ew: "East and West are vulnerable", both: "all are vulnerable" };
const MOST_LINES = 20;

/** The review of one's table. @param {HTMLElement} main @param {string} token @returns {() => void} */
export function review(main, token) {
  let isJoined = false;
  const page = lineView(main, (hear, show) => new Connection(token, (message) => {
    if (message.type === "welcome") {
      isJoined = true;
      byId("where").textContent = `${titleOf(message.game)}, review`;
      page.connection.send({ type: "review" });
    } else if (isJoined || message.type === "refused") hear(message);
  }, show));
  const back = make("p", {}, make("a", { href: `/#${token}` }, "Back to the table"));
  main.prepend(back);
  return page.close;
}

/**
 * A line of play, where one looks at it, and the lines from which it branches off.
 * @typedef {{game: string, start: StartGiven, moves: string[], ply: number, others?: string[][]}} LinkedLine
 */

/** A line as it stands in a link. @param {LinkedLine} line @param {string} [page] */
export function linkOf(line, page = "/") {
  const bytes = new TextEncoder().encode(JSON.stringify(line));
  const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `${location.origin}${page}#study=${letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/**
 * Everything about a line; `connect` makes the connection that tells of it.
 * @param {HTMLElement} main
 * @param {(hear: (message: Outgoing) => void, show: (isConnected: boolean) => void) => Connection} connect
 * @param {{first?: number, others?: string[][], isEmbedded?: boolean}} [options] the move to begin at, the lines from
 *   which this one branches off, and whether it is only to be looked at, in the page of somebody else
 */
export function lineView(main, connect, { first = 0, others = [], isEmbedded = false } = {}) {
  /** @type {LineShown} */ let line = /** @type {any} */ (null);
  /** @type {PlaceShown} */ let place = /** @type {any} */ (null);
  let ply = first;
  /** @type {Map<number, JudgedShown>} */ const judged = new Map();
  /** @type {WorldShown[]} */ let worlds = [];
  let isJudging = false;
  /** @type {AdviceShown | null} */ let found = null;
  /** @type {ExactShown | null} */ let exact = null;

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
  const calls = make("div", { class: "auction wide" });
  const branches = make("section", { "aria-label": "Branches", hidden: "" });

  const judgeAll = make("button", { type: "button", "aria-pressed": "false", onclick: () => judge(!isJudging) },
    "Judge all moves");
  const progress = /** @type {HTMLProgressElement} */ (make("progress", { "aria-label": "Judged", value: "0", max: "1" }));
  const chart = document.createElementNS(SVG, "svg");
  chart.setAttribute("class", "losses");
  chart.setAttribute("role", "img");
  const mistakes = make("ol", { class: "mistakes", "aria-label": "Biggest mistakes first" });

  const think = button("Think about this", "Think about this position", () => consider());
  const advice = makeAdvice((on) => {
    connection.send({ type: "think", on });
    if (found) found = { ...found, done: !on };
    renderAdvice();
  });
  const sample = button("Worlds", "Worlds that the mover could not tell apart", () => sampleWorlds());
  const sampled = make("div", { class: "worlds" });
  const openCards = /** @type {HTMLInputElement} */ (make("input", { id: "dd", type: "checkbox", onchange: () => doubleDummy() }));
  const solved = make("div", { class: "solved" });
  const solver = make("section", { "aria-label": "Double dummy", hidden: "" },
    make("label", { for: "dd" }, openCards, " Double dummy: by all four hands, which no seat could see"), solved);

  const sharing = makeSharing(() => ({
    link: linkOf(shared()), frame: linkOf(shared(), "/view"), texts: line.texts, picture: place?.picture ?? "",
  }), () => connection.send({ type: "draw", ply, seat: seenBy() }));
  const playOn = button("Play on from here", "Open a table that begins here", () => void open());
  playOn.toggleAttribute("disabled", true); // until it is known who is to move

  main.append(make("div", { class: "line" },
    make("div", {}, status,
      make("div", { class: "stepping" }, steps, make("label", { for: "ply" }, "Move"), slider,
        make("label", { for: "seen" }, "Seen by"), seen),
      board.element, ...(isEmbedded ? [calls] : [moves, make("div", { class: "steps" }, playOn), sharing.element, calls])),
    ...(isEmbedded ? [] : [make("div", { class: "side" },
      make("section", { "aria-label": "Judgement" }, judgeAll, progress, chart, mistakes),
      make("section", { "aria-label": "This position" }, think, sample, advice.element, sampled), solver, branches)])));

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
      calls.replaceChildren(...(line.auction ? auctionTable(line.auction) : []));
      renderBranches();
      renderJudged(0, 0);
      go(Math.min(ply, line.plies.length));
    } else if (message.type === "place" && message.ply === ply) {
      place = message;
      playOn.toggleAttribute("disabled", false);
      render();
    } else if (message.type === "judged") {
      judged.set(message.ply, message);
      renderJudged(message.done, message.total);
    } else if (message.type === "advice" && message.number === ply) {
      found = message;
      renderAdvice();
    } else if (message.type === "diagram") sharing.draw(message.svg);
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
    found = exact = null;
    playOn.toggleAttribute("disabled", true);
    renderAdvice();
    for (const part of [sampled, solved]) part.replaceChildren();
    look();
    if (openCards.checked) doubleDummy();
  }

  const seenBy = () => (seen.value === "" ? null : Number(seen.value));

  function look() {
    connection.send({ type: "look", ply, seat: seenBy() });
  }

  /** @param {boolean} on */
  function judge(on) {
    isJudging = on;
    judgeAll.setAttribute("aria-pressed", String(on));
    connection.send({ type: "judge", on });
  }

  function consider() {
    advice.draw(null, `thinking … (${COMPILING})`, ({ text }) => text, "the mover");
    connection.send({ type: "consider", ply });
  }

  function sampleWorlds() {
    worlds = [];
    sampled.replaceChildren("sampling …");
    connection.send({ type: "worlds", ply, count: WORLDS });
  }

  function doubleDummy() {
    const isWanted = openCards.checked && !place?.over;
    exact = null;
    redraw();
    solved.replaceChildren(isWanted ? "solving …" : "");
    if (isWanted) connection.send({ type: "double_dummy", ply });
  }

  const played = () => line.plies.map(({ text }) => text);

  /** What a link holds. @returns {LinkedLine} */
  const shared = () => ({ game: line.game, start: line.start, moves: played(), ply, ...(others.length ? { others } : {}) });

  function say() {
    const last = ply ? line.plies[ply - 1] : null;
    const made = last ? `${seatName(line.game, last.seat)}: ${last.text}. ` : "The start. ";
    return made + (place.over ? `The game is over: ${place.scores.join(" – ")}.` : `${seatName(line.game, place.turn ?? 0)} is to move.`);
  }

  function render() {
    const text = `${ply} of ${line.plies.length}. ${say()}`;
    if (status.textContent !== text) announce(text);
    status.textContent = text;
    const thought = thoughts();
    board.draw(line, place, thought);
    const next = line.plies[ply]?.text;
    patch(moves, place.moves.slice(0, 120), (move) => move.move,
      (move) => make("button", { type: "button", onclick: () => tryOut(move.text) }, `${move.text} `),
      (element, move) => {
        const wasMade = move.text === next;
        const opinion = thought.get(move.move);
        drawOpinion(element, opinion);
        element.classList.toggle("made", wasMade);
        element.setAttribute("aria-label", (wasMade ? `${move.text}, which was played` : `what if ${move.text}`) +
          (opinion ? `, ${opinion.text}${opinion.best ? ", best" : ""}` : ""));
      });
    for (const part of [think, sample, playOn]) part.toggleAttribute("disabled", place.over);
  }

  /** What is thought of the moves here: by the solver, by who was asked, or by who has judged. @returns {Map<string, Opinion>} */
  function thoughts() {
    if (!exact) return opinions(found ?? judged.get(ply)?.advice ?? null);
    const best = Math.max(...exact.rows.map(({ value }) => value ?? 0));
    return new Map(exact.rows.map(({ move, value }) =>
      [move, { text: board.against(value ?? 0) ?? String(value), best: value === best }]));
  }

  /** @param {string} text */
  function tryOut(text) {
    if (isEmbedded) return;
    if (text === line.plies[ply]?.text) go(ply + 1);
    else branchTo([...played().slice(0, ply), text], ply + 1);
  }

  /** Play what is thought best here; think first, if nothing is known yet. */
  function playBest() {
    if (place?.ply !== ply) return;
    const best = place.moves.find(({ move }) => thoughts().get(move)?.best);
    if (best) tryOut(best.text);
    else if (!place.over) consider();
  }

  /** Go to another line; those from which it branches off come along. @param {string[]} moves @param {number} at */
  function branchTo(moves, at) {
    const isPart = (/** @type {string[]} */ one) => one !== others[0] && one.every((text, i) => text === moves[i]);
    const rest = [...others, played()].filter((one, i, all) => !isPart(one) && all.findIndex((two) => same(one, two)) === i && !same(one, moves));
    location.href = linkOf({ ...shared(), moves, ply: at, others: rest.slice(0, MOST_LINES) });
  }

  /** All lines as a tree: each under the one with which it agrees longest. */
  function renderBranches() {
    const lines = [...others, played()];
    const here = lines.length - 1;
    /** @type {HTMLElement[]} */ const lists = [];
    const tree = make("ul", { class: "branches" });
    lines.forEach((moves, number) => {
      const shares = lines.slice(0, number).map((other) => agree(other, moves));
      const at = Math.max(0, ...shares);
      const parent = shares.indexOf(at);
      const words = number === 0 ? "The game" : `Move ${at + 1}: ${moves[at] ?? "the end"}${lines[parent]?.[at] ? `, not ${lines[parent][at]}` : ""}`;
      const list = (lists[number] = make("ul"));
      const item = make("li", {}, button(words, words, () => (number === here ? go(at) : branchTo(moves, at))), list);
      if (number === here) item.firstElementChild?.setAttribute("aria-current", "true");
      (lists[parent] ?? tree).append(item);
    });
    branches.hidden = lines.length < 2;
    branches.replaceChildren(make("h2", {}, "Branches"), tree);
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
        const best = each.advice.rows.find((row) => isBest(each.advice, row));
        const words = `move ${each.ply + 1}, ${seatName(line.game, seat)}: ${text} loses ${number(each.loss)} ± ${number(each.error)} ` +
          `against ${best?.moves.map((move) => move.text).join(" ")} (${each.advice.unit})`;
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

  function renderAdvice() {
    advice.draw(found, "", ({ text }) => text, "the mover");
    redraw();
  }

  /** Draw the position again, if it is here already. */
  function redraw() {
    if (place?.ply === ply) render();
  }

  /** How often each move is best, and the worlds by the move that explains most of them. */
  function renderWorlds() {
    /** @type {Map<string, number>} */ const wins = new Map();
    const bests = worlds.map(({ rows }) => {
      const most = Math.max(...rows.map((row) => row.value ?? -Infinity));
      return rows.filter((row) => row.value === most).map((row) => row.text);
    });
    for (const text of bests.flat()) wins.set(text, (wins.get(text) ?? 0) + 1);
    const counted = [...wins].sort((a, b) => b[1] - a[1]);
    /** @type {Map<string, WorldShown[]>} */ const groups = new Map();
    worlds.forEach((world, i) => {
      const [often] = counted.find(([text]) => bests[i].includes(text)) ?? [""];
      groups.set(often, [...(groups.get(often) ?? []), world]);
    });
    const isOpen = new Set([...sampled.querySelectorAll("details[open]")].map((one) => one.getAttribute("data-key")));
    sampled.replaceChildren(
      make("p", {}, `${worlds.length} of ${worlds[0].count} worlds that the mover could not tell from the truth.`),
      table(["move", "best in"], counted.slice(0, 10).map(([text, n]) => [text, `${n} of ${worlds.length}`])),
      ...[...groups].sort((a, b) => b[1].length - a[1].length).map(([best, alike]) => folded(best, isOpen,
        `${alike.length} worlds in which ${best} is best`, ...alike.map((world) => {
          const rows = [...world.rows].sort((a, b) => (b.value ?? 0) - (a.value ?? 0)).slice(0, 8);
          return folded(`world ${world.number}`, isOpen, `World ${world.number}`, make("pre", {}, world.picture),
            table(["move", world.unit], rows.map((row) => [row.text, number(row.value)])));
        }))));
  }

  /** @param {ExactShown} heard */
  function renderExact(heard) {
    exact = heard;
    redraw();
    const rows = [...heard.rows].sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
    const parts = [table(["card", heard.unit, "contract"], rows.map((row) => [row.text, String(row.value), board.against(row.value ?? 0) ?? ""]))];
    if (heard.table) {
      const { tricks, par, contracts, dealer, vulnerable } = heard.table;
      parts.push(table(["", ...STRAINS], tricks.map((row, seat) => [SEATS[seat], ...row.map(String)])),
        make("p", {}, `Par, if ${SEATS[dealer]} deals and ${VULNERABLE[vulnerable]}: ${par} for North and South ` +
          `(${contracts.join(", ") || "passed out"}).`));
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

  /** The move with which another trick begins. @param {number} step */
  function trick(step) {
    let at = ply + step;
    while (at > 0 && at < line.plies.length && !line.plies[at].leads) at += step;
    return at;
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    const isTyping = /** @type {Element} */ (event.target).matches?.("textarea, select, summary");
    if (isTyping || event.target === slider || event.ctrlKey || event.metaKey || event.altKey || !line) return;
    const by = event.shiftKey ? trick : (/** @type {number} */ step) => ply + step;
    if (event.key === " " && !(event.target instanceof HTMLButtonElement)) playBest();
    else if (event.key === "ArrowLeft") go(by(-1));
    else if (event.key === "ArrowRight") go(by(1));
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(Infinity);
    else return;
    event.preventDefault();
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

/** What can be opened, and stays open when it is drawn anew. @param {string} key @param {Set<string | null>} isOpen @param {string} words @param {...Node} content */
const folded = (key, isOpen, words, ...content) =>
  make("details", { "data-key": key, open: isOpen.has(key) ? "" : null }, make("summary", {}, words), ...content);

/** Whether two lines are one. @param {string[]} a @param {string[]} b */
const same = (a, b) => a.length === b.length && agree(a, b) === a.length;

/** How many moves two lines share. @param {string[]} a @param {string[]} b */
function agree(a, b) {
  const at = a.findIndex((text, i) => text !== b[i]);
  return at < 0 ? a.length : at;
}

/** The calls in columns, from who deals on. @param {AuctionShown} auction */
function auctionTable({ dealer, vulnerable, calls, notes }) {
  const words = calls.map((call, i) => call.replace("Pass", "–").replace("NT", " NT")
    .replace(/^(\d)([CDHS])$/, (_, level, suit) => level + STRAINS["CDHS".indexOf(suit)]) + (notes[i] ? "*" : ""));
  const cells = [...Array(dealer).fill(""), ...words];
  const rows = Array.from({ length: Math.ceil(cells.length / 4) }, (_, row) =>
    Array.from({ length: 4 }, (_, seat) => cells[4 * row + seat] ?? ""));
  return [make("h2", {}, "Auction"), ...(calls.length ? [table(SEATS, rows)] : []),
    ...notes.flatMap((note, i) => (note ? [make("p", { class: "soft" }, `${words[i]} ${SEATS[(dealer + i) % 4]}: ${note}`)] : [])),
    make("p", { class: "soft" }, `${SEATS[dealer]} deals; ${VULNERABLE[vulnerable]}.${calls.length ? " – is a pass, X doubles, XX redoubles." : ""}`)];
}

/** @param {string[]} head @param {string[][]} rows */
export function table(head, rows) {
  return make("table", {}, make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col" }, text)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((text) => make("td", {}, text))))));
}

/** @param {number | null} value */
const number = (value) => (value === null ? "–" : value.toFixed(2));
