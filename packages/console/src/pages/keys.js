// keys.js: API keys: make, change, rotate, revoke; what each was used for.

import { all, api } from "../api.js";
import { bars, meter } from "../charts.js";
import { complain, confirmed, copyButton, field, fill, h, input, say, select, table } from "../dom.js";
import { count, exact, percent, when } from "../words.js";

const SCOPES = [
  ["geolocate", "Geolocate"],
  ["reputation", "Reputation"],
  ["email", "E-mail"],
];
const REFUSALS = [
  ["not_allowed", "Not allowed"],
  ["rate_limited", "Rate used up"],
  ["quota_exceeded", "Quota used up"],
];
const refusedOf = ({ refused }) => REFUSALS.reduce((sum, [id]) => sum + (refused?.[id] ?? 0), 0);
const SERIES = [
  ...SCOPES.map(([id, name]) => ({ name, of: (point) => point[id] })),
  { name: "Refused", of: refusedOf },
];
const STATE_KIND = { live: "good", sandbox: "warn", expired: "faint", revoked: "faint" };

export default async function keys(id, signal) {
  return id === "" ? overview(signal) : detail(id, signal);
}

async function overview(signal) {
  const list = h("section", { class: "card" });
  const show = async () => fill(list, keyTable(await all("keys", "keys")));
  await show();
  signal.throwIfAborted();
  const again = () => show().catch(complain);
  return [list, h("section", { class: "card" }, h("h2", {}, "New key"), keyForm(undefined, again))];
}

function keyTable(keys) {
  const rows = keys.map((key) => [
    [h("a", { href: `#/keys/${key.id}` }, key.name), h("small", {}, h("code", {}, key.hint))],
    h("span", { class: `badge ${STATE_KIND[key.state]}` }, key.state),
    key.scopes.length === SCOPES.length ? "all" : key.scopes.join(", "),
    limits(key),
    [
      count(Object.values(key.lookups_today).reduce((a, b) => a + b, 0)),
      key.refused_today && refusedOf({ refused: key.refused_today }) > 0
        ? h("small", { class: "bad" }, `${count(refusedOf({ refused: key.refused_today }))} refused`)
        : undefined,
    ],
    key.expires_at ? h("span", { title: exact(key.expires_at) }, when(key.expires_at)) : "never",
  ]);
  return table(
    "Keys",
    [
      { name: "Name" },
      { name: "State" },
      { name: "Scopes" },
      { name: "Limits" },
      { name: "Look-ups today", right: true },
      { name: "Expires" },
    ],
    rows,
    "No keys yet: make the first one below.",
  );
}

function limits({ rate, burst, quota, networks }) {
  const said = [
    rate === null ? "server's rate" : rate === 0 ? "no rate" : `${count(rate)}/s`,
    burst !== null && `${count(burst)} at once`,
    quota !== null && `${count(quota)} a day`,
    networks.length > 0 && `from ${networks.length} network${networks.length === 1 ? "" : "s"}`,
  ];
  return said.filter(Boolean).join(", ");
}

