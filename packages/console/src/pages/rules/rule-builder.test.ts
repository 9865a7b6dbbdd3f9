// rule-builder.test.ts: tests that the rule builder reads what it writes, that it shows nothing that the text does not
// say, and that it changes only what was asked. The engine is the judge of what a text means.

import { describe, expect, test } from "bun:test";
import { STARTER_RULESET } from "@inkling/contract";
import { parseRuleset } from "@inkling/engine/assess";
import fc from "fast-check";
import { parse } from "smol-toml";
import { type Fact, factAt, factsWith } from "./facts.ts";
import {
  type Clause,
  type Condition,
  comparable,
  type Literal,
  NEW_CLAUSE,
  normalized,
  OPERATORS,
  operatorsFor,
  readCondition,
  withFact,
  withOperator,
  writeCondition,
} from "./rule-condition.ts";
import {
  type RulesText,
  readRules,
  type ShownRule,
  showRule,
  withExpected,
  withKey,
  withNewRule,
  withoutRule,
  withRuleAt,
} from "./rule-text.ts";

const DECLARED = { plan: "text", age: "number", tags: "list", paid: "boolean" } as const;
const FACTS = factsWith(DECLARED);
/** Every fact whose texts the engine does not restrict beyond their values. */
const FREE = FACTS.filter(({ expression }) => !/^ip\.(network|subdivision)$/.test(expression));

const text = fc.oneof(
  fc.constantFrom("", "'", "'''", '"', "\\", "a # b", "]]", "\n", "\u007f", "𝒳", "sign_up", "''x''"),
  fc.string({ unit: "grapheme", maxLength: 8 }),
);
const number = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true })).map((n) => n + 0);

function clauseOf(fact: Fact): fc.Arbitrary<Clause> {
  return fc.constantFrom(...operatorsFor(fact)).chain((operator) => {
    const { operand, isPart } = OPERATORS[operator];
    const value: fc.Arbitrary<Literal> =
      fact.type === "number"
        ? number
        : fact.values === undefined || isPart
          ? text
          : fc.constantFrom(...fact.values);
    const other = fc.constantFrom(
      ...comparable(fact, FACTS).map(({ expression }) => expression),
      fact.expression,
    );
    const operands: Readonly<Record<typeof operand, fc.Arbitrary<Clause["operand"]>>> = {
      none: fc.constant(null),
      value,
      values: fc.array(value, { minLength: 1, maxLength: 3 }),
      fact: other,
      multiple: fc.record({ times: number, of: other }),
    };
    return operands[operand].map((chosen) => ({ fact: fact.expression, operator, operand: chosen }));
  });
}

const clause = fc.constantFrom(...FREE).chain(clauseOf);
const condition: fc.Arbitrary<Condition> = fc
  .record({
    joint: fc.constantFrom("all" as const, "any" as const),
    groups: fc.array(fc.array(clause, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 3 }),
  })
  .map(normalized);

const rulesIn = (ruleset: string): RulesText => {
  const found = readRules(ruleset);
  if ("beyond" in found) throw new Error(found.beyond);
  return found;
};
const shownIn = (ruleset: string, at: number) => showRule(rulesIn(ruleset).rules[at]!, FACTS);

const HEAD = `[facts]\n${Object.entries(DECLARED)
  .map(([name, type]) => `${name} = "${type}"\n`)
  .join("")}`;
const EMPTY_RULE = `${HEAD}[[rule]]\nname = "a"\nwhen = ''\nthen = "deny"\nmode = "live"`;
/** What the engine understands, without the line numbers of mistakes. */
const meaningOf = (ruleset: string) => {
  const { live, shadow } = parseRuleset(ruleset);
  return [...live, ...shadow].map(({ condition: _, ...rule }) => rule);
};

