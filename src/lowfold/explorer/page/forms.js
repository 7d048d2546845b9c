/** Forms made from the declarations of parameters; what a page sends is checked where they are declared. */

/** @typedef {{ kind: string, choices?: string[], name?: string, purpose?: string, parameters?: Declared[] }} Way */
/**
 * @typedef {{ name: string, default: any, ways: Way[], low: number | null, high: number | null, above: number | null,
 *   help: string, needs: string }} Declared
 */
/** @typedef {{ name: string, title: string, purpose: string, family: string, parameters: Declared[] }} Method */

/** What stands for a way of giving a value in a list to choose from; a choice stands for itself. */
const WAY_WORDS = new Map([
  ["integer", "a number …"],
  ["number", "a number …"],
  ["numbers", "several numbers …"],
  ["text", "a name …"],
  ["none", "none"],
]);

let formNumber = 0; // makes the ids of fields differ

/** The fields of a method or an engine. */
export class ParameterForm {
  /** @param {Declared[]} parameters */
  constructor(parameters) {
    this.element = document.createElement("div");
    this.element.className = "fields";
    this.fields = parameters.map((declared) => new ParameterField(declared));
    this.element.append(...this.fields.map((field) => field.element));
  }

  /** The values that differ from their defaults, by name. */
  values() {
    const given = this.fields.map((field) => /** @type {const} */ ([field.declared.name, field.value()]));
    return Object.fromEntries(given.filter(([, value]) => value !== undefined));
  }
}

/** A parameter: its name, what it is, and a control for each way of giving its value. */
class ParameterField {
  /** @param {Declared} declared */
  constructor(declared) {
    this.declared = declared;
    this.id = `parameter-${++formNumber}`;
    this.element = document.createElement("div");
    this.element.className = "field";
    this.element.dataset.parameter = declared.name;
    const label = document.createElement("label");
    label.htmlFor = this.id;
    label.textContent = declared.name.replaceAll("_", " ");
    const help = document.createElement("small");
    help.id = `${this.id}-help`;
    help.textContent = declared.help;
    this.control = this.makeControl();
    this.control.element.id = this.id;
    this.control.element.setAttribute("aria-describedby", help.id);
    this.control.element.title = `${declared.needs}; default: ${shownDefault(declared.default)}`;
    this.element.append(label, this.control.element, help);
    if (this.control.below) this.element.append(this.control.below);
  }

  /** What is given, or undefined where it is the default. */
  value() {
    const value = this.control.value();
    return JSON.stringify(value) === JSON.stringify(this.declared.default) ? undefined : value;
  }

  /** @returns {{ element: HTMLElement, below?: HTMLElement, value: () => any }} */
  makeControl() {
    const kinds = this.declared.ways.map((way) => way.kind);
    if (kinds.includes("choice") || kinds.includes("engine")) return chosenControl(this.declared);
    if (kinds.includes("boolean")) return switchControl(this.declared.default);
    return typedControl(kinds, this.declared.default);
  }
}

/** @param {boolean} initial */
function switchControl(initial) {
  const element = document.createElement("input");
  element.type = "checkbox";
  element.checked = initial;
  return { element, value: () => element.checked };
}

/**
 * A field to type in: a number, several with commas, or a name. What is no number is sent as it is, and refused.
 * @param {string[]} kinds
 * @param {any} initial
 */
function typedControl(kinds, initial) {
  const element = document.createElement("input");
  element.type = "text";
  element.autocomplete = "off";
  element.spellcheck = false;
  if (!kinds.includes("text")) element.inputMode = "decimal";
  if (kinds.includes("none")) element.placeholder = "none";
  element.value = initial === null || typeof initial === "object" ? "" : String(initial);
  return { element, value: () => typedValue(element.value.trim(), kinds) };
}

/**
 * @param {string} text
 * @param {string[]} kinds
 */
function typedValue(text, kinds) {
  if ((text === "" || text.toLowerCase() === "none") && kinds.includes("none")) return null;
  if (kinds.includes("text")) return text;
  if (kinds.includes("numbers") && text.includes(",")) {
    return text.split(",").map((part) => numberOrText(part.trim()));
  }
  return numberOrText(text);
}

/** @param {string} text */
function numberOrText(text) {
  const number = Number(text);
  return text !== "" && Number.isFinite(number) ? number : text;
}

/**
 * A list of the ways there are; below it a field to type in, or the fields of an engine.
 * @param {Declared} declared
 */
function chosenControl(declared) {
  const element = document.createElement("select");
  const below = document.createElement("div");
  below.className = "below";
  /** @type {{ shown: HTMLElement | null, value: () => any }[]} */
  const entries = [];
  for (const way of declared.ways) {
    for (const [title, entry] of wayEntries(way, declared)) {
      element.add(new Option(title));
      entries.push(entry);
    }
  }
  const show = () => below.replaceChildren(...[entries[element.selectedIndex].shown].filter((part) => part !== null));
  element.selectedIndex = Math.max(0, defaultEntry(declared));
  element.addEventListener("change", show);
  show();
  return { element, below, value: () => entries[element.selectedIndex].value() };
}

/**
 * @param {Way} way
 * @param {Declared} declared
 * @returns {[string, { shown: HTMLElement | null, value: () => any }][]}
 */
function wayEntries(way, declared) {
  if (way.kind === "choice") return (way.choices ?? []).map((choice) => [choice, { shown: null, value: () => choice }]);
  if (way.kind === "none") return [["none", { shown: null, value: () => null }]];
  if (way.kind === "engine") {
    const form = new ParameterForm(way.parameters ?? []);
    form.element.title = way.purpose ?? "";
    return [[`${way.name} …`, { shown: form.element, value: () => ({ engine: way.name, parameters: form.values() }) }]];
  }
  const typed = typedControl([way.kind], typeof declared.default === "number" ? declared.default : "");
  typed.element.setAttribute("aria-label", declared.name.replaceAll("_", " "));
  return [[WAY_WORDS.get(way.kind) ?? way.kind, { shown: typed.element, value: typed.value }]];
}

/**
 * The place of the default among the entries of a list.
 * @param {Declared} declared
 */
function defaultEntry(declared) {
  const names = declared.ways.flatMap((way) => {
    if (way.kind === "choice") return way.choices ?? [];
    if (way.kind === "none") return [null];
    return [typeof declared.default === "number" && way.kind !== "engine" ? declared.default : undefined];
  });
  return names.indexOf(declared.default);
}

/** @param {any} value */
function shownDefault(value) {
  return value === null ? "none" : String(value);
}
