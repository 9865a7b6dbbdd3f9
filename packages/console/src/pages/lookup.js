// lookup.js: one box for an address, an e-mail address, or a list of them.

import { api } from "../api.js";
import { copyButton, field, fill, h, input, say, select, table } from "../dom.js";
import { placeMap } from "../map.js";
import { countryName, exact, FLAGS, label, when } from "../words.js";

const MOST = 100;

export default async function lookup(asked, signal) {
  const box = h("textarea", {
    rows: 1,
    required: true,
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "8.8.8.8, 2001:4860:4860::8888, someone@example.com",
  });
  box.value = asked;
  const result = h("div", { "aria-live": "polite" });
  const form = h(
    "form",
    {
      class: "ask",
      onsubmit: (event) => {
        event.preventDefault();
        ask(box.value, result, signal);
      },
    },
    field(
      "IP address, e-mail address, or a list of them",
      box,
      `Up to ${MOST}, parted by spaces, commas or lines. Nothing is logged, counted, or sent to anybody else.`,
    ),
    h("button", {}, "Look up"),
  );
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    form.requestSubmit();
  });
  // where the style sheet's `field-sizing` is not known
  box.addEventListener("input", () => {
    box.rows = Math.min(8, box.value.split("\n").length);
  });
  if (asked) ask(asked, result, signal);
  else {
    fill(result, examples());
    setTimeout(() => box.focus());
  }
  return [form, result];
}

/** For whoever opens the console for the first time. */
function examples() {
  const link = (values, text = values) =>
    h("li", {}, h("a", { href: `#/lookup/${encodeURIComponent(values)}` }, text));
  return h(
    "section",
    { class: "card" },
    h("h2", {}, "For a start"),
    h(
      "ul",
      { class: "plain" },
      link("81.2.69.142"),
      link("2001:4860:4860::8888"),
      link("someone@mailinator.com"),
      link("jane@gmial.com 8.8.8.8 185.220.101.1", "several at once"),
    ),
  );
}

async function ask(text, result, signal) {
  const values = text.split(/[\s,;]+/).filter(Boolean);
  if (values.length === 0) return;
  if (values.length > MOST) {
    fill(
      result,
      h(
        "p",
        { class: "problem", role: "alert" },
        `${values.length} values: at most ${MOST} at once. For files there is \`inkling enrich\`.`,
      ),
    );
    return;
  }
  fill(result, h("p", { class: "loading", role: "status" }, "Looking up …"));
  try {
    const { answers, missing } = await api("lookup", { method: "POST", body: { values }, signal });
    const wanting = missing.filter((gap) => answers.some((answer) => lacks(answer, gap)));
    const gaps =
      wanting.length > 0 &&
      h("p", { class: "problem" }, `Not known at the moment, for want of data: ${wanting.join(", ")}.`);
    const again = () => ask(text, result, signal);
    if (answers.length === 1) fill(result, gaps, await one(answers[0], missing, again));
    else fill(result, gaps, list(answers, missing));
  } catch (error) {
    if (error.name === "AbortError") return;
    fill(
      result,
      h("p", { class: "problem", role: "alert" }, error.message),
      error.code === "NO_RELEASE" && h("p", {}, h("a", { href: "#/data" }, "To the data, for an update")),
    );
  }
}

/** Would this answer say more if there were data for `gap`? */
function lacks({ kind, geolocation, reputation }, gap) {
  if (kind === "email") return gap === "disposable";
  if (kind !== "address" || gap === "disposable") return false;
  return gap in FLAGS ? isUnknown(reputation, gap, [gap]) : geolocation?.code !== undefined;
}

/** Is a flag false for want of a list alone? What an override says is known. */
function isUnknown(reputation, flag, missing) {
  if (reputation.code || reputation[flag] || !missing.includes(flag)) return false;
  return !reputation.evidence?.some((entry) => entry.feed === "override" && entry.flags?.includes(flag));
}

function list(answers, missing) {
  const rows = answers.map((answer) => [
    h("a", { href: `#/lookup/${encodeURIComponent(answer.value)}` }, answer.value),
    answer.kind === "email" || answer.reputation.code ? "" : placeName(answer.geolocation),
    verdicts(answer, missing),
  ]);
  return h(
    "section",
    { class: "card" },
    table("Answers", [{ name: "Value" }, { name: "Place" }, { name: "Verdict" }], rows),
  );
}

function verdicts(answer, missing) {
  const said = answer.kind === "email" ? answer.email : answer.reputation;
  if (said.code) return h("span", { class: "faint" }, said.title);
  if (answer.kind === "email") {
    return [
      !said.valid && badge("not valid", "bad"),
      said.disposable ? badge("disposable", "bad") : said.valid && badge("fine", "good"),
    ];
  }
  const raised = Object.keys(FLAGS).filter((flag) => said[flag]);
  if (raised.length > 0) return raised.map((flag) => badge(FLAGS[flag][0], "bad"));
  const isPartly = Object.keys(FLAGS).some((flag) => isUnknown(said, flag, missing));
  return isPartly ? badge("no flag known", "faint") : badge("no flag", "good");
}

