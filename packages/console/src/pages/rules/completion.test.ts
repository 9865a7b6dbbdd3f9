// completion.test.ts: tests what the rules' editor offers at the cursor.

import { expect, test } from "bun:test";
import { completionsAt } from "./completion.ts";

const RULE = '[[rule]]\nname = "a"\n';

test.each([
  ["a fact in a condition", `${RULE}when = 'ip.k`, "ip.k", "ip.kind", "then"],
  ["a fact on a later line", `${RULE}when = '''event == "x" &&\n  ip.k`, "ip.k", "ip.kind", "then"],
  ["a fact in an example", "given = { ip.k", "ip.k", "ip.kind", "then"],
  ["a declared fact", "when = 'fa", "fa", "facts.plan", "plan"],
  ["a count as a function", "when = 'count", "count", 'count("network", "1h")', "count.network_1h"],
  ["a value", `when = 'ip.kind != "ho`, "ho", "hosting", "DE"],
  ["a value in an example", 'given = { event = "x", ip.kind = "', "", "hosting", "ip.kind"],
  ["a value in a list", `when = 'ip.country in ["DE", "A`, "A", "AT", "hosting"],
  ["an item before its list", `when = 'event == "x" && !("re`, "re", "relay", "hosting"],
  ["an item at the start", `when = '"`, "", "relay", "ip.kind"],
  ["an action", `${RULE}then = "`, "", "deny", "live"],
  ["a mode", `${RULE}mode = "sh`, "sh", "shadow", "deny"],
])("%s", (_, before, word, offered, other) => {
  const found = completionsAt(before, { plan: "text" })!;
  const labels = found.options.map(({ label }) => label);
  expect(found.word).toBe(word);
  expect(labels).toContain(offered);
  expect(labels).not.toContain(other);
});

test.each([
  ["a comment", "when = 'x'\n# ip.k"],
  ["a name", `${RULE}`.slice(0, -2)],
  ["a table", "when = 'x'\n[fa"],
  ["a text without fixed values", `when = 'event == "sign`],
])("nothing in %s", (_, before) => expect(completionsAt(before, {})?.options ?? []).toEqual([]));
