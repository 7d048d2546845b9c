/** How many points fit into a frame: the time of a frame is taken to be a + b points, and both are learnt on the way. */

const FORGETTING = 0.95; // weight of what was known, when a frame has been timed
const FIRST = 60000; // points, before anything has been timed
const GROWTH = 1.6; // from one frame to the next at most: what was never tried is not believed at once
const DECLINE = 0.7; // and at least: one slow frame may be another program's
const WORST = 3; // times the expected time: what is longer was not the points' doing
const LEAST_TRIED = 5000; // points, below which a frame says little about them
const DOUBT = 0.02; // relative spread of sizes at which frames tell as much as the guess
const CHEAPEST = 1e-6; // milliseconds for a point

export class Pace {
  constructor() {
    this.last = FIRST;
    this.weight = this.x = this.y = this.xx = this.xy = 0;
  }

  /**
   * A frame of so many points took so long.
   * @param {number} points
   * @param {number} milliseconds
   */
  note(points, milliseconds) {
    const { frame, point } = this.cost();
    const expected = this.weight < 3 ? Infinity : frame + point * points;
    const [x, y] = [points, Math.min(milliseconds, WORST * expected)];
    const keep = FORGETTING;
    this.weight = keep * this.weight + 1;
    this.x = keep * this.x + x;
    this.y = keep * this.y + y;
    this.xx = keep * this.xx + x * x;
    this.xy = keep * this.xy + x * y;
    this.last = Math.max(points, LEAST_TRIED);
  }

  /** What a frame costs by itself, and each point. */
  cost() {
    if (this.weight < 1) return { frame: 0, point: CHEAPEST };
    const spread = this.xx - (this.x * this.x) / this.weight;
    const common = this.xy - (this.x * this.y) / this.weight;
    // Frames of one size do not tell the two apart: as far as that is so, each is taken for half of the time.
    const half = (0.5 * this.y) / Math.max(1, this.x);
    const doubt = DOUBT * this.xx;
    const slope = (common + doubt * half) / Math.max(1, spread + doubt);
    const point = Math.max(CHEAPEST, Math.min(slope, 2 * half)); // all of the time at most
    return { frame: Math.max(0, (this.y - point * this.x) / this.weight), point };
  }

  /**
   * The number of points that take so many milliseconds, or `share` of the frame's own time where that is longer anyway.
   * @param {number} milliseconds
   * @param {number} share
   */
  points(milliseconds, share) {
    const { frame, point } = this.cost();
    const wanted = Math.max(milliseconds, share * frame) / point;
    return Math.min(Math.max(wanted, DECLINE * this.last), GROWTH * this.last);
  }
}
