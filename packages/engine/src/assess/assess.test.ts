import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ACTIONS, type DegradedData, REASON_CODES, REASON_ROWS } from "@inkling/contract";
import fc from "fast-check";
import { assess } from "./assess.ts";
import { FACT_INDEX, type FactValue } from "./facts.ts";
import { DEFAULT_RULESET, parseRuleset, RULE_MODES, RulesetError } from "./ruleset.ts";

function facts(values: Readonly<Partial<Record<keyof typeof FACT_INDEX, FactValue>>>) {
  const all = DEFAULT_RULESET.schema.empty();
  for (const [name, value] of Object.entries(values))
    all[FACT_INDEX[name as keyof typeof FACT_INDEX]] = value;
  return all;
}

const DOUBTFUL = facts({ "ip.is_proxy": true, "ip.kind": "hosting", "email.role_account": true });

const rule = (name: string, when: string, then: string, mode = "live", more = "") =>
  `[[rule]]\nname = "${name}"\nwhen = '${when}'\nthen = "${then}"\nmode = "${mode}"\n${more}`;

describe("without rules", () => {
  test("the score decides, from weights that combine as probabilities of independent events do", () => {
    const { action, score, reasons, rule, shadow, ruleset } = assess(DOUBTFUL, DEFAULT_RULESET, []);
    assert.deepEqual(
      reasons.map(({ code }) => code),
      ["proxy", "hosting_network", "role_account"],
    );
    assert.equal(score, 0.61); // 1 - 0.65 * 0.75 * 0.8
    assert.deepEqual([action, rule, shadow, ruleset], ["challenge", null, [], 0]);
  });

  test("a visitor without reasons is allowed", () => {
    const { action, score, reasons } = assess(
      facts({ event: "login", "ip.kind": "isp" }),
      DEFAULT_RULESET,
      [],
    );
    assert.deepEqual([action, score, reasons], ["allow", 0, []]);
  });

  test("a disposable mailbox is denied, an ordinary proxy is not even challenged", () => {
    assert.equal(assess(facts({ "email.disposable": true }), DEFAULT_RULESET, []).action, "deny");
    assert.equal(assess(facts({ "ip.is_proxy": true }), DEFAULT_RULESET, []).action, "allow");
  });

  test("an address that was not sent is not an invalid one", () => {
    assert.deepEqual(assess(facts({ "email.valid": false }), DEFAULT_RULESET, []).reasons, [
      { code: "invalid_email", weight: REASON_ROWS.invalid_email.weight },
    ]);
    assert.deepEqual(assess(facts({}), DEFAULT_RULESET, []).reasons, []);
  });

  test("a score at a threshold reaches it", () => {
    const ruleset = parseRuleset("[weights]\nproxy = 0.5\nrole_account = 0.7");
    assert.equal(assess(facts({ "ip.is_proxy": true }), ruleset, []).action, "challenge");
    const both = facts({ "ip.is_proxy": true, "email.role_account": true }); // 1 - 0.5 * 0.3 in floating point
    assert.equal(assess(both, ruleset, []).action, "deny");
  });
});

describe("data that is missing", () => {
  const rows: [string, readonly DegradedData[], string, string][] = [
    ["a flag", ["is_abuser"], "", "challenge"],
    ["a flag whose reason has no weight", ["is_abuser"], "[weights]\nabuser = 0", "allow"],
    ["what is no flag", ["network", "geolocation"], "", "allow"],
    ["a flag, where that is to be ignored", ["is_abuser"], 'on_missing = "allow"', "allow"],
    [
      "what a rule reads that did not match",
      ["network"],
      rule("r", 'ip.kind == "hosting"', "deny"),
      "challenge",
    ],
    [
      "what a rule below the one that matched reads",
      ["network"],
      `${rule("all", "true", "allow")}${rule("r", 'ip.kind == "hosting"', "deny")}`,
      "allow",
    ],
    [
      "a flag, where a rule matches because of that",
      ["is_abuser"],
      rule("r", "!ip.is_abuser", "allow"),
      "challenge",
    ],
    ["a flag, where a rule decides that reads none", ["is_abuser"], rule("all", "true", "allow"), "allow"],
    [
      "a flag, where a rule only sets the mildest action",
      ["is_abuser"],
      `on_missing = "deny"\n${rule("all", "true", "challenge", "live", "at_least = true\n")}`,
      "deny",
    ],
  ];
  for (const [name, degraded, text, action] of rows) {
    test(`${name}: ${action}`, () => {
      const decision = assess(facts({ event: "login" }), parseRuleset(text), degraded);
      assert.equal(decision.action, action);
      assert.deepEqual(decision.degraded, degraded);
    });
  }

  test("does not make a denial milder", () => {
    assert.equal(assess(facts({ "email.disposable": true }), DEFAULT_RULESET, ["is_abuser"]).action, "deny");
  });
});

