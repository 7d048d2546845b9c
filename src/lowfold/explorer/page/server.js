/** What a server behind the page adds: methods run from forms, maps that move while they are optimised. */

import { ParameterForm } from "./forms.js";
import { unpack } from "./pack.js";
import { accessToken } from "./source.js";

/** @typedef {import("./forms.js").Method} Method */
/** @typedef {{ method: Method, rows: Uint32Array | null, shown: boolean, ended: boolean, step: Float32Array | null }} RunState */

const FIRST_METHOD = "umap"; // that the form shows

/**
 * Connects the page with its server.
 * @param {any} app
 */
export async function connect(app) {
  const answer = await fetch("/methods", { headers: { "X-Lowfold-Token": accessToken() } });
  if (!answer.ok) throw new Error(`The server did not give its methods (${answer.status}).`);
  const { runs, methods } = await answer.json();
  const board = new RunBoard(app, methods);
  if (!runs) board.refuse("There are only maps here, and no data to fit a method to.");
  board.open();
  return board;
}

/** The form, the runs that were started from it, and the connection they are told over. */
export class RunBoard {
  /**
   * @param {any} app
   * @param {Method[]} methods
   */
  constructor(app, methods) {
    this.app = app;
    this.methods = methods;
    /** @type {Map<number, RunState>} */
    this.runs = new Map();
    /** @type {Map<number, RunEntry>} */
    this.entries = new Map();
    this.number = 0;
    this.drawing = false;
    /** @type {WebSocket | null} */
    this.socket = null;
    this.build();
    app.addEventListener("selection", () => this.showSelection());
    this.showSelection();
  }

  build() {
    this.element = document.createElement("section");
    this.element.className = "runs";
    this.element.setAttribute("aria-label", "Run a method");
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = "Run a method";
    this.form = document.createElement("form");
    this.form.noValidate = true; // the library says what is wrong, in its own words
    this.choice = document.createElement("select");
    this.choice.setAttribute("aria-label", "Method");
    for (const method of this.methods) this.choice.add(new Option(method.title, method.name));
    this.purpose = document.createElement("p");
    this.fields = document.createElement("div");
    this.runAll = boardButton("Run", "submit");
    this.runSelection = boardButton("Run on selection", "button");
    const buttons = document.createElement("div");
    buttons.className = "buttons";
    buttons.append(this.runAll, this.runSelection);
    this.form.append(this.choice, this.purpose, this.fields, buttons);
    this.list = document.createElement("ul");
    this.list.className = "run-list";
    details.append(summary, this.form);
    this.element.append(details, this.list);
    document.getElementById("side")?.prepend(this.element);
    this.choice.value = FIRST_METHOD;
    this.choice.addEventListener("change", () => this.showMethod());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.start(null);
    });
    this.runSelection.addEventListener("click", () => this.start(Uint32Array.from(this.app.selection)));
    this.showMethod();
  }

  get method() {
    return this.methods[Math.max(0, this.choice?.selectedIndex ?? 0)];
  }

  showMethod() {
    this.parameters = new ParameterForm(this.method.parameters);
    if (this.purpose) this.purpose.textContent = this.method.purpose;
    this.fields?.replaceChildren(this.parameters.element);
  }

  showSelection() {
    const count = this.app.selection.length;
    if (!this.runSelection) return;
    this.runSelection.disabled = count === 0 || !this.isOpen;
    this.runSelection.textContent = count ? `Run on ${count.toLocaleString("en")} selected` : "Run on selection";
  }

  get isOpen() {
    return this.socket?.readyState === WebSocket.OPEN && !this.refused;
  }

  /**
   * Nothing can be run, and why.
   * @param {string} why
   */
  refuse(why) {
    this.refused = true;
    if (this.runAll) this.runAll.disabled = true;
    if (this.purpose) this.purpose.textContent = why;
    this.showSelection();
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.socket = new WebSocket(`${scheme}://${location.host}/runs?token=${encodeURIComponent(accessToken())}`);
    this.socket.binaryType = "arraybuffer";
    this.socket.addEventListener("open", () => this.showSelection());
    this.socket.addEventListener("message", ({ data }) =>
      typeof data === "string" ? this.hear(JSON.parse(data)) : this.take(data),
    );
    this.socket.addEventListener("close", () => this.closed());
  }

  closed() {
    for (const [number, run] of this.runs) if (!run.ended) this.finish(number, "stopped", "the server has ended");
    this.refuse("The server has ended. The maps stay; nothing more can be run.");
    this.app.announce("The server has ended.");
  }

  /**
   * Starts the method that the form shows, on all rows (null) or some.
   * @param {Uint32Array | null} rows
   */
  start(rows) {
    if (!this.isOpen) return;
    const number = ++this.number;
    this.runs.set(number, { method: this.method, rows, shown: false, ended: false, step: null });
    const entry = new RunEntry(rows ? `${this.method.title} of ${rows.length.toLocaleString("en")}` : this.method.title);
    entry.stop.addEventListener("click", () => this.send({ action: "stop", run: number }));
    this.entries.set(number, entry);
    this.list?.prepend(entry.element);
    this.send({
      action: "start",
      run: number,
      method: this.method.name,
      parameters: this.parameters?.values() ?? {},
      rows: rows && Array.from(rows),
    });
  }

  /** @param {any} message */
  send(message) {
    this.socket?.send(JSON.stringify(message));
  }

  /** @param {any} message */
  hear(message) {
    const entry = this.entries.get(message.run);
    if (message.type === "progress") entry?.show(message);
    else if (message.type === "error") this.finish(message.run, "error", message.message);
    else this.finish(message.run, message.type, "");
  }

  /**
   * Takes a pack: a step of a run, or its finished panel.
   * @param {ArrayBuffer} buffer
   */
  take(buffer) {
    const { header, arrays } = unpack(buffer);
    const run = this.runs.get(header.run);
    if (!run) return;
    if (header.kind === "step") {
      run.step = /** @type {Float32Array} */ (arrays.get("coordinates")?.values ?? null);
      this.draw();
      return;
    }
    run.step = null;
    if (run.shown) this.app.replacePanel(header.panel.id, header.panel, arrays);
    else this.app.addPanel(header.panel, arrays);
    run.shown = true;
  }

  /** Moves the maps once in a frame, to their last steps. */
  draw() {
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      for (const [number, run] of this.runs) {
        if (run.step) this.move(number, run, run.step);
        run.step = null;
      }
    });
  }

  /**
   * @param {number} number
   * @param {RunState} run
   * @param {Float32Array} coordinates
   */
  move(number, run, coordinates) {
    const id = `run ${number}`;
    if (run.shown) {
      this.app.moveTo(id, coordinates);
      return;
    }
    const arrays = new Map([["coordinates", { values: coordinates, shape: [coordinates.length / 2, 2] }]]);
    if (run.rows) arrays.set("rows", { values: Int32Array.from(run.rows), shape: [run.rows.length] });
    const { name, title, family } = run.method;
    const nothing = { parameters: {}, eigenvalues: null, time: null, quality: {}, trust: null, seconds: null };
    this.app.addPanel(
      { id, method: name, title, family, ...nothing, coordinates: "coordinates", rows: run.rows ? "rows" : null },
      arrays,
    );
    run.shown = true;
  }

  /**
   * A run has ended, in one way or another.
   * @param {number} number
   * @param {string} kind
   * @param {string} words
   */
  finish(number, kind, words) {
    const run = this.runs.get(number);
    const entry = this.entries.get(number);
    if (run) run.ended = true;
    entry?.end(kind, words, () => this.forget(number));
    const title = run?.method.title ?? "The run";
    this.app.announce(kind === "error" ? `${title}: ${words}` : `${title}: ${kind}`);
  }

  /** @param {number} number */
  forget(number) {
    this.entries.get(number)?.element.remove();
    this.entries.delete(number);
  }
}

