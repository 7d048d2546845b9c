/** What a server behind the page adds: methods run from forms, and maps that move while they are optimised. */

import { byId, element, section } from "./dom.js";
import { ParameterForm } from "./forms.js";
import { theLink } from "./link.js";
import { unpack } from "./pack.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./forms.js").Method} Method */
/** @typedef {{ method: Method, rows: Uint32Array | null, step: Float32Array | null, entry: RunEntry }} Running */

const FIRST_METHOD = "tsne"; // that the form shows
const ENDED = "The server has ended. The maps stay; nothing more can be run.";

/**
 * Connects the page with whoever computes for it, if there is anybody.
 * @param {App} app
 */
export async function connect(app) {
  const link = theLink();
  if (!link) return;
  const { runs, methods } = await link.methods();
  const board = new RunBoard(app, methods, link);
  if (!runs) board.refuse("There are only maps here, and no data to fit a method to.");
}

/** The form, the runs that were started from it, and the connection over which they are told. */
class RunBoard {
  /**
   * @param {App} app
   * @param {Method[]} methods
   * @param {import("./link.js").Link} link
   */
  constructor(app, methods, link) {
    this.app = app;
    this.methods = methods;
    this.link = link;
    /** @type {Map<number, Running>} */
    this.runs = new Map();
    this.next = link.firstRun;
    this.drawing = false;
    this.refused = false;
    this.choice = element("select", { "aria-label": "Method", onchange: () => this.showMethod() },
      ...methods.map((method) => element("option", { value: method.name }, method.title)));
    this.choice.value = FIRST_METHOD;
    this.purpose = element("p", { class: "hint" });
    this.fields = element("div", {});
    this.runAll = element("button", { class: "tool", type: "submit" }, "Run");
    this.runChosen = element("button", { class: "tool", type: "button", onclick: () => this.start(app.selection) });
    this.list = element("ul", { class: "runs" });
    this.show();
    this.open();
    app.on("selection", () => {
      this.showSelection();
      link.select(app.selection);
    });
    this.showSelection();
  }

  show() {
    const { whole, body } = section("Run a method", "runner");
    const form = element("form", {
      novalidate: true, // the library says what is wrong, in its own words
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        this.start(null);
      },
    }, this.choice, this.purpose, element("div", { class: "actions" }, this.runAll, this.runChosen), this.list,
      element("details", { class: "facts" }, element("summary", {}, "Parameters"), this.fields));
    body.append(form);
    byId("side").prepend(whole);
    this.showMethod();
  }

  get method() {
    return this.methods[this.choice.selectedIndex];
  }

  get isOpen() {
    return this.link.isOpen && !this.refused;
  }

  showMethod() {
    this.parameters = new ParameterForm(this.method.parameters);
    this.purpose.textContent = this.method.purpose;
    this.fields.replaceChildren(this.parameters.whole);
  }

  showSelection() {
    const count = this.app.selection.length;
    this.runAll.disabled = !this.isOpen;
    this.runChosen.disabled = !this.isOpen || !count;
    this.runChosen.textContent = count ? `Run on ${count.toLocaleString("en-US")} selected` : "Run on selection";
  }

  /**
   * Nothing can be run, and why.
   * @param {string} why
   */
  refuse(why) {
    this.refused = true;
    this.purpose.textContent = why;
    this.showSelection();
  }

  open() {
    this.link.open({
      opened: () => this.showSelection(),
      text: (text) => this.hear(JSON.parse(text)),
      pack: (buffer) => this.take(buffer),
      rows: (rows) => this.select(rows),
      closed: () => {
        for (const number of this.runs.keys()) this.finish(number, "stopped", "the server has ended");
        this.refuse(ENDED);
        this.app.announce(ENDED);
      },
    });
  }

  /**
   * Selects what the other side selected, unless it is selected already.
   * @param {Uint32Array} rows
   */
  select(rows) {
    const { selection } = this.app;
    const same = rows.length === selection.length && rows.every((row, at) => row === selection[at]);
    if (!same) this.app.select(rows);
  }

  /**
   * Starts the method that the form shows, on all rows (null) or some.
   * @param {Uint32Array | null} rows
   */
  start(rows) {
    if (!this.isOpen || !this.parameters) return;
    const [number, { name, title }] = [this.next++, this.method];
    const entry = new RunEntry(rows ? `${title} of ${rows.length.toLocaleString("en-US")} selected` : title, {
      stop: () => this.send({ action: "stop", run: number }),
      remove: () => this.hasMap(number) && this.app.removePanel(runId(number)),
    });
    this.runs.set(number, { method: this.method, rows, step: null, entry });
    this.list.prepend(entry.whole);
    const parameters = this.parameters.values();
    this.send({ action: "start", run: number, method: name, parameters, rows: rows && Array.from(rows) });
  }

  /** @param {any} message */
  send(message) {
    this.link.send(JSON.stringify(message));
  }

  /** @param {any} message */
  hear(message) {
    if (message.type === "progress") this.runs.get(message.run)?.entry.show(message);
    else this.finish(message.run, message.type, message.message ?? "");
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
      run.step = /** @type {Float32Array} */ (arrays.get("coordinates")?.values);
      this.drawSoon();
      return;
    }
    run.step = null;
    if (this.hasMap(header.run)) this.app.replacePanel(header.panel.id, header.panel, arrays);
    else this.app.activate(this.app.addPanel(header.panel, arrays));
  }

  /** @param {number} number */
  hasMap(number) {
    return this.app.panels.some((panel) => panel.id === runId(number));
  }

  /** Moves the maps in the next frame to the last steps that came. */
  drawSoon() {
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
   * @param {Running} run
   * @param {Float32Array} coordinates
   */
  move(number, run, coordinates) {
    if (this.hasMap(number)) {
      this.app.moveTo(runId(number), coordinates);
      return;
    }
    /** @type {import("./pack.js").Pack["arrays"]} */
    const arrays = new Map([["coordinates", { values: coordinates, shape: [coordinates.length / 2, 2] }]]);
    if (run.rows) arrays.set("rows", { values: Int32Array.from(run.rows), shape: [run.rows.length] });
    const nothing = { parameters: {}, eigenvalues: null, time: null, quality: {}, trust: null, seconds: null };
    this.app.activate(this.app.addPanel({
      id: runId(number), method: run.method.name, title: run.entry.title, family: run.method.family, ...nothing,
      coordinates: "coordinates", rows: run.rows ? "rows" : null,
    }, arrays));
  }

  /**
   * A run has ended: done, stopped or with an error.
   * @param {number} number
   * @param {string} kind
   * @param {string} words
   */
  finish(number, kind, words) {
    const run = this.runs.get(number);
    if (!run) return;
    this.runs.delete(number);
    run.entry.end(kind, words, this.hasMap(number));
    this.app.announce(`${run.entry.title}: ${kind === "error" ? words : kind}`);
  }
}

