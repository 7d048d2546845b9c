/** Elements made from names and values; text is always text, never markup. */

/**
 * An element with attributes, listeners (functions, as `onclick`) and children.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} [attributes]
 * @param {(Node | string | number | null | undefined)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else if (name === "value" || name === "checked") /** @type {any} */ (made)[name] = value;
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(
    ...children
      .filter((child) => child !== null && child !== undefined)
      .map((child) => /** @type {Node | string} */ (typeof child === "number" ? String(child) : child)),
  );
  return made;
}

/**
 * The element of the page with this id.
 * @param {string} id
 * @returns {any}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no ${id}.`);
  return found;
}

/**
 * A part of the sidebar with a heading.
 * @param {string} title
 * @param {string} [id]
 */
export function section(title, id) {
  const body = element("div", { class: "body" });
  const whole = element("section", { class: "section", id, "aria-label": title }, element("h2", {}, title), body);
  return { whole, body };
}

/** @param {number} value */
export function percent(value) {
  return `${(100 * value).toFixed(value > 0 && value < 0.0995 ? 1 : 0)} %`;
}

/** @param {number} value */
export function grouped(value) {
  return value.toLocaleString("en-US");
}
