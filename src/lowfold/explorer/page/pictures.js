/** Images at the places of their points, from one atlas, none over another. */

import { fillBuffer, makeProgram } from "./device.js";
import { PICTURE_FRAGMENT, PICTURE_VERTEX } from "./shaders.js";

/** @typedef {import("./panel.js").Panel} Panel */

const ATLAS = 2048; // pixels along a side: a few thousand tiles, of which the ones in use are kept
const SMALLEST_SIDE = 22; // pixels along an image's longer side
const LARGEST_SIDE = 96;
const GAP = 3;
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
   * Rows whose images are drawn, their places in pixels of the panel, and the size of each. In each cell of a grid that
   * moves with the map, the first point in the fixed order may have its image, unless one before it in a cell beside
   * would lie under it: what is chosen does not depend on the part of the map that is seen.
   * @param {Panel} panel
   * @returns {{ rows: number[], places: number[][], side: number[] }}
   */
  choose(panel) {
    const none = { rows: [], places: [], side: [0, 0] };
    if (this.when === "never") return none;
    const { width, height } = panel.box;
    const { ax, bx, ay, by } = panel.transform();
    if (!ax || !ay) return none;
    const near = this.inView(panel, LARGEST_SIDE);
    const places = (width * height) / ((SMALLEST_SIDE + GAP) * (SMALLEST_SIDE + GAP));
    if (this.when === "near" && near.length > CROWD * places) return none;
    const side = this.sideFor(width * height, near.length);
    const cell = side.map((length) => length + GAP);
    /** The first point of each cell: its place in the order, and where it is. @type {Map<string, any>} */
    const first = new Map();
    for (const point of near) {
      const x = ax * panel.values[point * panel.width + panel.axes[0]] + bx;
      const y = ay * panel.values[point * panel.width + panel.axes[1]] + by;
      const key = `${Math.floor((x - bx) / cell[0])},${Math.floor((y - by) / cell[1])}`;
      const rank = this.rankOf(panel, point);
      const known = first.get(key);
      if (!known || rank < known.rank) first.set(key, { point, rank, x, y });
    }
    const kept = [...first.entries()]
      .filter(([key, one]) => !this.isCovered(key, one, first, cell))
      .map(([, one]) => one);
    kept.sort((a, b) => a.rank - b.rank).splice(this.capacity);
    return { rows: kept.map((one) => panel.rowOf(one.point)), places: kept.map((one) => [one.x, one.y]), side };
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

  /** @param {string} key @param {any} one @param {Map<string, any>} first @param {number[]} cell */
  isCovered(key, one, first, cell) {
    const [column, row] = key.split(",").map(Number);
    for (let dx = -1; dx <= 1; dx++) {
      for (let dy = -1; dy <= 1; dy++) {
        const other = first.get(`${column + dx},${row + dy}`);
        if (!other || other === one || other.rank > one.rank) continue;
        if (Math.abs(other.x - one.x) < cell[0] && Math.abs(other.y - one.y) < cell[1]) return true;
      }
    }
    return false;
  }

  /** The place of a point in the order. @param {Panel} panel @param {number} point */
  rankOf(panel, point) {
    let ranks = this.ranks.get(panel.order);
    if (!ranks) {
      ranks = new Uint32Array(panel.order.length);
      panel.order.forEach((known, rank) => /** @type {Uint32Array} */ ((ranks)[known] = rank));
      this.ranks.set(panel.order, ranks);
    }
    return ranks[point];
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

/**
 * Draws the image of a row into a canvas of its own size.
 * @param {import("./scene.js").Images} images
 * @param {number} row
 * @param {boolean} dark
 */
export function imageCanvas(images, row, dark) {
  const { width, height, channels, pixels } = images;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  canvas.className = "picture";
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const data = context.createImageData(width, height);
  const size = width * height;
  for (let at = 0; at < size; at++) {
    for (let channel = 0; channel < 3; channel++) {
      const value = pixels[row * size * channels + at * channels + (channels === 3 ? channel : 0)];
      data.data[4 * at + channel] = images.ink && !dark ? 255 - value : value;
    }
    data.data[4 * at + 3] = 255;
  }
  context.putImageData(data, 0, 0);
  return canvas;
}
