// decisions.ts: measures what the default weights decide about visitors who are known to be good or bad.
//
// There is no public list of abusive sign-ups. A live disposable domain stands for a bad mailbox, so recall here is the
// recall of the lists. bench/truth/domains.ts measures that recall with a list held out. A mailbox is combined with an
// address in an access network that no list contains.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Action } from "@inkling/contract";
import { Answerer, Overrides } from "@inkling/engine";
import {
  assess,
  DEFAULT_RULESET,
  lookUpVisitor,
  readDecisionInput,
  visitorFacts,
} from "@inkling/engine/assess";
import { MIRROR } from "../lib/shared-folders.ts";
import type { Build } from "./builds.ts";
import { count, share, type TruthRow } from "./rows.ts";
import { isThere, SAMPLE } from "./samples.ts";

/** An address in a large access network. */
const AT_HOME = "86.150.10.20";
const decoder = new TextDecoder();

interface Visitor {
  readonly ip?: string;
  readonly email?: string;
  readonly user_agent?: string;
}

interface Sample {
  readonly name: string;
  readonly visitors: readonly Visitor[];
  readonly good: boolean;
  readonly seen: TruthRow["seen"];
}

export function measureDecisions({ mode, release }: Build): TruthRow[] {
  const answerer = new Answerer();
  const source = { release, overrides: Overrides.NONE, now: Date.now(), allowMissing: true } as const;
  const actionOf = (visitor: Visitor): Action | undefined => {
    const input = readDecisionInput({ event: "sign_up", ...visitor }, DEFAULT_RULESET.schema);
    if (!("event" in input)) return undefined;
    if (input.ip !== undefined && answerer.readAddress(input.ip) !== undefined) return undefined;
    const subject = { address: input.ip === undefined ? undefined : answerer.address, email: input.email };
    const answers = lookUpVisitor(answerer, subject, source, (body) => JSON.parse(decoder.decode(body)));
    if ("reason" in answers) return undefined;
    const facts = visitorFacts(input, answers, DEFAULT_RULESET.schema, source.now);
    // Otherwise, data that the seeds lack would cause a challenge for everyone. These rows are only about existing
    // data.
    return assess(facts, { ...DEFAULT_RULESET, onMissing: "allow" }, answers.degraded).action;
  };
  return samples(mode).flatMap(({ name, visitors, good, seen }): TruthRow[] => {
    const actions = visitors.map(actionOf).filter((action) => action !== undefined);
    const of = (wanted: Action) => actions.filter((action) => action === wanted).length;
    const sample = `${name}, ${count(actions.length)}`;
    const strict = of("deny") + of("challenge");
    if (!good)
      return [
        { measure: "denied", sample, mode, value: share(of("deny"), actions.length), seen },
        { measure: "denied or challenged", sample, mode, value: share(strict, actions.length), seen },
      ];
    return [
      { measure: "denied", sample, mode, value: count(of("deny")), target: "0", seen },
      {
        measure: "challenged",
        sample,
        mode,
        value: share(of("challenge"), actions.length),
        target: "0 to 0.5%",
        seen,
      },
    ];
  });
}

const mailbox = (domain: string): Visitor => ({
  ip: AT_HOME,
  email: `jane.doe@${domain.replace(/^\./, "")}`,
});

function samples(mode: Build["mode"]): Sample[] {
  const found: Sample[] = [];
  const seen = mode === "mirror" ? "built from" : "held out";
  if (isThere(SAMPLE.universities)) {
    const { list } = JSON.parse(readFileSync(SAMPLE.universities.path, "utf8")) as { list: string[] };
    // Both top-level domains no longer exist, so no mail can reach them.
    const visitors = list.filter((domain) => !/\.(?:yu|an)$/.test(domain)).map(mailbox);
    found.push({ name: "universities, from an access network", visitors, good: true, seen: "held out" });
  }
  const lines = (file: string) =>
    existsSync(join(MIRROR, file))
      ? readFileSync(join(MIRROR, file), "utf8").split("\n").filter(Boolean)
      : [];
  const relays = lines("icloud-private-relay.csv")
    .slice(0, 5_000)
    .map((line) => ({ ip: line.split(/[/,]/)[0]!, email: "jane.doe@gmail.com" }));
  if (relays.length > 0)
    found.push({ name: "a privacy relay's visitors", visitors: relays, good: true, seen });
  const crawlers = CRAWLERS.flatMap(([file, user_agent]) => {
    const networks = lines(file)
      .join("\n")
      .matchAll(/"(\d+\.\d+\.\d+\.\d+)(?:\/\d+)?"/g);
    return [...networks].slice(0, 5_000).map(([, ip]) => ({ ip: ip!, user_agent }));
  });
  if (crawlers.length > 0)
    found.push({ name: "crawlers, each from its operator's ranges", visitors: crawlers, good: true, seen });
  const exits = lines("tor-bulk-exits.txt").map((ip) => ({ ip: ip.trim() }));
  if (exits.length > 0 && mode === "mirror")
    found.push({ name: "Tor exits", visitors: exits, good: false, seen });
  const disposable = lines("fakefilter.txt").filter((line) => !line.startsWith("#"));
  if (disposable.length > 0)
    found.push({
      name: "FakeFilter's domains, from an access network",
      visitors: disposable.map(mailbox),
      good: false,
      seen: "built from",
    });
  return found;
}

const CRAWLERS = [
  ["ahrefsbot.json", "AhrefsBot"],
  ["applebot.json", "Applebot"],
  ["ccbot.json", "CCBot"],
  ["duckduckbot.json", "DuckDuckBot"],
] as const;
