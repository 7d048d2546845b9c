/** The way to whoever computes for the page: a server, by HTTP and a WebSocket, or the notebook around it. */

/**
 * Who is told what comes over a link; buffers are packs.
 * @typedef {{ opened: () => void, text: (text: string) => void, pack: (buffer: ArrayBuffer) => void,
 *   rows: (rows: Uint32Array) => void, closed: () => void }} LinkListener
 */
/**
 * @typedef {{ scene: () => Promise<ArrayBuffer>, methods: () => Promise<any>, open: (listener: LinkListener) => void,
 *   send: (text: string) => void, select: (rows: Uint32Array) => void, isOpen: boolean, firstRun: number }} Link
 */

/** @type {Link | null} */
let onlyLink = null;

/**
 * The link of this page, or null where nobody computes for it.
 * @returns {Link | null}
 */
export function theLink() {
  const kind = document.body.dataset.server;
  if (!onlyLink && kind) onlyLink = kind === "frame" ? new FrameLink() : new ServerLink();
  return onlyLink;
}

class ServerLink {
  constructor() {
    this.token = new URLSearchParams(location.search).get("token") ?? "";
    /** @type {WebSocket | null} */
    this.socket = null;
    this.firstRun = 1;
  }

  async scene() {
    return (await this.fetched("/scene")).arrayBuffer();
  }

  async methods() {
    return (await this.fetched("/methods")).json();
  }

  /** @param {string} path */
  async fetched(path) {
    const answer = await fetch(path, { headers: { "X-Lowfold-Token": this.token } });
    if (!answer.ok) throw new Error(`The server did not answer (${answer.status}). Open the address that lowfold printed.`);
    return answer;
  }

  get isOpen() {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** @param {LinkListener} listener */
  open({ opened, text, pack, closed }) {
    this.socket = new WebSocket(`ws://${location.host}/runs?token=${encodeURIComponent(this.token)}`);
    this.socket.binaryType = "arraybuffer";
    this.socket.addEventListener("open", opened);
    this.socket.addEventListener("message", ({ data }) => (typeof data === "string" ? text(data) : pack(data)));
    this.socket.addEventListener("close", closed);
  }

  /** @param {string} text */
  send(text) {
    this.socket?.send(text);
  }

  select() {} // nobody asks for it there
}

/** The notebook gives a port when the page says that it is there; everything else goes through it. */
class FrameLink {
  constructor() {
    this.firstRun = 1 + 1000 * Math.floor(Math.random() * 2 ** 20); // another view of the same widget has other numbers
    this.isOpen = false;
    /** @type {LinkListener | null} */
    this.listener = null;
    /** @type {Promise<any>} */
    this.first = new Promise((resolve) => {
      addEventListener("message", ({ source, data, ports }) => {
        if (source !== parent || data !== "lowfold port" || !ports.length || this.port) return;
        this.port = ports[0];
        this.port.onmessage = ({ data: message }) => (message.scene ? resolve(message) : this.hear(message));
      });
    });
    parent.postMessage("lowfold ready", "*"); // says nothing that anybody could use
  }

  async scene() {
    return (await this.first).scene;
  }

  async methods() {
    return (await this.first).methods;
  }

  /** @param {LinkListener} listener */
  open(listener) {
    this.listener = listener;
    this.isOpen = true;
    listener.opened();
  }

  /** @param {any} message */
  hear(message) {
    if (message.text !== undefined) this.listener?.text(message.text);
    if (message.rows !== undefined) this.listener?.rows(message.rows);
    if (message.pack !== undefined) {
      this.listener?.pack(message.pack);
      this.port?.postMessage({ taken: true });
    }
  }

  /** @param {string} text */
  send(text) {
    this.port?.postMessage({ text });
  }

  /** @param {Uint32Array} rows */
  select(rows) {
    this.port?.postMessage({ rows });
  }
}