describe("conditions", () => {
  test("are read as they were written, and the engine accepts them", () => {
    let accepted = 0;
    fc.assert(
      fc.property(condition, (built) => {
        const written = writeCondition(built);
        expect(readCondition(written, FACTS)).toEqual(built);
        if (written.length > 1_024) return;
        const ruleset = withKey(EMPTY_RULE, rulesIn(EMPTY_RULE).rules[0]!, "when", written);
        expect(meaningOf(ruleset)).toHaveLength(1);
        expect(shownIn(ruleset, 0)).toMatchObject({ condition: built });
        accepted++;
      }),
      { numRuns: 1_000 },
    );
    expect(accepted).toBeGreaterThan(900);
  });

  test.each([
    ['event=="sign_up"', 'event == "sign_up"'],
    ["(ip.is_proxy)", "ip.is_proxy"],
    ["ip.is_proxy && (ip.is_tor_exit && ip.is_abuser)", "ip.is_proxy && ip.is_tor_exit && ip.is_abuser"],
    ['count("network","1h") > 3.0', 'count("network", "1h") > 3'],
    ["facts.age in [1, -2.5]", "facts.age in [1, -2.5]"],
    ["ip.is_proxy && (has(event) || !has(event))", "ip.is_proxy && (has(event) || !has(event))"],
    ["has(event) || ip.is_proxy && ip.is_abuser", "has(event) || (ip.is_proxy && ip.is_abuser)"],
    ["ip.country != expected_country", "ip.country != expected_country"],
    ["facts.age>2.0*history.network_logins_1h", "facts.age > 2 * history.network_logins_1h"],
    ["facts.age < history.network_logins_1h", "facts.age < history.network_logins_1h"],
    ["event == 'it''s'", undefined],
    ["event == 'a'", 'event == "a"'],
  ])("%s is read", (source, written) => {
    const read = readCondition(source, FACTS);
    expect("beyond" in read ? undefined : writeCondition(read)).toBe(written);
  });

  test.each([
    ["true", "true"],
    ['ip.kind == "isp" && ip.is_proxy == true', "ip.is_proxy == true"],
    ["history.network_failures_1h > history.network_logins_1h * 3", undefined],
    ["history.network_failures_1h > 3 * history.network_logins_1h + 1", undefined],
    ["history.network_failures_1h >= 1 * history.network_logins_1h", undefined],
    ['ip.is_proxy ? event == "a" : event == "b"', undefined],
    ['!(event == "a")', undefined],
    ["!(ip.is_proxy && ip.is_abuser)", undefined],
    ['"a" == event', undefined],
    ['size(event) > 3 || event == "a"', "size(event) > 3"],
    ["ip.knd", undefined],
    ['event == 1 && event != "a"', "event == 1"],
    ["facts.age == 1u", undefined],
    ["has(event) || ip.is_proxy && (ip.is_abuser || has(event))", "ip.is_abuser || has(event)"],
    ["event = 1", undefined],
    ["(", undefined],
    ["", undefined],
    ["ip.kind in ip.services", undefined],
    ['event < "b"', undefined],
  ])("%s is beyond the builder", (source, part = source) =>
    expect(readCondition(source, FACTS)).toEqual({ beyond: part }),
  );

  test("a chosen fact or operator gives a clause that is read as it was written", () => {
    const fact = fc.constantFrom(...FACTS);
    const before = fact.chain((one) => fc.tuple(fc.constant(one), clauseOf(one), fact));
    fc.assert(
      fc.property(before, fc.nat(), ([one, built, other], n) => {
        const changed = withFact(built, one, other, FACTS);
        const operators = operatorsFor(other);
        const last = withOperator(changed, other, operators[n % operators.length]!, FACTS);
        for (const next of [changed, last])
          expect(readCondition(writeCondition({ joint: "all", groups: [[next]] }), FACTS)).toEqual({
            joint: "all",
            groups: [[next]],
          });
      }),
    );
  });
});

const RULESET = `# a comment with [[rule]] in it
on_missing = "deny"
${HEAD}
# about the first
  [[rule]]   # header
  name   = "first"  # a name
  when = '''
event == "a # b" &&
  !ip.is_proxy'''   # until here
  then = 'deny'
  mode = "live" # "off" # live

[[rule]]
mode = "shadow"
name = "beyond"
when = "size(event) > 3"
then = "allow"
# after the beyond
[[rule]]
name = "third"
when = 'ip.is_tor_exit'
then = "challenge"
at_least = true
review = false
mode = "off"
[[example]]
name = "[[rule]]"
given = { event = "x" }
action = "allow"
`;
const CHANGES = {
  name: fc.stringMatching(/^[a-z][a-z0-9_-]{0,9}$/),
  when: condition,
  // biome-ignore lint/suspicious/noThenProperty: `then` is a key of the file format
  then: fc.constantFrom("challenge", "deny"),
  at_least: fc.boolean(),
  review: fc.boolean(),
  mode: fc.constantFrom("live", "shadow", "off"),
} as const;
const FIELDS: Readonly<Record<keyof typeof CHANGES, keyof ShownRule>> = {
  name: "name",
  when: "condition",
  // biome-ignore lint/suspicious/noThenProperty: `then` is a key of the file format
  then: "action",
  at_least: "isAtLeast",
  review: "isReview",
  mode: "mode",
};
type Change = readonly [at: number, key: keyof typeof CHANGES, value: string | boolean | Condition];
const change: fc.Arbitrary<Change> = fc
  .constantFrom(...(Object.keys(CHANGES) as (keyof typeof CHANGES)[]))
  .chain((key) => fc.tuple(fc.constantFrom(0, 2), fc.constant(key), CHANGES[key] as fc.Arbitrary<string>));

