/** What is known about the hovered point, beside it: its image, values, and its neighbours in this map. */

import { byId, element } from "./dom.js";
import { FALSE, KEPT, LOST, neighborsIn } from "./marks.js";
import { imageCanvas } from "./thumbnails.js";

/** @typedef {import("./app.js").App} App */

const MOST_VALUES_SHOWN = 7;
const GAP_BESIDE = 20; // pixels between the point and the card
const LONGEST = 120; // characters of a text

/** @param {App} app */
export function makeCard(app) {
  const card = /** @type {HTMLElement} */ (byId("card"));
  app.on("hover", () => {
    card.hidden = !app.hovered;
    if (app.hovered) {
      card.replaceChildren(...contents(app, app.hovered));
      placeBeside(app, card, app.hovered);
    }
  });
}

/** @param {App} app @param {import("./app.js").Hovered} hovered */
function contents(app, { panel, point, row }) {
  const { scene } = app;
  const first = app.colorBy && app.colorBy !== "trust" ? [app.colorBy] : [];
  const columns = [...first, ...scene.columns.filter((/** @type {any} */ column) => column !== app.colorBy)];
  const values = element(
    "dl",
    {},
    ...columns.slice(0, MOST_VALUES_SHOWN).flatMap((column) => {
      const text = column.text(row);
      return [
        element("dt", {}, column.name),
        element("dd", {}, text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text),
      ];
    }),
  );
  const more =
    columns.length > MOST_VALUES_SHOWN
      ? element("p", { class: "hint" }, `and ${columns.length - MOST_VALUES_SHOWN} more columns`)
      : null;
  const picture = scene.images ? imageCanvas(scene.images, row, app.dark) : null;
  return [
    picture,
    element("div", {}, element("p", { class: "row" }, `row ${row}`), values, more, neighborLine(app, panel, point)),
  ].filter((part) => part !== null);
}

/** @param {App} app @param {import("./panel.js").Panel} panel @param {number} point */
function neighborLine(app, panel, point) {
  if (!app.scene.neighbors || !app.showsNeighbors) return null;
  const found = neighborsIn(panel, point, app.scene);
  const part = (/** @type {number} */ count, /** @type {string} */ word, /** @type {string} */ color) => {
    const sign = element("i", { "aria-hidden": "true" });
    sign.style.borderColor = color;
    return element("span", {}, sign, `${count} ${word}`);
  };
  return element(
    "p",
    { class: "near", title: "Of its nearest points in the data" },
    part(found.kept.length, "kept", KEPT),
    part(found.lost.length, "lost", LOST),
    part(found.false.length, "false", FALSE),
  );
}

/**
 * Puts the card beside the point: right, left, below or above, where it hides fewest of the neighbours.
 * @param {App} app
 * @param {HTMLElement} card
 * @param {import("./app.js").Hovered} hovered
 */
function placeBeside(app, card, { panel, point }) {
  const stage = byId("stage").getBoundingClientRect();
  const transform = panel.transform();
  const onPage = (/** @type {number} */ one) => {
    const [x, y] = panel.placeOf(one, transform);
    return [stage.left + panel.box.left + x, stage.top + panel.box.top + y];
  };
  const [x, y] = onPage(point);
  const found = app.showsNeighbors ? neighborsIn(panel, point, app.scene) : { kept: [], lost: [], false: [] };
  const others = [...found.kept, ...found.lost, ...found.false].map(onPage);
  const { width, height } = card.getBoundingClientRect();
  const spots = [
    [x + GAP_BESIDE, y - height / 3],
    [x - GAP_BESIDE - width, y - height / 3],
    [x - width / 2, y + GAP_BESIDE],
    [x - width / 2, y - GAP_BESIDE - height],
  ].map(([left, top]) => [within(left, window.innerWidth - width), within(top, window.innerHeight - height)]);
  const hides =
    (/** @type {number[]} */ [left, top]) =>
    (/** @type {number[]} */ [px, py]) =>
      px > left - 4 && px < left + width + 4 && py > top - 4 && py < top + height + 4;
  const costs = spots.map((spot) => others.filter(hides(spot)).length + (hides(spot)([x, y]) ? 1000 : 0));
  const [left, top] = spots[costs.indexOf(Math.min(...costs))];
  card.style.left = `${left}px`;
  card.style.top = `${top}px`;
}

/** @param {number} at @param {number} most */
function within(at, most) {
  return Math.max(4, Math.min(most - 4, at));
}
