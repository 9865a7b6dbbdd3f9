import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type EmailVerdict, type FactName, type Geolocation, NO_FLAGS } from "@inkling/contract";
import { IpAddress, parseIpInto, type UnwrappedAddress } from "../address/ip.ts";
import { FACT_INDEX, FactSchema } from "./facts.ts";
import { type DecisionInput, readDecisionInput, type VisitorAnswers, visitorFacts } from "./visitor.ts";

const NOW = Date.parse("2026-11-24T12:00:00Z");
const schema = new FactSchema({ plan: "text" });
const address = new IpAddress() as UnwrappedAddress;
parseIpInto("198.51.100.77", address);

const BERLIN: Geolocation = {
  city: { name: "Berlin" },
  continent: { code: "EU" },
  country: { iso_code: "DE" },
  location: { latitude: 52.52, longitude: 13.4, accuracy_radius: 20 },
  postal: {},
  registered_country: { iso_code: "NL" },
  subdivisions: [{ iso_code: "BE" }],
};
const GOOGLE: Partial<VisitorAnswers> = {
  reputation: { ...NO_FLAGS, is_tor_exit: true },
  network: { kind: "hosting", shared: false, services: ["crawler"], operator: "google" },
};
const META: Partial<VisitorAnswers> = {
  network: { kind: "hosting", shared: false, services: [], operator: "meta" },
};
const RELAY: EmailVerdict = {
  valid: true,
  disposable: false,
  providers: [],
};

function factOf(name: FactName, input: Partial<DecisionInput>, answers: Partial<VisitorAnswers>) {
  const all = { degraded: [], hasFeed: () => true, ...answers };
  return visitorFacts({ event: "login", ...input }, all, schema, NOW)[FACT_INDEX[name]];
}

describe("facts", () => {
  test("of the address", () => {
    const known = { address, ...GOOGLE, place: BERLIN };
    assert.equal(factOf("ip.network", {}, known), "198.51.100.0/24");
    assert.equal(factOf("ip.is_tor_exit", {}, known), true);
    assert.equal(factOf("ip.registered_country", {}, known), "NL");
    assert.equal(factOf("ip.asn", {}, known), undefined);
    assert.equal(factOf("ip.is_tor_exit", {}, { ...known, degraded: ["is_tor_exit"] }), undefined);
  });

  test("of the email address", () => {
    const known = { email: RELAY, host: "example.com", labels: ["relay"] };
    assert.equal(factOf("email.domain", {}, known), "example.com");
    assert.equal(factOf("email.relay", {}, known), true);
    assert.equal(factOf("email.valid", {}, {}), undefined);
  });

  const claims: [string, string, Partial<VisitorAnswers>, string | undefined][] = [
    ["a crawler from its operator's ranges", "Mozilla/5.0 (compatible; Googlebot/2.1)", {}, "verified"],
    ["one from another operator's", "Mozilla/5.0 (compatible; GPTBot/1.0)", {}, "forged"],
    ["one whose ranges the release lacks", "GPTBot/1.0", { hasFeed: () => false }, "unverifiable"],
    ["one whose operator publishes none", "Bytespider", {}, "unverifiable"],
    ["one from any of its operator's networks", "facebookexternalhit/1.1", META, "unverifiable"],
    ["one from none of its operator's networks", "facebookexternalhit/1.1", {}, "forged"],
    ["one without data about networks", "GPTBot", { network: undefined }, "unverifiable"],
    ["a person", "Mozilla/5.0 (X11; Linux x86_64)", {}, undefined],
  ];
  for (const [name, user_agent, answers, check] of claims) {
    test(`${name}: ${check}`, () => {
      assert.equal(factOf("ip.crawler_check", { user_agent }, { ...GOOGLE, ...answers }), check);
    });
  }

  describe("of a journey", () => {
    const journey = (longitude: number, at: string, accuracy_radius?: number) => ({
      previous: { latitude: 52.52, longitude, at, ...(accuracy_radius !== undefined && { accuracy_radius }) },
    });
    const about = (value: unknown, expected: number) =>
      assert.ok(Math.abs(Number(value) - expected) < 1, String(value));

    test("the distance is less both accuracy radii", () => {
      about(factOf("ip.distance", journey(23.4, "2026-11-24T10:00:00Z", 10), { place: BERLIN }), 675.6 - 30);
      about(factOf("ip.distance", journey(23.4, "2026-11-24T10:00:00Z"), { place: BERLIN }), 675.6 - 40);
      about(factOf("ip.speed", journey(23.4, "2026-11-24T10:00:00Z"), { place: BERLIN }), 635.6 / 2);
    });

    test("neighbours have not travelled", () => {
      assert.equal(factOf("ip.speed", journey(13.5, "2026-11-24T12:00:00Z"), { place: BERLIN }), 0);
    });

    test("a time that is not past counts as a minute ago", () => {
      const speed = factOf("ip.speed", journey(23.4, "2026-11-25T12:00:00+01:00"), { place: BERLIN });
      about(Number(speed) / 60, 635.6);
    });

    test("without a radius nothing is known", () => {
      const place = { ...BERLIN, location: { latitude: 1, longitude: 1 } };
      assert.equal(factOf("ip.speed", journey(23.4, "2026-11-24T10:00:00Z"), { place }), undefined);
    });
  });
});

