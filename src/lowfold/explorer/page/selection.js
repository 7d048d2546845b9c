/** Sets of rows: those inside a drawn line, those of two sets together. */

/** @typedef {import("./panel.js").Panel} Panel */

/**
 * The rows of a panel's points inside a closed line, ascending. The line is filled once as a picture, so that a long one
 * costs no more at a million points.
 * @param {Panel} panel
 * @param {number[][]} path in pixels of the panel
 * @param {(row: number) => boolean} accepts
 */
export function rowsInside(panel, path, accepts) {
  const [width, height] = [Math.ceil(panel.box.width), Math.ceil(panel.box.height)];
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { willReadFrequently: true }));
  context.beginPath();
  path.forEach(([x, y], at) => (at ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.fill("evenodd");
  const inside = context.getImageData(0, 0, width, height).data;
  const { ax, bx, ay, by } = panel.transform();
  const { values, axes } = panel;
  /** @type {number[]} */
  const rows = [];
  for (let point = 0, at = 0; point < panel.count; point++, at += panel.width) {
    const x = ax * values[at + axes[0]] + bx;
    const y = ay * values[at + axes[1]] + by;
    if (!(x >= 0 && y >= 0 && x < width && y < height)) continue;
    const cover = inside[4 * (Math.floor(y) * width + Math.floor(x)) + 3];
    // A pixel that the line itself goes through does not tell on which side a point lies.
    if (cover === 0 || (cover < 255 && !context.isPointInPath(x, y, "evenodd"))) continue;
    const row = panel.rowOf(point);
    if (accepts(row)) rows.push(row);
  }
  return Uint32Array.from(rows).sort();
}

/**
 * @param {Uint32Array} before
 * @param {Uint32Array} rows
 * @param {"instead" | "add" | "remove"} how
 */
export function combined(before, rows, how) {
  if (how === "instead") return rows;
  const set = new Set(before);
  for (const row of rows) how === "add" ? set.add(row) : set.delete(row);
  return Uint32Array.from(set).sort();
}

/**
 * Every row but these.
 * @param {Uint32Array} rows
 * @param {number} n
 */
export function inverted(rows, n) {
  const chosen = new Uint8Array(n);
  for (const row of rows) chosen[row] = 1;
  const others = new Uint32Array(n - rows.length);
  let at = 0;
  for (let row = 0; row < n; row++) if (!chosen[row]) others[at++] = row;
  return others;
}
