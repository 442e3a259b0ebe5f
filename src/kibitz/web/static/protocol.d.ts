// What the server says, for the TypeScript compiler alone: protocol.json is the schema, and
// tests/test_web_static.py holds the two together.

export interface ChairShown {
  name: string;
  agent: string;
  connections: number;
}

export interface EventShown {
  number: number;
  kind: "deal" | "move" | "secret" | "undo" | "claim" | "over";
  seat: number | null;
  text: string;
}

export interface MoveShown {
  move: string;
  text: string;
}

export interface PositionShown {
  number: number;
  turn: number | null;
  window: boolean;
  over: boolean;
  moves: MoveShown[];
  picture: string;
  /** The record of a game; each game's module says what it holds. */
  fields: any;
  scores: number[];
  seed: string | null;
  start: StartGiven | null;
  moves_made: string[] | null;
}

export interface StartGiven {
  seed: string | null;
  deal: number;
  position: string;
}

export interface WishShown {
  kind: "undo" | "claim";
  seat: number;
  tricks: number;
  cards: string[];
  agreed: number[];
}

export interface Welcome {
  type: "welcome";
  kibitz: string;
  table: string;
  game: string;
  seat: number | null;
  sees: number | null;
  window_seconds: number;
  undo: boolean;
  deal_chosen: boolean;
}

export interface Update {
  type: "update";
  events: EventShown[];
  chairs: ChairShown[];
  wish: WishShown | null;
  position: PositionShown;
}

export interface Again {
  type: "again";
  token: string;
  seat: number | null;
}

export interface RowShown {
  moves: MoveShown[];
  value: number | null;
  stderr: number | null;
  visits: number;
  available: number;
  shares: Record<string, number>;
}

export interface AdviceShown {
  type: "advice";
  number: number;
  agent: string;
  unit: string;
  best: string;
  rows: RowShown[];
  value: number | null;
  iterations: number;
  worlds: number;
  seconds: number;
  limit: number;
  seed: string;
  exact: boolean;
  done: boolean;
}

export interface PlyShown {
  seat: number;
  text: string;
  chosen: boolean;
  leads: boolean;
}

export interface AuctionShown {
  dealer: number;
  vulnerable: "none" | "ns" | "ew" | "both";
  calls: string[];
  notes: string[];
}

export interface LineShown {
  type: "line";
  game: string;
  seats: number;
  start: StartGiven;
  plies: PlyShown[];
  solver: boolean;
  auction: AuctionShown | null;
  texts: Record<string, string>;
}

export interface PlaceShown {
  type: "place";
  ply: number;
  seat: number | null;
  turn: number | null;
  over: boolean;
  moves: MoveShown[];
  picture: string;
  fields: any;
  scores: number[];
}

export interface JudgedShown {
  type: "judged";
  ply: number;
  loss: number | null;
  error: number | null;
  advice: AdviceShown;
  done: number;
  total: number;
}

export interface ValueShown {
  move: string;
  text: string;
  value: number | null;
}

export interface WorldShown {
  type: "world";
  ply: number;
  number: number;
  count: number;
  picture: string;
  rows: ValueShown[];
  unit: string;
}

export interface ExactShown {
  type: "exact";
  ply: number;
  rows: ValueShown[];
  unit: string;
  /** Of a whole deal of Bridge. */
  table: { tricks: number[][]; par: number; contracts: string[]; dealer: number; vulnerable: AuctionShown["vulnerable"] } | null;
}

export interface DiagramShown {
  type: "diagram";
  svg: string;
}

export interface Refused {
  type: "refused";
  code: string;
  message: string;
}

export interface Pong {
  type: "pong";
}

export interface TableMade {
  table: string;
  seats: Record<string, string>;
  watch: string;
}

export interface TableShown {
  token: string;
  table: string;
  game: string;
  seat: number | null;
  chairs: ChairShown[];
  over: boolean;
  your_turn: boolean;
  known: boolean;
}

export type AboutLine = LineShown | PlaceShown | JudgedShown | WorldShown | ExactShown | DiagramShown;
export type Outgoing = Welcome | Update | Again | AdviceShown | AboutLine | Refused | Pong;
