// @ts-check
// Bridge, the play of the cards: the contract, dummy's cards open, declarer plays both hands.

/** @import { Scene, Shown } from "./scene.js" */

import { french } from "./cards.js";
import { cardsOf, held, playable, sorted, toFollow, tricks } from "./scene.js";

const PLAYING = 1;
const NOTRUMP = 4;
const DECK = french(4, 13, "T");
export const SEATS = ["North", "East", "South", "West"];

/** @param {Shown} shown @returns {Scene} */
export function bridge(shown) {
  const { fields } = shown.position;
  const me = shown.welcome.seat;
  const isOn = fields.phase === PLAYING;
  const dummy = (fields.declarer + 2) % 4;
  const trump = fields.strain === NOTRUMP ? null : fields.strain;
  const hand = (/** @type {number} */ seat) => (isOn ? sorted(DECK, cardsOf(fields.hands?.[seat]), trump) : []);
  const strain = trump === null ? "NT" : DECK.marks[trump];
  const made = (/** @type {number} */ side) => fields.tricks[side] + fields.tricks[side + 2];
  const side = fields.declarer % 2;
  const more = fields.level + 6 - made(side);
  const beaten = made(1 - side) - (7 - fields.level);
  const doubled = ["", " doubled", " redoubled"][fields.doubled];
  return {
    ...tricks(shown, DECK, { declarer: fields.declarer }),
    deck: DECK,
    isPlay: true,
    turn: isOn && !shown.position.window ? fields.turn : null,
    seats: SEATS.map((_, seat) => {
      const open = seat === me ? [] : hand(seat);
      return {
        hidden: isOn && seat !== me && !open.length ? held(fields, seat, 4) : 0,
        open: playable(shown, open, seat === dummy && me === fields.declarer),
        chips: [...(seat === fields.declarer ? ["declarer"] : []), ...(seat === dummy ? ["dummy"] : [])],
        said: "",
        told: isOn ? `${made(seat % 2)} ${made(seat % 2) === 1 ? "trick" : "tricks"}` : "",
      };
    }),
    hand: me === null ? [] : playable(shown, hand(me), me !== dummy),
    asides: [],
    facts: [
      ["Contract", `${fields.level}${strain}${doubled} by ${SEATS[fields.declarer]}${fields.vulnerable ? ", vulnerable" : ""}`],
      ["Declarer", more > 0 ? (beaten > 0 ? `down ${beaten}` : `needs ${more} more`) : more < 0 ? `made, +${-more}` : "made"],
    ],
    score: {
      head: ["", "tricks"],
      rows: [["North and South", String(made(0))], ["East and West", String(made(1))]],
    },
    choices: [],
    against: (tricks) => {
      const all = made(0) + made(1) + fields.left;
      const over = (fields.turn % 2 === side ? tricks : all - tricks) - fields.level - 6;
      return over > 0 ? `+${over}` : over < 0 ? `−${-over}` : "=";
    },
    ...toFollow(shown, DECK, hand(fields.turn), fields.turn === dummy ? ", from dummy" : ""),
    ...(me === dummy ? { why: "You are dummy: declarer plays your cards." } : {}),
  };
}