describe("rules", () => {
  test("the first live one that matches decides, whatever the score", () => {
    const text = [
      rule("off", "true", "deny", "off"),
      rule("trial", "true", "deny", "shadow", "review = true\n"),
      rule("no", "ip.is_tor_exit", "deny"),
      rule("yes", "ip.is_proxy", "allow", "live", "review = true\n"),
      rule("late", "true", "deny"),
    ].join("");
    const decision = assess(DOUBTFUL, parseRuleset(text, 7), []);
    assert.deepEqual(
      [decision.action, decision.rule, decision.review, decision.score, decision.ruleset],
      ["allow", "yes", true, 0.61, 7],
    );
    assert.deepEqual(decision.shadow, [{ rule: "trial", action: "deny", review: true }]);
  });

  const atLeast = (mode: string) =>
    parseRuleset(rule("tor", "ip.is_tor_exit", "challenge", mode, "at_least = true\n"));
  const tor = (disposable: boolean) => facts({ "ip.is_tor_exit": true, "email.disposable": disposable });
  for (const [name, disposable, action] of [
    ["make an allowed visitor's action stricter", false, "challenge"],
    ["leave a denial by the score as it is", true, "deny"],
  ] as const)
    test(`with at_least ${name}, live and in shadow`, () => {
      const weightless = { ...atLeast("live"), reasons: disposable ? atLeast("live").reasons : [] };
      assert.deepEqual(
        [assess(tor(disposable), weightless, []).action, assess(tor(disposable), weightless, []).rule],
        [action, "tor"],
      );
      const shadow = { ...atLeast("shadow"), reasons: weightless.reasons };
      assert.deepEqual(assess(tor(disposable), shadow, []).shadow, [{ rule: "tor", action }]);
    });

  test("with at_least cannot allow", () => {
    assert.throws(
      () => parseRuleset(rule("all", "true", "allow", "live", "at_least = true\n")),
      /line \d+, column \d+: .*at_least: has no effect with then = "allow"/,
    );
  });

  test("in shadow never touch the action: random rulesets", () => {
    const conditions = ["true", "ip.is_proxy", "email.role_account", 'ip.kind == "isp"', "!ip.is_proxy"];
    const rules = fc.array(
      fc.record({
        when: fc.constantFrom(...conditions),
        action: fc.constantFrom(...ACTIONS),
        mode: fc.constantFrom(...RULE_MODES),
      }),
      { maxLength: 8 },
    );
    const textOf = (all: readonly { when: string; action: string; mode: string }[]) =>
      all.map(({ when, action, mode }, i) => rule(`r${i}`, when, action, mode)).join("");
    fc.assert(
      fc.property(
        rules,
        fc.subarray([...REASON_CODES].slice(0, 3)),
        fc.boolean(),
        (all, weightless, proxy) => {
          const weights = `[weights]\n${weightless.map((code) => `${code} = 0\n`).join("")}`;
          const visitor = facts({ "ip.is_proxy": proxy, "email.role_account": true });
          const decided = (mode: string) => {
            const changed = all.map((each) => (each.mode === "shadow" ? { ...each, mode } : each));
            const { action, rule, review, score } = assess(
              visitor,
              parseRuleset(weights + textOf(changed)),
              [],
            );
            return { action, rule, review, score };
          };
          assert.deepEqual(decided("shadow"), decided("off"));
        },
      ),
    );
  });
});

/** A condition that costs more than half of a ruleset's budget. */
const SLOW = Array(38).fill("size(user_agent) > 9").join(" || ");