const badge = (text, kind) => h("span", { class: `badge ${kind}` }, text);

function placeName(place) {
  if (!place || place.code) return h("span", { class: "faint" }, place?.title ?? "");
  const { city, subdivisions, country } = place;
  const names = [city.name, subdivisions[0]?.name, country.name].filter(Boolean);
  return names.length > 0 ? names.join(", ") : "unknown";
}

async function one(answer, missing, again) {
  if (answer.kind === "email") return emailCards(answer, again);
  const { geolocation, reputation } = answer;
  if (reputation.code)
    return card(answer.value, h("p", { class: "problem" }, reputation.title), h("p", {}, reputation.detail));
  return h(
    "div",
    { class: "cards" },
    await placeCard(answer, geolocation),
    h("div", {}, reputationCard(answer, missing, again), rawCard(answer, { geolocation, reputation })),
    whyCard(reputation),
  );
}

async function placeCard({ address }, place) {
  if (place.code) return card("Place", h("p", {}, "Nobody knows where this address is."));
  const { city, country, continent, location, postal, registered_country, subdivisions } = place;
  const hasPoint = location.latitude !== undefined;
  const facts = [
    ["Place", [postal.code, city.name].filter(Boolean).join(" ") || "no city known"],
    ["Region", subdivisions.map(({ name, iso_code }) => name ?? iso_code).join(", ")],
    ["Country", [country.name, continent.name].filter(Boolean).join(", ") || "unknown"],
    [
      "Registered in",
      registered_country.name && registered_country.iso_code !== country.iso_code
        ? `${registered_country.name}: the block of addresses belongs there`
        : "",
    ],
    [
      "Time",
      location.time_zone &&
        `${new Intl.DateTimeFormat("en-GB", { timeZone: location.time_zone, weekday: "short", hour: "2-digit", minute: "2-digit" }).format()} (${location.time_zone})`,
    ],
  ];
  return card(
    `${address} is in ${placeNameText(place)}`,
    hasPoint && (await placeMap(location.latitude, location.longitude, location.accuracy_radius)),
    definitions(facts),
    sources(place.evidence),
  );
}

function placeNameText(place) {
  const { city, country } = place;
  return (
    [city.name, country.name ?? (country.iso_code && countryName(country.iso_code))]
      .filter(Boolean)
      .join(", ") || "an unknown place"
  );
}

function reputationCard(answer, missing, again) {
  const { reputation } = answer;
  const raised = Object.keys(FLAGS).filter((flag) => reputation[flag]);
  const names = new Intl.ListFormat("en").format(raised.map((flag) => FLAGS[flag][1]));
  const unknown = Object.keys(FLAGS).filter((flag) => isUnknown(reputation, flag, missing));
  const nothing =
    unknown.length === 0 ? "Nothing speaks against it" : "Nothing that is known speaks against it";
  const title = raised.length === 0 ? nothing : `It is ${names}`;
  const verdict = (flag) => {
    if (unknown.includes(flag)) return badge("unknown", "faint");
    return reputation[flag] ? badge("yes", "bad") : badge("no", "good");
  };
  return card(
    title,
    h(
      "ul",
      { class: "flags" },
      Object.entries(FLAGS).map(([flag, [name, , meaning]]) =>
        h(
          "li",
          {},
          verdict(flag),
          h("span", {}, h("strong", {}, name), h("small", {}, meaning)),
          overrideButton(answer.address, flag, !reputation[flag], again),
        ),
      ),
    ),
  );
}

function whyCard({ evidence, evidence_truncated }) {
  return h("section", { class: "card wide" }, h("h2", {}, "Why"), why(evidence, evidence_truncated));
}

function emailCards(answer, again) {
  const { email } = answer;
  if (email.code)
    return card(answer.value, h("p", { class: "problem" }, email.title), h("p", {}, email.detail));
  const host = answer.value.slice(answer.value.lastIndexOf("@") + 1);
  const suggestion = email.evidence?.find(({ did_you_mean }) => did_you_mean)?.did_you_mean;
  const title = email.disposable
    ? "A throw-away address"
    : email.valid
      ? "An address like any other"
      : "Not a valid address";
  return h(
    "div",
    { class: "cards" },
    card(
      title,
      suggestion &&
        h(
          "p",
          { class: "problem" },
          "Perhaps a slip of the keyboard: did they mean ",
          h("strong", {}, suggestion),
          "?",
        ),
      definitions([
        ["Valid", email.valid ? "yes: mail could be sent there" : "no: no mail can be sent there"],
        ["Disposable", email.disposable ? `yes, from ${email.providers.join(", ")}` : "no"],
      ]),
      h(
        "p",
        { class: "actions" },
        overrideButton(
          host,
          "disposable",
          !email.disposable,
          again,
          `Say that ${host} is ${email.disposable ? "not " : ""}disposable`,
        ),
      ),
    ),
    rawCard(answer, { email }),
    whyCard(email),
  );
}

