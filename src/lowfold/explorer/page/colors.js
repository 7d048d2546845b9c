/** Colours that colour-blind readers can tell apart: the same as in lowfold.plot. */

// Okabe and Ito 2008; black, the last, is the text's colour here, so that it shows on dark paper too.
export const OKABE_ITO = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000"];
// Petroff 2021: ten, where eight are too few.
export const PETROFF = [
  "#3f90da",
  "#ffa90e",
  "#bd1f01",
  "#94a4a2",
  "#832db6",
  "#a96b59",
  "#e76300",
  "#b9ac70",
  "#717581",
  "#92dadd",
];
// Cividis at equal steps: of even lightness, the same to most colour-blind readers.
export const CIVIDIS = [
  "#00224e",
  "#002e6a",
  "#1a386f",
  "#32436d",
  "#434e6c",
  "#535a6d",
  "#61656f",
  "#6f7073",
  "#7d7c78",
  "#8c8878",
  "#9b9476",
  "#aba072",
  "#bcae6c",
  "#cdbb63",
  "#dec958",
  "#f0d846",
  "#fee838",
];
export const SHAPE_COUNT = 8; // change when the colours begin again
const PLAIN = "#0072B2";
const MISSING = "#8a8f98";
const DARKEST_ON_DARK = 0.18; // where a scale begins on dark paper, so that its low end can be seen

/** @typedef {[number, number, number]} Rgb */

/**
 * @param {string} hex
 * @returns {Rgb}
 */
export function asRgb(hex) {
  const value = parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/**
 * The colour of a class among so many, and its shape.
 * @param {number} number
 * @param {number} count
 * @param {boolean} dark
 */
export function classLook(number, count, dark) {
  const colors = count <= OKABE_ITO.length ? OKABE_ITO : PETROFF;
  const color = colors[number % colors.length];
  return {
    color: dark && color === "#000000" ? "#f2f2f2" : dark && color === "#832db6" ? "#a45ad6" : color,
    shape: Math.floor(number / colors.length) % SHAPE_COUNT,
  };
}

/**
 * The colour of a number from 0 to 1.
 * @param {number} share
 * @param {boolean} dark
 * @returns {Rgb}
 */
export function scaleColor(share, dark) {
  if (Number.isNaN(share)) return asRgb(MISSING);
  const low = dark ? DARKEST_ON_DARK : 0;
  const at = (low + Math.min(1, Math.max(0, share)) * (1 - low)) * (CIVIDIS.length - 1);
  const below = Math.min(CIVIDIS.length - 2, Math.floor(at));
  const a = asRgb(CIVIDIS[below]);
  const b = asRgb(CIVIDIS[below + 1]);
  const mixed = a.map((value, channel) => Math.round(value + (b[channel] - value) * (at - below)));
  return /** @type {Rgb} */ (mixed);
}

/**
 * A number for a colour and a shape, as four bytes in the order of memory.
 * @param {Rgb} rgb
 * @param {number} shape
 */
export function packedColor(rgb, shape) {
  return (rgb[0] | (rgb[1] << 8) | (rgb[2] << 16) | (shape << 24)) >>> 0;
}

const STEPS = 256; // of a scale

/**
 * The colour of every row, four bytes each: red, green, blue, shape.
 * @param {import("./scene.js").Column | null} column
 * @param {number} n
 * @param {boolean} dark
 */
export function rowColors(column, n, dark) {
  const colors = new Uint32Array(n);
  if (!column || column.kind === "text") return colors.fill(packedColor(asRgb(PLAIN), 0));
  if (column.kind === "category") {
    const looks = column.categories.map((_, number) => {
      const look = classLook(number, column.categories.length, dark);
      return packedColor(asRgb(look.color), look.shape);
    });
    for (let row = 0; row < n; row++) colors[row] = looks[column.values[row]];
    return colors;
  }
  const [low, high] = column.range();
  return scaledColors(column.values, low, high, dark);
}

/**
 * @param {Float32Array} values
 * @param {number} low
 * @param {number} high
 * @param {boolean} dark
 */
export function scaledColors(values, low, high, dark) {
  const table = new Uint32Array(STEPS + 1);
  for (let step = 0; step < STEPS; step++) table[step] = packedColor(scaleColor(step / (STEPS - 1), dark), 0);
  table[STEPS] = packedColor(asRgb(MISSING), 0);
  const colors = new Uint32Array(values.length);
  const factor = (STEPS - 1) / (high - low);
  for (let row = 0; row < values.length; row++) {
    const at = Math.round((values[row] - low) * factor);
    colors[row] = table[at !== at ? STEPS : at < 0 ? 0 : at >= STEPS ? STEPS - 1 : at];
  }
  return colors;
}
