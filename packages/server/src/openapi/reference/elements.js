// elements.js: elements of the reference page. Text goes in as text: nothing of a response is taken for HTML.

/** Attributes that are undefined or false are left out, and so are undefined children. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== undefined));
  return element;
}

/** Words in backticks as code. */
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
