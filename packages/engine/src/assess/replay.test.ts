import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Action, DegradedData, Outcome } from "@inkling/contract";
import type { Answerer, AnswerSource } from "../lookup/answerer.ts";
import { DomainsToday } from "./domains-today.ts";
import type { FactValue } from "./facts.ts";
import { type PastDecision, Replay, shareOf } from "./replay.ts";
import { parseRuleset } from "./ruleset.ts";

const TOR = { "ip.is_tor_exit": true };
const PROXY = { "ip.is_proxy": true };
const HOSTING = { "ip.kind": "hosting" };

let made = 0;
function past(
  facts: Readonly<Record<string, FactValue>>,
  action: Action,
  outcome: Outcome | null = null,
  more: Partial<PastDecision> = {},
): PastDecision {
  const id = `asm_${String(++made).padStart(16, "0")}`;
  const at = new Date(Date.UTC(2026, 5, 1) + made * 1_000).toISOString();
  return {
    id,
    at,
    ref: null,
    action,
    rule: null,
    degraded: [],
    facts: { event: "sign_up", ...facts },
    outcome,
    ...more,
  };
}

function replayed(text: string, decisions: readonly PastDecision[]) {
  const replay = new Replay(parseRuleset(text));
  for (const decision of decisions) replay.add(decision);
  return replay.report;
}

const rule = (name: string, when: string, then: string, mode = "live") =>
  `[[rule]]\nname = "${name}"\nwhen = '${when}'\nthen = "${then}"\nmode = "${mode}"\n`;

test("the interval of a share is Wilson's", () => {
  // R: prop.test(k, n, correct = FALSE)$conf.int
  for (const [count, of, low, high] of [
    [8, 10, 0.4902, 0.9433],
    [0, 10, 0, 0.2775],
    [10, 10, 0.7225, 1],
    [1, 1, 0.2065, 1],
    [500, 1_000, 0.4691, 0.5309],
  ] as const) {
    const share = shareOf(count, of)!;
    assert.deepEqual([share.low.toFixed(4), share.high.toFixed(4)], [low.toFixed(4), high.toFixed(4)]);
    assert.equal(share.share, count / of);
  }
  assert.equal(shareOf(0, 0), null);
});

