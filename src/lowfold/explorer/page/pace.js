/** How many points fit into a frame: what a point costs is measured now and then, by waiting for the card. */

const FIRST_COST = 2e-4; // milliseconds for a point, before any was measured
const EVERY = 10; // frames from one measurement to the next: each stops the card for a moment
const GROWTH = 1.6; // from one frame to the next at most
const DECLINE = 0.6; // and at least: one slow frame may be another program's
const LONGEST_INTERVAL = 500; // milliseconds: what is longer was a pause, not a frame

export class Pace {
  constructor() {
    this.point = FIRST_COST;
    this.measured = 0;
    this.frames = 0;
    this.last = 0;
    /** Milliseconds from one frame to the next while something moves, smoothed. */
    this.interval = 16;
    this.before = -Infinity;
  }

  /** Whether the next frame is to be measured. */
  get isDue() {
    return this.frames++ % EVERY === 0;
  }

  /**
   * Drawing so many points, and nothing else, took so long.
   * @param {number} points
   * @param {number} milliseconds
   */
  noteCost(points, milliseconds) {
    const found = Math.max(0.05, milliseconds) / Math.max(1, points);
    this.point = this.measured++ ? 0.6 * this.point + 0.4 * found : found;
  }

  /**
   * A frame of so many points begins.
   * @param {number} points
   * @param {number} now
   */
  noteFrame(points, now) {
    const gap = now - this.before;
    if (gap < LONGEST_INTERVAL) this.interval = 0.9 * this.interval + 0.1 * gap;
    this.before = now;
    this.last = points;
  }

  /**
   * The number of points that take so many milliseconds, or a share of the time between frames where that is longer: with
   * software instead of a card, showing a frame alone may take longer.
   * @param {number} milliseconds
   * @param {number} share
   */
  points(milliseconds, share) {
    const wanted = Math.max(milliseconds, share * this.interval) / this.point;
    return this.last ? Math.min(Math.max(wanted, DECLINE * this.last), GROWTH * Math.max(this.last, 10000)) : wanted;
  }
}
