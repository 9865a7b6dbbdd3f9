import { expect, test } from "bun:test";
import { FLAG_ROWS, NO_FLAGS, REPUTATION_FLAGS, type ReputationFlag } from "@inkling/contract";
import type { Lookup } from "@inkling/engine";
import { type LookupResult, lookupText } from "./lookup-text.ts";
import { makeStyle } from "./terminal.ts";

const NOW = Date.UTC(2026, 0, 3);
const CLEAN = NO_FLAGS;
const PLAIN = { valid: true, disposable: false, providers: [] };
const PLACE = {
  city: { name: "Exampleton" },
  continent: { code: "EU", name: "Europe" },
  country: { iso_code: "GB", name: "United Kingdom" },
  location: { accuracy_radius: 20, latitude: 51.75, longitude: -1.25, time_zone: "Europe/London" },
  postal: { code: "OX1" },
  registered_country: { iso_code: "GB", name: "United Kingdom" },
  subdivisions: [{ iso_code: "ENG", name: "England" }, { iso_code: "OXF" }],
};
const NOWHERE = {
  city: {},
  continent: {},
  country: {},
  location: {},
  postal: {},
  registered_country: {},
  subdivisions: [],
};

const WIDTH = Math.max(...REPUTATION_FLAGS.map((flag) => FLAG_ROWS[flag].name.length));
/** Returns a line for each flag, in reverse order. */
const said = (verdicts: Partial<Record<ReputationFlag, string>>) =>
  REPUTATION_FLAGS.map((flag) => `  ${FLAG_ROWS[flag].name.padEnd(WIDTH)}  ${verdicts[flag] ?? "no"}`)
    .reverse()
    .join("\n");
const sets = (feed: string, flag: string, label = "vpn") => ({ feed, label, effect: "sets", flags: [flag] });

function textOf(
  lookup: Lookup,
  over: Partial<LookupResult> & { body?: object; evidence?: readonly object[] } = {},
): string {
  const { body = CLEAN, evidence = [], ...rest } = over;
  return lookupText(lookup, {
    value: lookup === "email" ? "jane@example.com" : "192.0.2.1",
    answer: { ...body, evidence } as unknown as LookupResult["answer"],
    missing: [],
    withEvidence: false,
    now: NOW,
    style: makeStyle(false),
    ...rest,
  });
}

