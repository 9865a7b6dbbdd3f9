// overrides.js: the operator's own verdicts: search, add, end, export, import; and who changed what.

import { all, api } from "../api.js";
import { complain, confirmed, field, fill, h, input, say, select, table } from "../dom.js";
import { exact, FLAGS, when } from "../words.js";

const VERDICTS = [
  ...Object.entries(FLAGS).map(([flag, [name]]) => [flag, name]),
  ["disposable", "Disposable"],
].flatMap(([flag, name]) => [
  [`${flag}=false`, `${name}: no`],
  [`${flag}=true`, `${name}: yes`],
]);

export default async function overrides(_, signal) {
  const content = h("div", {});
  await show(content, signal);
  return content;
}

async function show(content, signal) {
  const [list, { entries }] = await Promise.all([
    all("overrides", "overrides", 10_000),
    api("audit?limit=50", { signal }),
  ]);
  const again = () => show(content, signal).catch(complain);
  fill(
    content,
    listCard(list, again),
    h("div", { class: "pair" }, addCard(again), filesCard(again)),
    auditCard(entries),
  );
}

function listCard(list, again) {
  const found = h("div", { "aria-live": "polite" });
  const search = input({ type: "search", placeholder: "value, note, author" });
  const render = () => {
    const text = search.value.trim().toLowerCase();
    const rows = list
      .filter(({ value, note, author, flag, mute }) =>
        [value, note, author, flag, mute].some((part) => part?.toLowerCase().includes(text)),
      )
      .slice(0, 500)
      .map((row) => [
        [h("code", {}, row.value), h("small", {}, row.kind.replace("_", " "))],
        row.mute
          ? `mutes ${row.mute}`
          : h(
              "span",
              { class: `badge ${row.verdict ? "bad" : "good"}` },
              `${FLAGS[row.flag]?.[0] ?? row.flag}: ${row.verdict ? "yes" : "no"}`,
            ),
        [row.note, h("small", {}, `${row.author}, ${when(row.created_at)}`)],
        row.expires_at ? h("span", { title: exact(row.expires_at) }, when(row.expires_at)) : "never",
        h(
          "button",
          {
            type: "button",
            class: "quiet",
            "aria-label": `End the override of ${row.value}`,
            onclick: () => end(row, again),
          },
          "End",
        ),
      ]);
    fill(
      found,
      table(
        "Overrides in force",
        [{ name: "Value" }, { name: "Verdict" }, { name: "Why" }, { name: "Expires" }, { name: "End" }],
        rows,
        list.length === 0 ? "None: the lists alone decide." : "None that fits.",
      ),
    );
  };
  search.addEventListener("input", render);
  render();
  return h("section", { class: "card" }, list.length > 5 && field("Search", search), found);
}

async function end(row, again) {
  if (
    !(await confirmed(
      "End this override?",
      `${row.value}: the lists decide again, within a second.`,
      "End it",
    ))
  )
    return;
  try {
    await api(`overrides/${row.id}`, { method: "DELETE" });
    say("Ended.");
    again();
  } catch (error) {
    say(error.message, "bad");
  }
}

