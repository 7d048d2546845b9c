/** What part of a map is seen: a place and a zoom, relative to the picture that shows all of it. */

/** @typedef {{ low: [number, number], high: [number, number], equal: boolean }} Bounds equal: one unit for both axes */

const ROOM = 0.93; // of a panel that the whole map fills
const FLATTEST = 0.05; // a map longer than wide by more than this would become a line: its axes are stretched
const ZOOMS = [0.5, 20000];

export class View {
  constructor() {
    this.zoom = 1;
    /** The middle of the panel, in half extents of the map from its own middle. */
    this.center = [0, 0];
  }

  get isHome() {
    return this.zoom === 1 && this.center[0] === 0 && this.center[1] === 0;
  }

  goHome() {
    this.zoom = 1;
    this.center = [0, 0];
  }

  /**
   * Pixels of a panel from coordinates: x' = ax x + bx, y' = ay y + by.
   * @param {Bounds} bounds
   * @param {number} width
   * @param {number} height
   */
  transform(bounds, width, height) {
    const { middle, half, base } = fitted(bounds, width, height);
    const [ax, ay] = [base[0] * this.zoom, -base[1] * this.zoom];
    const at = [middle[0] + this.center[0] * half[0], middle[1] + this.center[1] * half[1]];
    return { ax, ay, bx: width / 2 - ax * at[0], by: height / 2 - ay * at[1] };
  }

  /**
   * Moves the map by pixels.
   * @param {Bounds} bounds
   * @param {[number, number]} size of the panel
   * @param {number} dx
   * @param {number} dy
   */
  pan(bounds, size, dx, dy) {
    const { half, base } = fitted(bounds, ...size);
    this.center[0] = limited(this.center[0] - dx / (base[0] * this.zoom * half[0]));
    this.center[1] = limited(this.center[1] + dy / (base[1] * this.zoom * half[1]));
  }

  /**
   * Zooms by a factor; what lies at the pixel (x, y) stays there.
   * @param {Bounds} bounds
   * @param {[number, number]} size of the panel
   * @param {number} factor
   * @param {[number, number]} [at] the middle, if not given
   */
  zoomBy(bounds, size, factor, at) {
    const zoom = Math.min(ZOOMS[1], Math.max(ZOOMS[0], this.zoom * factor));
    const { half, base } = fitted(bounds, ...size);
    const [x, y] = at ?? [size[0] / 2, size[1] / 2];
    const gain = 1 / this.zoom - 1 / zoom;
    this.center[0] = limited(this.center[0] + ((x - size[0] / 2) / (base[0] * half[0])) * gain);
    this.center[1] = limited(this.center[1] - ((y - size[1] / 2) / (base[1] * half[1])) * gain);
    this.zoom = zoom;
  }
}

/** @param {number} center */
function limited(center) {
  return Math.min(1.5, Math.max(-1.5, center));
}

/**
 * The picture that shows all: its middle, half its extents, and pixels for each unit.
 * @param {Bounds} bounds
 * @param {number} width
 * @param {number} height
 */
function fitted({ low, high, equal }, width, height) {
  const middle = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2];
  const half = [0, 1].map((axis) => Math.max((high[axis] - low[axis]) / 2, 1e-30));
  const own = [(ROOM * width) / (2 * half[0]), (ROOM * height) / (2 * half[1])];
  const flat = !equal && Math.min(...half) < FLATTEST * Math.max(...half);
  const base = flat ? own : [Math.min(...own), Math.min(...own)];
  return { middle, half, base };
}
