/** The bar at the top: what the data are, search, tools, colours. */

import { TRUST } from "./appearance.js";
import { byId, element, grouped } from "./dom.js";
import { savePicture } from "./exporting.js";
import { showHelp } from "./help.js";
import { makeSearch } from "./search.js";

/** @typedef {import("./app.js").App} App */

/** @param {App} app */
export function makeToolbar(app) {
  const { scene } = app;
  document.title = `${scene.title} – Lowfold`;
  const maps = element("span", {});
  const count = () =>
    (maps.textContent = `${grouped(scene.n)} points, ${app.panels.length} ${app.panels.length === 1 ? "map" : "maps"}`);
  app.on("panels", count);
  count();
  const back = element(
    "button",
    { class: "tool", type: "button", hidden: true, onclick: () => app.focus(null) },
    "← All maps",
  );
  app.on("focus", () => (back.hidden = !app.focused));
  byId("bar").append(
    element("div", { class: "name" }, element("h1", {}, scene.title), maps, back),
    makeSearch(app),
    element(
      "div",
      { class: "tools", role: "toolbar", "aria-label": "Tools" },
      toolChoice(app),
      colorChoice(app),
      lookMenu(app),
      element(
        "button",
        { class: "tool", type: "button", title: "The view as a PNG", onclick: () => savePicture(app) },
        "PNG",
      ),
      element(
        "button",
        { class: "tool", type: "button", title: "Dark or light (D)", "aria-label": "Dark or light", id: "theme" },
        "◐",
      ),
      element(
        "button",
        {
          class: "tool",
          type: "button",
          title: "Keys and gestures (?)",
          "aria-label": "Help",
          onclick: () => showHelp(),
        },
        "?",
      ),
    ),
  );
}

/** @param {App} app */
function toolChoice(app) {
  const choices = /** @type {const} */ ([
    ["move", "Move", "Drag moves the map (M)"],
    ["lasso", "Lasso", "Drag selects (L); Shift and drag does so always"],
  ]);
  const buttons = choices.map(([tool, title, help]) =>
    element(
      "button",
      { class: "tool", type: "button", title: help, "data-tool": tool, onclick: () => app.setTool(tool) },
      title,
    ),
  );
  const mark = () => {
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.tool === app.tool)));
    document.body.dataset.tool = app.tool;
  };
  app.on("tool", mark);
  mark();
  return element("div", { class: "joined", role: "group", "aria-label": "What dragging does" }, ...buttons);
}

/** @param {App} app */
function colorChoice(app) {
  const usable = app.scene.columns
    .map((/** @type {any} */ column, /** @type {number} */ at) => ({ column, at }))
    .filter((/** @type {any} */ { column }) => column.kind !== "text");
  const select = element("select", {
    id: "color",
    "aria-label": "Colour by",
    onchange: () => {
      const value = select.value;
      app.setColor(value === "" ? null : value === TRUST ? TRUST : app.scene.columns[Number(value)]);
    },
  });
  select.append(...usable.map((/** @type {any} */ { column, at }) => element("option", { value: at }, column.name)));
  if (app.panels.some((panel) => panel.trust)) select.append(element("option", { value: TRUST }, "trust in each map"));
  select.append(element("option", { value: "" }, "nothing"));
  const show = () =>
    (select.value =
      app.colorBy === null ? "" : app.colorBy === TRUST ? TRUST : String(app.scene.columns.indexOf(app.colorBy)));
  app.on("color", show);
  show();
  return element("label", { class: "field" }, element("span", {}, "Colour"), select);
}

/** @param {App} app */
function lookMenu(app) {
  const { points, pictures, renderer } = app;
  const again = () => renderer.invalidate(false);
  const size = element("input", {
    type: "range",
    id: "size",
    min: -1,
    max: 1,
    step: 0.1,
    value: 0,
    oninput: () => {
      points.sizeFactor = 2 ** Number(size.value);
      renderer.invalidate(true);
    },
  });
  const trust = element("input", {
    type: "checkbox",
    id: "faint",
    onchange: () => {
      points.trustCounts = trust.checked;
      again();
    },
  });
  const lines = element("input", {
    type: "checkbox",
    id: "lines",
    checked: true,
    onchange: () => {
      app.showsNeighbors = lines.checked;
      app.tell("hover");
    },
  });
  const images = element(
    "select",
    {
      id: "images",
      onchange: () => {
        if (pictures) pictures.when = /** @type {any} */ (images.value);
        again();
      },
    },
    ...[
      ["near", "when there is room"],
      ["always", "always"],
      ["never", "never"],
    ].map(([value, text]) => element("option", { value }, text)),
  );
  const rows = [element("label", {}, element("span", {}, "Point size"), size)];
  if (pictures) rows.push(element("label", {}, element("span", {}, "Images"), images));
  if (app.panels.some((panel) => panel.trust))
    rows.push(element("label", { class: "check" }, trust, element("span", {}, "Fade what a map does not keep")));
  if (app.scene.neighbors)
    rows.push(element("label", { class: "check" }, lines, element("span", {}, "Neighbours of the hovered point")));
  const menu = element(
    "details",
    { class: "menu" },
    element("summary", { class: "tool" }, "View"),
    element("div", { class: "sheet" }, ...rows),
  );
  document.addEventListener("pointerdown", (event) => {
    if (!menu.contains(/** @type {Node} */ (event.target))) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.preventDefault();
    menu.open = false;
    menu.querySelector("summary")?.focus();
  });
  return menu;
}