/** A run in the list: how far it is, and a button that stops it; then how it ended. */
class RunEntry {
  /**
   * @param {string} title
   * @param {{ stop: () => void, remove: () => void }} does
   */
  constructor(title, does) {
    this.title = title;
    this.does = does;
    this.seconds = 0;
    this.bar = element("progress", { "aria-label": title });
    this.words = element("p", { class: "hint" }, "starting");
    this.button = element("button", { class: "tool", type: "button", "aria-label": `Stop ${title}`, onclick: does.stop }, "Stop");
    this.whole = element("li", { class: "run", "data-state": "running" }, element("strong", {}, title), this.button, this.bar, this.words);
  }

  /** @param {{ stage: string, iteration: number, total: number | null, loss: number | null, seconds: number }} message */
  show({ stage, iteration, total, loss, seconds }) {
    this.seconds = seconds;
    if (total && iteration) {
      this.bar.max = total;
      this.bar.value = iteration;
    } else {
      this.bar.removeAttribute("value");
    }
    const step = iteration ? (total ? `${iteration} of at most ${total}` : String(iteration)) : "";
    const parts = [stage, step, loss === null ? "" : `loss ${loss.toPrecision(4)}`, `${seconds.toFixed(1)} s`];
    this.words.textContent = parts.filter((part) => part !== "").join(" · ");
  }

  /**
   * @param {string} kind
   * @param {string} words
   * @param {boolean} hasMap
   */
  end(kind, words, hasMap) {
    const failed = kind === "error";
    const text = [`${kind} after ${this.seconds.toFixed(1)} s`, ...(words ? [words] : [])].join(": ");
    this.whole.dataset.state = kind;
    this.words.replaceWith(element("p", { class: failed ? "wrong" : "hint", role: failed ? "alert" : null }, failed ? words : text));
    this.bar.remove();
    const remove = () => {
      this.does.remove();
      this.whole.remove();
    };
    const label = hasMap ? `Remove ${this.title} and its map` : `Remove ${this.title} from the list`;
    this.button.replaceWith(element("button", { class: "plain", type: "button", title: label, "aria-label": label, onclick: remove }, "×"));
  }
}

/** @param {number} number */
function runId(number) {
  return `run ${number}`;
}
