/** What sets a selection apart: how its classes and its numbers differ from those of all points. */

/** @typedef {import("./scene.js").Column} Column */

/**
 * For each category: how many are selected, and of how many.
 * @param {Column} column
 * @param {Uint32Array} selection
 */
export function classCounts(column, selection) {
  const all = new Uint32Array(column.categories.length);
  const chosen = new Uint32Array(column.categories.length);
  for (const code of column.values) all[code]++;
  for (const row of selection) chosen[column.values[row]]++;
  return column.categories
    .map((name, at) => ({ name, number: at, chosen: chosen[at], all: all[at] }))
    .filter((entry) => entry.chosen > 0)
    .sort((a, b) => b.chosen - a.chosen);
}

/**
 * How far the mean of the selected lies from that of all points, in standard deviations of all.
 * @param {Column} column
 * @param {Uint32Array} selection
 */
export function meanShift(column, selection) {
  const all = moments(column.values, null);
  const chosen = moments(column.values, selection);
  if (!all.count || !chosen.count || !(all.deviation > 0)) return null;
  return { name: column.name, mean: chosen.mean, overall: all.mean, shift: (chosen.mean - all.mean) / all.deviation };
}

/**
 * The columns of numbers that set a selection apart, most first.
 * @param {Column[]} columns
 * @param {Uint32Array} selection
 */
export function tellingColumns(columns, selection) {
  return columns
    .filter((column) => column.kind === "number")
    .map((column) => meanShift(column, selection))
    .filter((found) => found !== null)
    .sort((a, b) => Math.abs(b.shift) - Math.abs(a.shift));
}

/** @type {WeakMap<Float32Array, { count: number, mean: number, deviation: number }>} */
const momentsOfAll = new WeakMap();

/** @param {Float32Array} values @param {Uint32Array | null} rows */
function moments(values, rows) {
  const known = rows ? undefined : momentsOfAll.get(values);
  if (known) return known;
  const length = rows ? rows.length : values.length;
  let [count, mean, spread] = [0, 0, 0];
  for (let at = 0; at < length; at++) {
    const value = values[rows ? rows[at] : at];
    if (!Number.isFinite(value)) continue;
    count++;
    const step = value - mean;
    mean += step / count; // one pass that keeps its digits (Welford 1962)
    spread += step * (value - mean);
  }
  const found = { count, mean, deviation: Math.sqrt(spread / Math.max(1, count)) };
  if (!rows) momentsOfAll.set(values, found);
  return found;
}
