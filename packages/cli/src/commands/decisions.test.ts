// Tests `inkling decisions …` and `inkling rules replay` as users run them.

import { beforeEach, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "@inkling/store/store";
import { decisionId, decisionRow } from "../../../../test/harness/decision-rows.ts";
import {
  SMALL_NETWORK,
  smallDomain,
  smallRelease,
  temporaryFolder,
} from "../../../../test/harness/release.ts";
import { runHere } from "../program.testing.ts";

const NOW = Date.now();
const DAY_MS = 86_400_000;
const TOR = { action: "challenge", facts: '{"event":"sign_up","ip.is_tor_exit":true}' } as const;
const NO_TOR = `[[rule]]\nname = "no-tor"\nwhen = 'ip.is_tor_exit'\nthen = "deny"\nmode = "live"\n`;

let cwd: string;
beforeEach(() => {
  cwd = temporaryFolder();
});
const inkling = (...args: string[]) => runHere(args, { cwd });
const file = (name: string, text: string) => {
  writeFileSync(join(cwd, name), text);
  return join(cwd, name);
};

async function store(rows: readonly ReturnType<typeof decisionRow>[]) {
  const opened = await openStore(`sqlite://${join(cwd, "data", "inkling.db")}`);
  await opened.decisions.add(rows);
  await opened.close();
}

test("decisions are listed, shown, labelled and deleted", async () => {
  expect((await inkling("decisions", "list")).err).toContain("there is no database yet");
  await store([]);
  const noneStored = "No decision is stored. A server with INKLING_DECISIONS=1 ";
  expect((await inkling("decisions", "list")).err).toContain(noneStored);
  const outcomes = file("none.csv", "ref,outcome\nuser-81,fraud\n");
  expect((await inkling("decisions", "import-outcomes", outcomes)).out).toContain(noneStored);
  const shadow = '[{"rule":"no-proxy","action":"deny"}]';
  await store([
    decisionRow(1, NOW, { shadow }),
    decisionRow(2, NOW - 9 * DAY_MS, { ...TOR, ref: "user-81" }),
  ]);
  expect((await inkling("decisions", "list")).out.split("\n").map((line) => line.slice(26, 46))).toEqual([
    "ID                  ",
    decisionId(1),
    decisionId(2),
    "",
  ]);
  expect((await inkling("decisions", "list", "--rule", "no-proxy")).out).toMatch(
    /OUTCOME\n.* proxy +no-proxy=deny +-\n$/,
  );
  const recent = await inkling("decisions", "list", "--since", "7d", "--json");
  expect(JSON.parse(recent.out).map(({ id }: { id: string }) => id)).toEqual([decisionId(1)]);
  for (const time of ["long ago", "2026-02-31", "2026-02-31T00:00:00Z", "2026-01-31T25:00:00Z"])
    expect(await inkling("decisions", "delete", "--before", time)).toMatchObject({
      code: 2,
      err: expect.stringMatching(
        /^inkling: Cannot delete the decision:\n {2}--before ".*": must be a duration such as 90d, a date such as /,
      ),
    });
  expect((await inkling("decisions", "list", "--network", "81.2.69.142")).err).toBe("No decision matches.\n");
  expect((await inkling("decisions", "list", "--network", "81.0.0.0/8")).err).toMatch(
    /--network "81\.0\.0\.0\/8": must be an address, or a \/24 .*: decisions store no wider network\n/,
  );
  expect((await inkling("decisions", "list", "--outcome", "fraud")).err).toBe("No decision matches.\n");
  expect((await inkling("decisions", "outcome", decisionId(2), "fraud")).out).toBe(
    `${decisionId(2)} is labelled fraud.\n`,
  );
  expect(await inkling("decisions", "outcome", decisionId(2), "abuse")).toMatchObject({ code: 2 });
  expect((await inkling("decisions", "outcome", decisionId(9), "fraud")).err).toContain(
    "there is no decision",
  );
  const shown = (await inkling("decisions", "show", decisionId(2))).out;
  expect(shown).toMatch(/ref +user-81\n/);
  expect(shown.match(/^event /gm)).toHaveLength(1);
  expect(shown).toMatch(/outcome +fraud\n/);
  expect(shown).toMatch(/ip.is_tor_exit +true\n/);
  expect(await inkling("decisions", "delete")).toMatchObject({
    code: 2,
    err: expect.stringContaining("\n  Send either ref or before.\n"),
  });
  expect((await inkling("decisions", "delete", "--before", "7d")).out).toBe("Deleted 1 decision.\n");
  expect((await inkling("decisions", "delete", "--ref", "nobody")).out).toBe("Deleted 0 decisions.\n");
});

test("a replay of the database and of an exported file gives the same report", async () => {
  await store([
    decisionRow(1, NOW - 2),
    decisionRow(2, NOW - 1, { ...TOR, ref: "user-81" }),
    decisionRow(3, NOW, TOR),
    decisionRow(4, NOW - 40 * DAY_MS, TOR),
  ]);
  await inkling("decisions", "outcome", decisionId(2), "fraud");
  const rules = file("rules.toml", NO_TOR);
  const { out, code } = await inkling("rules", "replay", rules);
  expect(code).toBe(0);
  expect(out).toContain("3 decisions from ");
  expect(out).toContain("2 would change (66.7%)\noutcomes: 1 fraud, 0 legitimate\n");
  expect(out).toMatch(/challenge +deny +2\n/);
  expect(out).toMatch(new RegExp(`${decisionId(2)} +\\S+ +sign_up +user-81 +score -> no-tor`));
  expect(out).toMatch(/no-tor +live +deny +2 +2 +2 +100% \(21-100\) of 1 +100% \(21-100\) of 1/);
  const exported = (await inkling("decisions", "export", "--since", "30d")).out;
  expect(exported.trim().split("\n")).toHaveLength(3);
  const input = file("decisions.ndjson", exported);
  const fromFile = await runHere(["rules", "replay", rules, "--input", input, "--json"], {
    cwd: temporaryFolder(),
  });
  const fromDatabase = await inkling("rules", "replay", rules, "--json");
  expect(JSON.parse(fromFile.out)).toEqual(JSON.parse(fromDatabase.out));
  expect((await inkling("rules", "replay", rules, "--since", "50d", "--json")).out).toContain(
    '"decisions": 4',
  );
  expect(await inkling("rules", "replay", rules, "--input", input, "--since", "1d")).toMatchObject({
    code: 2,
  });
});

test("domains of today, and visitors of a file, are looked up in the release in use", async () => {
  const dataDir = join(cwd, "data");
  smallRelease(dataDir, 1);
  const address = SMALL_NETWORK.replace("0/24", "142");
  const rules = file(
    "rules.toml",
    `[facts]\nplan = "text"\n${NO_TOR.replace("ip.is_tor_exit", 'facts.plan == "free" && email.disposable')}`,
  );
  await store([
    decisionRow(1, NOW, {
      facts: JSON.stringify({
        event: "sign_up",
        "email.domain": smallDomain(1),
        "email.disposable": false,
        "facts.plan": "free",
      }),
    }),
  ]);
  const then = JSON.parse((await inkling("rules", "replay", rules, "--json")).out);
  expect([then.changed, then.data]).toEqual([0, "stored"]);
  const today = await inkling("rules", "replay", rules, "--data", "today", "--json");
  expect(JSON.parse(today.out)).toMatchObject({ changed: 1, data: "today" });
  expect(today.err).toContain("domains were looked up in today's data");
  const visitors = [
    { event: "sign_up", email: `jane@${smallDomain(1)}`, facts: { plan: "free" }, ref: "user-82" },
    { event: "sign_up", ip: address, facts: { plan: "paid" } },
    { event: "sign_up", ip: "10.0.0.1" },
  ];
  const input = file("visitors.ndjson", visitors.map((visitor) => JSON.stringify(visitor)).join("\n"));
  const replayed = JSON.parse((await inkling("rules", "replay", rules, "--input", input, "--json")).out);
  expect([replayed.decisions, replayed.skipped, replayed.rules[0].matches]).toEqual([2, 1, 1]);
  for (const [line, message] of [
    ["{", /visitors.ndjson: line 1 is not a JSON object\nhint: each line must be a decision/],
    ["\n\n{", /visitors.ndjson: line 3 is not a JSON object/],
    ['{"event":"sign_up"}', /line 1:\n {2}the body: ip or email is required/],
    ['{"action":"block","facts":{}}', /line 1 is not a stored decision/],
  ] as const)
    expect((await inkling("rules", "replay", rules, "--input", file("visitors.ndjson", line))).err).toMatch(
      message,
    );
});

const EVERYONE = NO_TOR.replace("ip.is_tor_exit", "true");

test("publishing a ruleset shows its effect on stored decisions, and asks", async () => {
  const path = file("rules.toml", EVERYONE);
  const first = await inkling("rules", "publish", path);
  expect(first).toMatchObject({
    code: 1,
    err: expect.stringMatching(
      /needs a confirmation. No decisions are stored, so the effect of this ruleset is unknown\.\nhint: `--yes` publishes/,
    ),
  });
  await store([
    decisionRow(1, NOW - DAY_MS, TOR),
    decisionRow(2, NOW - DAY_MS, { ...TOR, action: "deny" }),
    decisionRow(3, NOW - DAY_MS, TOR),
    decisionRow(4, NOW - 40 * DAY_MS, TOR),
  ]);
  await inkling("decisions", "outcome", decisionId(1), "legitimate");
  const questions: string[] = [];
  const answering = (answer: string, ...args: string[]) =>
    runHere(args, {
      cwd,
      prompt: async (question) => {
        questions.push(question);
        return answer;
      },
    });
  const day = new Date(NOW - DAY_MS).toISOString().slice(0, 10);
  const effect = `Of 3 stored decisions since ${day}, this ruleset would deny 3 (1 of them labelled legitimate) instead of 1, and challenge 0 instead of 2.`;
  const declined = await answering("", "rules", "publish", path);
  const [changes, refusal] = declined.err.split("inkling: ");
  const example = (n: number) => `${decisionId(n)} .* score -> no-tor`;
  expect(changes).toStartWith(`${effect}\n\nchallenge to deny:\n`);
  expect(changes).toMatch(new RegExp(`${example(1)} +legitimate\\n +${example(3)} *\\n$`));
  expect(refusal).toBe("nothing was published\nhint: `--yes` publishes without a question\n");
  expect((await inkling("rules", "list")).err).toMatch(/No ruleset has been published yet/);
  expect((await answering("y", "rules", "publish", path)).out).toMatch(/^Published ruleset 1: 1 live rule/);
  expect(questions).toEqual([`Publish ${path}? [y/N] `, `Publish ${path}? [y/N] `]);
  expect((await answering("n", "rules", "publish", path)).out).toMatch(/already has this text/);
  expect(questions.length).toBe(2);
  await inkling("rules", "publish", file("rules.toml", ""), "--yes");
  const rollback = await inkling("rules", "rollback");
  expect(rollback.err).toContain(`publishing ruleset 1 needs a confirmation. ${effect}`);
  expect((await answering("yes", "rules", "rollback")).out).toMatch(/^Published ruleset 3/);
});

test("a ruleset that was published while the question was open is not overwritten", async () => {
  const path = file("rules.toml", EVERYONE);
  await inkling("rules", "publish", path, "--yes");
  const draft = file("draft.toml", "");
  const { err } = await runHere(["rules", "publish", draft], {
    cwd,
    prompt: async () => {
      await inkling("rules", "publish", file("other.toml", NO_TOR), "--yes");
      return "y";
    },
  });
  expect(err).toMatch(/This ruleset would|ruleset 2 was published in the meantime/);
  expect(JSON.parse((await inkling("rules", "show", "--json")).out).text).toBe(NO_TOR);
});
