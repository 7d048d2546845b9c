/** How many points fit into a frame: the time of a frame is taken to be a + b points, and both are learnt on the way. */

const FORGETTING = 0.85; // weight of what was known, when a frame has been timed
const FIRST = 60000; // points, before anything has been timed
const GROWTH = 2; // from one frame to the next at most: what was never tried is not believed at once
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
    const [x, y] = [points, milliseconds];
    const keep = FORGETTING;
    this.weight = keep * this.weight + 1;
    this.x = keep * this.x + x;
    this.y = keep * this.y + y;
    this.xx = keep * this.xx + x * x;
    this.xy = keep * this.xy + x * y;
    this.last = points;
  }

  /** What a frame costs by itself, and each point. */
  cost() {
    if (this.weight < 1.5) return { frame: 0, point: CHEAPEST };
    const spread = this.xx - (this.x * this.x) / this.weight;
    const common = this.xy - (this.x * this.y) / this.weight;
    // Frames of one size do not tell the two apart: then all of the time is the frame's, and larger ones are tried.
    const point = spread > 1e-3 * this.xx ? Math.max(CHEAPEST, common / spread) : CHEAPEST;
    return { frame: Math.max(0, (this.y - point * this.x) / this.weight), point };
  }

  /**
   * The number of points that take so many milliseconds, or `share` of the frame's own time where that is longer anyway.
   * @param {number} milliseconds
   * @param {number} share
   */
  points(milliseconds, share) {
    const { frame, point } = this.cost();
    return Math.min(Math.max(milliseconds, share * frame) / point, GROWTH * Math.max(this.last, FIRST));
  }
}
