// reference.js: the reference page: makes itself from /openapi.json, and sends requests with a key.
//
// in   /openapi.json of the server that the page came from
// out  sections, forms and answers in the page; requests to that server alone
// err  told in the page
// note The key lives in its field and nowhere else. Text goes in as text: nothing of an answer is taken for HTML.

/** An element with attributes and children; children that are text go in as text. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

/** Words in backticks as code. */
function prose(text = "") {
  return text.split("`").map((piece, i) => (i % 2 === 1 ? make("code", {}, piece) : piece));
}

const keyField = document.querySelector("#key");
document.querySelector("#key-form").addEventListener("submit", (event) => event.preventDefault());
document.querySelector("#key-shown").addEventListener("change", ({ target }) => {
  keyField.type = target.checked ? "text" : "password";
});

let api;

/** What a reference refers to; anything else as it is. */
function resolve(json) {
  if (typeof json?.$ref !== "string") return json;
  return json.$ref
    .split("/")
    .slice(1)
    .reduce((at, part) => at?.[part], api);
}

const nameOf = (json) => json?.$ref?.split("/").at(-1);

/** The type of a schema in few words. */
function typeWords(schema) {
  const name = nameOf(schema);
  if (name !== undefined) return name;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.map(typeWords).join(" | ");
  if (schema.allOf !== undefined) return schema.allOf.map(typeWords).join(" & ");
  if (schema.type === "array") return `list of ${typeWords(schema.items ?? {})}`;
  return (
    [schema.type ?? "any"].flat().join(" | ") + (schema.format === undefined ? "" : ` (${schema.format})`)
  );
}

/** The members of a schema as a list, as deep as it has a shape of its own. */
function members(schema) {
  const inner = schema.type === "array" ? schema.items : schema;
  const choices = inner?.anyOf ?? [];
  const shape = choices.find(({ properties }) => properties !== undefined) ?? inner;
  if (shape?.properties === undefined) return undefined;
  const rows = Object.entries(shape.properties).map(([name, of]) =>
    make(
      "li",
      {},
      make("code", {}, name),
      shape.required?.includes(name) ? "" : make("span", { class: "faint" }, " (optional)"),
      `: ${typeWords(of)}`,
      ...(of.description === undefined ? [] : [". ", ...prose(of.description)]),
      members(of),
    ),
  );
  return make("ul", { class: "members" }, ...rows);
}

const pretty = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

function operationSection(path, method, operation) {
  const { operationId, summary, description, responses } = operation;
  return make(
    "section",
    { class: "operation", id: operationId, "aria-labelledby": `${operationId}-title` },
    make("h2", { id: `${operationId}-title` }, summary),
    make("p", { class: "way" }, make("span", { class: "method" }, method.toUpperCase()), path),
    ...(description === undefined ? [] : [make("p", {}, ...prose(description))]),
    callForm(path, method, operation),
    make("h3", {}, "Answers"),
    ...Object.entries(responses).map(([status, response]) => responseDetails(status, response)),
  );
}

function responseDetails(status, { description, headers = {}, content = {} }) {
  const parts = Object.entries(content).flatMap(([type, { schema, examples = {}, "x-lines": lines }]) => [
    make(
      "p",
      {},
      make("code", {}, type),
      lines === undefined ? ": " : ", each line: ",
      typeWords(lines ?? schema),
    ),
    ...Object.entries(examples).map(([name, example]) => {
      const { summary, value } = resolve(example);
      return make(
        "details",
        {},
        make("summary", {}, `${name}: ${summary}`),
        make("pre", { tabindex: "0" }, pretty(value)),
      );
    }),
  ]);
  const rows = Object.entries(headers).map(([name, header]) => {
    const { description, required } = header.$ref === undefined ? header : resolve(header);
    const when = required ? undefined : make("span", { class: "faint" }, " (not always)");
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, make("code", {}, name), when),
      make("td", {}, ...prose(description)),
    );
  });
  return make(
    "details",
    {},
    make(
      "summary",
      {},
      make("span", { class: status < "400" ? "good" : "bad" }, status),
      " ",
      ...prose(description),
    ),
    ...parts,
    rows.length === 0
      ? undefined
      : make(
          "div",
          { class: "table" },
          make("table", {}, make("caption", { class: "faint" }, "Headers"), ...rows),
        ),
  );
}

