// reference.js: builds the reference page from this server's /openapi.json.
//
// in   /openapi.json
// out  sections, forms and tables in the page
// err  shown in the page
// note Scalar's reference (1.46) was tried instead. It respects the same policy, contacts no other host, and has a
//      richer client. However, its package installs 243 MB (779 packages) for one script of 3.6 MB, which is 1.0 MB
//      compressed. This page is 9 KB compressed. axe finds 98 faults in Scalar's reference, 16 of them critical. It
//      also has no table of errors that problem documents could link to.

import { callForm } from "./call.js";
import { block, details, faint, make, pretty, prose, table } from "./elements.js";

const NO_KEY =
  "No key yet? The operator of this server creates one with `inkling keys create`, or `inkling keys create --sandbox`.";

const nameOf = ({ $ref } = {}) => $ref?.split("/").at(-1);

/** Describes a schema's type in a few words. */
function typeWords(schema) {
  const name = nameOf(schema);
  if (name !== undefined) return name;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.map(typeWords).join(" | ");
  if (schema.allOf !== undefined) return schema.allOf.map(typeWords).join(" & ");
  if (schema.type === "array") return `list of ${typeWords(schema.items ?? {})}`;
  const format = schema.format === undefined ? "" : ` (${schema.format})`;
  return [schema.type ?? "any"].flat().join(" | ") + format;
}

/** Lists a schema's members, to any depth. */
function members(schema) {
  const inner = schema.type === "array" ? schema.items : schema;
  const shape = (inner?.anyOf ?? []).find(({ properties }) => properties !== undefined) ?? inner;
  if (shape?.properties === undefined) return undefined;
  const rows = Object.entries(shape.properties).map(([name, of]) =>
    make(
      "li",
      {},
      make("code", {}, name),
      shape.required?.includes(name) ? undefined : faint(" (optional)"),
      `: ${typeWords(of)}`,
      of.description === undefined ? undefined : [". ", ...prose(of.description)],
      members(of),
    ),
  );
  return make("ul", { class: "members" }, rows);
}

function section(id, title, attributes, ...children) {
  const heading = make("h2", { id: `${id}-title` }, title);
  return make("section", { id, "aria-labelledby": `${id}-title`, ...attributes }, heading, ...children);
}

function operationSection(api, { path, method, operation }) {
  const { operationId, summary, description, responses } = operation;
  return section(
    operationId,
    summary,
    {},
    make("p", { class: "path" }, make("span", { class: "method" }, method.toUpperCase()), path),
    description === undefined ? undefined : make("p", {}, prose(description)),
    callForm(path, method, operation, (code) => Object.hasOwn(api.components.examples, code ?? "")),
    make("h3", {}, "Responses"),
    Object.entries(responses).map(([status, response]) => responseDetails(status, response)),
  );
}

function responseDetails(status, { description, headers = {}, content = {} }) {
  const rows = Object.entries(headers).map(([name, { description, required }]) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, make("code", {}, name), required ? undefined : faint(" (not always)")),
      make("td", {}, prose(description)),
    ),
  );
  return details(
    [make("span", { class: status < "400" ? "good" : "bad" }, status), " ", ...prose(description)],
    Object.entries(content).map(([type, media]) => mediaView(type, media)),
    rows.length === 0 ? undefined : table(rows, "Headers"),
  );
}

/** Shows a media type and its examples. Examples of problems are in the table of errors. */
function mediaView(type, { schema, examples = {}, "x-lines": lines }) {
  const kind = make("p", {}, make("code", {}, type), lines === undefined ? ": " : ", each line: ");
  kind.append(typeWords(lines ?? schema));
  const all = Object.entries(examples);
  const codes = all.filter(([, { $ref }]) => $ref !== undefined).map(([code]) => code);
  const links = codes.map((code) => make("li", {}, make("a", { href: `#${code.toLowerCase()}` }, code)));
  const values = all.filter(([, { $ref }]) => $ref === undefined);
  return make(
    "div",
    {},
    kind,
    links.length === 0 ? undefined : make("ul", { class: "members" }, links),
    values.map(([name, { summary, value }]) => details(`${name}: ${summary}`, block(pretty(value)))),
  );
}

function errorsSection({ components }) {
  const rows = Object.entries(components.examples).map(([code, { value }]) =>
    make(
      "tr",
      { id: code.toLowerCase() },
      make("td", {}, String(value.status)),
      make("th", { scope: "row" }, make("code", {}, code)),
      make("td", {}, make("strong", {}, `${value.title}. `), prose(value.detail)),
    ),
  );
  const [[, { value }]] = Object.entries(components.examples);
  return section(
    "errors",
    "Errors",
    {},
    make(
      "p",
      {},
      prose("Decide by `code`, which never changes its meaning. A sandbox key can get each of them."),
    ),
    details("An error as a problem document", block(pretty(value))),
    table(rows),
  );
}

function schemasSection({ components }) {
  const shapes = Object.entries(components.schemas).map(([name, schema]) =>
    details(
      make("code", {}, name),
      schema.description === undefined ? undefined : make("p", {}, prose(schema.description)),
      members(schema) ?? make("p", {}, typeWords(schema)),
    ),
  );
  return section("schemas", "Schemas", {}, shapes);
}

function operationsOf({ paths }, tag) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .map(([method, operation]) => ({ path, method, operation }))
      .filter(({ operation }) => operation.tags.includes(tag)),
  );
}

/**
 * Creates the navigation. On a desktop, it is always open. On a phone, it opens on request and closes after a choice.
 */
function navigation(api) {
  const list = (title, rows) => [
    make("h2", {}, title),
    make(
      "ul",
      {},
      rows.map(([id, text]) => make("li", {}, make("a", { href: `#${id}` }, text))),
    ),
  ];
  const groups = api.tags.map(({ name }) =>
    list(
      name,
      operationsOf(api, name).map(({ operation }) => [operation.operationId, operation.summary]),
    ),
  );
  const reference = list("Reference", [
    ["errors", "Errors"],
    ["schemas", "Schemas"],
  ]);
  const menu = details("Operations", ...groups, reference);
  const phone = matchMedia("(max-width: 50rem)");
  const adapt = () => {
    menu.open = !phone.matches;
  };
  adapt();
  phone.addEventListener("change", adapt);
  menu.addEventListener("click", ({ target }) => {
    if (phone.matches && target.closest("a") !== null) menu.open = false;
  });
  return menu;
}

async function load() {
  const response = await fetch("/openapi.json");
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.json();
}

function show(api) {
  document.querySelector("#version").textContent = api.info.version;
  document.querySelector("#nav").replaceChildren(navigation(api));
  const about = [...api.info.description.split("\n\n"), NO_KEY].map((text) => make("p", {}, prose(text)));
  document
    .querySelector("#main")
    .replaceChildren(
      make("section", { id: "about" }, about),
      ...api.tags.flatMap(({ name }) => operationsOf(api, name).map((row) => operationSection(api, row))),
      errorsSection(api),
      schemasSection(api),
    );
  if (location.hash !== "")
    location.replace(location.hash); // the target exists now, so :target matches it
  else if (location.pathname.endsWith("/errors")) document.querySelector("#errors").scrollIntoView();
}

try {
  show(await load());
} catch (error) {
  const text = `/openapi.json cannot be read: ${error.message}`;
  document.querySelector("#main").replaceChildren(make("p", { class: "bad", role: "alert" }, text));
}
