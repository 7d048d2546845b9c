/** Points of a plane by cells of a grid: which lie near a place, without looking at all. */

const POINTS_PER_CELL = 4;
const MOST_CELLS = 1024; // along each side

export class Grid {
  /**
   * @param {Float32Array} values coordinates, `stride` of them for each point
   * @param {number} stride
   * @param {number} first which of them is x
   * @param {number} second which of them is y
   * @param {{ low: [number, number], high: [number, number] }} bounds
   */
  constructor(values, stride, first, second, bounds) {
    const count = values.length / stride;
    this.values = values;
    this.stride = stride;
    this.first = first;
    this.second = second;
    this.low = bounds.low;
    this.cells = Math.max(1, Math.min(MOST_CELLS, Math.round(Math.sqrt(count / POINTS_PER_CELL))));
    this.factor = [0, 1].map((axis) => this.cells / Math.max(bounds.high[axis] - bounds.low[axis], 1e-30));
    this.begins = new Uint32Array(this.cells * this.cells + 1);
    this.points = new Uint32Array(count);
    const cellOf = new Uint32Array(count);
    for (let point = 0; point < count; point++) {
      const cell =
        this.line(1, values[point * stride + second]) * this.cells + this.line(0, values[point * stride + first]);
      cellOf[point] = cell;
      this.begins[cell + 1]++;
    }
    for (let cell = 0; cell < this.cells * this.cells; cell++) this.begins[cell + 1] += this.begins[cell];
    const next = this.begins.slice();
    for (let point = 0; point < count; point++) this.points[next[cellOf[point]]++] = point;
  }

  /**
   * The row or column of cells that a coordinate lies in; those outside belong to the last.
   * @param {number} axis
   * @param {number} value
   */
  line(axis, value) {
    const at = Math.floor((value - this.low[axis]) * this.factor[axis]);
    return at > 0 ? Math.min(at, this.cells - 1) : 0;
  }

  /**
   * Calls visit(point) for every point in the cells that a box touches.
   * @param {[number, number]} low
   * @param {[number, number]} high
   * @param {(point: number) => void} visit
   */
  inBox(low, high, visit) {
    const [left, right] = [this.line(0, low[0]), this.line(0, high[0])];
    for (let row = this.line(1, low[1]); row <= this.line(1, high[1]); row++) {
      const end = this.begins[row * this.cells + right + 1];
      for (let at = this.begins[row * this.cells + left]; at < end; at++) visit(this.points[at]);
    }
  }

  /**
   * The k points nearest to a place, nearest first, and their squared distances; lengths along the axes are multiplied
   * by `weights`. A point may be refused.
   * @param {[number, number]} place
   * @param {number} k
   * @param {[number, number]} weights
   * @param {(point: number) => boolean} [accepts]
   */
  nearest(place, k, weights, accepts) {
    const widest = Math.max(weights[0] / this.factor[0], weights[1] / this.factor[1]); // of a cell
    const whole = widest * this.cells;
    let radius = Math.max(widest, whole * Math.sqrt(k / Math.max(1, this.points.length)));
    for (;;) {
      /** @type {{ point: number, r: number }[]} */
      let found = [];
      let worst = radius * radius;
      const reach = [radius / weights[0], radius / weights[1]];
      this.inBox([place[0] - reach[0], place[1] - reach[1]], [place[0] + reach[0], place[1] + reach[1]], (point) => {
        const dx = (this.values[point * this.stride + this.first] - place[0]) * weights[0];
        const dy = (this.values[point * this.stride + this.second] - place[1]) * weights[1];
        const r = dx * dx + dy * dy;
        if (r > worst || (accepts && !accepts(point))) return;
        found.push({ point, r });
        if (found.length >= 4 * k + 64) {
          found = nearestFew(found, k);
          worst = found[found.length - 1].r;
        }
      });
      // One more look with all in reach: places outside the grid may be far from everything.
      if (found.length >= k || radius > 1e6 * whole || radius === Infinity) return nearestFew(found, k);
      radius *= 2;
      if (radius > 4 * whole) radius = Infinity;
    }
  }
}

/**
 * @param {{ point: number, r: number }[]} found
 * @param {number} k
 */
function nearestFew(found, k) {
  return found.sort((a, b) => a.r - b.r || a.point - b.point).slice(0, k);
}
