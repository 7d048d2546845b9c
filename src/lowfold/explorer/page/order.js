/** A fixed random order, so that the first points drawn are a fair sample of all. */

/**
 * The numbers below n, shuffled the same way each time.
 * @param {number} n
 * @returns {Uint32Array}
 */
export function fixedOrder(n) {
  const order = new Uint32Array(n);
  for (let at = 0; at < n; at++) order[at] = at;
  const random = seededRandom(n);
  for (let at = n - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    const kept = order[at];
    order[at] = order[other];
    order[other] = kept;
  }
  return order;
}

/**
 * Numbers from 0 to 1 that look random: a counter through a mixing function.
 * @param {number} seed
 */
export function seededRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 4294967296;
  };
}
