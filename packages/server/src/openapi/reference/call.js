// call.js: an operation's form. It sends the request with the key and shows the response.
//
// note The key is never stored outside its field, and this page sends requests only to this server.

import { block, details, faint, make, pretty, prose } from "./elements.js";

const keyField = document.querySelector("#key");
const isLive = () => keyField.value.trim().startsWith("ink_live_");

const SANDBOX_ONLY =
  "This value is an example for sandbox keys. A live key looks it up like any other value. Send your own value, or use a sandbox key.";

document.querySelector("#key-form").addEventListener("submit", (event) => event.preventDefault());
document.querySelector("#key-shown").addEventListener("change", ({ target }) => {
  keyField.type = target.checked ? "text" : "password";
});

/** The example values of each field. */
const examplesOf = new WeakMap();
/** Path fields with the example that each starts with, unless the key is a live key. */
const prefilled = [];

let wasLive = false;
keyField.addEventListener("input", () => {
  if (isLive() === wasLive) return;
  wasLive = isLive();
  for (const [input, example] of prefilled) {
    input.required = wasLive;
    if (input.value === (wasLive ? example : "")) fill(input, wasLive ? "" : example);
  }
});

function fill(input, value) {
  input.value = value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

let fields = 0;

function parameterField({ name, in: place, description, required, schema, examples = {} }) {
  const id = `field-${++fields}`;
  const shared = { id, name, "data-place": place, "aria-describedby": `${id}-note` };
  const input =
    schema.enum === undefined
      ? make("input", { ...shared, spellcheck: "false", autocomplete: "off" })
      : make(
          "select",
          shared,
          ["", ...schema.enum].map((value) => make("option", { value }, value || "–")),
        );
  const rows = Object.values(examples);
  if (rows.length > 0) {
    input.value = rows[0].value;
    input.placeholder = "a value of your own";
    prefilled.push([input, rows[0].value]);
    examplesOf.set(
      input,
      rows.map(({ value }) => value),
    );
  }
  return make(
    "div",
    { class: "field" },
    make("label", { for: id }, name, required ? undefined : faint(" (optional)")),
    make("div", { class: "pair" }, input, rows.length === 0 ? undefined : exampleChoice(rows, input)),
    make("span", { id: `${id}-note`, class: "faint" }, prose(description)),
  );
}

function exampleChoice(rows, input) {
  const options = rows.map(({ value, summary }) => make("option", { value }, `${value}: ${summary}`));
  const first = make("option", { value: "" }, "Examples …");
  const select = make("select", { "aria-label": `Examples of ${input.name}` }, first, options);
  select.addEventListener("change", () => {
    if (select.value !== "") fill(input, select.value);
  });
  return select;
}

/** Creates the fields for a request body: its media type and its text. */
function bodyFields({ content }) {
  const types = Object.keys(content);
  const exampleOf = (type) => pretty(Object.values(content[type].examples ?? {})[0]?.value ?? "");
  const id = `field-${++fields}`;
  const options = types.map((type) => make("option", {}, type));
  const type = make("select", { id: `${id}-type`, "data-place": "type" }, options);
  const text = make("textarea", { id, spellcheck: "false", "data-place": "body" });
  text.value = exampleOf(types[0]);
  examplesOf.set(text, types.map(exampleOf));
  type.addEventListener("change", () => fill(text, exampleOf(type.value)));
  return [
    make("div", { class: "field" }, make("label", { for: `${id}-type` }, "Content-Type"), type),
    make("div", { class: "field" }, make("label", { for: id }, "Body"), text),
  ];
}

function readForm(form, path, method, needsKey) {
  const at = (place) => [...form.querySelectorAll(`[data-place="${place}"]`)];
  const filled = (place) => at(place).filter(({ value }) => value !== "");
  const target = at("path").reduce(
    (text, { name, value }) => text.replace(`{${name}}`, encodeURIComponent(value)),
    path,
  );
  const query = new URLSearchParams(filled("query").map(({ name, value }) => [name, value])).toString();
  const headers = Object.fromEntries(filled("header").map(({ name, value }) => [name, value]));
  const [type] = at("type");
  if (type !== undefined) headers["Content-Type"] = type.value;
  return {
    url: query === "" ? target : `${target}?${query}`,
    method: method.toUpperCase(),
    headers,
    needsKey,
    isExample: [...at("path"), ...at("body")].some((input) => examplesOf.get(input)?.includes(input.value)),
    body: at("body")[0]?.value,
  };
}

/** Creates a curl line for a shell. The line leaves the key out, because users may paste the line into a ticket. */
function curlLine({ url, method, headers, needsKey, body }) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = ["curl"];
  if (method !== "GET") parts.push(`-X ${method}`);
  if (needsKey) parts.push('-H "Authorization: Bearer $KEY"');
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body !== undefined) parts.push(`--data-binary ${quoted(body)}`);
  return [...parts, quoted(location.origin + url)].join(" ");
}

/** @param isCode tells whether a text is one of the API's problem codes */
export function callForm(path, method, { parameters, requestBody, security, summary }, isCode) {
  const line = block("", "As a curl line");
  const result = make("div", { role: "status" });
  const copy = make("button", { type: "button", class: "quiet" }, "Copy curl line");
  const form = make(
    "form",
    { class: "call", "aria-label": `Try: ${summary}` },
    parameters.map(parameterField),
    requestBody === undefined ? undefined : bodyFields(requestBody),
    line,
    make("div", { class: "actions" }, make("button", { type: "submit" }, "Send"), copy),
    result,
  );
  const request = () => readForm(form, path, method, security.length > 0);
  const draw = () => {
    line.textContent = curlLine(request());
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
    const sent = request();
    const note = sent.isExample && isLive() ? [make("p", {}, SANDBOX_ONLY)] : [];
    result.replaceChildren(...(await send(sent, isCode)), ...note);
  });
  return form;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return "Copied";
  } catch {
    return "The browser does not allow copying. Select the line instead.";
  }
}

/** @returns elements that show the response, or the failure */
async function send({ url, method, headers, needsKey, body }, isCode) {
  const key = keyField.value.trim();
  const all = needsKey && key !== "" ? { ...headers, Authorization: `Bearer ${key}` } : headers;
  const start = performance.now();
  try {
    const response = await fetch(url, { method, headers: all, body, cache: "no-store", credentials: "omit" });
    const text = await response.text();
    return responseView(response, text, Math.round(performance.now() - start), isCode);
  } catch (error) {
    const hint = `No response: ${error.message}. Check that the server runs and that the key is plain text.`;
    return [make("p", { class: "bad" }, hint)];
  }
}

function responseView({ status, statusText, headers }, text, ms, isCode) {
  const json = parsed(text);
  const code = status >= 400 && isCode(json?.code) ? json.code : undefined;
  return [
    make(
      "p",
      {},
      make("span", { class: status < 400 ? "good" : "bad" }, `${status} ${statusText}`),
      ` in ${ms} ms`,
      code === undefined ? undefined : [": ", make("a", { href: `#${code.toLowerCase()}` }, code)],
    ),
    block(json === undefined ? text || "(no body)" : pretty(json), "Response body"),
    details("Response headers", block([...headers].map((pair) => pair.join(": ")).join("\n"))),
  ];
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
