import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Environment } from "@marcbachmann/cel-js";
import fc from "fast-check";
import { ConditionError, compileCondition } from "./condition.ts";
import { FactSchema, type Facts, type FactValue, ZEROES } from "./facts.ts";

const schema = new FactSchema({ plan: "text", age: "number", tags: "list", paid: "boolean" });

function factsOf(values: Readonly<Record<string, FactValue>>): Facts {
  const facts = schema.empty();
  for (const [name, value] of Object.entries(values)) facts[schema.find(name)!.index] = value;
  return facts;
}

const HOSTING = factsOf({
  event: "sign_up",
  "ip.kind": "hosting",
  "ip.services": ["cdn"],
  "ip.country": "DE",
  "facts.plan": "free",
  "facts.age": 3,
  "count.network_1h": 4,
});

describe("conditions", () => {
  const rows: [string, boolean][] = [
    [
      'event == "sign_up" && ip.kind == "hosting" && !("relay" in ip.services) && !("gateway" in ip.services)',
      true,
    ],
    ['"cdn" in ip.services', true],
    ['ip.country in ["AT", "CH"]', false],
    ["facts.age in [1, 2, 3]", true],
    ["-facts.age in [-3, -4]", true],
    ["facts.age + 1 == 4.0", true],
    ["facts.age / 2 == 1.5", true],
    ["1 / 0 > 1000000", true],
    ["0 / 0 == 0 / 0", false],
    ["-facts.age < -2", true],
    ["size(ip.country) == 2 && ip.services.size() == 1", true],
    ['size("𝒳") == 1', true],
    ['event.startsWith("sign") && event.endsWith("up") && event.contains("n_u")', true],
    ["has(ip.country) && !has(ip.city)", true],
    ['ip.city == "" && ip.asn == 0 && !ip.shared && size(email.providers) == 0', true],
    ['(ip.is_proxy ? "a" : "b") == "b"', true],
    ['ip.country < "DF"', true],
    ["facts.paid", false],
    ['count("network", "1h") > 3 && count("mailbox", "24h") == 0', true],
  ];
  for (const [text, expected] of rows) {
    test(`${text}: ${expected}`, () =>
      assert.equal(compileCondition(text, schema).matches(HOSTING), expected));
  }

  test("name the facts that they read", () => {
    const { reads } = compileCondition("has(ip.country) || ip.is_proxy", schema);
    assert.deepEqual(
      [...reads].map((index) => schema.fields[index]!.name),
      ["ip.country", "ip.is_proxy"],
    );
  });
});

describe("mistakes in conditions", () => {
  const rows: [string, number, RegExp][] = [
    ['ip.knd == "isp"', 0, /unknown fact "ip.knd": did you mean "ip.kind"\?/],
    ["facts.nothing_like_it", 0, /declare it in \[facts\]/],
    ['count("net", "1h") > 3', 6, /must be one of "network", "mailbox", "domain"/],
    ['count("network", event) > 3', 17, /must be one of "1h", "24h"/],
    ['count("network") > 3', 0, /takes 2 arguments, but has 1/],
    ["ip == 1", 0, /unknown fact "ip"/],
    ['event = "x"', 6, /write `==` instead of `=`/],
    ['event == "a or b" and ip.is_proxy', 18, /write `&&` instead of `and`/],
    ["not ip.is_proxy", 0, /write `!` instead of `not`/],
    ['event == "not ', 9, /Unterminated string/],
    ['ip.kind == "hostng"', 11, /"ip.kind" is never "hostng": did you mean "hosting"\?/],
    [
      'ip.network == "81.2.69.142"',
      14,
      /"ip.network" is never "81.2.69.142": did you mean "81.2.69.0\/24"\?/,
    ],
    ['ip.network == "2002:5102:458e::/48"', 14, /did you mean "81.2.69.0\/24"\?/],
    ['ip.network in ["81.2.0.0/16"]', 15, /is never "81.2.0.0\/16": it is a \/24 \(IPv4\) or \/48 \(IPv6\)/],
    ['ip.kind in ["isp", "home"]', 19, /"ip.kind" is never "home": it is one of hosting, isp/],
    ['ip.country in ["DE", "fr"]', 21, /"ip.country" is never "fr": did you mean "FR"\?/],
    ['ip.country == "UK"', 14, /"ip.country" is never "UK": did you mean "GB"\?/],
    ['expected_country == "EL"', 20, /did you mean "GR"\?/],
    ['ip.registered_country == "XX"', 25, /it is an ISO 3166-1 alpha-2 code such as DE/],
    ['ip.country == "Brazil"', 14, /did you mean "BR"\?/],
    ['ip.country == "BRAZIL"', 14, /did you mean "BR"\?/],
    ['ip.continent == "UE"', 16, /did you mean "EU"\?/],
    ['ip.subdivision == "ber"', 18, /did you mean "BER"\?/],
    ['country == "GB"', 0, /unknown fact "country": did you mean "ip.country"\?/],
    ["ip.proxy", 0, /did you mean "ip.is_proxy"\?/],
    ["email.is_disposable", 0, /did you mean "email.disposable"\?/],
    ["tor", 0, /did you mean "ip.is_tor_exit"\?/],
    ["weather", 0, /^unknown fact "weather"$/],
    [`${"(".repeat(400)}ip.is_proxy${")".repeat(400)}`, 250, /^is nested too deeply$/],
    ['"vpn" in ip.services', 0, /"ip.services" is never "vpn"/],
    ["event", 0, /the condition must be true or false, and is a text/],
    ["ip.is_proxy && event", 15, /right side of `&&` must be true or false/],
    ['ip.asn == "1"', 0, /cannot compare a number with a text/],
    ['event.matches("a+")', 0, /unknown function "matches"/],
    ["ip.services.all(s, true)", 0, /unknown function "all"/],
    ['event.startWith("a")', 0, /did you mean "startsWith"\?/],
    ['ip.services[0] == "a"', 0, /an index/],
    ['{"a": 1}.a == 1', 0, /not a fact/],
    ["null == null", 0, /be literals/],
    ['b"a" == b"a"', 0, /be literals/],
    ['event in ["a", 1]', 15, /only texts or only numbers/],
    ['event in ["a", event]', 15, /text and number literals/],
    ["facts.age in [1, -facts.age]", 17, /text and number literals/],
    ["has(1)", 4, /`has` takes a fact/],
    ["size(event, event) == 1", 0, /takes 1 argument, but has 2/],
    ["constructor", 0, /unknown fact/],
    ["", 0, /EOF/],
    [`true || ${"x".repeat(1_024)}`, 1_024, /the maximum is 1024/],
  ];
  for (const [text, at, message] of rows) {
    test(text.slice(0, 40), () => {
      assert.throws(
        () => compileCondition(text, schema),
        (error) => error instanceof ConditionError && error.at === at && message.test(error.message),
      );
    });
  }
});

