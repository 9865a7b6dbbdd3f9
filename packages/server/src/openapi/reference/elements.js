// elements.js: elements of the reference page. All text is inserted as text, so nothing in a response becomes HTML.

/** Creates an element, without attributes that are undefined or false and without children that are undefined. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== undefined));
  return element;
}

/** Formats text, with words in backticks as code. */
export function prose(text = "") {
  return text.split("`").map((piece, i) => (i % 2 === 1 ? make("code", {}, piece) : piece));
}

export const faint = (text) => make("span", { class: "faint" }, text);
export const block = (text, label) => make("pre", { tabindex: "0", "aria-label": label }, text);
export const pretty = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

export function details(summary, ...children) {
  return make("details", {}, make("summary", {}, summary), ...children);
}

export function table(rows, caption) {
  const title = caption === undefined ? undefined : make("caption", { class: "faint" }, caption);
  return make("div", { class: "table" }, make("table", {}, title, rows));
}
