/** One map: its coordinates, the pair of them that is shown, its time, and where its points are on the screen. */

import { Grid } from "./grid.js";
import { fixedOrder, seededRandom } from "./order.js";
import { View } from "./view.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./view.js").Bounds} Bounds */
/** @typedef {{ left: number, top: number, width: number, height: number }} Box */

const JITTER = 0.1; // of the extent, across a map of one coordinate
const MOST_TIME = 64;

export class Panel {
  /**
   * @param {any} header
   * @param {import("./pack.js").Pack["arrays"]} arrays
   * @param {Scene} scene
   */
  constructor(header, arrays, scene) {
    this.header = header;
    /** @type {string} */ this.id = header.id;
    this.scene = scene;
    this.view = new View();
    const values = (/** @type {string | null} */ name) => (name === null ? undefined : arrays.get(name));
    /** Rows of the scene that this map holds, or null for all. */
    this.rows = /** @type {Int32Array | null} */ (values(header.rows ?? null)?.values ?? null);
    this.trust = /** @type {Float32Array | null} */ (values(header.trust)?.values ?? null);
    this.eigenvalues = /** @type {Float32Array | null} */ (values(header.eigenvalues)?.values ?? null);
    const coordinates = values(header.coordinates);
    if (!coordinates) throw new Error(`The map ${header.title} has no coordinates.`);
    this.count = coordinates.shape[0];
    /** Points of this map in the order in which they are drawn. */
    this.order = this.rows ? fixedOrder(this.count) : scene.order;
    /** @type {number | null} */ this.time = header.time;
    this.wholeTimes = this.time !== null && (this.eigenvalues ?? []).some((value) => value < 0);
    this.axes = [0, 1];
    /** How many coordinates can be picked. */
    this.shown = 0;
    /** Coordinates, `width` of them for each point. @type {Float32Array} */
    this.values = new Float32Array(0);
    this.width = 0;
    /** The least and largest value of each coordinate, where they are known. @type {Map<number, [number, number]>} */
    this.extents = new Map();
    /** The grid over the shown pair, once it is needed. @type {Grid | null} */
    this.index = null;
    /** Points by rows of the scene, where this map holds only some. @type {Map<number, number> | null} */
    this.points = null;
    /** Counts changes of the coordinates, so that what was made of earlier ones is known to be old. */
    this.version = 0;
    this.place(/** @type {Float32Array} */ (coordinates.values), coordinates.shape[1]);
    /** Where it is drawn, in pixels of the stage. @type {Box} */
    this.box = { left: 0, top: 0, width: 0, height: 0 };
  }

  get mostTime() {
    return Math.max(MOST_TIME, 2 * (this.header.time ?? 0));
  }

  /**
   * New coordinates for all points.
   * @param {Float32Array} values
   * @param {number} width how many for each point
   */
  place(values, width) {
    this.shown = width;
    this.values = width === 1 ? withJitter(values) : values;
    this.width = Math.max(2, width);
    this.axes = this.axes.map((axis) => Math.min(axis, this.width - 1));
    this.extents.clear();
    this.version++;
    this.index = null;
  }

  /**
   * Picks the coordinates that are drawn.
   * @param {number} first
   * @param {number} second
   */
  pick(first, second) {
    this.axes = [first, second];
    this.index = null;
  }

  /** What the shown coordinates are multiplied with: powers of the eigenvalues, or 1. */
  factors() {
    return this.axes.map((axis) => {
      if (this.time === null || !this.eigenvalues) return 1;
      const value = this.eigenvalues[axis];
      if (Math.abs(value) < 1e-12) return this.time === 0 ? 1 : 0;
      return Math.abs(value) ** this.time * (value < 0 && this.time % 2 === 1 ? -1 : 1);
    });
  }

  /**
   * The extent of the map as it is shown.
   * @returns {Bounds}
   */
  bounds() {
    const factors = this.factors();
    const ends = this.axes.map((axis, at) => {
      const [low, high] = this.extent(axis).map((end) => end * factors[at]);
      return low <= high ? [low, high] : [high, low];
    });
    const low = /** @type {[number, number]} */ (ends.map((end) => end[0]));
    const high = /** @type {[number, number]} */ (ends.map((end) => end[1]));
    return { low, high, equal: this.time !== null || this.shown === 1 };
  }

