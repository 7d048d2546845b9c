/** The selection as CSV, the view as PNG. */

/** @typedef {import("./app.js").App} App */

/**
 * Saves the selected rows, or all if none is: every column, and the coordinates of every map as they are shown.
 * @param {App} app
 */
export function saveTable(app) {
  const { scene } = app;
  const rows = app.selection.length ? app.selection : Uint32Array.from({ length: scene.n }, (_, row) => row);
  save(new Blob(tableLines(app, rows), { type: "text/csv;charset=utf-8" }), `${fileName(scene.title)}.csv`);
  app.announce(`${rows.length} rows saved`);
}

/**
 * @param {App} app
 * @param {Uint32Array} rows
 */
export function tableLines(app, rows) {
  const { scene, panels } = app;
  const titles = uniqueTitles(panels.map((panel) => panel.header.title));
  const head = [
    "row",
    ...scene.columns.map((/** @type {any} */ column) => column.name),
    ...titles.flatMap((title) => [`${title} x`, `${title} y`]),
  ];
  const lines = [`${head.map(quoted).join(",")}\r\n`];
  const factors = panels.map((panel) => panel.factors());
  for (const row of rows) {
    const cells = [
      String(row),
      ...scene.columns.map((/** @type {any} */ column) =>
        column.kind === "number" ? exact(column.values[row]) : quoted(column.text(row)),
      ),
    ];
    panels.forEach((panel, at) => {
      const point = panel.pointOf(row);
      for (const axis of [0, 1])
        cells.push(point < 0 ? "" : exact(panel.values[point * panel.width + panel.axes[axis]] * factors[at][axis]));
    });
    lines.push(`${cells.join(",")}\r\n`);
  }
  return lines;
}

/** @param {string[]} titles */
function uniqueTitles(titles) {
  return titles.map((title, at) =>
    titles.indexOf(title) === at
      ? title
      : `${title} (${titles.slice(0, at + 1).filter((one) => one === title).length})`,
  );
}

/** A number with the digits that single precision has. @param {number} value */
function exact(value) {
  return Number.isNaN(value) ? "" : String(Number(value.toPrecision(8)));
}

/** @param {string} text */
function quoted(text) {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Saves what is seen of the maps, with their titles. @param {App} app */
export function savePicture(app) {
  viewCanvas(app).toBlob((blob) => {
    if (blob) save(blob, `${fileName(app.scene.title)}.png`);
    app.announce("Picture saved");
  }, "image/png");
}

/** @param {App} app */
export function viewCanvas(app) {
  const points = /** @type {HTMLCanvasElement} */ (app.gl.canvas);
  const ratio = app.renderer.ratio;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [points.width, points.height];
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const style = getComputedStyle(document.body);
  context.fillStyle = style.backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(points, 0, 0);
  context.fillStyle = style.color;
  context.font = `600 ${13 * ratio}px system-ui, sans-serif`;
  for (const { box, header } of app.renderer.visible())
    context.fillText(header.title, (box.left + 4) * ratio, (box.top - 10) * ratio, box.width * ratio);
  return canvas;
}

/** @param {string} title */
function fileName(title) {
  return (
    title
      .replace(/[^\p{L}\p{N} _-]+/gu, "")
      .trim()
      .replace(/\s+/g, "-")
      .slice(0, 60) || "lowfold"
  );
}

/** @param {Blob} blob @param {string} name */
function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
