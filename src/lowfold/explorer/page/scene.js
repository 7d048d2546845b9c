/** The scene as the page uses it: columns with their values, images, true neighbours. */

import { fixedOrder } from "./order.js";

/** @typedef {import("./pack.js").Pack} Pack */
/** @typedef {{ width: number, height: number, channels: number, ink: boolean, pixels: Uint8Array }} Images */

export class Column {
  /**
   * @param {any} header
   * @param {Pack["arrays"]} arrays
   */
  constructor(header, arrays) {
    /** @type {string} */ this.name = header.name;
    /** @type {"category" | "number" | "text"} */ this.kind = header.kind;
    /** @type {any} */ this.values = header.values === null ? null : arrays.get(header.values)?.values;
    /** @type {string[]} */ this.categories = header.categories ?? [];
    /** @type {string[]} */ this.texts = header.texts ?? [];
  }

  /**
   * What stands in this column at a row, as text.
   * @param {number} row
   */
  text(row) {
    if (this.kind === "text") return this.texts[row];
    if (this.kind === "category") return this.categories[this.values[row]] ?? "";
    return shownNumber(this.values[row]);
  }

  /** The lowest and highest number between which nearly all lie: a scale that outliers do not stretch. */
  range() {
    if (!this.known) this.known = trimmedRange(this.values);
    return this.known;
  }
}

export class Scene {
  /** @param {Pack} pack */
  constructor({ header, arrays }) {
    /** @type {number} */ this.n = header.n;
    /** @type {string} */ this.title = header.title || "Lowfold";
    this.columns = header.columns.map((/** @type {any} */ column) => new Column(column, arrays));
    /** @type {Images | null} */
    this.images = header.images && { ...header.images, pixels: arrays.get(header.images.pixels)?.values };
    const neighbors = header.neighbors === null ? undefined : arrays.get(header.neighbors);
    /** The true neighbours of each row, nearest first, k for each. */
    this.neighbors = neighbors ? /** @type {Int32Array} */ (neighbors.values) : null;
    this.k = neighbors ? neighbors.shape[1] : 0;
    /** Rows in the order in which they are drawn. */
    this.order = fixedOrder(this.n);
  }

  /** @param {number} row */
  neighborsOf(row) {
    return this.neighbors ? this.neighbors.subarray(row * this.k, (row + 1) * this.k) : new Int32Array(0);
  }
}

/** @param {number} value */
export function shownNumber(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "–" : String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}

const LOOKED_AT = 20000; // values that tell the range of a column

/** @param {Float32Array} values */
function trimmedRange(values) {
  const step = Math.max(1, Math.floor(values.length / LOOKED_AT));
  const some = [];
  for (let at = 0; at < values.length; at += step) if (Number.isFinite(values[at])) some.push(values[at]);
  const sorted = Float32Array.from(some).sort();
  if (!sorted.length) return [0, 1];
  const low = sorted[Math.floor(0.01 * (sorted.length - 1))];
  const high = sorted[Math.ceil(0.99 * (sorted.length - 1))];
  return low < high ? [low, high] : [sorted[0], Math.max(sorted[sorted.length - 1], sorted[0] + 1e-6)];
}