const rows: [name: string, lookup: Lookup, over: Parameters<typeof textOf>[1], text: string][] = [
  [
    "a place",
    "geolocate",
    { body: PLACE },
    `192.0.2.1: Exampleton, England, United Kingdom
  city           Exampleton
  postal code    OX1
  in             England (ENG), OXF
  country        United Kingdom (GB)
  continent      Europe (EU)
  position       51.75, -1.25, within 20 km (67% confidence)
  time zone      Europe/London
  registered in  United Kingdom (GB)`,
  ],
  ["a place of which nothing is known", "geolocate", { body: NOWHERE }, "192.0.2.1: unknown location"],
  [
    "an address in many places at the same time",
    "geolocate",
    {
      body: { ...NOWHERE, country: { iso_code: "US" } },
      evidence: [{ feed: "public-resolvers", label: "anycast", effect: "sets", network: "192.0.2.1/32" }],
    },
    "192.0.2.1: US\n  city     none: anycast, in many places\n  country  US",
  ],
  [
    "a country without a name",
    "geolocate",
    { body: { ...NOWHERE, country: { iso_code: "XK" } } },
    "192.0.2.1: XK\n  country  XK",
  ],
  ["nothing against an address", "reputation", {}, `192.0.2.1: nothing known against it\n${said({})}`],
  [
    "flags, and the feeds that set them",
    "reputation",
    {
      body: { ...NO_FLAGS, is_proxy: true, is_tor_exit: true },
      evidence: [
        sets("b", "is_tor_exit"),
        sets("a", "is_tor_exit"),
        sets("a", "is_tor_exit"),
        sets("c", "is_proxy"),
        { feed: "d", label: "attacker", effect: "label", why: "its users' traffic" },
      ],
    },
    `192.0.2.1: a Tor exit, a proxy or VPN
${said({ is_tor_exit: "yes: b, a", is_proxy: "yes: c" })}
  also          attacker (d): its users' traffic`,
  ],
  [
    "many who say so",
    "reputation",
    {
      body: { ...CLEAN, is_proxy: true },
      evidence: ["a", "b", "c", "d", "e"].map((feed) => sets(feed, "is_proxy")),
    },
    `192.0.2.1: a proxy or VPN\n${said({ is_proxy: "yes: a, b, c and 2 more" })}`,
  ],
  [
    "overruled",
    "reputation",
    {
      evidence: [
        sets("vpn-list", "is_proxy"),
        { feed: "relay-list", label: "relay", effect: "removes", flags: ["is_proxy", "is_abuser"] },
      ],
    },
    `192.0.2.1: nothing known against it\n${said({ is_proxy: "no: relay-list against vpn-list" })}`,
  ],
  [
    "the operator's own verdict",
    "reputation",
    {
      body: { ...CLEAN, is_abuser: true },
      evidence: [{ ...sets("override", "is_abuser", "override"), id: "ovr_1" }],
    },
    `192.0.2.1: an abuser
${said({ is_abuser: "yes: your override ovr_1" })}`,
  ],
  [
    'a flag without a loaded list is not "no"',
    "reputation",
    { missing: ["is_proxy"] },
    `192.0.2.1: nothing known, but not every list is loaded
${said({ is_proxy: "unknown: no list is loaded" })}`,
  ],
  [
    "an ordinary address",
    "email",
    { body: PLAIN },
    "jane@example.com: valid, not disposable\n  valid       yes\n  disposable  no",
  ],
  [
    "disposable",
    "email",
    {
      body: { valid: true, disposable: true, providers: ["a.example", "b.example"] },
      evidence: [
        sets("list", "disposable"),
        { ...sets("inkling", "disposable", "mail_host"), mail_host: "mx.b.example" },
      ],
    },
    `jane@example.com: valid, disposable
  valid       yes
  disposable  yes: list, mail_host
  provider    a.example, b.example`,
  ],
  [
    "labels, and a typing error",
    "email",
    {
      body: { ...PLAIN, valid: false },
      evidence: [
        { feed: "free-mail", label: "free_mail", effect: "label" },
        { feed: "ordinary-mail", label: "free_mail", effect: "label" },
        { feed: "inkling", label: "role_account", effect: "label" },
        { feed: "inkling", label: "mistyped", effect: "label", did_you_mean: "gmail.com" },
      ],
    },
    `jane@example.com: not valid, not disposable
  valid         no
  disposable    no
  also          free mail (free-mail, ordinary-mail)
  also          role account
  did you mean  gmail.com`,
  ],
  [
    "no list at all",
    "email",
    { body: PLAIN, missing: ["disposable"] },
    `jane@example.com: valid, not known to be disposable, but no list is loaded
  valid       yes
  disposable  unknown: no list is loaded`,
  ],
  [
    "all of the evidence",
    "reputation",
    {
      withEvidence: true,
      body: { ...CLEAN, is_proxy: true },
      evidence: [
        {
          ...sets("vpn-list", "is_proxy"),
          ...{ network: "192.0.2.0/24", fetched_at: "2026-01-01T00:00:00Z", provider: "NordVPN" },
        },
        {
          feed: "old",
          label: "attacker",
          effect: "label",
          why: "too old",
          published_at: "2026-01-02T23:00:00Z",
        },
      ],
    },
    `192.0.2.1: a proxy or VPN
${said({ is_proxy: "yes: vpn-list" })}
  also          attacker (old): too old

Evidence
  vpn-list  vpn       sets is_proxy  192.0.2.0/24  fetched 2 days ago    NordVPN
  old       attacker  label only                   published 1 hour ago  too old`,
  ],
];
test.each(rows)("%s", (_, lookup, over, text) => expect(textOf(lookup, over)).toBe(text));

test("missing evidence is reported", () => {
  expect(textOf("reputation", { withEvidence: true })).toEndWith("\n\nEvidence: none.");
});

test("colour follows the verdict, where it is wanted", () => {
  const style = makeStyle(true);
  expect(textOf("reputation", { style })).toContain(style.green("no"));
  expect(textOf("reputation", { style, body: { ...CLEAN, is_proxy: true } })).toContain(style.red("yes"));
  expect(textOf("reputation")).not.toContain("\x1b");
});

test("what was looked up cannot steer the terminal", () => {
  const text = textOf("email", {
    body: { ...PLAIN, valid: false },
    value: "a\x1b[2J\r\n\u202eb@example.com",
  });
  expect(text).toStartWith("a\ufffd[2J\ufffd\ufffd\ufffdb@example.com: not valid");
  expect(textOf("email", { body: PLAIN, value: "x".repeat(500) })).toMatch(/^x{120}…: /);
});
