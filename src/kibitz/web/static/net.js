// @ts-check
// The connection to a table. When it breaks it is made again, and asks for what it has missed.

const LONGEST_PAUSE = 8000;

export class Connection {
  /**
   * @param {string} token
   * @param {(message: any) => void} hear
   * @param {(isConnected: boolean) => void} show
   * @param {(connection: Connection) => object} [greet] the first message (default: join a table)
   */
  constructor(token, hear, show, greet = joining) {
    this.token = token;
    this.greet = greet;
    this.hear = hear;
    this.show = show;
    this.number = 0;
    /** @type {number | null} */
    this.sees = null;
    this.pause = 250;
    this.isClosed = false;
    this.connect();
  }

  connect() {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(`${scheme}//${location.host}/socket`);
    this.socket.onopen = () => {
      this.send(this.greet(this));
      this.pause = 250;
    };
    this.socket.onmessage = (event) => {
      const message = JSON.parse(event.data);
      if (message.type === "welcome" || message.type === "line") this.show(true);
      if (message.type === "update") this.number = message.position.number;
      this.hear(message);
    };
    this.socket.onclose = () => {
      if (this.isClosed) return;
      this.show(false);
      setTimeout(() => this.connect(), this.pause);
      this.pause = Math.min(2 * this.pause, LONGEST_PAUSE);
    };
  }

  /** @param {object} message */
  send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  /** Watch with the cards of a seat, or of none. @param {string} seat */
  look(seat) {
    this.sees = seat === "" ? null : Number(seat);
    this.number = 0;
    this.pause = 1;
    this.socket?.close();
  }

  close() {
    this.isClosed = true;
    this.socket?.close();
  }
}

/** @param {Connection} connection */
const joining = (connection) => ({ type: "join", token: connection.token, after: connection.number, sees: connection.sees });

/**
 * Ask the lobby; an Error holds what it says if it refuses.
 * @param {string} path
 * @param {object} [content]
 */
export async function ask(path, content) {
  const options = content && {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(content),
  };
  const answer = await fetch(path, options);
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.message ?? `${answer.status}`);
  return body;
}
