// main.js: the frame: login, navigation, one page at a time.
//
// The address says what is seen: #/lookup/8.8.8.8. A page is a function from its part of the address and a signal, which
// is aborted when the page is left, to its content.

import { ApiError, api, whenLoggedOut } from "./api.js";
import { field, fill, h, input, say } from "./dom.js";
import { exact, when } from "./words.js";

const PAGES = [
  ["lookup", "Look up"],
  ["data", "Data"],
  ["keys", "Keys"],
  ["traffic", "Traffic"],
  ["overrides", "Overrides"],
];

const main = document.getElementById("main");
const nav = document.getElementById("nav");
const leave = document.getElementById("leave");
const state = document.getElementById("state");
const footer = document.getElementById("footer");

let shown = new AbortController();
let isIn = false;

whenLoggedOut(() => {
  if (isIn) showLogin("Your session has ended: log in again.");
});
leave.addEventListener("click", async () => {
  await api("session", { method: "DELETE" }).catch(() => {});
  showLogin();
});
addEventListener("hashchange", () => {
  for (const dialog of document.querySelectorAll("dialog[open]")) {
    dialog.dispatchEvent(new Event("cancel")); // what it asked is no longer before the reader's eyes
    dialog.close();
  }
  if (isIn) showPage();
});

start();

async function start() {
  try {
    await api("session");
    enter();
  } catch (error) {
    showLogin(error.status === 401 ? undefined : error.message);
  }
}

function showLogin(note) {
  isIn = false;
  shown.abort();
  nav.hidden = true;
  leave.hidden = true;
  fill(state);
  fill(footer);
  document.title = "Log in: Inkling console";
  const token = input({
    type: "password",
    name: "token",
    required: true,
    autocomplete: "current-password",
    placeholder: "ink_admin_…",
  });
  const author = input({ name: "author", maxlength: 80, placeholder: "admin API" });
  const problem = h("p", { class: "problem", role: "alert" }, note);
  const form = h(
    "form",
    {
      class: "card login",
      onsubmit: async (event) => {
        event.preventDefault();
        fill(problem);
        try {
          await api("session", {
            method: "POST",
            body: {
              token: token.value.trim(),
              ...(author.value.trim() ? { author: author.value.trim() } : {}),
            },
          });
          enter();
        } catch (error) {
          fill(problem, error.code === "TOKEN_INVALID" ? "This is not the admin token." : error.message);
          token.focus();
        }
      },
    },
    h("h1", {}, "Log in"),
    h(
      "p",
      {},
      "With the admin token that the first start has printed. A new one: ",
      h("code", {}, "inkling admin token rotate"),
    ),
    field("Admin token", token),
    field("Your name", author, "For the audit trail; may be left empty."),
    problem,
    h("p", { class: "actions" }, h("button", {}, "Log in")),
  );
  fill(main, form);
  token.focus();
}

function enter() {
  isIn = true;
  nav.hidden = false;
  leave.hidden = false;
  showPage();
  showState();
}

async function showPage() {
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  const [, name = "lookup", rest = ""] = /^#\/(\w+)\/?(.*)$/.exec(location.hash) ?? [];
  const page = PAGES.find(([id]) => id === name) ?? PAGES[0];
  fill(
    nav,
    PAGES.map(([id, title]) =>
      h("a", { href: `#/${id}`, "aria-current": id === page[0] ? "page" : undefined }, title),
    ),
  );
  document.title = `${page[1]}: Inkling console`;
  const heading = h("h1", { tabindex: "-1" }, page[1]);
  const content = h("div", {}, h("p", { class: "loading", role: "status" }, "Loading …"));
  fill(main, heading, content);
  try {
    const { default: show } = await import(`./pages/${page[0]}.js`);
    const made = await show(decodeURIComponent(rest), signal);
    if (!signal.aborted) fill(content, made);
  } catch (error) {
    if (signal.aborted || error.name === "AbortError") return;
    if (!(error instanceof ApiError)) reportError(error);
    fill(
      content,
      h("p", { class: "problem", role: "alert" }, error.message),
      error.requestId &&
        h("p", { class: "faint" }, `Request ${error.requestId}: look for it in the server's log.`),
      h("p", {}, h("button", { type: "button", onclick: showPage }, "Try again")),
    );
  }
}

/** A text with its addresses as links: some licences ask for that. */
function linked(text) {
  return text
    .split(/(https:\/\/[^\s,;)]+)/)
    .map((part, i) =>
      i % 2 === 1 ? h("a", { href: part, rel: "noreferrer noopener", target: "_blank" }, part) : part,
    );
}

/** The release in use, and what its lists ask to be said wherever it is shown. */
async function showState() {
  try {
    const [data, { feeds }] = await Promise.all([api("data"), api("data/feeds")]);
    const { release } = data;
    const { missing } = data;
    fill(
      state,
      release
        ? h("span", { title: exact(release.created_at) }, `data of ${when(release.created_at)}`)
        : h("span", { class: "bad" }, "no data yet"),
      missing.length > 0 && h("span", { class: "bad" }, ` without ${missing.join(", ")}`),
    );
    const named = new Set(
      feeds
        .filter(({ state, attribution }) => state === "loaded" && attribution)
        .map(({ attribution }) => attribution),
    );
    fill(
      footer,
      [...named].map((text) => h("span", {}, linked(text))),
    );
  } catch (error) {
    if (isIn) say(error.message, "bad");
  }
}
