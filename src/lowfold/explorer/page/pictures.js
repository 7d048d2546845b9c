/** Images at the places of their points, from one atlas, none over another. */

import { fillBuffer, makeProgram } from "./device.js";
import { PICTURE_FRAGMENT, PICTURE_VERTEX } from "./shaders.js";

/** @typedef {import("./panel.js").Panel} Panel */

const ATLAS = 2048; // pixels along a side: a few thousand tiles, of which the ones in use are kept
const SMALLEST_SIDE = 22; // pixels along an image's longer side
const LARGEST_SIDE = 96;
const GAP = 3;
const MARGIN = 3; // images' sides around the panel in which points are looked at
const CROWD = 3; // points for each place of an image up to which images appear by themselves

export class PictureLayer {
  /**
   * @param {WebGL2RenderingContext} gl
   * @param {import("./scene.js").Images} images
   * @param {import("./appearance.js").Appearance} appearance
   */
  constructor(gl, images, appearance) {
    this.gl = gl;
    this.images = images;
    this.appearance = appearance;
    /** @type {"near" | "always" | "never"} */
    this.when = "near";
    const made = makeProgram(gl, PICTURE_VERTEX, PICTURE_FRAGMENT, ["corner", "place", "tile", "frame"]);
    this.program = made.program;
    this.uniforms = made.uniforms;
    this.corners = fillBuffer(gl, new Float32Array([0, 0, 1, 0, 0, 1, 1, 1]));
    this.instances = gl.createBuffer();
    this.across = Math.floor(ATLAS / images.width);
    this.capacity = this.across * Math.floor(ATLAS / images.height);
    /** Tile of a row, in the order of their use: the first has waited longest. @type {Map<number, number>} */
    this.tiles = new Map();
    this.texture = makeAtlas(gl, images.channels);
    /** Rows whose images were drawn last, for each panel. @type {Map<Panel, number[]>} */
    this.shown = new Map();
    /** Places of points in the orders in which they are drawn. @type {Map<Uint32Array, Uint32Array>} */
    this.ranks = new Map();
  }

