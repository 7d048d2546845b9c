/** The application: the scene, its panels, what is selected, hidden, coloured by and hovered. Everything else listens. */

import { Appearance, TRUST } from "./appearance.js";
import { openDevice } from "./device.js";
import { byId } from "./dom.js";
import { Panel } from "./panel.js";
import { PictureLayer } from "./pictures.js";
import { PointLayer } from "./points.js";
import { Renderer } from "./renderer.js";
import { Scene } from "./scene.js";

/** @typedef {import("./pack.js").Pack} Pack */
/** @typedef {{ panel: Panel, point: number, row: number }} Hovered */

export class App extends EventTarget {
  /** @param {Pack} pack */
  constructor(pack) {
    super();
    /** @type {Scene} */
    this.scene = new Scene(pack);
    this.gl = openDevice(byId("points"));
    this.appearance = new Appearance(this.gl, this.scene);
    this.points = new PointLayer(this.gl, this.appearance);
    this.pictures = this.scene.images ? new PictureLayer(this.gl, this.scene.images, this.appearance) : null;
    this.renderer = new Renderer(this.gl, this.points, this.pictures);
    /** Rows, ascending. @type {Uint32Array} */
    this.selection = new Uint32Array(0);
    /** Categories of the column that is coloured by which are hidden. @type {Set<number>} */
    this.hiddenClasses = new Set();
    /** @type {any} */
    this.colorBy = this.scene.columns.find((/** @type {any} */ column) => column.kind !== "text") ?? null;
    /** @type {"move" | "lasso"} */
    this.tool = "move";
    this.dark = false;
    this.showsNeighbors = true; // of the hovered point
    /** @type {Panel | null} */
    this.active = null;
    /** @type {Panel | null} the one that fills the stage */
    this.focused = null;
    /** @type {Hovered | null} */
    this.hovered = null;
    for (const header of pack.header.panels) this.addPanel(header, pack.arrays);
  }

  /** @returns {Panel[]} */
  get panels() {
    return this.renderer.panels;
  }

  /** @param {string} id @returns {Panel} */
  panel(id) {
    const found = this.panels.find((panel) => panel.id === id);
    if (!found) throw new Error(`There is no map ${id}.`);
    return found;
  }

  /**
   * @param {any} header
   * @param {Pack["arrays"]} arrays
   */
  addPanel(header, arrays) {
    const panel = new Panel(header, arrays, this.scene);
    this.panels.push(panel);
    this.active ??= panel;
    this.tell("panels");
    return panel;
  }

  /**
   * Another map in a panel's place: what was picked and the part that is seen stay.
   * @param {string} id
   * @param {any} header
   * @param {Pack["arrays"]} arrays
   */
  replacePanel(id, header, arrays) {
    const old = this.panel(id);
    const panel = new Panel(header, arrays, this.scene);
    panel.view = old.view;
    panel.box = old.box;
    this.forget(old);
    this.panels[this.panels.indexOf(old)] = panel;
    if (this.active === old) this.active = panel;
    if (this.focused === old) this.focused = panel;
    this.tell("panels");
    return panel;
  }

  /** @param {string} id */
  removePanel(id) {
    const panel = this.panel(id);
    this.forget(panel);
    this.panels.splice(this.panels.indexOf(panel), 1);
    if (this.focused === panel) this.focused = null;
    if (this.active === panel) this.active = this.panels[0] ?? null;
    if (this.hovered?.panel === panel) this.hover(null);
    this.tell("panels");
  }

  /** @param {Panel} panel */
  forget(panel) {
    this.points.drop(panel);
    this.appearance.drop(panel);
    this.pictures?.drop(panel);
  }

  /**
   * Live coordinates, two for each point of a panel.
   * @param {string} id
   * @param {Float32Array} places
   */
  moveTo(id, places) {
    const panel = this.panel(id);
    panel.time = null;
    panel.place(places, 2);
    this.renderer.invalidate(true, [panel]);
  }

  /** @param {Uint32Array} rows ascending */
  select(rows) {
    this.selection = rows;
    this.remark();
    this.tell("selection");
    const share = rows.length ? `${rows.length.toLocaleString("en-US")} points selected` : "Nothing selected";
    this.announce(share);
  }

  /** Colours by a column, by trust, or all alike (null). @param {any} by */
  setColor(by) {
    this.colorBy = by;
    this.hiddenClasses = new Set();
    this.recolor();
    this.remark();
    this.tell("color");
  }

  /** @param {Set<number>} classes */
  hideClasses(classes) {
    this.hiddenClasses = classes;
    this.remark();
    this.tell("filter");
  }

  recolor() {
    this.appearance.colorBy(this.colorBy, this.dark);
    this.renderer.invalidate(false);
  }

  remark() {
    const column = this.hiddenClasses.size && this.colorBy !== TRUST ? this.colorBy : null;
    this.appearance.mark(this.selection, column ? (row) => this.hiddenClasses.has(column.values[row]) : () => false);
    this.renderer.invalidate(false);
  }

  /** @param {Panel} panel @param {boolean} moving */
  moved(panel, moving) {
    this.renderer.invalidate(moving, [panel]);
  }

  /** @param {Hovered | null} hovered */
  hover(hovered) {
    if (this.hovered?.row === hovered?.row && this.hovered?.panel === hovered?.panel) return;
    this.hovered = hovered;
    this.tell("hover");
  }

  /** @param {Panel} panel */
  activate(panel) {
    if (this.active === panel) return;
    this.active = panel;
    this.tell("active");
  }

  /** Fills the stage with a panel, or shows all again (null). @param {Panel | null} panel */
  focus(panel) {
    this.focused = panel;
    if (panel) this.active = panel;
    this.tell("focus");
    this.tell("active");
    this.announce(panel ? `${panel.header.title} fills the stage` : "All maps");
  }

  /** @param {"move" | "lasso"} tool */
  setTool(tool) {
    this.tool = tool;
    this.tell("tool");
  }

  /** @param {string} name */
  tell(name) {
    this.dispatchEvent(new Event(name));
  }

  /** @param {string} name @param {() => void} listener */
  on(name, listener) {
    this.addEventListener(name, listener);
  }

  /** Says something to those who do not see the screen. @param {string} text */
  announce(text) {
    byId("announcer").textContent = text;
  }
}