/** A run in the list: what it is at, and a button that stops it. */
class RunEntry {
  /** @param {string} title */
  constructor(title) {
    this.element = document.createElement("li");
    this.element.dataset.state = "running";
    this.title = document.createElement("strong");
    this.title.textContent = title;
    this.bar = document.createElement("progress");
    this.bar.setAttribute("aria-label", title);
    this.words = document.createElement("span");
    this.stop = boardButton("Stop", "button");
    this.stop.setAttribute("aria-label", `Stop ${title}`);
    this.element.append(this.title, this.stop, this.bar, this.words);
  }

  /** @param {{ stage: string, iteration: number, total: number | null, loss: number | null, seconds: number }} message */
  show({ stage, iteration, total, loss, seconds }) {
    if (this.element.dataset.state !== "running") return;
    if (total && iteration) {
      this.bar.max = total;
      this.bar.value = iteration;
    } else {
      this.bar.removeAttribute("value");
    }
    const parts = [stage];
    if (iteration) parts.push(total ? `${iteration} of ${total}` : String(iteration));
    if (loss !== null) parts.push(`loss ${loss.toPrecision(4)}`);
    this.seconds = seconds;
    this.words.textContent = [...parts, `${seconds.toFixed(1)} s`].join(" · ");
  }

  /**
   * @param {string} kind
   * @param {string} words
   * @param {() => void} forget
   */
  end(kind, words, forget) {
    this.element.dataset.state = kind;
    this.bar.remove();
    const time = this.seconds === undefined ? "" : ` after ${this.seconds.toFixed(1)} s`;
    this.words.textContent = kind === "error" ? words : `${kind}${time}${words && `: ${words}`}`;
    if (kind === "error") this.words.setAttribute("role", "alert");
    const dismiss = boardButton("×", "button");
    dismiss.setAttribute("aria-label", `Dismiss ${this.title.textContent}`);
    dismiss.addEventListener("click", forget);
    this.stop.replaceWith(dismiss);
  }
}

/**
 * @param {string} text
 * @param {"submit" | "button"} type
 */
function boardButton(text, type) {
  const button = document.createElement("button");
  button.type = type;
  button.textContent = text;
  return button;
}