test("100 rules that search in texts and lists as rules do are fast enough", () => {
  const when = 'user_agent.contains("bot") || user_agent.contains("curl") || "relay" in ip.services';
  parseRuleset(Array.from({ length: 100 }, (_, i) => rule(`r${i}`, when, "deny")).join(""));
});

describe("mistakes in a ruleset", () => {
  const rows: [string, string, [number, number, RegExp][]][] = [
    ["TOML", "a = \n", [[1, 5, /./]]],
    [
      "keys",
      "tresholds = 1\n[weights]\nproxi = 1\n",
      [
        [1, 1, /unknown key "tresholds": did you mean "thresholds"\?/],
        [3, 1, /unknown key "proxi": did you mean "proxy"\?/],
      ],
    ],
    [
      "shapes and conditions together",
      `${rule("a", "ip.knd == 1", "deny")}\n${rule("b", "event == 1", "dney")}on_missing = "x"\n[weights]\nproxy = 2\n[[example]]\ngiven = 1\n[[example]]\ngiven = { event = 3 }\naction = "deny"`,
      [
        [3, 9, /rule "a": unknown fact "ip.knd"/],
        [9, 9, /rule "b": `==` cannot compare a text with a number/],
        [10, 1, /rule: then: must be one of allow, challenge, deny: did you mean "deny"\?/],
        [12, 1, /unknown key "on_missing"/],
        [14, 1, /weights: proxy: must be 1 or less/],
        [16, 1, /example: given: /],
        [17, 1, /"event" must have the type text/],
      ],
    ],
    [
      "a declared fact of no type, on which conditions depend",
      `[facts]\nplan = "txt"\n${rule("a", 'facts.plan == "free"', "deny")}`,
      [[2, 1, /facts: plan: must be one of text, number, boolean, list: did you mean "text"/]],
    ],
    [
      "a rule without a name and a mode, and one with a number for a name",
      '[[rule]]\nwhen = "true"\nthen = "deny"\n[[rule]]\nname = 1\nwhen = "true"\nthen = "deny"\nmode = "off"',
      [
        [1, 1, /rule: name: is required/],
        [1, 1, /rule: mode: is required: one of live, shadow, off/],
        [5, 1, /rule: name: must be a string/],
      ],
    ],
    [
      "conditions, each at its character",
      `${rule("a", "true || ip.knd == 1", "deny")}\n[[rule]] # two\n  name = "a"\n  when = """\n  true &&\n  ip.as > 1"""\n  then = "deny"\n  mode = "off"`,
      [
        [3, 17, /rule "a": unknown fact "ip.knd"/],
        [8, 3, /a second rule "a"/],
        [11, 3, /unknown fact "ip.as"/],
      ],
    ],
    ["thresholds", "[thresholds]\nchallenge = 0.9\n", [[1, 1, /challenge must not be above deny/]]],
    ["a newer format", "format = 2", [[1, 1, /only format 1/]]],
    [
      "examples",
      '[[example]]\ngiven = { event = 3, ip.kidn = "x" }\nrules = ["r"]\n[[example]]\ngiven = {}\n[[example]]\ngiven = { ip.kind = "hostng", ip.country = "de", ip.services = ["relay", "vpn"], ip.city = "" }\naction = "allow"',
      [
        [1, 1, /unknown rule "r"/],
        [1, 1, /"event" must have the type text/],
        [1, 1, /unknown fact "ip.kidn": did you mean "ip.kind"\?/],
        [4, 1, /needs an action or rules/],
        [6, 1, /"ip.kind" is never "hostng": did you mean "hosting"\?/],
        [6, 1, /"ip.country" is never "de": did you mean "DE"\?/],
        [6, 1, /"ip.services" is never "vpn"/],
      ],
    ],
    [
      "the number of rules",
      Array.from({ length: 101 }, (_, i) => rule(`r${i}`, "true", "allow")).join(""),
      [[1, 1, /at most 100 rules/]],
    ],
    [
      "what together takes too long, named once; rules that are off do not count",
      [
        rule("off", SLOW, "allow", "off"),
        ...Array.from({ length: 4 }, (_, i) => rule(`r${i}`, SLOW, "allow", i === 0 ? "live" : "shadow")),
      ].join(""),
      [[13, 1, /rule "r1": a decision could take longer than 1 ms with the conditions up to this one/]],
    ],
  ];
  for (const [name, text, expected] of rows) {
    test(name, () => {
      assert.throws(
        () => parseRuleset(text),
        (error) => {
          assert.ok(error instanceof RulesetError);
          assert.deepEqual(
            error.mistakes.map(({ line, column }) => [line, column]),
            expected.map(([line, column]) => [line, column]),
            error.message,
          );
          for (const [i, [, , message]] of expected.entries())
            assert.match(error.mistakes[i]!.message, message);
          return true;
        },
      );
    });
  }
});

