// @ts-check
// What needs the others: to take a move back, to claim tricks, a rematch; and the review, when the game is over.

/** @import { Again, Update, Welcome, WishShown } from "./protocol.js" */

import { announce, make, patch } from "./dom.js";
import { keep } from "./keep.js";

/**
 * @param {(message: object) => void} send
 * @param {string} token
 * @param {(seat: number) => string} who
 * @returns {{element: HTMLElement, undo: () => void, claim: () => void, next: () => void,
 *   show: (heard: Update, greeted: Welcome) => void, invite: (message: Again) => void}}
 */
export function together(send, token, who) {
  /** @type {Welcome | null} */ let welcome = null;
  /** @type {Update | null} */ let update = null;
  /** @type {Again | null} */ let again = null;
  let asked = "";
  let isAlone = false; // no other person plays: nobody has to follow to the next table
  const wish = make("p", { class: "wish" });
  const buttons = make("div", { class: "choices", role: "group", "aria-label": "With the others" });
  const tricks = /** @type {HTMLInputElement} */ (make("input", { id: "tricks", type: "number", min: "0", max: "13", value: "0", required: "",
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Enter") claim();
    } }));
  const claiming = make("label", { for: "tricks", hidden: "" }, "Tricks to claim ", tricks);
  const element = make("section", { "aria-label": "With the others" }, wish, claiming, buttons);

  /** What can be done now. @returns {{key: string, text: string, act: () => void, href?: string}[]} */
  function offers() {
    if (!welcome || !update) return [];
    const { seat } = welcome;
    const { over } = update.position;
    const found = [];
    if (over) found.push({ key: "review", text: "Review the game", href: `/#review=${token}`, act: () => {} });
    if (over && again) {
      const { token: next } = again;
      found.push({ key: "again", text: "To the rematch", href: `/#${next}`, act: () => keep(next) });
    } else if (over && seat !== null) {
      found.push({ key: "rematch", text: isAlone ? "Next deal (n)" : "Rematch (n)", act: next });
      found.push({ key: "same", text: "Same deal again", act: () => send({ type: "rematch", same_deal: true }) });
    }
    if (over || seat === null || update.chairs[seat].agent) return found;
    if (update.wish && !update.wish.agreed.includes(seat)) {
      found.push({ key: "yes", text: "Agree", act: () => send({ type: "answer", agree: true }) });
      found.push({ key: "no", text: "Do not agree", act: () => send({ type: "answer", agree: false }) });
    }
    if (update.wish?.seat === seat) found.push({ key: "withdraw", text: "Withdraw", act: () => send({ type: "answer", agree: false }) });
    if (welcome.undo) found.push({ key: "undo", text: "Take back (z)", act: undo });
    if (isBridge()) found.push({ key: "claim", text: "Claim (⇧C)", act: claim });
    return found;
  }

  const isBridge = () => welcome?.game.split(":")[0] === "bridge";

  /** @param {WishShown} found */
  function words(found) {
    const what = found.kind === "undo" ? "asks to take back a move" : `claims ${found.tricks} of the tricks left, with ${found.cards.join(" ")}`;
    return `${who(found.seat)} ${what}.`;
  }

  function undo() {
    if (welcome?.undo) send({ type: "undo" });
  }

  /** Another deal, everybody one seat further. */
  function next() {
    if (update?.position.over && !again) send({ type: "rematch" });
  }

  function claim() {
    if (!isBridge()) return;
    if (claiming.hidden) {
      claiming.hidden = false;
      tricks.focus();
      tricks.select();
    } else if (tricks.reportValidity()) {
      claiming.hidden = true;
      send({ type: "claim", tricks: Number(tricks.value) });
    }
  }

  function render() {
    const text = update?.wish ? words(update.wish) : "";
    if (text && text !== asked) announce(text);
    asked = wish.textContent = text;
    patch(buttons, offers(), ({ key }) => key, ({ text: label, act, href }) =>
      href ? make("a", { href, class: "button", onclick: act }, label) : make("button", { type: "button", onclick: act }, label));
  }

  return {
    element,
    undo,
    claim,
    next,
    /** @param {Update} heard @param {Welcome} greeted */
    show(heard, greeted) {
      [update, welcome] = [heard, greeted];
      isAlone = heard.chairs.filter(({ agent }) => !agent).length <= 1;
      render();
    },
    /** @param {Again} message */
    invite(message) {
      again = message;
      if (isAlone && message.seat !== null) location.hash = message.token;
      announce("There is a rematch.");
      render();
    },
  };
}
