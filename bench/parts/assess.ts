// assess.ts: compares one decision over HTTP with the three lookups that it replaces. The active ruleset has 20
// rules, and the decision is measured with and without storing decisions. Also measures the maximum evaluation time
// of a ruleset.
//
// The lookups are plain, without evidence or network, although a decision reads both.

import { DEGRADED_DATA } from "@inkling/contract";
import { assess, type Facts, parseRuleset, type Ruleset } from "@inkling/engine/assess";
import { openStore } from "@inkling/store";
import { knownAddresses, openCurrent, releaseFolder } from "../lib/data.ts";
import { fullLoad, pathsFile } from "../lib/load.ts";
import { hasCommand } from "../lib/peers.ts";
import { SERVER_CORE } from "../lib/proc.ts";
import type { Run } from "../lib/record.ts";
import { startInkling, temporaryFolder } from "../lib/server.ts";
import { longestFacts, slowRulesets } from "../lib/slow-rulesets.ts";

const WHAT = "one visitor: address and email address";
const CPU = "CPU per visitor, µs";
const RULES = 20;
/** Countries and territories with few addresses. */
const SMALL = ["AQ", "BV", "HM", "NR", "PN", "TK", "TV", "WF"] as const;
/** Makes every decision read what earlier ones say about its mailbox and network. */
const REMEMBERS = "[weights]\nmailbox_fraud = 0.3\nnetwork_fraud = 0.3\n\n";
const SLOWEST = "the slowest ruleset that is accepted";
const REPETITIONS = 60;
const EVALUATIONS = 3;
/** Milliseconds until a server has stored its decisions after full load. */
const STORED_MS = 2_000;
/** Every third visitor has a disposable mailbox, and every seventh a role account. */
const DOMAINS = ["gmail.com", "example-shop.de", "mailinator.com"];

function rulesetText(): string {
  const rule = (i: number) => `[[rule]]
name = "rule-${i}"
when = 'event == "sign_up" && (ip.kind == "hosting" || ip.country in ["${SMALL[i % 5]}", "${SMALL[5 + (i % 3)]}"]) && email.domain.endsWith("${i}.test")'
then = "deny"
mode = "${i % 4 === 0 ? "shadow" : "live"}"
`;
  return Array.from({ length: RULES }, (_, i) => rule(i)).join("\n");
}

/**
 * Records the time of the slowest ruleset. Each time is the best of REPETITIONS, because other work on the machine only
 * adds to the time.
 */
function measureEvaluations(run: Run): void {
  const [what, unit] = ["evaluation of a ruleset, in process", "CPU, µs"];
  const count = run.size(120, 3);
  const times: number[] = [];
  for (const ruleset of slowRulesets(count))
    for (const facts of longestFacts(ruleset)) times.push(evaluationTime(ruleset, facts));
  run.row(what, SLOWEST, unit, [Math.max(...times)]);
  const usual = parseRuleset(rulesetText());
  run.row(what, `${RULES} rules`, unit, [evaluationTime(usual, usual.schema.empty())]);
  run.note(
    `${count} rulesets that reach the limits, each with the longest facts of ${times.length / count} kinds`,
  );
}

function evaluationTime(ruleset: Ruleset, facts: Facts): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < REPETITIONS; i++) {
    const before = process.cpuUsage();
    for (let n = 0; n < EVALUATIONS; n++) assess(facts, ruleset, DEGRADED_DATA);
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / EVALUATIONS);
  }
  return best;
}

export async function measureAssess(run: Run): Promise<void> {
  measureEvaluations(run);
  if (!hasCommand(run, "wrk", "wrk (the client)")) return;
  const path = openCurrent(releaseFolder(run.checkout)).segmentPath("geo");
  const { known } = knownAddresses(path, run.size(30_000, 5_000));
  const visitors = known.map((ip, i) => ({
    ip,
    email: `${i % 7 === 0 ? "info" : `user${i}`}@${DOMAINS[i % DOMAINS.length]}`,
  }));
  const lookups = visitors.flatMap(({ ip, email }) => [
    `/v1/ip-intel/geolocate/${ip}`,
    `/v1/ip-intel/reputation/${ip}`,
    `/v1/user-intel/email/${email}`,
  ]);
  const bodies = visitors.map((visitor) => JSON.stringify({ event: "sign_up", ...visitor }));
  const start = async (env: Readonly<Record<string, string>> = {}, weights = "") => {
    const databaseUrl = `sqlite://${temporaryFolder(run)}/inkling.db`;
    const store = await openStore(databaseUrl);
    await store.rulesets.publish(
      { text: weights + rulesetText(), note: "" },
      { author: "bench", source: "cli" },
    );
    await store.close();
    const settings = { INKLING_LOG_LEVEL: "info", INKLING_DATABASE_URL: databaseUrl, ...env };
    return startInkling(run, run.checkout, { core: SERVER_CORE, env: settings });
  };
  const running = await start();
  const storing = await start({ INKLING_DECISIONS: "1" });
  const remembering = await start({ INKLING_DECISIONS: "1" }, REMEMBERS);
  const collector = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("{}") });
  run.defer(() => collector.stop(true));
  const traced = await start({ INKLING_OTLP_URL: `http://127.0.0.1:${collector.port}` });
  const seconds = run.size(2, 1);
  const perVisitor = async (server: typeof running, file: string, requests: number) => ({
    [CPU]: (await fullLoad(server, file, seconds)).cpu * requests,
  });
  const [threeLookups, oneDecision] = [pathsFile(run, lookups), pathsFile(run, bodies)];
  await run.alternate(
    [
      { what: WHAT, who: "three lookups", measure: () => perVisitor(running, threeLookups, 3) },
      { what: WHAT, who: "one decision", measure: () => perVisitor(running, oneDecision, 1) },
      { what: WHAT, who: "one decision, with traces", measure: () => perVisitor(traced, oneDecision, 1) },
      ...[
        { who: "one decision, stored", server: storing },
        { who: "one decision, stored, with memory", server: remembering },
      ].map(({ who, server }) => ({
        what: WHAT,
        who,
        measure: async () => {
          const figures = await perVisitor(server, oneDecision, 1);
          await Bun.sleep(STORED_MS); // waiting decisions are stored before the next measurement
          return figures;
        },
      })),
    ],
    run.size(7, 3),
  );
  run.note(
    `${RULES} rules, a quarter of them in shadow; ${visitors.length.toLocaleString("en-US")} visitors`,
  );
}