describe("hostile rulesets", () => {
  const mistakesIn = (text: string) => {
    try {
      parseRuleset(text);
    } catch (error) {
      assert.ok(error instanceof RulesetError);
      return error.mistakes;
    }
    return [];
  };
  const lines = (count: number, line: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => line(i)).join("\n");
  const rows: [string, string, number, RegExp][] = [
    ["43,000 unknown keys", lines(43_000, (i) => `${i.toString(36)}=1`), 100, /^unknown key "\w+"/],
    ["40,000 unknown keys of a rule", `[[rule]]\n${lines(30_000, (i) => `a${i}=1`)}`, 100, /./],
    ["30,000 facts", `[facts]\n${lines(30_000, (i) => `a${i}=1`)}`, 1, /at most 32 facts/],
    ["30,000 weights", `[weights]\n${lines(30_000, (i) => `a${i}=1`)}`, 100, /unknown key "a\d+"/],
    [
      "30,000 facts of an example",
      `[[example]]\naction="deny"\n[example.given]\n${lines(30_000, (i) => `a${i}=1`)}`,
      100,
      /unknown fact "a\d+"/,
    ],
    [
      "60,000 names in one fact",
      `[[example]]\naction="deny"\ngiven = { ${"a.".repeat(60_000)}a = 1 }`,
      1,
      /unknown fact "a.a.a"/,
    ],
    [
      "a fact with a long name",
      `[[example]]\naction="deny"\ngiven = { ${"a".repeat(200_000)} = 1 }`,
      1,
      /^.{80,120}$/,
    ],
    [
      "60,000 names of rules",
      `[[example]]\naction="deny"\ngiven={}\nrules=[${'"q",'.repeat(60_000)}]`,
      1,
      /at most 100 names/,
    ],
    [
      "a long text in an example",
      `[[example]]\naction="deny"\ngiven={user_agent="${"a".repeat(200_000)}"}`,
      1,
      /more than 2048 characters/,
    ],
    [
      "a long list in an example",
      `[[example]]\naction="deny"\ngiven={email.providers=[${'"a",'.repeat(50_000)}]}`,
      1,
      /more than 32 items/,
    ],
    ["5,000 empty rules", lines(5_000, () => "[[rule]]"), 1, /at most 100 rules/],
    [
      "a condition nested 400 times",
      `[[rule]]\nname="a"\nwhen='${"(".repeat(400)}true${")".repeat(400)}'\nthen="deny"\nmode="live"`,
      1,
      /nested too deeply/,
    ],
    [
      "1,000 examples of slow conditions",
      `${lines(40, (i) => `[[rule]]\nname="r${i}"\nwhen='user_agent.contains("${i}")'\nthen="deny"\nmode="live"`)}\n${lines(1_000, () => '[[example]]\naction="deny"\ngiven={}')}`,
      1,
      /the examples could take longer than 20 ms/,
    ],
  ];
  for (const [name, text, count, message] of rows) {
    test(`${name}: ${count} mistakes`, () => {
      assert.ok(text.length <= 256 * 1024);
      const mistakes = mistakesIn(text);
      assert.equal(mistakes.length, count);
      assert.match(mistakes.at(-1)!.message, message);
    });
  }

  test("a mistake behind long texts has its position", () => {
    const text = `${lines(2_000, (i) => `# ${i} = 1`)}\n[[rule]]\nname = "a"\nwhen = """\ntrue &&\n  ip.knd == 1\n"""\nthen = "deny"\nmode = "live"\n`;
    const [{ line, column } = { line: 0, column: 0 }] = mistakesIn(text);
    assert.deepEqual([line, column], [2_005, 3]);
  });
});