let fields = 0;

/** Field -> the values that are offered for it. */
const examplesOf = new WeakMap();

/** Fields of a path, which begin with an example of the sandbox: a live key is refused some of these. */
const prefilled = [];
const isLive = () => keyField.value.trim().startsWith("ink_live_");

let wasLive = false;
/** A live key takes away the examples that the fields began with; without it they come back. */
keyField.addEventListener("input", () => {
  if (isLive() === wasLive) return;
  wasLive = isLive();
  for (const { input, example } of prefilled) {
    input.required = wasLive;
    if (input.value === (wasLive ? example : "")) fill(input, wasLive ? "" : example);
  }
});

/** A label, a field, and a choice of examples that fill it in. */
function parameterField({ name, in: place, description, required, schema, examples }) {
  const id = `field-${++fields}`;
  const input =
    schema.enum === undefined
      ? make("input", {
          id,
          name,
          spellcheck: "false",
          autocomplete: "off",
          "aria-describedby": `${id}-note`,
        })
      : make(
          "select",
          { id, name, "aria-describedby": `${id}-note` },
          make("option", { value: "" }, "–"),
          ...schema.enum.map((value) => make("option", { value }, value)),
        );
  input.dataset.place = place;
  const rows = Object.values(examples ?? {});
  if (rows.length > 0) {
    input.value = rows[0].value;
    input.placeholder = "one of your own";
    prefilled.push({ input, example: rows[0].value });
    examplesOf.set(
      input,
      rows.map(({ value }) => value),
    );
  }
  return make(
    "div",
    { class: "field" },
    make("label", { for: id }, name, required ? "" : make("span", { class: "faint" }, " (optional)")),
    make(
      "div",
      { class: "pair" },
      input,
      rows.length === 0
        ? undefined
        : exampleChoice(rows, `Examples of ${name}`, (value) => fill(input, value)),
    ),
    make("span", { id: `${id}-note`, class: "faint" }, ...prose(description)),
  );
}

