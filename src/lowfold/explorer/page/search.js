/** Search over names, categories and row numbers. */

import { element, grouped } from "./dom.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {{ title: string, rows: Uint32Array }} Match */

const SHOWN = 8;

/** @param {App} app */
export function makeSearch(app) {
  /** @type {Match[]} */
  let matches = [];
  let marked = -1;
  const list = element("ul", {
    class: "matches",
    id: "matches",
    role: "listbox",
    "aria-label": "Matches",
    hidden: true,
  });
  const input = element("input", {
    id: "search",
    type: "search",
    placeholder: "Search (/)",
    autocomplete: "off",
    spellcheck: "false",
    role: "combobox",
    "aria-label": "Search names and categories",
    "aria-controls": "matches",
    "aria-expanded": "false",
  });
  const take = (/** @type {Match} */ match) => {
    app.select(match.rows);
    close();
  };
  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
  };
  const show = () => {
    matches = input.value.trim() ? findMatches(app.scene, input.value) : [];
    marked = -1;
    const few = matches.slice(0, SHOWN);
    list.replaceChildren(
      ...few.map((match, at) =>
        element(
          "li",
          {
            role: "option",
            id: `match${at}`,
            onpointerdown: (/** @type {Event} */ event) => {
              event.preventDefault();
              take(match);
            },
          },
          element("span", {}, match.title),
          element("span", { class: "count" }, grouped(match.rows.length)),
        ),
      ),
    );
    if (input.value.trim() && !matches.length) list.append(element("li", { class: "none" }, "Nothing found"));
    if (matches.length > SHOWN)
      list.append(element("li", { class: "none" }, `and ${grouped(matches.length - SHOWN)} more`));
    list.hidden = !input.value.trim();
    input.setAttribute("aria-expanded", String(!list.hidden));
  };
  const mark = (/** @type {number} */ step) => {
    const count = Math.min(SHOWN, matches.length);
    if (!count) return;
    marked = (marked + step + count) % count;
    [...list.children].forEach((item, at) => item.setAttribute("aria-selected", String(at === marked)));
    input.setAttribute("aria-activedescendant", `match${marked}`);
  };
  input.addEventListener("input", show);
  input.addEventListener("focus", show);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") mark(1);
    else if (event.key === "ArrowUp") mark(-1);
    else if (event.key === "Enter" && matches.length) take(marked < 0 ? allOf(matches) : matches[marked]);
    else if (event.key === "Escape") {
      input.value = "";
      input.blur();
    } else return;
    event.preventDefault();
  });
  return element("div", { class: "search" }, input, list);
}

/**
 * Categories and texts that hold the words, and the row with that number; each with its rows.
 * @param {import("./scene.js").Scene} scene
 * @param {string} text
 * @returns {Match[]}
 */
export function findMatches(scene, text) {
  const wanted = text.trim().toLowerCase();
  /** @type {Match[]} */
  const found = [];
  const number = /^#?(\d+)$/.exec(wanted);
  if (number && Number(number[1]) < scene.n)
    found.push({ title: `row ${number[1]}`, rows: Uint32Array.of(Number(number[1])) });
  for (const column of scene.columns) {
    if (column.kind === "category") found.push(...categoryMatches(column, wanted));
    if (column.kind === "text") found.push(...textMatches(column, wanted));
  }
  return found;
}

/** @param {any} column @param {string} wanted @returns {Match[]} */
function categoryMatches(column, wanted) {
  const numbers = column.categories
    .map((/** @type {string} */ name, /** @type {number} */ at) => ({ name, at }))
    .filter(
      (/** @type {any} */ { name }) =>
        name.toLowerCase().includes(wanted) || `${column.name} ${name}`.toLowerCase() === wanted,
    );
  /** @type {Map<number, number[]>} */
  const rows = new Map(numbers.map((/** @type {any} */ { at }) => [at, []]));
  if (rows.size)
    column.values.forEach((/** @type {number} */ code, /** @type {number} */ row) => rows.get(code)?.push(row));
  return numbers.map((/** @type {any} */ { name, at }) => ({
    title: `${column.name} ${name}`,
    rows: Uint32Array.from(rows.get(at) ?? []),
  }));
}

/** @param {any} column @param {string} wanted @returns {Match[]} */
function textMatches(column, wanted) {
  /** @type {Map<string, number[]>} */
  const found = new Map();
  column.texts.forEach((/** @type {string} */ text, /** @type {number} */ row) => {
    if (!text.toLowerCase().includes(wanted)) return;
    const rows = found.get(text);
    rows ? rows.push(row) : found.set(text, [row]);
  });
  const exactFirst = [...found].sort(([a], [b]) => a.length - b.length || (a < b ? -1 : 1));
  return exactFirst.map(([title, rows]) => ({ title, rows: Uint32Array.from(rows) }));
}

/** @param {Match[]} matches */
function allOf(matches) {
  const rows = new Set(matches.flatMap((match) => [...match.rows]));
  return { title: "", rows: Uint32Array.from(rows).sort() };
}
