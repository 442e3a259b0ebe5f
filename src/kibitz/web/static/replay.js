// @ts-check
// A position of a line that lies open, drawn on the same board as at the table.

/** @import { Opinion } from "./advice.js" */
/** @import { LineShown, PlaceShown } from "./protocol.js" */
/** @import { Shown } from "./scene.js" */

import { drawBoard, makeBoard } from "./board.js";
import { make } from "./dom.js";
import { CARD_GAMES, plainName, seatName } from "./games.js";
import { settings } from "./settings.js";

/**
 * The place where positions are drawn; games without cards, and who likes it, get text.
 * @param {(text: string) => void} tryOut what happens when a card is chosen
 */
export function makeReplay(tryOut) {
  const board = makeBoard();
  board.hand.setAttribute("aria-label", "Hand");
  const picture = make("pre", { class: "picture" });
  const element = make("section", { class: "replay", "aria-label": "Position" }, board.felt, board.hand, picture);

  /** @type {(tricks: number) => string | null} */
  let against = () => null;

  /** @param {LineShown} line @param {PlaceShown} place @param {Map<string, Opinion>} opinions */
  function draw(line, place, opinions) {
    const game = CARD_GAMES[plainName(line.game)];
    const isText = !game || settings.view === "text";
    board.felt.hidden = board.hand.hidden = isText;
    picture.hidden = !isText;
    picture.textContent = place.picture;
    if (isText) return;
    const bottom = place.seat ?? game.bottom ?? 0;
    /** @type {Shown} */
    const shown = {
      welcome: {
        type: "welcome", kibitz: "", table: "", game: line.game, seat: bottom, sees: null, window_seconds: 0,
        undo: false, deal_chosen: false,
      },
      position: { ...place, number: place.ply, window: false, seed: null, start: null, moves_made: null },
      chairs: Array.from({ length: line.seats }, () => ({ name: "", agent: "", connections: 1 })),
      events: line.plies.slice(0, place.ply).map(({ seat, text }, i) => ({ number: i + 1, kind: "move", seat, text })),
      selected: [],
      play: (move) => tryOut(place.moves.find((one) => one.move === move)?.text ?? ""),
      playAll: () => {},
      select: () => {},
      who: (seat) => seatName(line.game, seat),
      player: () => "",
    };
    const scene = game.scene(shown);
    against = scene.against ?? (() => null);
    const finished = scene.trick.length ? null : scene.last?.laid ?? null;
    drawBoard(board, scene, shown, { bottom, finished, opinions, explain: () => {} });
  }

  return { element, draw, against: (/** @type {number} */ tricks) => against(tricks) };
}