function fill(input, value) {
  input.value = value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

function exampleChoice(rows, label, onChoice) {
  const select = make(
    "select",
    { "aria-label": label },
    make("option", { value: "" }, "Examples …"),
    ...rows.map(({ value, summary }, i) =>
      make("option", { value: String(i) }, `${pretty(value).slice(0, 40)}: ${summary}`),
    ),
  );
  select.addEventListener("change", () => {
    if (select.value !== "") onChoice(pretty(rows[Number(select.value)].value));
  });
  return select;
}

/** The body of a batch: its type, and its text. */
function bodyFields({ content }) {
  const types = Object.keys(content);
  const first = (type) => pretty(Object.values(content[type].examples ?? {})[0]?.value ?? "");
  const id = `field-${++fields}`;
  const type = make(
    "select",
    { id: `${id}-type`, "data-place": "type" },
    ...types.map((one) => make("option", {}, one)),
  );
  const text = make("textarea", { id, spellcheck: "false", "data-place": "body" });
  text.value = first(types[0]);
  examplesOf.set(text, types.map(first));
  type.addEventListener("change", () => fill(text, first(type.value)));
  return [
    make("div", { class: "field" }, make("label", { for: `${id}-type` }, "Content-Type"), type),
    make("div", { class: "field" }, make("label", { for: id }, "Body"), text),
  ];
}

/** What the fields of a form ask for. */
function requestOf(form, path, method, needsKey) {
  const of = (place) => [...form.querySelectorAll(`[data-place="${place}"]`)];
  const filled = of("path").reduce(
    (text, { name, value }) => text.replace(`{${name}}`, encodeURIComponent(value)),
    path,
  );
  const query = of("query")
    .filter(({ value }) => value !== "")
    .map(({ name, value }) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  const headers = Object.fromEntries(
    of("header")
      .filter(({ value }) => value !== "")
      .map(({ name, value }) => [name, value]),
  );
  const [type] = of("type");
  if (type !== undefined) headers["Content-Type"] = type.value;
  return {
    url: filled + (query.length === 0 ? "" : `?${query.join("&")}`),
    method: method.toUpperCase(),
    headers,
    needsKey,
    isExample: [...of("path"), ...of("body")].some((input) => examplesOf.get(input)?.includes(input.value)),
    body: of("body")[0]?.value,
  };
}

/** For a shell: text between single quotes. */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** The key is not in it: the line may be pasted into a ticket. */
function curlLine({ url, method, headers, needsKey, body }) {
  const parts = ["curl"];
  if (method !== "GET") parts.push(`-X ${method}`);
  if (needsKey) parts.push('-H "Authorization: Bearer $KEY"');
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body !== undefined) parts.push(`--data-binary ${quoted(body)}`);
  return [...parts, quoted(location.origin + url)].join(" ");
}

const OF_SANDBOX =
  "This value is an example of the sandbox: a live key looks it up like any other. Ask about one of your own, or use a sandbox key.";

function callForm(path, method, operation) {
  const { parameters, requestBody, security, summary } = operation;
  const needsKey = security.length > 0;
  const line = make("pre", { tabindex: "0", "aria-label": "As a curl line" });
  const result = make("div", { role: "status" });
  const copy = make("button", { type: "button", class: "quiet" }, "Copy curl line");
  const form = make(
    "form",
    { class: "call", "aria-label": `Try: ${summary}` },
    ...parameters.map(parameterField),
    ...(requestBody === undefined ? [] : bodyFields(requestBody)),
    line,
    make("div", { class: "actions" }, make("button", { type: "submit" }, "Send"), copy),
    result,
  );
  const draw = () => {
    line.textContent = curlLine(requestOf(form, path, method, needsKey));
  };
  draw();
  form.addEventListener("input", draw);
  form.addEventListener("change", draw);
  copy.addEventListener("click", async () => {
    copy.textContent = await copied(line.textContent);
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    result.replaceChildren("Sending …");
    const request = requestOf(form, path, method, needsKey);
    const isOfSandbox = request.isExample && isLive();
    result.replaceChildren(...(await send(request)), ...(isOfSandbox ? [make("p", {}, OF_SANDBOX)] : []));
  });
  return form;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return "Copied";
  } catch {
    return "The browser does not allow copying: select the line";
  }
}

/** Sends a request. @returns what to show of the answer, or of why there is none */
async function send({ url, method, headers, needsKey, body }) {
  const key = keyField.value.trim();
  const started = performance.now();
  try {
    const response = await fetch(url, {
      method,
      headers: { ...headers, ...(needsKey && key !== "" ? { Authorization: `Bearer ${key}` } : {}) },
      body,
      cache: "no-store",
      credentials: "omit",
    });
    const text = await response.text();
    const ms = Math.round(performance.now() - started);
    return answerView(response, text, ms);
  } catch (error) {
    return [
      make(
        "p",
        { class: "bad" },
        `No answer: ${error.message}. Does the server still run? Is the key plain text?`,
      ),
    ];
  }
}

function answerView(response, text, ms) {
  const { status, statusText, headers } = response;
  const isGood = status < 400;
  const names = [...headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  const code = isGood ? undefined : codeOf(text);
  return [
    make(
      "p",
      {},
      make("span", { class: isGood ? "good" : "bad" }, `${status} ${statusText}`),
      ` in ${ms} ms`,
      ...(code === undefined ? [] : [": ", make("a", { href: `#${code.toLowerCase()}` }, code)]),
    ),
    make("pre", { tabindex: "0", "aria-label": "Body of the answer" }, laidOut(text)),
    make("details", {}, make("summary", {}, "Headers of the answer"), make("pre", { tabindex: "0" }, names)),
  ];
}

function codeOf(text) {
  try {
    const { code } = JSON.parse(text);
    return api.components.examples[code] === undefined ? undefined : code;
  } catch {
    return undefined;
  }
}

function laidOut(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text === "" ? "(no body)" : text;
  }
}