describe("what callers send", () => {
  test("is read", () => {
    const input = { event: "sign_up", ip: "192.0.2.1", facts: { plan: "free" } };
    assert.deepEqual(readDecisionInput(input, schema), input);
  });

  const rows: [unknown, readonly RegExp[]][] = [
    [[], [/^the body: must be a JSON object$/]],
    [{}, [/^event: is required/, /^the body: ip or email is required/]],
    [{ ip: "", email: 5 }, [/^event: is required/, /^ip: must not be empty/, /^email: must be a string/]],
    [{ ip: "192.0.2.1" }, [/^event: is required/]],
    [{ event: "Sign up", ip: "a" }, [/^event: must be a word such as sign_up: /]],
    [
      { event: "login", ip: "a", expected_country: 49 },
      [/^expected_country: must be an ISO 3166-1 alpha-2 code/],
    ],
    ...[
      ["UK", "GB"],
      ["EL", "GR"],
      ["de", "DE"],
      ["Brazil", "BR"],
    ].map(([sent, meant]): [unknown, readonly RegExp[]] => [
      { event: "login", ip: "a", expected_country: sent },
      [new RegExp(`^expected_country: must be .* such as DE: did you mean "${meant}"\\?$`)],
    ]),
    [
      { event: "login", ip: "a", expected_country: "XX" },
      [/^expected_country: must be an ISO 3166-1 alpha-2 code such as DE$/],
    ],
    [
      JSON.parse('{"event":"login","ip":"a","facts":{"__proto__":{"plan":1}}}'),
      [/^the body: unknown field "__proto__"$/],
    ],
    [
      JSON.parse('{"event":"login","ip":"a","previous":{"__proto__":1}}'),
      [/^the body: unknown field "__proto__"$/],
    ],
    [
      { event: "login", ip: "a", facts: { plan: Array.from({ length: 7_000 }, () => 1) } },
      [/^the body: more than 1076 values$/],
    ],
    [
      { event: "login", ip: "a", facts: { plan: [1, 2], age: Number.POSITIVE_INFINITY } },
      [/^facts.plan: must be a string, a number/, /^facts.age: must be a string, a number/],
    ],
    [{ event: "login", ip: "a", facts: { pln: "free" } }, [/no fact "pln"; did you mean "plan"\?$/]],
    [
      { event: "login", ip: "a", ...Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`a${i}`, 1])) },
      Array.from({ length: 10 }, () => /^unknown field "a\d"$/),
    ],
    [
      {
        event: "login",
        ip: "a",
        facts: Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`f${i}`, {}])),
      },
      Array.from({ length: 10 }, () => /^facts\.f\d: must be a string/),
    ],
    [{ event: "login" }, [/^the body: ip or email is required/]],
    [{ event: "login", ip: "a", emial: "b" }, [/^unknown field "emial", did you mean "email"\?$/]],
    [
      { event: "login", ip: "a", previous: { latitude: 91, longitude: 0, at: "now" } },
      [/^previous.latitude: must be a number from -90 to 90$/, /^previous.at: must be a time/],
    ],
    [
      { event: "login", ip: "a", facts: { plan: 1, constructor: "x" } },
      [
        /^facts.plan: must have the type text/,
        /^facts: the ruleset declares no fact "constructor"; declare it under \[facts\]/,
      ],
    ],
    [{ event: "login", ip: "a", ref: "a\0b" }, [/^ref: must not contain control characters/]],
    [{ event: "login", ip: "a", facts: { plan: { deep: 1 } } }, [/^facts.plan: must be a string, a number/]],
    [
      {
        event: "login",
        ip: "a",
        facts: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`f${i}`, 1])),
      },
      [/^facts: at most 32/],
    ],
  ];
  for (const [value, expected] of rows) {
    test(JSON.stringify(value).slice(0, 70), () => {
      const lines = readDecisionInput(value, schema) as readonly string[];
      assert.ok(Array.isArray(lines), JSON.stringify(lines));
      assert.equal(lines.length, expected.length, lines.join("\n"));
      for (const [i, pattern] of expected.entries()) assert.match(lines[i]!, pattern);
    });
  }
});