  /**
   * The least and largest value of a coordinate.
   * @param {number} axis
   */
  extent(axis) {
    let known = this.extents.get(axis);
    if (!known) {
      let [low, high] = [Infinity, -Infinity];
      for (let at = axis; at < this.values.length; at += this.width) {
        if (this.values[at] < low) low = this.values[at];
        if (this.values[at] > high) high = this.values[at];
      }
      known = [low, high];
      this.extents.set(axis, known);
    }
    return known;
  }

  /** Pixels of the panel from stored coordinates: x' = ax x + bx, y' = ay y + by. */
  transform() {
    const { ax, bx, ay, by } = this.view.transform(this.bounds(), this.box.width, this.box.height);
    const [fx, fy] = this.factors();
    return { ax: ax * fx, bx, ay: ay * fy, by };
  }

  /**
   * Where a point is, in pixels of the panel.
   * @param {number} point
   */
  placeOf(point, { ax, bx, ay, by } = this.transform()) {
    const at = point * this.width;
    return [ax * this.values[at + this.axes[0]] + bx, ay * this.values[at + this.axes[1]] + by];
  }

  /** The row of the scene of a point. @param {number} point */
  rowOf(point) {
    return this.rows ? this.rows[point] : point;
  }

  /** The point of a row of the scene, or -1 where this map does not hold it. @param {number} row */
  pointOf(row) {
    if (!this.rows) return row;
    if (!this.points) this.points = new Map(Array.from(this.rows, (known, point) => [known, point]));
    return this.points.get(row) ?? -1;
  }

  /** The grid over the shown pair of coordinates. */
  grid() {
    if (!this.index) {
      const [first, second] = this.axes;
      const [x, y] = [this.extent(first), this.extent(second)];
      const bounds = {
        low: /** @type {[number, number]} */ ([x[0], y[0]]),
        high: /** @type {[number, number]} */ ([x[1], y[1]]),
      };
      this.index = new Grid(this.values, this.width, first, second, bounds);
    }
    return this.index;
  }

  /**
   * The point nearest to a pixel of the panel, within a number of pixels; -1 if there is none.
   * @param {number} x
   * @param {number} y
   * @param {number} reach
   * @param {(row: number) => boolean} accepts
   */
  pointAt(x, y, reach, accepts) {
    const { ax, bx, ay, by } = this.transform();
    if (!ax || !ay) return -1;
    const ends = [(x - reach - bx) / ax, (x + reach - bx) / ax, (y - reach - by) / ay, (y + reach - by) / ay];
    let [best, least] = [-1, reach * reach];
    this.grid().inBox(
      [Math.min(ends[0], ends[1]), Math.min(ends[2], ends[3])],
      [Math.max(ends[0], ends[1]), Math.max(ends[2], ends[3])],
      (point) => {
        const at = point * this.width;
        const dx = ax * this.values[at + this.axes[0]] + bx - x;
        const dy = ay * this.values[at + this.axes[1]] + by - y;
        const r = dx * dx + dy * dy;
        if (r <= least && accepts(this.rowOf(point))) [best, least] = [point, r];
      },
    );
    return best;
  }

  /**
   * The k nearest other points in the map as it is shown, nearest first.
   * @param {number} point
   * @param {number} k
   */
  nearest(point, k) {
    const at = point * this.width;
    const place = /** @type {[number, number]} */ (this.axes.map((axis) => this.values[at + axis]));
    const weights = /** @type {[number, number]} */ (this.factors().map((factor) => Math.abs(factor) || 1e-12));
    const found = this.grid().nearest(place, k, weights, (other) => other !== point);
    return found.map((entry) => entry.point);
  }
}

/** @param {Float32Array} values */
function withJitter(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  const random = seededRandom(values.length);
  const placed = new Float32Array(2 * values.length);
  for (let point = 0; point < values.length; point++) {
    placed[2 * point] = values[point];
    placed[2 * point + 1] = (random() - 0.5) * JITTER * (high - low);
  }
  return placed;
}
