/** Draws the points of a panel, some of them or all, into the part of the canvas that is bound. */

import { fillBuffer, makeProgram } from "./device.js";
import { POINT_FRAGMENT, POINT_VERTEX } from "./shaders.js";

/** @typedef {import("./panel.js").Panel} Panel */
/** @typedef {{ coordinates: WebGLBuffer, trust: WebGLBuffer | null, version: number }} Stored */

const SMALLEST = 1.6;
const LARGEST = 7; // pixels across, before zooming in
const COVER = 0.35; // of a panel's area that all points together would cover if they did not overlap
const FAINTEST = 0.3;
const PLAINEST = 0.88;
const BEHIND = 0.16; // opacity of points that are not selected while others are
const [X, Y, COLOR, FLAG, TRUSTED] = [0, 1, 2, 3, 4];

export class PointLayer {
  /**
   * @param {WebGL2RenderingContext} gl
   * @param {import("./appearance.js").Appearance} appearance
   */
  constructor(gl, appearance) {
    this.gl = gl;
    this.appearance = appearance;
    this.trustCounts = false; // whether points that a map does not keep in place are drawn fainter
    this.sizeFactor = 1;
    const { program, uniforms } = makeProgram(gl, POINT_VERTEX, POINT_FRAGMENT, ["x", "y", "color", "flag", "trust"]);
    this.program = program;
    this.uniforms = uniforms;
    /** @type {Map<Panel, Stored>} */
    this.stored = new Map();
  }

  /**
   * Draws points first .. last - 1 in the fixed order.
   * @param {Panel} panel
   * @param {number} first
   * @param {number} last
   * @param {number} ratio pixels of the canvas for each of the page
   */
  draw(panel, first, last, ratio) {
    this.prepare(panel, ratio, this.appearance.selected ? BEHIND : 1);
    this.gl.drawArrays(this.gl.POINTS, first, last - first);
  }

  /**
   * Draws the selected points, on top of what is there.
   * @param {Panel} panel
   * @param {number} ratio
   */
  drawSelected(panel, ratio) {
    const { chosen, chosenCount } = this.appearance.buffersOf(panel);
    if (!chosenCount) return;
    this.prepare(panel, ratio, 1);
    this.gl.bindBuffer(this.gl.ELEMENT_ARRAY_BUFFER, chosen);
    this.gl.drawElements(this.gl.POINTS, chosenCount, this.gl.UNSIGNED_INT, 0);
  }

  /**
   * The diameter of a point in pixels of the page, and its opacity.
   * @param {Panel} panel
   */
  look(panel) {
    const area = panel.box.width * panel.box.height;
    const size = Math.min(LARGEST, Math.max(SMALLEST, Math.sqrt((COVER * area) / panel.count)));
    const zoomed = Math.max(1, panel.view.zoom);
    const diameter = this.sizeFactor * Math.min(18, size * zoomed ** 0.3);
    const crowding = (panel.count * diameter * diameter) / (area * zoomed * zoomed);
    const opacity = Math.max(FAINTEST, Math.min(PLAINEST, PLAINEST / Math.sqrt(crowding)));
    return { diameter, opacity };
  }

  /** @param {Panel} panel @param {number} ratio @param {number} behind */
  prepare(panel, ratio, behind) {
    const { gl, uniforms } = this;
    const { diameter, opacity } = this.look(panel);
    const { width, height } = panel.box;
    const { ax, bx, ay, by } = panel.view.transform(panel.bounds(), width, height);
    const lam = panel.time !== null && panel.eigenvalues ? panel.eigenvalues : null;
    const [first, second] = panel.axes;
    gl.useProgram(this.program);
    gl.uniform2f(uniforms.lambda, lam ? lam[first] : 1, lam ? lam[second] : 1);
    gl.uniform1f(uniforms.time, panel.time ?? 0);
    gl.uniform2f(uniforms.scale, (2 * ax) / width, (-2 * ay) / height);
    gl.uniform2f(uniforms.shift, (2 * bx) / width - 1, 1 - (2 * by) / height);
    gl.uniform1f(uniforms.size, Math.max(1, diameter * ratio));
    const counts = this.trustCounts && panel.trust ? 1 : 0;
    gl.uniform3f(uniforms.opacity, opacity * behind, Math.max(opacity, 0.8), counts);
    this.bind(panel);
  }

  /** @param {Panel} panel */
  bind(panel) {
    const { gl } = this;
    const { colors, flags } = this.appearance.buffersOf(panel);
    const { coordinates, trust } = this.buffersOf(panel);
    gl.bindVertexArray(null);
    gl.bindBuffer(gl.ARRAY_BUFFER, coordinates);
    // The pair of coordinates is chosen by where the card begins to read: nothing is sent again.
    gl.vertexAttribPointer(X, 1, gl.FLOAT, false, 4 * panel.width, 4 * panel.axes[0]);
    gl.vertexAttribPointer(Y, 1, gl.FLOAT, false, 4 * panel.width, 4 * panel.axes[1]);
    gl.bindBuffer(gl.ARRAY_BUFFER, colors);
    gl.vertexAttribPointer(COLOR, 4, gl.UNSIGNED_BYTE, true, 4, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, flags);
    gl.vertexAttribIPointer(FLAG, 1, gl.UNSIGNED_BYTE, 1, 0);
    for (const location of [X, Y, COLOR, FLAG]) gl.enableVertexAttribArray(location);
    if (trust) {
      gl.bindBuffer(gl.ARRAY_BUFFER, trust);
      gl.vertexAttribPointer(TRUSTED, 1, gl.UNSIGNED_BYTE, true, 1, 0);
      gl.enableVertexAttribArray(TRUSTED);
    } else {
      gl.disableVertexAttribArray(TRUSTED);
      gl.vertexAttrib1f(TRUSTED, 1);
    }
  }

  /**
   * The coordinates of a panel on the card, all of them, in the order in which they are drawn.
   * @param {Panel} panel
   * @returns {Stored}
   */
  buffersOf(panel) {
    const known = this.stored.get(panel);
    if (known && known.version === panel.version) return known;
    const { values, width, order, trust } = panel;
    const ordered = new Float32Array(values.length);
    for (let at = 0; at < order.length; at++) {
      const from = order[at] * width;
      for (let axis = 0; axis < width; axis++) ordered[at * width + axis] = values[from + axis];
    }
    const coordinates = fillBuffer(this.gl, ordered, known?.coordinates);
    const kept = known?.trust ?? (trust ? fillBuffer(this.gl, inBytes(trust, order)) : null);
    const stored = { coordinates, trust: kept, version: panel.version };
    this.stored.set(panel, stored);
    return stored;
  }

  /** @param {Panel} panel */
  drop(panel) {
    const known = this.stored.get(panel);
    this.gl.deleteBuffer(known?.coordinates ?? null);
    this.gl.deleteBuffer(known?.trust ?? null);
    this.stored.delete(panel);
  }
}

/**
 * Shares from 0 to 1 as bytes, in another order.
 * @param {Float32Array} shares
 * @param {Uint32Array} order
 */
function inBytes(shares, order) {
  const bytes = new Uint8Array(order.length);
  for (let at = 0; at < order.length; at++) bytes[at] = Math.round(255 * shares[order[at]]);
  return bytes;
}
