// Fuzzes ruleset texts. Every text is parsed, or refused with a position for each mistake. A parsed ruleset decides
// about random facts without an exception, and its shadow rules never change the action.

import { FACT_NAMES, STARTER_RULESET } from "@inkling/contract";
import { assess, type Facts, parseRuleset, RulesetError, runExamples } from "@inkling/engine/assess";
import type { Target } from "../target.ts";

const GOOD = [
  STARTER_RULESET,
  STARTER_RULESET.replaceAll('mode = "shadow"', 'mode = "live"'),
  `on_missing = "deny"\n[thresholds]\nchallenge = 0.2\n[weights]\nproxy = 1\n[facts]\nseats = "number"\ntags = "list"\n[[rule]]\nname = "a"\nwhen = '(facts.seats * 2.0 - 1 > 3 || "x" in facts.tags) && size(email.domain) < 20 ? !ip.shared : has(ip.asn)'\nthen = "deny"\nmode = "live"\n`,
];

/** Values of every type, used in turn. */
const VALUES = [undefined, true, "sign_up", 3.5, ["relay", "x"], "", Number.MAX_VALUE, -1] as const;

export default function rulesets(): Target {
  return {
    corpus: GOOD.map((text) => Buffer.from(text)),
    tokens: [
      "[[rule]]",
      "when = '",
      "matches(",
      ".all(x, true)",
      "&&",
      "||",
      "((((",
      "1/0",
      "%",
      "in",
      "has(",
      '"""',
      "\\u0000",
      "__proto__",
    ],
    check: (input) => {
      const text = Buffer.from(input).toString("utf8");
      let ruleset: ReturnType<typeof parseRuleset>;
      try {
        ruleset = parseRuleset(text);
      } catch (error) {
        if (!(error instanceof RulesetError)) throw error;
        const lines = text.split("\n").length;
        for (const { line, column } of error.mistakes)
          if (line < 1 || line > lines + 1 || column < 1) throw new Error(`no place: ${line}:${column}`);
        return "refused";
      }
      runExamples(ruleset);
      const offset = input.length % VALUES.length;
      const facts: Facts = ruleset.schema.fields.map(({ type }, i) => {
        const value = VALUES[(i + offset) % VALUES.length];
        const isRight =
          type === "list" ? Array.isArray(value) : typeof value === (type === "text" ? "string" : type);
        return isRight ? value : undefined;
      });
      const { action, score } = assess(facts, ruleset, ["is_abuser"]);
      if (!(score >= 0 && score <= 1)) throw new Error(`score ${score}`);
      const without = assess(facts, { ...ruleset, shadow: [] }, ["is_abuser"]);
      if (without.action !== action) throw new Error("a rule in shadow changed the action");
      if (ruleset.schema.fields.length < FACT_NAMES.length) throw new Error("facts are missing");
      return ruleset.live.length > 0 ? "live rules" : "no live rule";
    },
  };
}
