/** Arrays and a JSON header in one run of bytes; the other side is pack.py. */

/** @typedef {Float32Array | Int32Array | Uint32Array | Uint16Array | Uint8Array} Values */
/** @typedef {{ header: any, arrays: Map<string, { values: Values, shape: number[] }> }} Pack */

const PACK_MAGIC = 0x4353464c; // "LFSC", little-endian
const PACK_VERSION = 1;
/** @type {Record<string, any>} */
const PACK_TYPES = { f4: Float32Array, i4: Int32Array, u4: Uint32Array, u2: Uint16Array, u1: Uint8Array };

/**
 * The header and the arrays, which are views of the buffer.
 * @param {ArrayBuffer} buffer
 * @returns {Pack}
 */
export function unpack(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < 12 || view.getUint32(0, true) !== PACK_MAGIC || view.getUint32(4, true) !== PACK_VERSION) {
    throw new Error("The scene in this page is damaged, or of another version.");
  }
  const begin = 12 + view.getUint32(8, true);
  if (begin > buffer.byteLength || begin % 8) throw new Error("The scene in this page is cut off.");
  const header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array(buffer, 12, begin - 12)));
  const arrays = new Map();
  for (const [name, place] of Object.entries(header.arrays)) {
    const Type = PACK_TYPES[place.dtype];
    const size = place.shape.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1);
    if (!Type || place.offset % 8 || begin + place.offset + size * Type.BYTES_PER_ELEMENT > buffer.byteLength) {
      throw new Error(`The scene in this page is damaged: ${name}.`);
    }
    arrays.set(name, { values: new Type(buffer, begin + place.offset, size), shape: place.shape });
  }
  return { header, arrays };
}
