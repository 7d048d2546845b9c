/** Forms made from the declarations of parameters; what is filled in is checked where they are declared. */

import { element } from "./dom.js";

/** @typedef {{ kind: string, choices?: string[], name?: string, purpose?: string, parameters?: Declared[] }} Way */
/** @typedef {{ name: string, default: any, ways: Way[], help: string, needs: string }} Declared */
/** @typedef {{ name: string, title: string, purpose: string, family: string, parameters: Declared[] }} Method */
/** A control, what it shows below itself, and what it gives. @typedef {{ input: HTMLElement, below?: HTMLElement, value: () => any }} Control */

/** What stands for a way of giving a value in a list; a choice stands for itself. */
const WAY_TITLES = new Map([
  ["integer", "a number …"],
  ["number", "a number …"],
  ["numbers", "several numbers …"],
  ["text", "a name …"],
  ["boolean", "yes or no …"],
]);

let fieldNumber = 0; // makes the ids of fields differ

/** The fields of a method or an engine. */
export class ParameterForm {
  /** @param {Declared[]} parameters */
  constructor(parameters) {
    this.fields = parameters.map((declared) => ({ declared, ...parameterField(declared) }));
    this.whole = element("div", { class: "parameters" }, ...this.fields.map((field) => field.whole));
  }

  /** The values that differ from their defaults, by name. */
  values() {
    const given = this.fields.map(({ declared, control }) => /** @type {const} */ ([declared, control.value()]));
    const changed = given.filter(([declared, value]) => JSON.stringify(value) !== JSON.stringify(declared.default));
    return Object.fromEntries(changed.map(([declared, value]) => [declared.name, value]));
  }
}

/**
 * A parameter: its name, a control, and what it is.
 * @param {Declared} declared
 */
function parameterField(declared) {
  const id = `parameter-${++fieldNumber}`;
  const control = parameterControl(declared);
  control.input.id = id;
  control.input.setAttribute("aria-describedby", `${id}-help`);
  control.input.title = `${declared.needs}; default: ${declared.default ?? "none"}`;
  const whole = element("div", { class: "parameter", "data-parameter": declared.name },
    element("label", { for: id }, declared.name.replaceAll("_", " ")), control.input,
    element("p", { class: "hint", id: `${id}-help` }, declared.help), control.below);
  return { whole, control };
}

/**
 * @param {Declared} declared
 * @returns {Control}
 */
function parameterControl(declared) {
  const kinds = declared.ways.map((way) => way.kind);
  if (kinds.includes("choice") || kinds.includes("engine")) return chosenControl(declared);
  if (kinds.includes("boolean")) return switchControl(declared.default);
  return typedControl(kinds, declared.default);
}

/**
 * @param {boolean} initial
 * @returns {Control}
 */
function switchControl(initial) {
  const input = element("input", { type: "checkbox", checked: initial });
  return { input, value: () => input.checked };
}

/**
 * A field to type in: a number, several with commas, or a name. What is no number is sent as it is, and refused there.
 * @param {string[]} kinds
 * @param {any} initial
 * @returns {Control}
 */
function typedControl(kinds, initial) {
  const input = element("input", {
    type: "text", autocomplete: "off", spellcheck: "false", placeholder: kinds.includes("none") ? "none" : null,
    inputmode: kinds.includes("text") ? null : "decimal", value: initial === null ? "" : String(initial),
  });
  return { input, value: () => typedValue(input.value.trim(), kinds) };
}

/**
 * @param {string} text
 * @param {string[]} kinds
 */
function typedValue(text, kinds) {
  if (kinds.includes("none") && ["", "none"].includes(text.toLowerCase())) return null;
  if (kinds.includes("text")) return text;
  if (kinds.includes("numbers") && text.includes(",")) return text.split(",").map((part) => numberOrText(part.trim()));
  return numberOrText(text);
}

/** @param {string} text */
function numberOrText(text) {
  return text !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

/**
 * A list of the ways there are; below it a field to type in, or the fields of an engine.
 * @param {Declared} declared
 * @returns {Control}
 */
function chosenControl(declared) {
  const entries = declared.ways.flatMap((way) => wayEntries(way, declared));
  const input = element("select", { onchange: () => show() }, ...entries.map((entry) => element("option", {}, entry.title)));
  const below = element("div", { class: "below" });
  const show = () => {
    const { shown } = entries[input.selectedIndex];
    below.replaceChildren(...(shown ? [shown] : []));
  };
  input.selectedIndex = Math.max(0, entries.findIndex((entry) => entry.isDefault));
  show();
  return { input, below, value: () => entries[input.selectedIndex].value() };
}

/**
 * @param {Way} way
 * @param {Declared} declared
 * @returns {{ title: string, shown?: HTMLElement, value: () => any, isDefault: boolean }[]}
 */
function wayEntries(way, declared) {
  if (way.kind === "choice") {
    return (way.choices ?? []).map((choice) => ({ title: choice, value: () => choice, isDefault: choice === declared.default }));
  }
  if (way.kind === "none") return [{ title: "none", value: () => null, isDefault: declared.default === null }];
  if (way.kind === "engine") {
    const form = new ParameterForm(way.parameters ?? []);
    const value = () => ({ engine: way.name, parameters: form.values() });
    form.whole.prepend(element("p", { class: "hint" }, way.purpose));
    return [{ title: `${way.name} …`, shown: form.whole, value, isDefault: false }];
  }
  const numeric = typeof declared.default === "number";
  const typed = typedControl([way.kind], numeric ? declared.default : "");
  typed.input.setAttribute("aria-label", declared.name.replaceAll("_", " "));
  return [{ title: WAY_TITLES.get(way.kind) ?? way.kind, shown: typed.input, value: typed.value, isDefault: numeric }];
}
