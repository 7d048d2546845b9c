/** How points look: their colours, which are hidden, which are selected, on the graphics card for each order of points. */

import { rowColors, scaledColors } from "./colors.js";
import { fillBuffer } from "./device.js";

/** @typedef {import("./panel.js").Panel} Panel */
/**
 * Of points in the order in which they are drawn: colours, flags, and the numbers of the selected ones.
 * @typedef {{ colors: WebGLBuffer | null, flags: WebGLBuffer | null, chosen: WebGLBuffer | null, chosenCount: number,
 *   filled: { colors: boolean, flags: boolean } }} Buffers
 */

export const HIDDEN = 1;
export const SELECTED = 2;
export const TRUST = "trust";

export class Appearance {
  /**
   * @param {WebGL2RenderingContext} gl
   * @param {import("./scene.js").Scene} scene
   */
  constructor(gl, scene) {
    this.gl = gl;
    this.scene = scene;
    this.dark = false;
    /** A column, null for one colour, or how far each point can be trusted in each map. @type {any} */
    this.by = null;
    this.colors = new Uint32Array(0);
    this.flags = new Uint8Array(scene.n);
    this.selected = 0;
    /** Of panels that hold every row, in the common order. */
    this.shared = noBuffers();
    /** @type {Map<Panel, Buffers>} */
    this.own = new Map();
  }

  /** @param {any} by @param {boolean} dark */
  colorBy(by, dark) {
    [this.by, this.dark] = [by, dark];
    this.colors = rowColors(by === TRUST ? null : by, this.scene.n, dark);
    this.forget("colors");
  }

  /**
   * @param {Uint32Array} selection
   * @param {(row: number) => boolean} isHidden
   */
  mark(selection, isHidden) {
    for (let row = 0; row < this.flags.length; row++) this.flags[row] = isHidden(row) ? HIDDEN : 0;
    for (const row of selection) this.flags[row] |= SELECTED;
    this.selected = selection.length;
    this.forget("flags");
  }

  /** @param {number} row */
  isHidden(row) {
    return (this.flags[row] & HIDDEN) !== 0;
  }

  /** @param {"colors" | "flags"} what */
  forget(what) {
    for (const buffers of [this.shared, ...this.own.values()]) buffers.filled[what] = false;
  }

  /**
   * The buffers of a panel, filled.
   * @param {Panel} panel
   * @returns {Buffers}
   */
  buffersOf(panel) {
    const alone = panel.rows !== null || this.by === TRUST;
    let buffers = alone ? this.own.get(panel) : this.shared;
    if (!buffers) this.own.set(panel, (buffers = noBuffers()));
    if (!buffers.filled.colors) this.fillColors(panel, buffers);
    if (!buffers.filled.flags) this.fillFlags(panel, buffers);
    return buffers;
  }

  /** @param {Panel} panel */
  drop(panel) {
    const buffers = this.own.get(panel);
    for (const name of /** @type {const} */ (["colors", "flags", "chosen"])) {
      this.gl.deleteBuffer(buffers?.[name] ?? null);
    }
    this.own.delete(panel);
  }

  /** @param {Panel} panel @param {Buffers} buffers */
  fillColors(panel, buffers) {
    const byTrust = this.by === TRUST && panel.trust ? scaledColors(panel.trust, 0, 1, this.dark) : null;
    const drawn = new Uint32Array(panel.count);
    for (let at = 0; at < drawn.length; at++) {
      const point = panel.order[at];
      drawn[at] = byTrust ? byTrust[point] : this.colors[panel.rowOf(point)];
    }
    buffers.colors = fillBuffer(this.gl, drawn, buffers.colors);
    buffers.filled.colors = true;
  }

  /** @param {Panel} panel @param {Buffers} buffers */
  fillFlags(panel, buffers) {
    const drawn = new Uint8Array(panel.count);
    const chosen = [];
    for (let at = 0; at < drawn.length; at++) {
      drawn[at] = this.flags[panel.rowOf(panel.order[at])];
      if (drawn[at] === SELECTED) chosen.push(at);
    }
    buffers.flags = fillBuffer(this.gl, drawn, buffers.flags);
    buffers.chosen = fillBuffer(this.gl, Uint32Array.from(chosen), buffers.chosen, this.gl.ELEMENT_ARRAY_BUFFER);
    buffers.chosenCount = chosen.length;
    buffers.filled.flags = true;
  }
}

/** @returns {Buffers} */
function noBuffers() {
  return { colors: null, flags: null, chosen: null, chosenCount: 0, filled: { colors: false, flags: false } };
}