const TEXTS = ["event", "ip.city", "facts.plan", '"isp"', '""', '"sign_up"'];
const NUMBERS = ["ip.asn", "facts.age", "1.0", "-2.5", "0.0"];
const BOOLEANS = ["ip.is_proxy", "facts.paid", "true", "false"];
const LISTS = ["email.providers", "facts.tags", '["isp", "x"]'];

/** Random conditions of the supported subset. All numbers are doubles. */
const { condition } = fc.letrec<{ number: string; condition: string }>((tie) => {
  const pick = (values: readonly string[]) => fc.constantFrom(...values);
  const join = (...parts: (fc.Arbitrary<string> | string)[]) =>
    fc
      .tuple(...parts.map((part) => (typeof part === "string" ? fc.constant(part) : part)))
      .map((all) => all.join(""));
  return {
    number: fc.oneof(
      { maxDepth: 3 },
      pick(NUMBERS),
      join("(", tie("number"), pick([" + ", " - ", " * "]), tie("number"), ")"),
      join("(", tie("condition"), " ? ", tie("number"), " : ", tie("number"), ")"),
    ),
    condition: fc.oneof(
      { maxDepth: 5 },
      pick(BOOLEANS),
      join(pick(TEXTS), pick([" == ", " != ", " < ", " >= "]), pick(TEXTS)),
      join(tie("number"), pick([" == ", " != ", " < ", " <= ", " > ", " >= "]), tie("number")),
      join(pick(TEXTS), " in ", pick(LISTS)),
      join(pick(TEXTS), pick([".startsWith(", ".endsWith(", ".contains("]), pick(TEXTS), ")"),
      join("!(", tie("condition"), ")"),
      join("(", tie("condition"), pick([" && ", " || "]), tie("condition"), ")"),
    ),
  };
});

const text = fc.constantFrom("", "isp", "sign_up", "hosting");
const values = fc.record({
  event: text,
  "ip.city": text,
  "email.providers": fc.array(text, { maxLength: 3 }),
  "ip.asn": fc.constantFrom(0, 1, 64_496),
  "ip.is_proxy": fc.boolean(),
  "facts.plan": text,
  "facts.age": fc.constantFrom(0, 1, -2.5, 1e308),
  "facts.tags": fc.array(text, { maxLength: 3 }),
  "facts.paid": fc.boolean(),
});

test("random conditions give what cel-js's own evaluator gives", () => {
  const environment = new Environment({ unlistedVariablesAreDyn: true });
  fc.assert(
    fc.property(condition, values, (source, given) => {
      fc.pre(source.length <= 1_024);
      const nested: Record<string, unknown> = {};
      for (const { name, type } of schema.fields) {
        const [head, field] = name.split(".") as [string, string?];
        const value = (given as Readonly<Record<string, FactValue>>)[name] ?? ZEROES[type];
        if (field === undefined) nested[head] = value;
        else nested[head] = { ...(nested[head] as object | undefined), [field]: value };
      }
      const expected = environment.evaluate(source, nested);
      assert.equal(compileCondition(source, schema).matches(factsOf(given)), expected);
    }),
    { numRuns: 2_000 },
  );
});

test("no text makes the compiler or a condition throw anything but a ConditionError", () => {
  const words = fc.constantFrom(
    "ip",
    ".",
    "kind",
    "(",
    ")",
    "[",
    "]",
    "&&",
    "!",
    "-",
    "==",
    "in",
    '"a"',
    "1",
    "?",
    ":",
    ",",
    "has",
    "size",
    "x",
    "{",
    "}",
    "'",
    "\\",
    "9".repeat(400),
    "0x",
    "1u",
    "__proto__",
  );
  const hostile = fc.oneof(
    fc.array(words, { maxLength: 60 }).map((all) => all.join(" ")),
    fc.string({ unit: "binary", maxLength: 200 }),
    fc.integer({ min: 1, max: 1_020 }).map((count) => `${"!".repeat(count)}true`),
    fc.integer({ min: 1, max: 500 }).map((count) => `${"(".repeat(count)}true${")".repeat(count)}`),
  );
  fc.assert(
    fc.property(fc.oneof(hostile, condition), values, (source, given) => {
      try {
        assert.equal(typeof compileCondition(source, schema).matches(factsOf(given)), "boolean");
      } catch (error) {
        if (!(error instanceof ConditionError)) throw error;
        assert.ok(error.at >= 0 && error.at <= source.length + 1);
      }
    }),
    { numRuns: 3_000 },
  );
});