/** For a new key, or the limits of one that is there. @param onMade called when a new one has been made */
function keyForm(key, onMade) {
  const name = input({ required: true, maxlength: 100, value: key?.name ?? "" });
  const mode = select([
    ["live", "live: answers from data"],
    ["test", "sandbox: fixed answers"],
  ]);
  const scopes = SCOPES.map(([id, title]) => {
    const box = h("input", { type: "checkbox", value: id, checked: !key || key.scopes.includes(id) });
    return { id, box, item: h("label", { class: "inline" }, box, title) };
  });
  const number = (value, attributes) =>
    input({ type: "number", min: 0, step: "any", value: value ?? "", ...attributes });
  const rate = number(key?.rate, { placeholder: "server's" });
  const burst = number(key?.burst, { min: 1, step: 1, placeholder: "server's" });
  const quota = number(key?.quota, { step: 1, placeholder: "none" });
  const expires = input({ type: "date", value: key?.expires_at?.slice(0, 10) ?? "" });
  const networks = h(
    "textarea",
    { rows: 2, spellcheck: "false", placeholder: "10.0.0.0/8" },
    (key?.networks ?? []).join("\n"),
  );
  const made = h("div", { "aria-live": "polite" });
  const numberOf = (control) => (control.value === "" ? null : Number(control.value));
  const submit = async (event) => {
    event.preventDefault();
    const body = {
      name: name.value.trim(),
      scopes: scopes.filter(({ box }) => box.checked).map(({ id }) => id),
      networks: networks.value.split(/[\s,]+/).filter(Boolean),
      rate: numberOf(rate),
      burst: numberOf(burst),
      quota: numberOf(quota),
      expires_at: expires.value ? `${expires.value}T23:59:59Z` : null,
    };
    try {
      if (key) {
        await api(`keys/${key.id}`, { method: "PATCH", body });
        say("Changed; in force on every server within a second.");
        return;
      }
      const created = await api("keys", { method: "POST", body: { ...body, mode: mode.value } });
      fill(made, tokenOnce(created.token, `#/keys/${created.id}`));
      event.target.reset();
      onMade();
    } catch (error) {
      fill(made, h("p", { class: "problem", role: "alert" }, error.message));
    }
  };
  return h(
    "form",
    { class: "grid", onsubmit: submit },
    field("Name", name, "Which application uses it."),
    !key && field("Mode", mode),
    h(
      "fieldset",
      {},
      h("legend", {}, "Scopes"),
      scopes.map(({ item }) => item),
    ),
    field("Rate", rate, "Look-ups a second; 0 is no limit, empty the server's."),
    field("Burst", burst, "Look-ups at once."),
    field("Quota", quota, "Look-ups a day (UTC)."),
    field("Expires", expires, "At the end of that day (UTC)."),
    field("Allowed networks", networks, "A line each; empty is anywhere."),
    h("p", { class: "actions" }, h("button", {}, key ? "Save" : "Make key")),
    made,
  );
}

function tokenOnce(token, href) {
  return h(
    "div",
    { class: "once" },
    h("p", {}, h("strong", {}, "Copy it now: it is shown this once.")),
    h("p", {}, h("code", { class: "token" }, token)),
    h("p", { class: "actions" }, copyButton(token, "Copy key"), href && h("a", { href }, "To this key")),
  );
}

async function detail(id, signal) {
  const key = await api(`keys/${encodeURIComponent(id)}`, { signal });
  const isInForce = key.state === "live" || key.state === "sandbox";
  const rotated = h("div", { "aria-live": "polite" });
  const overlap = select([
    ["86400", "for a day"],
    ["3600", "for an hour"],
    ["604800", "for a week"],
    ["0", "not at all"],
  ]);
  const rotate = async (event) => {
    event.preventDefault();
    if (
      !(await confirmed(
        `Rotate ${key.name}?`,
        "It gets a new text. The old one stays valid for the time you chose.",
        "Rotate",
        false,
      ))
    )
      return;
    try {
      const { token } = await api(`keys/${key.id}/rotate`, {
        method: "POST",
        body: { overlap_seconds: Number(overlap.value) },
      });
      fill(rotated, tokenOnce(token));
    } catch (error) {
      say(error.message, "bad");
    }
  };
  const revoke = async () => {
    if (
      !(await confirmed(
        `Revoke ${key.name}?`,
        "Whoever uses it gets 401 within a second. This cannot be undone.",
        "Revoke",
      ))
    )
      return;
    try {
      await api(`keys/${key.id}`, { method: "DELETE" });
      say("Revoked.");
      location.hash = "#/keys";
    } catch (error) {
      say(error.message, "bad");
    }
  };
  return [
    h("p", {}, h("a", { href: "#/keys" }, "All keys")),
    h(
      "section",
      { class: "card" },
      h("h2", {}, key.name, " ", h("span", { class: `badge ${STATE_KIND[key.state]}` }, key.state)),
      h(
        "p",
        {},
        h("code", {}, key.hint),
        ` made ${when(key.created_at)}`,
        key.revoked_at && `, revoked ${when(key.revoked_at)}`,
      ),
      await usage(key, signal),
    ),
    isInForce && h("section", { class: "card" }, h("h2", {}, "Limits"), keyForm(key)),
    isInForce &&
      h(
        "div",
        { class: "pair" },
        h(
          "section",
          { class: "card" },
          h("h2", {}, "A new text"),
          h(
            "form",
            { class: "grid", onsubmit: rotate },
            field("The old one stays valid", overlap, "Time to put the new one into its applications."),
            h("p", { class: "actions" }, h("button", {}, "Rotate")),
          ),
          rotated,
        ),
        h(
          "section",
          { class: "card" },
          h("h2", {}, "The end"),
          h("p", {}, "Whoever uses it gets 401 within a second. What it was used for is kept."),
          h(
            "p",
            { class: "actions" },
            h("button", { type: "button", class: "danger", onclick: revoke }, "Revoke this key"),
          ),
        ),
      ),
  ];
}