  /** @param {Panel} panel */
  draw(panel) {
    const chosen = this.choose(panel);
    this.shown.set(panel, chosen.rows);
    if (!chosen.rows.length) return;
    const { gl, uniforms, images } = this;
    const data = new Float32Array(8 * chosen.rows.length);
    chosen.rows.forEach((row, at) => {
      const tile = this.tileOf(row);
      const color = this.frameOf(row);
      data.set(
        [
          ...chosen.places[at],
          ((tile % this.across) * images.width) / ATLAS,
          (Math.floor(tile / this.across) * images.height) / ATLAS,
          ...color,
        ],
        8 * at,
      );
    });
    gl.useProgram(this.program);
    gl.bindVertexArray(null);
    gl.uniform2f(uniforms.view, panel.box.width, panel.box.height);
    gl.uniform2f(uniforms.side, chosen.side[0], chosen.side[1]);
    gl.uniform2f(uniforms.tileSize, images.width / ATLAS, images.height / ATLAS);
    gl.uniform1f(uniforms.border, 1.5);
    gl.uniform1i(uniforms.grey, images.channels === 1 ? 1 : 0);
    const [paper, ink] = this.inks();
    gl.uniform3f(uniforms.paper, ...paper);
    gl.uniform3f(uniforms.ink, ...ink);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.corners);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 8, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.instances);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STREAM_DRAW);
    [
      [1, 2, 0],
      [2, 2, 8],
      [3, 4, 16],
    ].forEach(([location, size, offset]) => {
      gl.vertexAttribPointer(location, size, gl.FLOAT, false, 32, offset);
      gl.vertexAttribDivisor(location, 1);
    });
    for (let location = 0; location < 4; location++) gl.enableVertexAttribArray(location);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, chosen.rows.length);
    [1, 2, 3].forEach((location) => gl.vertexAttribDivisor(location, 0));
    gl.disableVertexAttribArray(4);
  }

  /** Empty paper and full ink; pictures of ink on paper are turned round on light paper. */
  inks() {
    const light = !this.appearance.dark && this.images.ink;
    const [low, high] = this.appearance.dark && this.images.ink ? [0.1, 0.96] : [0, 1];
    const ends = /** @type {[number, number, number][]} */ ([
      [low, low, low],
      [high, high, high],
    ]);
    return light ? ends.reverse() : ends;
  }

  /**
   * Rows whose images are drawn, their places in pixels of the panel, and the size of each: points in the fixed order,
   * each unless its image would lie over one before it. Points some way outside count too, so that hardly any choice
   * changes as the map moves.
   * @param {Panel} panel
   * @returns {{ rows: number[], places: number[][], side: number[] }}
   */
  choose(panel) {
    const none = { rows: [], places: [], side: [0, 0] };
    const { width, height } = panel.box;
    const { ax, bx, ay, by } = panel.transform();
    if (this.when === "never" || !ax || !ay) return none;
    const seen = this.inView(panel, 0).length;
    const room = (width * height) / (SMALLEST_SIDE + GAP) ** 2;
    if (this.when === "near" && seen > CROWD * room) return none;
    const side = this.sideFor(width * height, seen);
    const cell = side.map((length) => length + GAP);
    const ranks = this.ranksOf(panel);
    const near = this.inView(panel, MARGIN * Math.max(...cell)).sort((a, b) => ranks[a] - ranks[b]);
    /** Places that are taken, by cells: at most one in each. @type {Map<number, [number, number]>} */
    const taken = new Map();
    const chosen = { rows: /** @type {number[]} */ ([]), places: /** @type {number[][]} */ ([]), side };
    for (const point of near) {
      const x = ax * panel.values[point * panel.width + panel.axes[0]] + bx;
      const y = ay * panel.values[point * panel.width + panel.axes[1]] + by;
      if (!takePlace(taken, x, y, cell)) continue;
      const outside = x < -side[0] || y < -side[1] || x > width + side[0] || y > height + side[1];
      if (outside || chosen.rows.length === this.capacity) continue;
      chosen.rows.push(panel.rowOf(point));
      chosen.places.push([x, y]);
    }
    return chosen;
  }

  /** Points that are seen, or whose images may be, and are not hidden. @param {Panel} panel @param {number} margin */
  inView(panel, margin) {
    const { width, height } = panel.box;
    const { ax, bx, ay, by } = panel.transform();
    const xs = [-margin, width + margin].map((x) => (x - bx) / ax);
    const ys = [-margin, height + margin].map((y) => (y - by) / ay);
    const low = /** @type {[number, number]} */ ([Math.min(...xs), Math.min(...ys)]);
    const high = /** @type {[number, number]} */ ([Math.max(...xs), Math.max(...ys)]);
    /** @type {number[]} */
    const found = [];
    panel.grid().inBox(low, high, (point) => {
      if (!this.appearance.isHidden(panel.rowOf(point))) found.push(point);
    });
    return found;
  }

  /** Larger where there is more room. @param {number} area @param {number} count */
  sideFor(area, count) {
    const { width, height } = this.images;
    const longest = Math.min(LARGEST_SIDE, Math.max(SMALLEST_SIDE, Math.sqrt(area / Math.max(1, count)) * 0.8));
    const factor = longest / Math.max(width, height);
    return [width * factor, height * factor];
  }

  /** The places of a panel's points in the order in which they are drawn. @param {Panel} panel */
  ranksOf(panel) {
    let ranks = this.ranks.get(panel.order);
    if (!ranks) {
      ranks = new Uint32Array(panel.order.length);
      for (let rank = 0; rank < panel.order.length; rank++) ranks[panel.order[rank]] = rank;
      this.ranks.set(panel.order, ranks);
    }
    return ranks;
  }

  /** The colour around an image, faint where others are selected. @param {number} row */
  frameOf(row) {
    const by = this.appearance.by;
    const faint = this.appearance.selected && !(this.appearance.flags[row] & 2) ? 0.25 : 1;
    const packed = this.appearance.colors[row];
    if (!by || by === "trust") return [0.6, 0.62, 0.66, faint];
    return [(packed & 255) / 255, ((packed >> 8) & 255) / 255, ((packed >> 16) & 255) / 255, faint];
  }

  /** The tile of a row's image; sent to the card if it is not there, in place of the one that waited longest. @param {number} row */
  tileOf(row) {
    let tile = this.tiles.get(row);
    if (tile !== undefined) {
      this.tiles.delete(row); // and to the end of the line
      this.tiles.set(row, tile);
      return tile;
    }
    if (this.tiles.size < this.capacity) tile = this.tiles.size;
    else {
      const [oldest, freed] = /** @type {[number, number]} */ (this.tiles.entries().next().value);
      this.tiles.delete(oldest);
      tile = freed;
    }
    this.tiles.set(row, tile);
    const { gl, images } = this;
    const size = images.width * images.height * images.channels;
    const [x, y] = [(tile % this.across) * images.width, Math.floor(tile / this.across) * images.height];
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texSubImage2D(
      gl.TEXTURE_2D,
      0,
      x,
      y,
      images.width,
      images.height,
      images.channels === 1 ? gl.RED : gl.RGB,
      gl.UNSIGNED_BYTE,
      images.pixels.subarray(row * size, (row + 1) * size),
    );
    return tile;
  }

  /** @param {Panel} panel */
  drop(panel) {
    this.shown.delete(panel);
    if (panel.rows) this.ranks.delete(panel.order);
  }
}

/**
 * Whether an image fits at a place among those before it; if so, the place is taken. Two in one cell would overlap.
 * @param {Map<number, [number, number]>} taken
 * @param {number} x
 * @param {number} y
 * @param {number[]} cell
 */
function takePlace(taken, x, y, cell) {
  const [column, row] = [Math.floor(x / cell[0]), Math.floor(y / cell[1])];
  for (let dy = -1; dy <= 1; dy++) {
    for (let dx = -1; dx <= 1; dx++) {
      const other = taken.get((row + dy) * 65536 + column + dx);
      if (other && Math.abs(other[0] - x) < cell[0] && Math.abs(other[1] - y) < cell[1]) return false;
    }
  }
  taken.set(row * 65536 + column, [x, y]);
  return true;
}

/** @param {WebGL2RenderingContext} gl @param {number} channels */
function makeAtlas(gl, channels) {
  const texture = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texStorage2D(gl.TEXTURE_2D, 1, channels === 1 ? gl.R8 : gl.RGB8, ATLAS, ATLAS);
  for (const [name, value] of [
    [gl.TEXTURE_MIN_FILTER, gl.LINEAR],
    [gl.TEXTURE_MAG_FILTER, gl.NEAREST],
    [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE],
    [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE],
  ]) {
    gl.texParameteri(gl.TEXTURE_2D, name, value);
  }
  return texture;
}
