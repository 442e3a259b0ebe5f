// @ts-check
// The table: what the seat is told, drawn; moves, advice and typed commands go back.
// No rule of any game is known here: what can be played, and its text, comes with the position.

/** @import { AdviceShown, EventShown, Outgoing, Update } from "./protocol.js" */
/** @import { Choice, Scene, Shown } from "./scene.js" */

import { COMPILING, makeAdvice, opinions } from "./advice.js";
import { drawBoard, forget, makeBoard, rove } from "./board.js";
import { alarm, announce, byId, make, patch, set } from "./dom.js";
import { CARD_GAMES, plainName, seatName, titleOf } from "./games.js";
import { keep, linksOf } from "./keep.js";
import { keyboard, keysDialog } from "./keys.js";
import { link } from "./lobby.js";
import { ask, Connection } from "./net.js";
import { settings, settingsDialog } from "./settings.js";
import { together } from "./together.js";

const MOST_BUTTONS = 120;
const HINT_AFTER = 1; // seconds of thinking
const PATIENCE = 8000; // milliseconds after which one wants to know why an agent does not move
/** A person's name that runs from right to left does not turn the sentence around it. @param {string} name */
const isolated = (name) => (/[\u0590-\u08ff\ufb1d-\ufefc]/.test(name) ? `\u2068${name}\u2069` : name);

