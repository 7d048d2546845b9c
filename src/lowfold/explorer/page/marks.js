/** What is drawn over the points: the lasso, the hovered point in every map, its true, lost and false neighbours. */

import { byId } from "./dom.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./panel.js").Panel} Panel */

export const KEPT = "#009E73";
export const LOST = "#E69F00";
export const FALSE = "#CC79A7";

export class Marks {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.canvas = /** @type {HTMLCanvasElement} */ (byId("marks"));
    // In the page's own memory: on the card, Chromium forgets to clear what was drawn in the same frame.
    this.context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d", { willReadFrequently: true }));
    /** @type {{ panel: Panel, path: number[][] } | null} */
    this.lasso = null;
    this.empty = true; // whether there is nothing on the canvas

    app.on("hover", () => this.draw());
    app.on("size", () => this.resize());
    app.renderer.afterFrame = () => this.draw();
  }

  resize() {
    const { width, height, style } = /** @type {HTMLCanvasElement} */ (this.app.gl.canvas);
    [this.canvas.width, this.canvas.height] = [width, height];
    [this.canvas.style.width, this.canvas.style.height] = [style.width, style.height];
    this.draw();
  }

  draw() {
    const { context, app } = this;
    const ratio = app.renderer.ratio;
    const empty = !app.hovered && !this.lasso;
    if (empty && this.empty) return;
    this.empty = empty;
    this.canvas.style.visibility = empty ? "hidden" : ""; // an empty layer would be blended all the same
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (app.hovered) for (const panel of app.renderer.visible()) this.inside(panel, () => this.drawHovered(panel));
    if (this.lasso) this.inside(this.lasso.panel, () => this.drawLasso());
  }

  /** Draws in a panel's own pixels, and nowhere else. @param {Panel} panel @param {() => void} draw */
  inside(panel, draw) {
    const { context } = this;
    const { left, top, width, height } = panel.box;
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    context.translate(left, top);
    draw();
    context.restore();
  }

  /** @param {Panel} panel */
  drawHovered(panel) {
    const hovered = /** @type {import("./app.js").Hovered} */ (this.app.hovered);
    const point = panel.pointOf(hovered.row);
    if (point < 0) return;
    const transform = panel.transform();
    const place = panel.placeOf(point, transform);
    const reach = Math.max(4, this.app.points.look(panel).diameter / 2 + 2);
    if (this.app.showsNeighbors) {
      const found = neighborsIn(panel, point, this.app.scene);
      const here = panel === hovered.panel;
      for (const other of found.kept) this.mark(panel, other, transform, here ? place : null, KEPT, []);
      for (const other of found.lost) this.mark(panel, other, transform, here ? place : null, LOST, [4, 3]);
      if (here) for (const other of found.false) this.mark(panel, other, transform, null, FALSE, []);
    }
    this.ring(place, reach + 2, this.app.dark ? "#fff" : "#111", 2);
  }

  /**
   * @param {Panel} panel
   * @param {number} point
   * @param {any} transform
   * @param {number[] | null} from where a line begins, if there is one
   * @param {string} color
   * @param {number[]} dash
   */
  mark(panel, point, transform, from, color, dash) {
    const { context } = this;
    const to = panel.placeOf(point, transform);
    if (from) {
      context.beginPath();
      context.setLineDash(dash);
      context.moveTo(from[0], from[1]);
      context.lineTo(to[0], to[1]);
      context.strokeStyle = color;
      context.lineWidth = 1.5;
      context.stroke();
      context.setLineDash([]);
    }
    this.ring(to, Math.max(3.5, this.app.points.look(panel).diameter / 2 + 1), color, 1.8);
  }

  /** @param {number[]} place @param {number} radius @param {string} color @param {number} width */
  ring(place, radius, color, width) {
    const { context } = this;
    context.beginPath();
    context.arc(place[0], place[1], radius, 0, 2 * Math.PI);
    context.lineWidth = width + 1.5;
    context.strokeStyle = this.app.dark ? "#000a" : "#fffc";
    context.stroke();
    context.lineWidth = width;
    context.strokeStyle = color;
    context.stroke();
  }

  drawLasso() {
    const { context } = this;
    const path = /** @type {number[][]} */ (this.lasso?.path);
    context.beginPath();
    path.forEach(([x, y], at) => (at ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.closePath();
    context.fillStyle = "rgba(0, 114, 178, 0.12)";
    context.fill();
    context.setLineDash([5, 4]);
    context.lineWidth = 1.5;
    context.strokeStyle = this.app.dark ? "#7cc4f0" : "#0072B2";
    context.stroke();
    context.setLineDash([]);
  }
}

/**
 * The k nearest points in the data and in the map as it is shown: those in both, those that the map lost, and those that
 * it made up. Points of the panel.
 * @param {Panel} panel
 * @param {number} point
 * @param {import("./scene.js").Scene} scene
 */
export function neighborsIn(panel, point, scene) {
  const truth = Array.from(scene.neighborsOf(panel.rowOf(point)), (row) => panel.pointOf(row)).filter(
    (other) => other >= 0,
  );
  const near = truth.length ? panel.nearest(point, truth.length) : [];
  const [wanted, found] = [new Set(truth), new Set(near)];
  return {
    kept: truth.filter((other) => found.has(other)),
    lost: truth.filter((other) => !found.has(other)),
    false: near.filter((other) => !wanted.has(other)),
  };
}
