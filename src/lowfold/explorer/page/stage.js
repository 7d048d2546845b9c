/** The panels' frames in a grid, and where on the canvas each map is drawn. */

import { byId, element } from "./dom.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./panel.js").Panel} Panel */

const LEAST_WIDTH = 240;
const LEAST_HEIGHT = 216;
const LARGEST_GAP = 8;

export class Stage {
  /**
   * @param {App} app
   * @param {(panel: Panel, plot: HTMLElement) => void} prepare makes a plot listen
   */
  constructor(app, prepare) {
    this.app = app;
    this.prepare = prepare;
    this.root = /** @type {HTMLElement} */ (byId("stage"));
    this.grid = /** @type {HTMLElement} */ (byId("grid"));
    /** @type {Map<Panel, { frame: HTMLElement, plot: HTMLElement }>} */
    this.frames = new Map();
    app.on("panels", () => this.fill());
    app.on("focus", () => this.arrange());
    app.on("active", () => this.markActive());
    this.root.addEventListener("scroll", () => this.measure(true), { passive: true });
    new ResizeObserver(() => this.arrange()).observe(this.root);
    this.fill();
  }

  fill() {
    for (const [panel, { frame }] of this.frames) {
      if (this.app.panels.includes(panel)) continue;
      frame.remove();
      this.frames.delete(panel);
    }
    this.app.panels.forEach((panel, at) => {
      const known = this.frames.get(panel) ?? this.makeFrame(panel);
      if (this.grid.children[at] !== known.frame) this.grid.insertBefore(known.frame, this.grid.children[at] ?? null);
    });
    this.arrange();
    this.markActive();
  }

  /** @param {Panel} panel */
  makeFrame(panel) {
    const { header } = panel;
    const plot = element("div", {
      class: "plot",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "map",
      "data-panel": panel.id,
      "aria-label": `${header.title}: ${panel.count} points`,
      "aria-keyshortcuts": "ArrowLeft ArrowRight + - 0 Enter",
    });
    const note = element(
      "span",
      { class: "note", title: "Share of its nearest points in the data that a point keeps near it, on average" },
      qualityNote(header.quality),
    );
    const larger = element(
      "button",
      {
        class: "plain",
        type: "button",
        title: "Fill the stage (Enter)",
        "aria-label": `${header.title}: fill the stage`,
        onclick: () => this.app.focus(this.app.focused === panel ? null : panel),
      },
      "⤢",
    );
    const frame = element(
      "article",
      { class: "frame", "aria-label": header.title },
      element("header", {}, element("h3", { title: header.title }, header.title), note, larger),
      plot,
    );
    frame.addEventListener("pointerdown", () => this.app.activate(panel));
    plot.addEventListener("focus", () => this.app.activate(panel));
    const made = { frame, plot };
    this.frames.set(panel, made);
    this.prepare(panel, plot);
    return made;
  }

  markActive() {
    for (const [panel, { frame }] of this.frames)
      frame.classList.toggle("active", panel === this.app.active && this.frames.size > 1);
  }

  /** As many columns as make the maps largest; rows that do not fit can be scrolled to. */
  arrange() {
    const { focused } = this.app;
    document.body.toggleAttribute("data-focused", focused !== null || this.frames.size === 1);
    for (const [panel, { frame }] of this.frames) frame.hidden = focused !== null && panel !== focused;
    const count = focused ? 1 : Math.max(1, this.frames.size);
    const [width, height] = [this.root.clientWidth, this.root.clientHeight];
    const { columns, rowHeight } = arrangement(count, width - LARGEST_GAP, height - LARGEST_GAP);
    this.grid.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
    this.grid.style.gridAutoRows = `${rowHeight}px`;
    this.app.renderer.resize(width, height);
    this.app.tell("size");
    this.measure(false);
  }

  /** Where the plots are now. @param {boolean} moving */
  measure(moving) {
    const origin = this.root.getBoundingClientRect();
    for (const [panel, { plot }] of this.frames) {
      const box = plot.getBoundingClientRect();
      panel.box = { left: box.left - origin.left, top: box.top - origin.top, width: box.width, height: box.height };
    }
    this.app.renderer.wipes = true;
    this.app.renderer.invalidate(moving);
    this.app.tell("size");
  }
}

/**
 * @param {number} count
 * @param {number} width
 * @param {number} height
 */
export function arrangement(count, width, height) {
  let best = { columns: 1, rowHeight: 0, size: -1 };
  for (let columns = 1; columns <= Math.min(count, Math.max(1, Math.floor(width / LEAST_WIDTH))); columns++) {
    const rows = Math.ceil(count / columns);
    const across = width / columns;
    const rowHeight = Math.max(Math.min(LEAST_HEIGHT, across), height / rows);
    const size = Math.min(across, rowHeight) * Math.min(1, height / (rows * rowHeight)) ** 0.5;
    if (size > best.size + 0.5)
      best = { columns, rowHeight: count > 1 ? Math.min(rowHeight, 1.5 * across) : rowHeight, size };
  }
  return { columns: best.columns, rowHeight: Math.floor(best.rowHeight) - LARGEST_GAP };
}

/** @param {Record<string, number>} quality */
function qualityNote(quality) {
  const recall = quality.recall;
  return recall === undefined ? "" : `${Math.round(100 * recall)} % kept`;
}