function addCard(again) {
  const value = input({
    required: true,
    placeholder: "203.0.113.9, 203.0.113.0/24, example.com, someone@example.com",
  });
  const verdict = select([...VERDICTS, ["mute", "do not hear one feed"]]);
  const feed = input({ placeholder: "id of the feed" });
  const feedField = field("Feed", feed);
  feedField.hidden = true;
  verdict.addEventListener("change", () => {
    feedField.hidden = verdict.value !== "mute";
  });
  const note = input({ required: true, maxlength: 500 });
  const expires = select([
    ["", "never"],
    ["1", "in a day"],
    ["7", "in a week"],
    ["30", "in 30 days"],
    ["365", "in a year"],
  ]);
  const force = h("input", { type: "checkbox" });
  const problem = h("p", { class: "problem", role: "alert" });
  const submit = async (event) => {
    event.preventDefault();
    fill(problem);
    const [flag, said] = verdict.value.split("=");
    const days = Number(expires.value);
    const body = {
      value: value.value.trim(),
      ...(flag === "mute" ? { mute: feed.value.trim() } : { flag, verdict: said === "true" }),
      note: note.value.trim(),
      ...(days > 0 ? { expires_at: new Date(Date.now() + days * 86_400_000).toISOString() } : {}),
      ...(force.checked ? { force: true } : {}),
    };
    try {
      const { outcome } = await api("overrides", { method: "POST", body });
      say(outcome === "unchanged" ? "It was there already." : "In force on every server within a second.");
      again();
    } catch (error) {
      fill(problem, error.message);
    }
  };
  return h(
    "section",
    { class: "card" },
    h("h2", {}, "Add"),
    h(
      "form",
      { class: "grid", onsubmit: submit },
      field(
        "Address, network, domain or e-mail address",
        value,
        "An e-mail address is kept as a hash alone.",
      ),
      field("Verdict", verdict),
      feedField,
      field("Why", note),
      field("Expires", expires),
      h("label", { class: "inline" }, force, "also if it is very wide"),
      problem,
      h("p", { class: "actions" }, h("button", {}, "Add")),
    ),
  );
}

function filesCard(again) {
  const file = h("input", { type: "file", accept: "application/json,.json", required: true });
  const result = h("p", { role: "status" });
  const load = async (event) => {
    event.preventDefault();
    fill(result, "Reading …");
    try {
      const body = JSON.parse(await file.files[0].text());
      const { added, changed, unchanged, expired, warnings } = await api("overrides/import", {
        method: "POST",
        body,
      });
      say(
        `${added} added, ${changed} changed, ${unchanged} as before${expired ? `, ${expired} had expired` : ""}.`,
      );
      for (const warning of warnings) say(warning, "bad");
      again();
    } catch (error) {
      fill(
        result,
        error instanceof SyntaxError
          ? "This file is no JSON. Nothing was changed."
          : `${error.message} Nothing was changed.`,
      );
    }
  };
  const save = async () => {
    try {
      const text = JSON.stringify(await api("overrides/export"), null, 2);
      const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
      h("a", { href: url, download: "inkling-overrides.json" }).click();
      URL.revokeObjectURL(url);
    } catch (error) {
      say(error.message, "bad");
    }
  };
  return h(
    "section",
    { class: "card" },
    h("h2", {}, "As a file"),
    h(
      "p",
      { class: "actions" },
      h("button", { type: "button", class: "quiet", onclick: save }, "Export all"),
    ),
    h(
      "form",
      { class: "grid", onsubmit: load },
      field("Import", file, "All of the file, or nothing."),
      h("p", { class: "actions" }, h("button", { class: "quiet" }, "Import")),
      result,
    ),
  );
}

/** What people call it: the value of an override, the name of a key. */
function nameOf(row) {
  const said = row?.value ?? row?.name;
  return typeof said === "string" ? said : undefined;
}

function auditCard(entries) {
  const rows = entries.map(({ at, actor, action, subject, before, after }) => [
    h("span", { title: exact(at) }, when(at)),
    actor,
    action.replaceAll("-", " "),
    [h("code", {}, subject), h("small", {}, nameOf(after ?? before))],
    h(
      "details",
      {},
      h("summary", {}, "before, after"),
      h(
        "pre",
        { tabindex: "0", "aria-label": "Before and after" },
        JSON.stringify({ before, after }, null, 2),
      ),
    ),
  ]);
  return h(
    "section",
    { class: "card" },
    h("h2", {}, "Audit trail"),
    table(
      "Audit trail",
      [{ name: "When" }, { name: "Who" }, { name: "Did" }, { name: "To" }, { name: "What" }],
      rows,
      "Nobody has changed anything yet.",
    ),
  );
}