/** @param {HTMLElement} main @param {string} token @returns {() => void} */
export function sit(main, token) {
  /** @type {Shown} */
  const shown = {
    welcome: /** @type {any} */ (null),
    position: /** @type {any} */ (null),
    chairs: [],
    events: [],
    selected: [],
    play: (move) => {
      unanswered = { type: "play", number: shown.position.number, move };
      connection.send(unanswered);
    },
    playAll: (texts) => {
      queue = texts;
      goOn();
    },
    select: (cards) => {
      shown.selected = cards;
      render();
    },
    who: (seat) => {
      if (seat === shown.welcome.seat && !isWatching) return "You";
      return game()?.names?.[seat] ?? (isolated(shown.chairs[seat].name) || seatName("", seat));
    },
    player: (seat) => {
      if (seat === shown.welcome.seat && !isWatching) return game()?.names?.[seat] ?? "";
      const { name, agent } = shown.chairs[seat];
      return agent ? agent.split(":")[0] : game()?.names ? isolated(name) : "";
    },
  };
  /** @type {Scene | null} */
  let scene = null;
  /** @type {string[]} */
  let queue = [];
  /** A move that has not changed the position yet. @type {{ type: string, number: number, move: string } | null} */
  let unanswered = null;
  let isBack = false; // the connection was made, and the position is not told yet
  /** @type {Update[]} */
  let waiting = [];
  /** @type {AdviceShown | null} */
  let advice = null;
  let isAdvising = false;
  let isHint = false; // for one decision only
  let isWatching = false;
  let isHolding = false; // a finished trick lies on the table, and what came after it waits
  let isLastShown = false;
  let turned = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let slow;

  const game = () => (shown.welcome ? CARD_GAMES[plainName(shown.welcome.game)] : undefined);

  // --- the page ---

  const board = makeBoard();
  const facts = make("dl", { class: "facts" });
  const picture = make("pre", { class: "picture" });
  const status = make("p", { class: "status" });
  const pause = make("div");
  const choices = make("div", { class: "choices", role: "group", "aria-label": "Your choices" });
  const hint = make("button", { type: "button", class: "tool", "aria-pressed": "false", onclick: () => advise() }, "Advice");
  const lastButton = make("button", { type: "button", class: "tool", "aria-pressed": "false", onclick: () => showLast() }, "Last trick");
  const setting = settingsDialog(() => {
    forget(board);
    render();
  });
  const help = keysDialog();
  const tools = make("div", { class: "tools", role: "group", "aria-label": "Tools" }, hint, lastButton,
    make("button", { type: "button", "aria-label": "Settings", onclick: () => setting.showModal() }, "⚙"),
    make("button", { type: "button", "aria-label": "Keys", onclick: () => help.showModal() }, "?"),
    make("button", { type: "button", class: "only-narrow", onclick: () => {
      side.scrollIntoView();
      side.focus();
    } }, "More"));
  const score = section("Score", "table");
  const counsel = section("Advice", "div");
  const adviser = makeAdvice((on) => {
    connection.send({ type: "think", on });
    if (advice) advice = { ...advice, done: !on };
    render();
  });
  counsel.content.append(adviser.element);
  const log = section("What happened", "ol", "log");
  const end = make("div", { class: "end" });
  const typed = /** @type {HTMLInputElement} */ (
    make("input", { id: "typed", autocomplete: "off", autocapitalize: "off", spellcheck: "false" })
  );
  const reply = make("p", { class: "soft", id: "reply" });
  const command = make("form", { class: "command", onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    const text = typed.value.trim();
    typed.value = "";
    if (text) obey(text);
  } }, make("label", { for: "typed" }, "Type a move, or: hand, last, score, table, hint"), typed, make("button", {}, "Do"), reply);
  const seen = /** @type {HTMLSelectElement} */ (make("select", { id: "seen", onchange: () => {
    shown.events = [];
    connection.look(seen.value);
  } }));
  const watching = make("label", { hidden: "" }, "Seen by ", seen);
  const chosen = make("p", { class: "soft", id: "chosen", hidden: "" },
    "The deal was chosen by whoever opened this table, who may know all hands.");
  const present = make("p", { class: "soft", id: "present" });
  const links = linksOf(token);
  const more = make("section", { "aria-label": "More" }, chosen, present, watching, command,
    ...(links.length ? [make("details", {}, make("summary", {}, "Links"), make("ul", { class: "links" }, ...links.map(link)))] : []),
    make("button", { type: "button", id: "over", onclick: () => void handOver() }, "Let an agent play for me"));
  const joint = together((message) => connection.send(message), token, (seat) => shown.who(seat));
  more.prepend(joint.element);
  const side = make("div", { class: "side", id: "side", tabindex: "-1" }, score.section, counsel.section, log.section, more);
  const stage = make("div", { class: "stage" }, facts, board.felt, picture, status, pause, choices, board.hand, end, tools);
  main.append(make("div", { class: "table" }, stage, side), setting, help);

  const connection = new Connection(token, hear, (isConnected) => {
    main.classList.toggle("apart", !isConnected);
    if (!isConnected) announce("The connection is lost; trying again.");
  });

  // --- what is heard ---

  /** @param {Outgoing} message */
  function hear(message) {
    if (message.type === "welcome") {
      isWatching = message.seat === null;
      shown.welcome = { ...message, seat: message.seat ?? message.sees };
      keep(token);
      set(byId("where"), { title: message.game });
      byId("where").textContent = `${titleOf(message.game)}${isWatching ? ", watching" : ""}`;
      chosen.hidden = !message.deal_chosen;
      if (isAdvising) connection.send({ type: "advise", on: true });
      isBack = true;
    } else if (message.type === "update") {
      if (message.position.number !== unanswered?.number) unanswered = null;
      else if (isBack) connection.send(unanswered); // it was lost with the old connection
      isBack = false;
      waiting.push(message);
      takeIn();
    } else if (message.type === "advice" && isAdvising && message.number === shown.position.number) {
      const isTold = advice !== null && advice.seconds >= HINT_AFTER;
      advice = message;
      if (isHint && !isTold && (message.done || message.seconds >= HINT_AFTER)) tell(`Hint: ${bestOf(message)}.`);
      render();
    } else if (message.type === "again") {
      joint.invite(message);
    } else if (message.type === "refused") {
      unanswered = null;
      queue = [];
      alarm(message.message);
    }
  }

  /** Draw what has come, but let a finished trick be seen for a while. */
  function takeIn() {
    /** @type {string[]} */
    const news = [];
    while (waiting.length && !isHolding) {
      const update = /** @type {Update} */ (waiting.shift());
      const before = scene?.last?.count ?? 0;
      const isFirst = !shown.position;
      const isNew = isFirst || isAnother(update);
      const isWindow = update.position.window && !shown.position?.window;
      shown.position = update.position;
      shown.chairs = update.chairs;
      shown.events.push(...update.events);
      joint.show(update, { ...shown.welcome, seat: isWatching ? null : shown.welcome.seat });
      const here = whoIsHere();
      if (here !== present.textContent && !isFirst) news.push(here);
      present.textContent = here;
      if (!isNew) { // somebody has come or gone, or wishes something: one's own decision is as it was
        render();
        continue;
      }
      alarm("");
      advice = null;
      if (isHint && update.events.length) {
        advise(false);
        reply.textContent = "";
      }
      isLastShown = false;
      scene = game()?.scene(shown) ?? null;
      if (isWindow) showPause();
      else if (!update.position.window) pause.className = "";
      if (!isFirst && scene?.last && scene.last.count > before && settings.pause !== "0") hold();
      render();
      if (!isFirst) news.push(...update.events.map(sentence));
      news.push(say());
      clearTimeout(slow);
      if (shown.chairs[update.position.turn ?? -1]?.agent) slow = setTimeout(() => status.append(` (${COMPILING})`), PATIENCE);
      goOn();
    }
    if (news.length) announce(news.filter((text, i) => text && (i === news.length - 1 || !news.includes(text, i + 1))).join(" "));
  }

  /** Whether it tells of another position, or of another decision in it. @param {Update} update */
  function isAnother({ events, position }) {
    const { number, turn, window, moves } = shown.position;
    return events.length > 0 || position.number !== number || position.turn !== turn || position.window !== window ||
      position.moves.length !== moves.length;
  }

  function hold() {
    isHolding = true;
    clearTimeout(timer);
    if (settings.pause !== "confirm") timer = setTimeout(release, 1000 * Number(settings.pause));
  }

  function release() {
    if (!isHolding) return;
    clearTimeout(timer);
    isHolding = false;
    render();
    takeIn();
  }

  /** The pause for bombs, as long as it always is. */
  function showPause() {
    pause.className = "";
    void pause.offsetWidth; // so that the bar begins anew
    pause.style.animationDuration = `${shown.welcome.window_seconds}s`;
    pause.className = "pause";
  }

  /** The next of several moves, when it is due. */
  function goOn() {
    const move = shown.position.moves.find(({ text }) => text === queue[0]);
    if (!queue.length) return;
    queue = move ? queue.slice(1) : [];
    if (move) shown.play(move.move);
  }

  // --- what is said ---

  /** A move in words. @param {string} text @param {"name" | "sign"} how */
  function inWords(text, how) {
    const deck = scene?.deck;
    const cards = deck ? text.split("+").map((part) => deck.read(part.split("=")[0])) : [null];
    if (!deck || cards.some((card) => card === null)) return null;
    return cards.map((card) => deck[how](/** @type {number} */ (card))).join(how === "name" ? ", " : " ");
  }

  /** @param {EventShown} event */
  function sentence({ kind, seat: mover, text, number }) {
    const seat = scene?.owners?.get(number) ?? mover;
    if (kind === "deal") return "Cards are dealt.";
    if (kind === "over") return "The game is over.";
    const who = shown.who(seat ?? 0);
    const isMe = seat === shown.welcome.seat;
    if (kind === "undo") return `${who} ${isMe ? "take" : "takes"} a move back.`;
    if (kind === "claim") return `${who} ${isMe ? "claim" : "claims"} ${text} of the tricks left.`;
    if (kind === "secret") return isMe ? "" : `${who} ${isMe ? "have" : "has"} decided.`;
    const cards = inWords(text, "name");
    if (cards) return `${who} ${isMe ? "play" : "plays"} ${cards}.`;
    return text === "pass" ? `${who} ${isMe ? "pass" : "passes"}.` : `${who}: ${text}.`;
  }

  /** Who is away, and which seats are open more than once. */
  function whoIsHere() {
    return shown.chairs.map(({ agent, connections }, seat) => {
      const who = seat === shown.welcome.seat && !isWatching ? "Your seat" : shown.who(seat);
      if (connections > 1) return `${who} is open in ${connections} windows.`;
      return connections || agent ? "" : `${who} is away.`;
    }).filter(Boolean).join(" ");
  }

  /** The one line that says who must do what. */
  function say() {
    const { position, welcome } = shown;
    if (position.over) return `The game is over: ${shown.chairs.map((_, seat) => `${shown.who(seat)} ${position.scores[seat]}`).join(", ")}.`;
    if (position.moves.length) return (scene?.prompt ?? "Your turn").replace(/[^?]$/, "$&.");
    if (position.window) return "A short pause, in which bombs may be played.";
    if (position.turn === null) return "";
    const hand = scene?.turn ?? position.turn;
    const from = hand !== position.turn ? `${shown.who(position.turn)} for ${shown.who(hand)}` : shown.who(hand);
    return welcome.seat === position.turn ? "" : `${from} to play.`;
  }

  // --- what is seen ---

  function render() {
    if (!shown.position) return;
    const isText = !scene || settings.view === "text";
    if (scene) scene = /** @type {Scene} */ (game()?.scene(shown));
    const bottom = ((shown.welcome.seat ?? 0) + turned) % shown.chairs.length;
    board.felt.hidden = board.hand.hidden = facts.hidden = isText;
    picture.hidden = !isText;
    lastButton.hidden = !scene;
    status.textContent = say();
    stage.dataset.number = String(shown.position.number);
    stage.classList.toggle("mine", shown.position.moves.length > 0);
    stage.classList.toggle("choosing", shown.position.moves.length > 0 && (scene?.isPlay ?? false));
    if (isText) picture.textContent = shown.position.picture;
    if (scene && !isText) {
      const isAfter = (isHolding || shown.position.over) && !scene.trick.length;
      const finished = isAfter || isLastShown ? scene.last?.laid ?? null : null;
      drawBoard(board, scene, shown, { bottom, finished, opinions: opinions(advice), explain });
      facts.replaceChildren(...scene.facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
    }
    renderChoices(isText);
    renderScore();
    patch(log.content, shown.events, (event) => String(event.number), (event) => make("li", { class: event.kind }, line(event)),
      (element, { number }) => element.classList.toggle("lead", scene?.leads?.has(number) ?? false));
    log.content.scrollTop = log.content.scrollHeight;
    set(lastButton, { "aria-pressed": String(isLastShown) });
    const state = !isAdvising ? "Off. The key L turns it on." : shown.position.moves.length ? `thinking … (${COMPILING})` : "when it is your turn";
    adviser.draw(advice, state, ({ text }) => inWords(text, "sign") ?? text, "your seat");
    byId("over").hidden = isWatching || shown.position.over || Boolean(shown.chairs[shown.welcome.seat ?? 0].agent);
    hint.hidden = counsel.section.hidden = isWatching;
    const place = shown.position.over ? end : more;
    if (joint.element.parentElement !== place) place.prepend(joint.element);
    renderWatching();
  }

  /** @param {boolean} isText */
  function renderChoices(isText) {
    /** @type {Choice[]} */
    const listed = isText
      ? shown.position.moves.slice(0, MOST_BUTTONS).map(({ move, text }) => ({ key: move, text, act: () => shown.play(move) }))
      : scene?.choices ?? [];
    current = new Map(listed.map((choice) => [choice.key, choice]));
    patch(choices, listed, ({ key }) => key,
      ({ key }) => make("button", { type: "button", onclick: () => choose(current.get(key)) }),
      (button, { text, label, why, main: isMain }) => {
        if (button.textContent !== text) button.textContent = text;
        set(button, { "aria-label": label, "aria-disabled": why ? "true" : null, class: isMain ? "main" : "" });
      });
    rove(choices);
  }

  /** Who watches agents may look into the hands, one at a time. */
  function renderWatching() {
    watching.hidden = !isWatching || shown.position.over || shown.chairs.some(({ agent }) => !agent);
    patch(seen, ["", ...shown.chairs.map((_, seat) => String(seat))], (seat) => `s${seat}`,
      (seat) => make("option", { value: seat }, seat ? seatName(shown.welcome.game, Number(seat)) : "nobody"));
  }
  /** @type {Map<string, Choice>} */
  let current = new Map();

  /** @param {Choice | undefined} choice */
  function choose(choice) {
    if (choice?.why) explain(choice.why);
    else choice?.act();
  }

  function renderScore() {
    const { head, rows } = scene?.score ?? {
      head: ["", "score"], rows: shown.chairs.map((_, seat) => [shown.who(seat), String(shown.position.scores[seat] ?? "–")]),
    };
    score.content.replaceChildren(
      make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col" }, text)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((text) => make("td", {}, text))))),
    );
  }

  /** A line of the log. @param {EventShown} event */
  function line(event) {
    if (event.kind !== "move") return sentence(event);
    return `${shown.who(scene?.owners?.get(event.number) ?? event.seat ?? 0)}: ${inWords(event.text, "sign") ?? event.text}`;
  }

  // --- what one does ---

  /** Say why something cannot be done. @param {string} why */
  function explain(why) {
    alarm(why || (shown.position.moves.length ? "This cannot be played now." : "It is not your turn."));
  }

  /** @param {boolean} [on] @param {boolean} [once] for this decision only */
  function advise(on = !isAdvising, once = false) {
    if (isWatching) return;
    isAdvising = on;
    isHint = once;
    set(hint, { "aria-pressed": String(on) });
    connection.send({ type: "advise", on });
    advice = null;
    render();
  }

  function hintOnce() {
    if (shown.position.moves.length) advise(true, true);
    else tell("A hint is for when it is your turn.");
  }

  /** @param {AdviceShown} found */
  const bestOf = (found) => {
    const text = found.rows.flatMap(({ moves }) => moves).find(({ move }) => move === found.best)?.text ?? "";
    return inWords(text, "name") ?? text;
  };

  function showLast() {
    if (!scene?.last) return tell("There is no last trick yet.");
    isLastShown = !isLastShown;
    render();
    const words = scene.last.laid.map(({ seat, cards, best }) =>
      `${shown.who(seat)} ${cards.map((card) => scene?.deck.name(card)).join(", ")}${best ? ", which took it" : ""}`);
    announce(`The last trick: ${words.join("; ")}.`);
  }

  /** Answer where it can be read and heard. @param {string} text */
  function tell(text) {
    reply.textContent = text;
    announce(text);
  }

  /** @param {string} text */
  function obey(text) {
    const word = text.toLowerCase();
    alarm("");
    if (word === "hint") hintOnce();
    else if (word === "score") tell(scene ? scene.score.rows.map((row) => row.join(" ")).join("; ") : shown.position.scores.join(" to "));
    else if (word === "last") tell(shown.events.slice(-shown.chairs.length).map(sentence).join(" "));
    else if (word === "hand") tell(scene?.hand.map(({ card }) => scene?.deck.name(card)).join(", ") || "You have no cards.");
    else if (word === "table") tell(`${(scene?.trick ?? []).map(({ seat, cards }) =>
      `${shown.who(seat)} ${cards.map((card) => scene?.deck.name(card)).join(", ")}`).join("; ") || "Nothing lies on the table"}. ${say()}`);
    else {
      const meant = word.replace(/^play /, "");
      const card = scene?.hand.find((one) => scene?.deck.typed(one.card).toLowerCase() === meant)?.card;
      const move = card === undefined ? text.replace(/^play /i, "") : scene?.deck.text(card);
      connection.send({ type: "play", number: shown.position.number, text: move });
    }
  }

  async function handOver() {
    const games = await ask("/api/games");
    const { levels } = games.find((/** @type {any} */ one) => one.name === plainName(shown.welcome.game));
    const good = levels.find((/** @type {any} */ level) => level.name === "good") ?? levels[0];
    connection.send({ type: "hand_over", agent: good.agent });
    stage.querySelector("button")?.focus();
  }

  const onKey = keyboard({
    deck: () => (settings.view === "text" ? null : scene?.deck ?? null),
    cards: () => buttons(".hand button").map((button) => ({
      card: Number(button.dataset.key), can: button.getAttribute("aria-disabled") !== "true", press: () => press(button),
    })),
    choices: () => buttons(".stage > .choices button").map((button) => ({ text: button.textContent ?? "", press: () => press(button) })),
    letters: {
      l: () => advise(), h: hintOnce, H: hintOnce, z: () => joint.undo(), C: () => joint.claim(), t: () => showLast(), ".": () => announce(say()), "?": () => help.showModal(),
      f: () => {
        turned += 1;
        render();
      },
      n: () => joint.next(),
    },
    say: (text) => alarm(text),
    groups: () => [choices, board.hand, .../** @type {HTMLElement[]} */ ([...board.felt.querySelectorAll(".hand")]), end],
  });

  /** @param {string} selector @returns {HTMLElement[]} */
  const buttons = (selector) => [.../** @type {any} */ (main.querySelectorAll(selector))];

  /** @param {HTMLElement} button */
  function press(button) {
    button.focus();
    button.click();
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    if (!shown.position) return;
    release();
    onKey(event);
  }

  const touch = () => {
    alarm("");
    release();
  };
  addEventListener("keydown", key);
  main.addEventListener("pointerdown", touch);
  return () => {
    clearTimeout(timer);
    clearTimeout(slow);
    removeEventListener("keydown", key);
    main.removeEventListener("pointerdown", touch);
    connection.close();
  };
}

/** A section with a heading. @param {string} title @param {string} tag @param {string} [kind] */
function section(title, tag, kind = "") {
  const id = `of-${title.replace(/\W/g, "-").toLowerCase()}`;
  const content = make(tag, { class: kind });
  return { content, section: make("section", { "aria-labelledby": id }, make("h2", { id }, title), content) };
}
