/** What the colours mean; classes can be hidden, numbers have a scale. */

import { TRUST } from "./appearance.js";
import { classLook, scaleColor } from "./colors.js";
import { element, grouped, section } from "./dom.js";
import { shownNumber } from "./scene.js";

/** @typedef {import("./app.js").App} App */

const SHAPE_SIGNS = ["●", "■", "▲", "◆", "▼", "✚", "✖", "★"];

/** @param {App} app */
export function makeLegend(app) {
  const { whole, body } = section("Colours", "legend");
  const show = () => {
    const by = app.colorBy;
    whole.hidden = by === null;
    whole.querySelector("h2")?.replaceChildren(by === TRUST ? "Trust" : (by?.name ?? ""));
    if (by === null) return;
    if (by === TRUST)
      body.replaceChildren(
        scaleBar(app, "none kept", "all kept"),
        element("p", { class: "hint" }, `How many of its ${app.scene.k} nearest each point keeps in each map`),
      );
    else if (by.kind === "category") body.replaceChildren(classList(app, by));
    else body.replaceChildren(scaleBar(app, shownNumber(by.range()[0]), shownNumber(by.range()[1])));
  };
  for (const name of ["color", "filter", "theme"]) app.on(name, show);
  show();
  return whole;
}

/** @param {App} app @param {string} low @param {string} high */
function scaleBar(app, low, high) {
  const stops = Array.from({ length: 9 }, (_, at) => `rgb(${scaleColor(at / 8, app.dark).join(",")})`);
  const bar = element("div", { class: "scale", role: "img", "aria-label": `from ${low} to ${high}` });
  bar.style.background = `linear-gradient(to right, ${stops.join(",")})`;
  return element(
    "div",
    {},
    bar,
    element("div", { class: "ends" }, element("span", {}, low), element("span", {}, high)),
  );
}

/** @param {App} app @param {any} column */
function classList(app, column) {
  const counts = new Uint32Array(column.categories.length);
  for (const code of column.values) counts[code]++;
  const items = column.categories.map((/** @type {string} */ name, /** @type {number} */ number) => {
    const { color, shape } = classLook(number, column.categories.length, app.dark);
    const sign = element("span", { class: "sign", "aria-hidden": "true" }, SHAPE_SIGNS[shape]);
    sign.style.color = color;
    const hidden = app.hiddenClasses.has(number);
    return element(
      "li",
      {},
      element(
        "button",
        {
          class: "class",
          type: "button",
          "aria-pressed": String(!hidden),
          "data-class": number,
          title: "Hide or show; with Alt, this one alone",
          onclick: (/** @type {MouseEvent} */ event) =>
            toggle(app, number, column.categories.length, event.altKey || event.ctrlKey),
        },
        sign,
        element("span", { class: "label" }, name || "(empty)"),
        element("span", { class: "count" }, grouped(counts[number])),
      ),
    );
  });
  const all = app.hiddenClasses.size
    ? element("button", { class: "link", type: "button", onclick: () => app.hideClasses(new Set()) }, "Show all")
    : null;
  return element("div", {}, element("ul", { class: "classes" }, ...items), all);
}

/**
 * @param {App} app
 * @param {number} number
 * @param {number} count
 * @param {boolean} alone
 */
function toggle(app, number, count, alone) {
  const hidden = new Set(app.hiddenClasses);
  if (alone) {
    const isAlone = hidden.size === count - 1 && !hidden.has(number);
    hidden.clear();
    if (!isAlone) for (let other = 0; other < count; other++) if (other !== number) hidden.add(other);
  } else if (!hidden.delete(number)) hidden.add(number);
  app.hideClasses(hidden);
  const button = /** @type {HTMLElement | null} */ (document.querySelector(`#legend [data-class="${number}"]`));
  button?.focus();
}
