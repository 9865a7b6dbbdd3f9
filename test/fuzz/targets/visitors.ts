// Fuzzes bodies of POST /v1/assess. Every body is a visitor, or is refused with lines that repeat none of its values.

import { parseRuleset, readDecisionInput } from "@inkling/engine/assess";
import { parseJson } from "../../../packages/server/src/batch/body.ts";
import type { Target } from "../target.ts";

const SECRET = "jane.doe@private.example";
const GOOD = [
  { event: "sign_up", ip: "203.0.113.9", email: SECRET, user_agent: "Googlebot", ref: "user-81" },
  {
    event: "login",
    ip: "2001:db8::1",
    expected_country: "DE",
    previous: { latitude: 52.5, longitude: 13.4, accuracy_radius: 20, at: "2026-11-23T09:00:00Z" },
    facts: { plan: "free", seats: 4, isNew: true, tags: ["a", "b"] },
  },
];

export default function visitors(): Target {
  const { schema } = parseRuleset(
    '[facts]\nplan = "text"\nseats = "number"\nis_new = "boolean"\ntags = "list"\n',
  );
  return {
    corpus: GOOD.map((visitor) => Buffer.from(JSON.stringify(visitor))),
    tokens: [
      '"ip":',
      '"facts":{',
      "null",
      "[[[[",
      "1e999",
      '"__proto__":{}',
      "\\u0000",
      "-0",
      '"at":"now"',
      "{}",
    ],
    check: (input) => {
      const value = parseJson(input);
      if (value === undefined) return "no JSON";
      const read = readDecisionInput(value, schema);
      if ("event" in read) return "visitor";
      if (read.length === 0) throw new Error("refused without a reason");
      if (read.join("\n").includes(SECRET)) throw new Error("a line repeats a value");
      return "refused";
    },
  };
}
