// dom.js: elements, made from values. Text is always text: nothing is ever read as HTML.

/**
 * An element. Attributes that begin with "on" are listeners; false and undefined leave one out.
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...unknown} children elements, text, arrays of them; undefined, null and false are nothing
 */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** As {@link h}, for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false || value === null) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    if (Array.isArray(child)) add(element, child);
    else element.append(child instanceof Node ? child : String(child));
  }
}

/** Puts children in the place of what is there. Who was in there by keyboard finds themselves at the page's heading. */
export function fill(element, ...children) {
  const held = element.contains(document.activeElement);
  element.replaceChildren();
  add(element, children);
  if (held) document.querySelector("main h1")?.focus({ preventScroll: true });
  return element;
}

let ids = 0;

/** A field with its label; the control gets an id. */
export function field(label, control, note) {
  control.id ||= `f${++ids}`;
  const noteId = `${control.id}-note`;
  if (note) control.setAttribute("aria-describedby", noteId);
  return h(
    "div",
    { class: "field" },
    h("label", { for: control.id }, label),
    control,
    note && h("small", { id: noteId }, note),
  );
}

export const input = (attributes) =>
  h("input", { type: "text", autocomplete: "off", spellcheck: "false", ...attributes });

export function select(options, attributes = {}) {
  return h(
    "select",
    attributes,
    options.map(([value, text]) => h("option", { value }, text)),
  );
}

/** A table that may be wider than the window. @param {{name: string, right?: boolean}[]} columns */
export function table(caption, columns, rows, empty = "Nothing here yet.") {
  if (rows.length === 0) return h("p", { class: "empty" }, empty);
  const cell = (content, i) =>
    h("td", { class: columns[i].right && "right", "data-label": columns[i].name }, content);
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption", { class: "unseen" }, caption),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          columns.map(({ name, right }) => h("th", { scope: "col", class: right && "right" }, name)),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map((row) => h("tr", {}, row.map(cell))),
      ),
    ),
  );
}

/** Says something at the bottom of the window, and to screen readers. */
export function say(text, kind = "good") {
  const message = h("p", { class: `message ${kind}` }, text);
  document.getElementById("messages").append(message);
  setTimeout(() => message.remove(), kind === "bad" ? 12_000 : 5_000);
}

/** Says what went wrong, but not that a page was left before its answers had come. */
export function complain(error) {
  if (error.name !== "AbortError") say(error.message, "bad");
}

/** Asks before something that cannot be undone. @returns {Promise<boolean>} */
export function confirmed(title, text, action, isDanger = true) {
  return new Promise((resolve) => {
    const close = (answer) => {
      dialog.close();
      dialog.remove();
      resolve(answer);
    };
    const dialog = h(
      "dialog",
      { "aria-labelledby": "dialog-title", oncancel: () => close(false) },
      h("h2", { id: "dialog-title" }, title),
      h("p", {}, text),
      h(
        "p",
        { class: "actions" },
        h("button", { type: "button", class: "quiet", onclick: () => close(false) }, "Cancel"),
        h("button", { type: "button", class: isDanger ? "danger" : "", onclick: () => close(true) }, action),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** A button that copies a text. */
export function copyButton(text, label = "Copy") {
  return h(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: async () => {
        try {
          await navigator.clipboard.writeText(text);
          say("Copied.");
        } catch {
          say("The browser does not let this page copy: select the text and copy it.", "bad");
        }
      },
    },
    label,
  );
}
