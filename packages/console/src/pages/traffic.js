// traffic.js: what the server was asked in the last hours: counts alone.

import { api } from "../api.js";
import { bars, lines, meter } from "../charts.js";
import { fill, h, select, table } from "../dom.js";
import { shadedMap } from "../map.js";
import { count, countryName, FLAGS, milliseconds } from "../words.js";

const STATUSES = ["2xx", "3xx", "4xx", "5xx"].map((name) => ({
  name,
  of: ({ statuses }) => statuses[name] ?? 0,
}));
const LOOKUPS = [
  ["geolocate", "Geolocate"],
  ["reputation", "Reputation"],
  ["email", "E-mail"],
].map(([id, name]) => ({ name, of: ({ lookups }) => lookups[id] ?? 0 }));
const LATENCY = ["p50", "p95", "p99"].map((name) => ({
  name,
  of: ({ latency_seconds }) => latency_seconds[name],
}));
const RAISED = [...Object.entries(FLAGS).map(([id, [name]]) => [id, name]), ["disposable", "Disposable"]].map(
  ([id, name]) => ({
    name,
    of: ({ flags_raised }) => flags_raised[id] ?? 0,
  }),
);

export default async function traffic(_, signal) {
  const content = h("div", {});
  const hours = select(
    [
      ["1", "last hour"],
      ["3", "last 3 hours"],
      ["6", "last 6 hours"],
      ["24", "last 24 hours"],
    ],
    {
      "aria-label": "Time",
      onchange: () => show(),
    },
  );
  hours.value = "3";
  const show = async () => {
    try {
      fill(content, await charts(Number(hours.value), signal));
    } catch (error) {
      if (error.name !== "AbortError")
        fill(content, h("p", { class: "problem", role: "alert" }, error.message));
    }
  };
  await show();
  // not under the hands of somebody who is in a table
  const timer = setInterval(() => content.contains(document.activeElement) || show(), 60_000);
  signal.addEventListener("abort", () => clearInterval(timer));
  return [
    h(
      "p",
      { class: "actions" },
      hours,
      h(
        "span",
        { class: "faint" },
        "A new minute each minute, kept for a day in memory. No address and no e-mail address is kept.",
      ),
    ),
    content,
  ];
}

async function charts(hours, signal) {
  const { series, total } = await api(`traffic?hours=${hours}`, { signal });
  if (series.length === 0)
    return h("p", { class: "empty" }, "The first minute since the start is not over yet.");
  const time = (at) => new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  const { latency_seconds: latency } = total;
  const problems = Object.entries(total.problems).sort(([, a], [, b]) => b - a);
  return [
    h(
      "dl",
      { class: "numbers" },
      number("Requests", count(total.requests)),
      number("Errors (5xx)", count(total.statuses["5xx"] ?? 0)),
      number("Half within", milliseconds(latency.p50)),
      number("99 % within", milliseconds(latency.p99)),
    ),
    h(
      "div",
      { class: "pair" },
      h("section", { class: "card" }, bars("Requests by status", series, STATUSES, time)),
      h("section", { class: "card" }, lines("Time to answer", series, LATENCY, time, milliseconds)),
      h("section", { class: "card" }, bars("Look-ups", series, LOOKUPS, time)),
      h("section", { class: "card" }, bars("Flags raised", series, RAISED, time)),
      await mapCard(total.countries),
      countriesCard(total.countries),
      h(
        "section",
        { class: "card" },
        h("h2", {}, "Refused"),
        table(
          "Refused requests",
          [{ name: "Code" }, { name: "Requests", right: true }],
          problems.map(([code, n]) => [h("code", {}, code), count(n)]),
          "None.",
        ),
      ),
    ),
  ];
}

const number = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));

async function mapCard(countries) {
  if (countries.length === 0) return undefined;
  return h(
    "section",
    { class: "card wide" },
    h("h2", {}, "Countries that were asked about"),
    await shadedMap("Single look-ups by country", countries),
  );
}

function countriesCard(countries) {
  const most = Math.max(1, ...countries.map(({ count }) => count));
  const rows = countries
    .slice(0, 10)
    .map(({ iso_code, count: n }) => [countryName(iso_code), meter(n / most, count(n), "plain")]);
  return h(
    "section",
    { class: "card" },
    h("h2", {}, "Top countries"),
    table("Countries", [{ name: "Country" }, { name: "Single look-ups" }], rows, "None yet."),
  );
}
