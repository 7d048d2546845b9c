/**
 * The loop that draws: while something moves, so many points as fit into a frame; at rest the others are added to them,
 * a part in each frame, until all are there.
 */

import { Pace } from "./pace.js";

/** @typedef {import("./panel.js").Panel} Panel */

const MOVING = { milliseconds: 14, share: 0.35 }; // of drawing points in a frame, or the share of what it costs anyway
const AT_REST = { milliseconds: 60, share: 1 }; // where nobody waits for the next
const PAUSE = 140; // milliseconds without a movement after which the page is at rest
const IN_FLIGHT = 2; // frames given to the card at once: with one it would idle until the page hears that it is done
const LONGEST_WAIT = 5000; // milliseconds
const LEAST = 2000; // points of a panel that are always drawn

export class Renderer {
  /**
   * @param {WebGL2RenderingContext} gl
   * @param {import("./points.js").PointLayer} points
   * @param {{ draw(panel: Panel): void } | null} pictures
   */
  constructor(gl, points, pictures) {
    this.gl = gl;
    this.points = points;
    this.pictures = pictures;
    /** @type {Panel[]} */
    this.panels = [];
    /** How many points of a panel have been drawn as it is now; missing: it has to be drawn anew. */
    this.drawn = /** @type {Map<Panel, number>} */ (new Map());
    this.finished = /** @type {Set<Panel>} */ (new Set());
    this.movedAt = -Infinity;
    this.pace = new Pace();
    /** Frames that the card has not finished, as far as is known. @type {{ sync: WebGLSync, begin: number }[]} */
    this.underway = [];
    this.pixel = new Uint8Array(4);
    this.requested = false;
    this.wipes = true; // whether what lies outside the panels has to be cleared, too
    this.frames = 0;
    /** Called after each frame. @type {() => void} */
    this.afterFrame = () => {};
  }

  get ratio() {
    return Math.min(2, window.devicePixelRatio || 1);
  }

  /** Whether all that should be seen has been drawn. */
  get isComplete() {
    return !this.requested && this.visible().every((panel) => this.finished.has(panel));
  }

  /**
   * Draws panels anew, all if none is named.
   * @param {boolean} moving whether more of this comes soon
   * @param {Panel[]} [panels]
   */
  invalidate(moving, panels = this.panels) {
    for (const panel of panels) {
      this.drawn.delete(panel);
      this.finished.delete(panel);
    }
    if (moving) this.movedAt = performance.now();
    this.request();
  }

  request() {
    if (this.requested) return;
    this.requested = true;
    requestAnimationFrame(() => this.frame());
  }

  frame() {
    this.requested = false;
    const now = performance.now();
    if (!this.isFree(now)) return this.request();
    if (this.wipes) this.wipe();
    const moving = now - this.movedAt < PAUSE;
    const open = this.visible().filter((panel) => !this.finished.has(panel));
    const fresh = open.filter((panel) => !this.drawn.has(panel));
    const turn = moving || fresh.length ? fresh : open;
    if (turn.length) {
      const wanted = turn.reduce((sum, panel) => sum + panel.count - (this.drawn.get(panel) ?? 0), 0);
      const { milliseconds, share: part } = moving || fresh.length ? MOVING : AT_REST;
      const share = Math.min(1, this.pace.points(milliseconds, part) / Math.max(1, wanted));
      this.noteFrame(now, this.send(turn, share));
      this.frames++;
    }
    this.afterFrame();
    if (this.visible().some((panel) => !this.finished.has(panel))) {
      if (moving && !this.visible().some((panel) => !this.drawn.has(panel)))
        setTimeout(() => this.request(), PAUSE / 2);
      else this.request();
    }
  }

  /**
   * Draws a share of what is missing of a panel; the whole panel anew, if it has changed. Returns how many points.
   * @param {Panel} panel
   * @param {number} share
   */
  advance(panel, share) {
    const { gl, ratio } = this;
    const first = this.drawn.get(panel) ?? 0;
    const missing = panel.count - first;
    const last = Math.min(panel.count, first + Math.max(LEAST, Math.ceil(missing * share)));
    this.aim(panel);
    if (!this.drawn.has(panel)) gl.clear(gl.COLOR_BUFFER_BIT);
    this.points.draw(panel, first, last, ratio);
    this.drawn.set(panel, last);
    const done = last === panel.count;
    if (done) this.finished.add(panel);
    if (done || first === 0) {
      this.points.drawSelected(panel, ratio);
      this.pictures?.draw(panel);
    }
    return last - first;
  }

  /** Only the panel's own part of the canvas is drawn to. @param {Panel} panel */
  aim(panel) {
    const { gl, ratio } = this;
    const { left, top, width, height } = panel.box;
    const bottom = gl.drawingBufferHeight - Math.round((top + height) * ratio);
    const box = /** @type {const} */ ([
      Math.round(left * ratio),
      bottom,
      Math.round(width * ratio),
      Math.round(height * ratio),
    ]);
    gl.viewport(...box);
    gl.scissor(...box);
  }

  visible() {
    const height = this.gl.canvas.height / this.ratio;
    return this.panels.filter(({ box }) => box.width > 0 && box.top < height && box.top + box.height > 0);
  }

  /**
   * Draws a share of each panel; now and then the card is waited for, before and after, to learn what points cost.
   * @param {Panel[]} panels
   * @param {number} share
   */
  send(panels, share) {
    const measured = this.pace.isDue;
    if (measured) this.waitForCard();
    const begin = performance.now();
    const sent = panels.reduce((sum, panel) => sum + this.advance(panel, share), 0);
    if (measured) {
      this.waitForCard();
      this.pace.noteCost(sent, performance.now() - begin);
    }
    return sent;
  }

  waitForCard() {
    this.gl.readPixels(0, 0, 1, 1, this.gl.RGBA, this.gl.UNSIGNED_BYTE, this.pixel);
  }

  /**
   * A frame was given to the card.
   * @param {number} begin
   * @param {number} points
   */
  noteFrame(begin, points) {
    this.pace.noteFrame(points, begin);
    const sync = this.gl.fenceSync(this.gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    this.gl.flush();
    if (sync) this.underway.push({ sync, begin });
  }

  /** Whether the card can take another frame. @param {number} now */
  isFree(now) {
    const { gl, underway } = this;
    while (underway.length) {
      const { sync, begin } = underway[0];
      if (gl.clientWaitSync(sync, 0, 0) === gl.TIMEOUT_EXPIRED && now - begin < LONGEST_WAIT) break;
      gl.deleteSync(sync);
      underway.shift();
    }
    return underway.length < IN_FLIGHT;
  }

  /** The stage has another size: everything is drawn anew. @param {number} width @param {number} height */
  resize(width, height) {
    const canvas = /** @type {HTMLCanvasElement} */ (this.gl.canvas);
    canvas.width = Math.round(width * this.ratio);
    canvas.height = Math.round(height * this.ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }

  /** Clears what lies outside the panels. */
  wipe() {
    const { gl } = this;
    this.wipes = false;
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.scissor(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
  }
}