/** Where each part of a place comes from. */
function sources(evidence = []) {
  return h(
    "details",
    {},
    h("summary", {}, "Where this comes from"),
    h(
      "dl",
      { class: "sources" },
      evidence.map(({ feed, label: kind, network, members, why: how }) => [
        h("dt", {}, feed),
        h(
          "dd",
          {},
          [label(kind), network && ["of ", h("code", {}, network)], members?.join(", ")]
            .filter(Boolean)
            .flatMap((part, i) => (i > 0 ? [" ", part] : [part])),
          how && h("small", {}, how),
        ),
      ]),
    ),
  );
}

/** What lists say, and what became of it. */
function why(evidence, isTruncated) {
  if (!evidence || evidence.length === 0) return h("p", { class: "faint" }, "No list says anything.");
  const effects = {
    sets: "sets",
    fills: "fills in",
    removes: "takes away",
    label: "is noted",
    mutes: "mutes",
  };
  const rows = evidence.map((entry) => [
    h("strong", {}, entry.feed),
    label(entry.label),
    ofWhat(entry),
    [
      effects[entry.effect] ?? "",
      " ",
      [...(entry.flags ?? []).map((flag) => FLAGS[flag]?.[0] ?? flag), ...(entry.members ?? [])].join(", "),
      entry.mutes ?? "",
      entry.did_you_mean ? `did they mean ${entry.did_you_mean}?` : "",
      entry.why ? h("small", {}, entry.why.replaceAll("_", " ")) : "",
    ],
    entry.fetched_at ? h("span", { title: exact(entry.fetched_at) }, when(entry.fetched_at)) : "",
  ]);
  return [
    table(
      "Evidence",
      [{ name: "List" }, { name: "Says" }, { name: "Of" }, { name: "Effect" }, { name: "Fetched" }],
      rows,
    ),
    isTruncated && h("p", { class: "faint" }, "There is more than fits: this is the part that decides."),
  ];
}

function ofWhat({ network, domain, id }) {
  const said = network ?? domain ?? id;
  return said === undefined ? "" : h("code", {}, said);
}

function rawCard(answer, raw) {
  const origin = "$URL"; // this listener does not know under which name applications reach the other
  const curl =
    answer.kind === "email"
      ? `curl -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\\n  -d '${JSON.stringify({ values: [answer.value] }).replaceAll("'", "'\\''")}' ${origin}/v1/user-intel/email`
      : `curl -H "Authorization: Bearer $KEY" "${origin}/v1/ip-intel/reputation/${answer.value}?include=evidence"`;
  const json = JSON.stringify(raw, null, 2);
  return card(
    "For programs",
    h("pre", { tabindex: "0", "aria-label": "curl" }, curl),
    h(
      "p",
      { class: "actions" },
      copyButton(curl.replaceAll("\\\n", ""), "Copy curl"),
      copyButton(json, "Copy JSON"),
    ),
    h(
      "details",
      {},
      h("summary", {}, "JSON, as the API answers with evidence"),
      h("pre", { tabindex: "0", "aria-label": "JSON" }, json),
    ),
  );
}

/** Asks for a note, then makes an override. */
function overrideButton(value, flag, verdict, again, text = verdict ? "Set" : "Clear") {
  const name = FLAGS[flag]?.[0] ?? flag;
  return h(
    "button",
    {
      type: "button",
      class: "quiet",
      "aria-label": text.length > 5 ? undefined : `${text} ${name} for ${value}`,
      onclick: () => {
        const note = input({ required: true, maxlength: 500 });
        const until = select([
          ["", "for ever"],
          ["1", "for a day"],
          ["7", "for a week"],
          ["30", "for 30 days"],
        ]);
        const dialog = h(
          "dialog",
          { "aria-labelledby": "override-title", onclose: () => dialog.remove() },
          h(
            "form",
            {
              onsubmit: async (event) => {
                event.preventDefault();
                const days = Number(until.value);
                const expires =
                  days > 0 ? { expires_at: new Date(Date.now() + days * 86_400_000).toISOString() } : {};
                try {
                  await api("overrides", {
                    method: "POST",
                    body: { value, flag, verdict, note: note.value, ...expires },
                  });
                  dialog.close();
                  say("In force on every server within a second.");
                  again();
                } catch (error) {
                  say(error.message, "bad");
                }
              },
            },
            h("h2", { id: "override-title" }, `${value}: ${name} ${verdict ? "yes" : "no"}`),
            h("p", {}, "Your word beats every list, at once."),
            field("Why", note, "For whoever finds this later."),
            field("How long", until),
            h(
              "p",
              { class: "actions" },
              h("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Cancel"),
              h("button", {}, "Override"),
            ),
          ),
        );
        document.body.append(dialog);
        dialog.showModal();
        note.focus();
      },
    },
    text,
  );
}

const card = (title, ...content) => h("section", { class: "card" }, h("h2", {}, title), content);

function definitions(rows) {
  return h(
    "dl",
    {},
    rows.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
  );
}
