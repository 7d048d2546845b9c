/** Mouse, pen and fingers on a map: move, zoom, lasso, click, hover. */

import { SELECTED } from "./appearance.js";
import { rowsInside, combined } from "./selection.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./panel.js").Panel} Panel */

const REACH = 10; // pixels around the pointer in which a point is found
const CLICK = 4; // pixels that a click may move

/**
 * Makes a plot listen.
 * @param {App} app
 * @param {import("./marks.js").Marks} marks
 * @param {Panel} panel
 * @param {HTMLElement} plot
 */
export function listenToPointer(app, marks, panel, plot) {
  const gesture = new Gesture(app, marks, plot);
  const current = () => app.panels.find((one) => one.id === panel.id) ?? panel;
  plot.addEventListener("pointerdown", (event) => gesture.down(current(), event));
  plot.addEventListener("pointermove", (event) => gesture.move(current(), event));
  plot.addEventListener("pointerup", (event) => gesture.up(current(), event));
  plot.addEventListener("pointercancel", (event) => gesture.cancel(event));
  plot.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") app.hover(null); // a finger that was lifted has left, and what it touched stays
  });
  plot.addEventListener("wheel", (event) => gesture.wheel(current(), event), { passive: false });
  plot.addEventListener("dblclick", () => app.focus(app.focused ? null : current()));
}

class Gesture {
  /** @param {App} app @param {import("./marks.js").Marks} marks @param {HTMLElement} plot */
  constructor(app, marks, plot) {
    this.app = app;
    this.marks = marks;
    this.plot = plot;
    /** Fingers and buttons that are down, by number. @type {Map<number, [number, number]>} */
    this.down_ = new Map();
    /** @type {"move" | "lasso" | null} */
    this.kind = null;
    this.travelled = 0;
    /** @type {[number, number] | null} where to look for a point in the next frame */
    this.looking = null;
  }

  /** @param {PointerEvent | WheelEvent} event @returns {[number, number]} */
  at(event) {
    const box = this.plot.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** @param {Panel} panel @param {PointerEvent} event */
  down(panel, event) {
    if (event.button !== 0) return;
    this.plot.setPointerCapture(event.pointerId);
    this.plot.focus({ preventScroll: true });
    this.down_.set(event.pointerId, this.at(event));
    this.travelled = 0;
    if (this.down_.size > 1) {
      this.kind = "move"; // a second finger zooms, whatever the first began
      this.marks.lasso = null;
    } else {
      this.kind = event.shiftKey || this.app.tool === "lasso" ? "lasso" : "move";
      if (this.kind === "lasso") this.marks.lasso = { panel, path: [this.at(event)] };
    }
  }

  /** @param {Panel} panel @param {PointerEvent} event */
  move(panel, event) {
    const here = this.at(event);
    const before = this.down_.get(event.pointerId);
    if (!before) return this.look(panel, here);
    this.travelled += Math.hypot(here[0] - before[0], here[1] - before[1]);
    if (this.kind === "lasso") {
      this.down_.set(event.pointerId, here);
      this.marks.lasso?.path.push(here);
      return this.marks.draw();
    }
    if (this.travelled < CLICK && this.down_.size === 1) return;
    this.app.hover(null);
    const size = /** @type {[number, number]} */ ([panel.box.width, panel.box.height]);
    const others = [...this.down_].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    const share = 1 / this.down_.size;
    if (others.length) {
      const [from, to] = [before, here].map((place) => Math.hypot(place[0] - others[0][0], place[1] - others[0][1]));
      if (from > 10)
        panel.view.zoomBy(panel.bounds(), size, to / from, [
          (here[0] + others[0][0]) / 2,
          (here[1] + others[0][1]) / 2,
        ]);
    }
    panel.view.pan(panel.bounds(), size, (here[0] - before[0]) * share, (here[1] - before[1]) * share);
    this.down_.set(event.pointerId, here);
    this.plot.classList.add("grabbed");
    this.app.moved(panel, true);
  }

  /** @param {Panel} panel @param {PointerEvent} event */
  up(panel, event) {
    const single = this.down_.size === 1 && this.down_.has(event.pointerId);
    const { lasso } = this.marks;
    this.cancel(event);
    if (!single) return;
    if (this.travelled < CLICK) return this.click(panel, event);
    if (lasso && lasso.path.length > 2) {
      const rows = rowsInside(panel, lasso.path, (row) => !this.app.appearance.isHidden(row));
      this.app.select(combined(this.app.selection, rows, wish(event)));
    }
  }

  /** @param {PointerEvent} event */
  cancel(event) {
    this.down_.delete(event.pointerId);
    this.marks.lasso = null;
    this.plot.classList.remove("grabbed");
    this.marks.draw();
  }

  /** @param {Panel} panel @param {PointerEvent} event */
  click(panel, event) {
    const found = this.find(panel, this.at(event));
    if (found < 0) {
      this.app.hover(null);
      if (wish(event) === "instead" && this.app.selection.length) this.app.select(new Uint32Array(0));
      return;
    }
    const row = panel.rowOf(found);
    const chosen = (this.app.appearance.flags[row] & SELECTED) !== 0;
    const how = wish(event) === "add" && chosen ? "remove" : wish(event);
    this.app.select(combined(this.app.selection, Uint32Array.of(row), how));
    this.app.hover({ panel, point: found, row });
  }

  /** @param {Panel} panel @param {WheelEvent} event */
  wheel(panel, event) {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 100 : 1;
    const factor = Math.exp(-Math.max(-120, Math.min(120, event.deltaY * lines)) * (event.ctrlKey ? 0.01 : 0.0022));
    panel.view.zoomBy(panel.bounds(), [panel.box.width, panel.box.height], factor, this.at(event));
    this.app.hover(null);
    this.app.moved(panel, true);
  }

  /** Looks for a point under the pointer, once in a frame. @param {Panel} panel @param {[number, number]} here */
  look(panel, here) {
    const asked = this.looking !== null;
    this.looking = here;
    if (asked) return;
    requestAnimationFrame(() => {
      const place = /** @type {[number, number]} */ (this.looking);
      this.looking = null;
      const point = this.find(panel, place);
      this.app.hover(point < 0 ? null : { panel, point, row: panel.rowOf(point) });
    });
  }

  /** @param {Panel} panel @param {[number, number]} place */
  find(panel, place) {
    const inside = place[0] >= 0 && place[1] >= 0 && place[0] <= panel.box.width && place[1] <= panel.box.height;
    return inside ? panel.pointAt(...place, REACH, (row) => !this.app.appearance.isHidden(row)) : -1;
  }
}

/** What happens to what was selected before. @param {MouseEvent} event */
function wish(event) {
  return event.altKey ? "remove" : event.ctrlKey || event.metaKey ? "add" : "instead";
}