describe("a replay", () => {
  const RULES =
    rule("no-tor", "ip.is_tor_exit", "deny") +
    rule("let-staff-in", 'facts.plan == "staff"', "allow") +
    rule("hosting", 'ip.kind == "hosting"', "challenge", "shadow") +
    '[facts]\nplan = "text"\n';
  const report = replayed(RULES, [
    past(TOR, "challenge", "fraud"),
    past(TOR, "challenge", "legitimate", { rule: "old-rule", ref: "user-81" }),
    past(TOR, "deny", "fraud"),
    past(PROXY, "allow", "fraud"),
    past({ ...HOSTING, "facts.plan": "staff" }, "deny", "legitimate"),
    past(HOSTING, "allow"),
    past({ ...HOSTING, "facts.plan": 7 }, "allow", "fraud"),
  ]);

  test("counts by action before and after, with examples of what changes", () => {
    assert.deepEqual(
      report.actions.map(({ before, after, count, examples }) => [before, after, count, examples.length]),
      [
        ["allow", "allow", 3, 0],
        ["challenge", "deny", 2, 2],
        ["deny", "allow", 1, 1],
        ["deny", "deny", 1, 0],
      ],
    );
    assert.deepEqual([report.decisions, report.changed], [7, 3]);
    assert.deepEqual(report.outcomes, { legitimate: 2, fraud: 4 });
    const { id: _, at: __, ...example } = report.actions[1]!.examples[0]!; // labelled legitimate, so before the other
    assert.deepEqual(example, {
      ref: "user-81",
      event: "sign_up",
      before: "challenge",
      after: "deny",
      rule_before: "old-rule",
      rule_after: "no-tor",
      outcome: "legitimate",
    });
  });

  test("tells for each rule what it matches, decides and changes, and how often it is right", () => {
    const shares = ({ precision, recall }: (typeof report.rules)[number]) =>
      [precision, recall].map((share) => share && `${share.count}/${share.of}`);
    assert.deepEqual(
      report.rules.map((one) => [one.rule, one.matches, one.decides, one.changes, ...shares(one)]),
      [
        ["no-tor", 3, 3, 2, "2/3", "2/4"],
        ["let-staff-in", 1, 1, 1, "1/1", "1/2"], // allows visitors, so legitimate visitors are right
        ["hosting", 3, 0, 2, "1/2", "1/4"], // in shadow: a live rule above it decides the third match
      ],
    );
    assert.deepEqual(report.score, { decides: 3, changes: 0 });
    assert.equal(report.rules[0]!.examples.length, 2);
    const { before, after, rule_before: ruleBefore } = report.rules[2]!.examples[0]!;
    assert.deepEqual([before, after, ruleBefore], ["allow", "challenge", null]);
  });

  test("tells for each reason what it matches, and how often that was fraud", () => {
    const tor = report.reasons.find(({ reason }) => reason === "tor_exit")!;
    assert.deepEqual([tor.matches, tor.precision?.count, tor.precision?.of, tor.recall?.of], [3, 2, 3, 4]);
    const forged = report.reasons.find(({ reason }) => reason === "forged_crawler")!;
    assert.deepEqual([forged.matches, forged.precision, forged.recall?.share], [0, null, 0]);
  });

  test("names facts that its rules read and that were not stored; one of another type is unknown", () => {
    assert.deepEqual(report.unknown_facts, [{ fact: "facts.plan", decisions: 6 }]);
    const counting = rule("busy", 'count("network", "1h") > 5.0 || size(user_agent) == 0.0', "deny");
    const { unknown_facts: unknown } = replayed(counting, [past(TOR, "deny")]);
    assert.deepEqual(
      unknown.map(({ decisions }) => decisions),
      [1, 1],
    );
  });

  test("keeps ten examples of each, those labelled legitimate first", () => {
    const outcomes = ["fraud", null, "legitimate"] as const;
    const tor = (i: number, outcome: PastDecision["outcome"]) =>
      past(TOR, "challenge", outcome, { ref: `${outcome}-${i}` });
    const many = replayed(
      rule("no-tor", "ip.is_tor_exit", "deny"),
      Array.from({ length: 50 }, (_, i) => tor(i, i < 12 ? outcomes[i % 3]! : null)),
    );
    const refs = many.actions[0]!.examples.map(({ ref }) => ref);
    const legitimate = [2, 5, 8, 11].map((i) => `legitimate-${i}`);
    assert.deepEqual(refs, [...legitimate, "fraud-0", "null-1", "fraud-3", "null-4", "fraud-6", "null-7"]);
    assert.deepEqual([many.changed, many.rules[0]!.examples.length], [50, 10]);
    const right = replayed(
      rule("no-tor", "ip.is_tor_exit", "deny"),
      Array.from({ length: 24 }, (_, i) => tor(i, i < 12 ? null : "legitimate")),
    ).actions[0]!.examples;
    assert.deepEqual([right[0]!.ref, right[9]!.ref, right.length], ["legitimate-12", "legitimate-21", 10]);
    assert.ok(many.from! < many.to!);
  });

  test("without decisions is empty", () => {
    const { decisions, from, actions, rules } = replayed(RULES, []);
    assert.deepEqual([decisions, from, actions.length, rules[0]!.precision], [0, null, 0, null]);
  });

  test("decides by missing data as the server did", () => {
    const without = past({}, "challenge", null, { degraded: ["is_tor_exit"] });
    assert.equal(replayed("", [without]).changed, 0);
    assert.equal(replayed('on_missing = "allow"', [without]).actions[0]!.after, "allow");
  });
});

describe("domains as they are known today", () => {
  const asked: string[] = [];
  const today = (missing: readonly DegradedData[] = []) =>
    new DomainsToday(
      {
        answerEmail: (text: string) => {
          asked.push(text);
          const evidence = [{ label: "free_mail" }];
          const verdict = { valid: true, disposable: true, providers: ["service"], evidence };
          return new TextEncoder().encode(JSON.stringify(verdict));
        },
      } as unknown as Answerer,
      { release: { states: { email: { missing } } } } as unknown as AnswerSource,
      (body) => JSON.parse(new TextDecoder().decode(body)),
    );
  const stored = {
    event: "sign_up",
    "email.domain": "shop.example",
    "email.disposable": false,
    "email.role_account": true,
    "ip.is_proxy": true,
  };

  test("replace what data says of a domain, and nothing else; each domain is looked up once", () => {
    const domains = today();
    const refreshed = domains.refresh(past(stored, "allow", null, { degraded: ["disposable", "network"] }));
    domains.refresh(past(stored, "allow"));
    assert.deepEqual(asked.splice(0), ["x@shop.example"]);
    assert.deepEqual(refreshed.facts, {
      ...stored,
      "email.disposable": true,
      "email.providers": ["service"],
      "email.listed": false,
      "email.relay": false,
      "email.free_mail": true,
    });
    assert.deepEqual(refreshed.degraded, ["network"]);
    const withoutEmail = past(PROXY, "allow");
    assert.equal(domains.refresh(withoutEmail), withoutEmail);
  });

  test("a release without the data leaves them unknown", () => {
    const { facts, degraded } = today(["disposable"]).refresh(past(stored, "allow"));
    assert.deepEqual([facts["email.disposable"], degraded], [undefined, ["disposable"]]);
  });
});