const COMMENTS = RULESET.match(/#[^\n]*$/gm)!.filter((one) => !one.startsWith('# b"'));
const BEYOND = RULESET.slice(
  RULESET.indexOf('mode = "shadow"\nname'),
  RULESET.indexOf('[[rule]]\nname = "third"'),
);

describe("rules", () => {
  test("are read in every form of their lines", () => {
    const { rules, declared } = rulesIn(RULESET);
    expect(declared).toEqual(DECLARED);
    expect(rules.map(({ name }) => name)).toEqual(["first", "beyond", "third"]);
    expect(RULESET.split("\n")[rules[0]!.header]).toBe("  [[rule]]   # header");
    expect(showRule(rules[0]!, FACTS)).toEqual({
      name: "first",
      condition: {
        joint: "all",
        groups: [
          [{ fact: "event", operator: "is", operand: "a # b" }],
          [{ fact: "ip.is_proxy", operator: "is_false", operand: null }],
        ],
      },
      action: "deny",
      isAtLeast: false,
      isReview: false,
      mode: "live",
    });
    expect(showRule(rules[1]!, FACTS)).toEqual({ beyond: "its condition contains `size(event) > 3`" });
  });

  test("changes are read back, and everything else remains: other keys, other rules, comments", () => {
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 6 }), (changes) => {
        let ruleset = RULESET;
        const expected = [0, 2].map((at) => shownIn(ruleset, at)) as [ShownRule, ShownRule];
        for (const [at, key, value] of changes) {
          const written = typeof value === "object" ? writeCondition(value) : value;
          ruleset = withKey(ruleset, rulesIn(ruleset).rules[at]!, key, written);
          expected[at === 0 ? 0 : 1] = { ...expected[at === 0 ? 0 : 1], [FIELDS[key]]: value };
        }
        expect([0, 2].map((at) => shownIn(ruleset, at))).toEqual(expected);
        expect(ruleset).toContain(BEYOND);
        for (const comment of COMMENTS) expect(ruleset).toContain(comment);
        const [before, after] = [parse(RULESET), parse(ruleset)];
        expect({ ...after, rule: null }).toEqual({ ...before, rule: null });
      }),
      { numRuns: 300 },
    );
  });

  test("only the lines of the changed key change", () => {
    const [rule] = rulesIn(RULESET).rules;
    expect(withKey(RULESET, rule!, "mode", "off")).toBe(
      RULESET.replace('mode = "live" # "off"', 'mode = "off" # "off"'),
    );
    expect(withKey(RULESET, rule!, "review", true)).toBe(
      RULESET.replace('# "off" # live\n', '# "off" # live\n  review = true\n'),
    );
    expect(withKey(RULESET, rule!, "when", "has(event)")).toBe(
      RULESET.replace(/'''[\s\S]*'''/, "'has(event)'"),
    );
  });

  test("an example expects what it gives", () => {
    const ruleset = RULESET.replace(
      'action = "allow"\n',
      'rules = [\n  "x", # a comment\n]\naction = "allow" # so far\n',
    );
    const given = { name: "", passed: false, action: "deny", rules: ["third"] } as const;
    const after = withExpected(ruleset, 0, {
      ...given,
      rules: ["third"],
      expected: { action: "allow", rules: ["x"] },
    });
    expect(after).toBe(
      ruleset.replace(/rules = \[[^\]]*\]/, 'rules = ["third"]').replace('"allow" # so', '"deny" # so'),
    );
    expect(withExpected(ruleset, 0, { ...given, rules: [], expected: {} })).toBe(ruleset);
  });

  test("a new rule is after the last one, in shadow, and can be removed again", () => {
    for (const before of [RULESET, STARTER_RULESET, "", 'on_missing = "deny"\n']) {
      const { rules } = rulesIn(before);
      const after = withNewRule(before, rules);
      const shown = shownIn(after, rules.length);
      expect(shown).toMatchObject({
        name: "new-rule",
        mode: "shadow",
        condition: { groups: [[NEW_CLAUSE]] },
      });
      expect(meaningOf(after)).toHaveLength(meaningOf(before).length + 1);
      const twice = withNewRule(after, rulesIn(after).rules);
      expect(shownIn(twice, rules.length + 1)).toMatchObject({ name: "new-rule-2" });
      expect(withoutRule(twice, rulesIn(twice).rules[rules.length + 1]!).trimEnd()).toBe(after.trimEnd());
      expect(rulesIn(withoutRule(after, rulesIn(after).rules[rules.length]!)).rules).toHaveLength(
        rules.length,
      );
    }
    expect(withoutRule(RULESET, rulesIn(RULESET).rules[0]!)).not.toContain("about the first");
  });

  test("the builder shows every starter rule", () => {
    const { rules } = rulesIn(STARTER_RULESET);
    for (const rule of rules) expect(showRule(rule, FACTS)).toMatchObject({ name: rule.name });
    expect(rules.length).toBeGreaterThan(4);
  });

  test.each([
    ["", RULESET],
    [" of the starter ruleset", STARTER_RULESET],
    [
      " with an end of text that looks like a comment",
      RULESET.replace(/name = "beyond"(?<rest>[\s\S]*)# after the beyond/, "$<rest>name = '''beyond\n# '''"),
    ],
  ])("a rule%s moves with its comment, and nothing else changes", (_, before) => {
    const { rules } = rulesIn(before);
    const names = rules.map(({ name }) => name);
    for (const [from, rule] of rules.entries())
      for (const to of names.keys()) {
        const after = withRuleAt(before, rule, to);
        const moved = rulesIn(after).rules;
        expect(moved.map(({ name }) => name)).toEqual(
          names.toSpliced(from, 1).toSpliced(to, 0, names[from]!),
        );
        for (const { name, keys } of rules)
          expect(moved.find((one) => one.name === name)!.keys).toEqual(keys);
        expect({ ...parse(after), rule: null }).toEqual({ ...parse(before), rule: null });
        const written = (ruleset: string) =>
          ruleset
            .split("\n")
            .filter((line) => line !== "")
            .sort();
        expect(written(after)).toEqual(written(before));
      }
    const first = withRuleAt(before, rules.at(-1)!, 0);
    expect(first.slice(0, first.indexOf(names[0]!))).toContain(names.at(-1)!);
  });

  test.each([
    ["a quoted key", 'name = "a"\n"when" = \'has(event)\'\nthen = "deny"\nmode = "live"', /not simple keys/],
    [
      "an unknown key",
      `name = "a"\nwhen = 'has(event)'\nthen = "deny"\nmode = "live"\nx = 1`,
      /unknown key `x`/,
    ],
    ["a key that is missing", `name = "a"\nwhen = 'has(event)'\nthen = "deny"`, /`mode` is missing/],
    ["a wrong value", `name = "a"\nwhen = 'has(event)'\nthen = "dny"\nmode = "live"`, /`then` is missing/],
    ["a condition with a mistake", `name = "a"\nwhen = 'event ='\nthen = "deny"\nmode = "live"`, /`event =`/],
    [
      "dotted keys",
      `name = "a"\nwhen = 'has(event)'\nthen = "deny"\nmode = "live"\nx.y = 1`,
      /not simple keys/,
    ],
  ])("a rule with %s is beyond the builder", (_, lines, why) => {
    const shown = shownIn(`[[rule]]\n${lines}\n`, 0);
    expect("beyond" in shown ? shown.beyond : shown).toMatch(why);
  });

  test("a header in a text is not taken for that of a rule", () => {
    const fake = '[[example]]\nname = """\n[[rule]]\nname = "x"\n[\n"""\ngiven = {}\naction = "allow"\n';
    const rule = `[["rule"]]\nname = "a"\nwhen = 'has(event)'\nthen = "deny"\nmode = "live"\n`;
    expect(meaningOf(fake + rule)).toHaveLength(1);
    expect(shownIn(fake + rule, 0)).toEqual({ beyond: "its lines are not simple keys" });
  });

  test.each([
    ["a mistake", "a = "],
    ["rules in another form", 'rule = [{ name = "a" }]'],
    ["a header in a text", '[[example]]\nname = """\n[[rule]]\n"""'],
  ])("a text with %s is beyond the builder", (_, ruleset) =>
    expect(readRules(ruleset)).toHaveProperty("beyond"),
  );
});

test.each([
  ["when = 'ip.ki", "nd == 3'", "ip.kind"],
  ["when = 'count(\"net", 'work","1h") > 3\'', 'count("network", "1h")'],
  ["when = 'facts.p", "lan'", "facts.plan"],
  ["when = 'ip.k", "nd'", undefined],
])("hover: %s|%s is about %s", (before, after, expression) =>
  expect(factAt(before + after, before.length, DECLARED)?.fact.expression).toBe(expression),
);