/** Days or hours, as the reader likes. */
async function usage(key, signal) {
  const chart = h("div", {});
  const show = async (by) => {
    const { from, to, usage: rows } = await api(`keys/${key.id}/usage?by=${by}`, { signal });
    const points = everyStep(by, from, to, new Map(rows.map((row) => [row.at, row])));
    const text = by === "day" ? (at) => at.slice(5) : (at) => `${at.slice(11)}:00`;
    const sum = (of) => points.reduce((all, point) => all + of(point), 0);
    const total = sum((point) => point.total);
    const refused = sum(refusedOf);
    const share = (name, n, of, kind) => [
      h("dt", {}, name),
      h("dd", {}, meter(n / of, `${count(n)}, ${percent(n / of)}`, kind)),
    ];
    fill(
      chart,
      total + refused === 0
        ? h("p", { class: "empty" }, `No look-ups in the last ${by === "day" ? "30 days" : "24 hours"}.`)
        : h(
            "div",
            { class: "usage" },
            bars(by === "day" ? "Look-ups a day (UTC)" : "Look-ups an hour (UTC)", points, SERIES, text),
            h(
              "div",
              {},
              h("h3", {}, "Answered and refused"),
              h(
                "dl",
                {},
                share("Answered", total, total + refused, "good"),
                REFUSALS.map(([id, name]) => [name, sum((point) => point.refused?.[id] ?? 0)])
                  .filter(([, n]) => n > 0)
                  .map(([name, n]) => share(name, n, total + refused, "bad")),
              ),
              total > 0 && h("h3", {}, "Look-ups"),
              total > 0 &&
                h(
                  "dl",
                  {},
                  SCOPES.map(([id, name]) =>
                    share(
                      name,
                      sum((point) => point[id]),
                      total,
                      "plain",
                    ),
                  ),
                ),
            ),
          ),
    );
  };
  const by = select(
    [
      ["day", "30 days"],
      ["hour", "24 hours"],
    ],
    {
      "aria-label": "Usage of the last",
      onchange: () => show(by.value).catch(complain),
    },
  );
  await show("day");
  return h("div", {}, h("p", { class: "actions" }, by), chart);
}

/** A point for each day or hour, also those without look-ups. */
function everyStep(by, from, to, rows) {
  const step = by === "day" ? 86_400_000 : 3_600_000;
  const digits = by === "day" ? 10 : 13;
  const time = (at) => Date.parse(by === "day" ? `${at}T00:00:00Z` : `${at}:00:00Z`);
  const points = [];
  for (let at = time(from); at <= time(to); at += step) {
    const name = new Date(at).toISOString().slice(0, digits);
    points.push(rows.get(name) ?? { at: name, geolocate: 0, reputation: 0, email: 0, total: 0 });
  }
  return points;
}