function errorsSection() {
  const rows = Object.entries(api.components.examples).map(([code, { value }]) =>
    make(
      "tr",
      { id: code.toLowerCase() },
      make("td", {}, String(value.status)),
      make("th", { scope: "row" }, make("code", {}, code)),
      make("td", {}, make("strong", {}, `${value.title}. `), ...prose(value.detail)),
    ),
  );
  return make(
    "section",
    { class: "plain", id: "errors", "aria-labelledby": "errors-title" },
    make("h2", { id: "errors-title" }, "Errors"),
    make(
      "p",
      {},
      "Decide by ",
      make("code", {}, "code"),
      ": it never changes its meaning. A sandbox key gives each of them: see the examples of the look-ups.",
    ),
    make("div", { class: "table" }, make("table", {}, ...rows)),
  );
}

function schemasSection() {
  return make(
    "section",
    { class: "plain", id: "schemas", "aria-labelledby": "schemas-title" },
    make("h2", { id: "schemas-title" }, "Shapes"),
    ...Object.entries(api.components.schemas).map(([name, schema]) =>
      make(
        "details",
        { id: `shape-${name}` },
        make("summary", {}, make("code", {}, name)),
        schema.description === undefined ? undefined : make("p", {}, ...prose(schema.description)),
        members(schema) ?? make("p", {}, typeWords(schema)),
      ),
    ),
  );
}

function operations() {
  return Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}

function navigation() {
  const link = (href, text) => make("li", {}, make("a", { href }, text));
  const groups = api.tags.map(({ name }) => {
    const ofTag = operations().filter(({ operation }) => operation.tags.includes(name));
    return [
      make("h2", {}, name),
      make("ul", {}, ...ofTag.map(({ operation }) => link(`#${operation.operationId}`, operation.summary))),
    ];
  });
  // On a phone the list would stand between the reader and the page: there it opens when it is asked for.
  const phone = matchMedia("(max-width: 50rem)");
  const list = make(
    "details",
    { open: !phone.matches },
    make("summary", {}, "Operations"),
    ...groups.flat(),
    make("h2", {}, "Reference"),
    make("ul", {}, link("#errors", "Errors"), link("#schemas", "Shapes")),
  );
  phone.addEventListener("change", () => {
    list.open = !phone.matches;
  });
  list.addEventListener("click", ({ target }) => {
    if (phone.matches && target.closest("a") !== null) list.open = false;
  });
  return list;
}

const NO_KEY =
  "No key yet? Whoever runs this server makes one with `inkling keys create`, or `inkling keys create --sandbox`.";

async function start() {
  const main = document.querySelector("#main");
  try {
    const response = await fetch("/openapi.json");
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    api = await response.json();
  } catch (error) {
    main.replaceChildren(
      make("p", { class: "bad", role: "alert" }, `/openapi.json cannot be read: ${error.message}`),
    );
    return;
  }
  document.querySelector("#version").textContent = api.info.version;
  document.querySelector("#nav").replaceChildren(navigation());
  const sections = api.tags.flatMap(({ name }) =>
    operations()
      .filter(({ operation }) => operation.tags.includes(name))
      .map(({ path, method, operation }) => operationSection(path, method, operation)),
  );
  main.replaceChildren(
    make(
      "section",
      { class: "plain", id: "about" },
      ...api.info.description.split("\n\n").map((text) => make("p", {}, ...prose(text))),
      make("p", {}, ...prose(NO_KEY)),
    ),
    ...sections,
    errorsSection(),
    schemasSection(),
  );
  const target = location.hash.slice(1) || (location.pathname.endsWith("/errors") ? "errors" : "");
  if (target !== "") {
    const at = document.getElementById(target);
    at?.scrollIntoView();
    if (location.hash !== "") location.replace(location.hash); // now that it is there, :target finds it
  }
}

start();
