// Tests that the alert rules and the dashboard in deploy/ name only metrics and labels that exist, and sections of
// docs/troubleshooting.md.

import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { METRICS, type MetricRow } from "@inkling/contract";
import { ROOT } from "../harness/project-files.ts";
import { tried } from "../harness/recorded-rows.ts";
import { ALERTS, PANELS, QUERIES, RULES_FILE } from "./watched.ts";

const ROWS: Readonly<Record<string, MetricRow | undefined>> = METRICS;
/** Labels that Prometheus adds. */
const ADDED = ["job", "instance"];

/** Metrics and labels in a query that no server has. */
function unknownIn(query: string): string[] {
  const text = query.replaceAll(/\$__rate_interval|\$instance/g, "");
  const selectors = [
    ...text.matchAll(/\b((?:inkling|process)_\w+|up)\b(?:\{([^}]*(?:\{[^}]*\}[^}]*)*)\})?/g),
  ];
  if (selectors.length === 0) return [`no metric in ${query}`];
  return selectors.flatMap(([, name = "", matchers = ""]) => {
    const labels = name === "up" ? [] : ROWS[name.replace(/_(bucket|sum|count)$/, "")]?.labels;
    if (labels === undefined) return [`no metric ${name}`];
    const used = [...matchers.matchAll(/(\w+)(?:=|!=|=~|!~)"/g)].map(([, label]) => label!);
    const known = [...labels, ...ADDED];
    return used.filter((label) => !known.includes(label)).map((label) => `${name} has no label ${label}`);
  });
}

const page = readFileSync(join(ROOT, "docs/troubleshooting.md"), "utf8");
const sections = [...page.matchAll(/^### (.+)$/gm)].map(([, title]) =>
  title!.toLowerCase().replaceAll(" ", "-"),
);
const LINK = /^https:\/\/inkling\.example\/docs\/troubleshooting\.md#([\w-]+)$/;

test("docs/monitoring.md has the scrape configuration of deploy/prometheus", () => {
  const [, code = ""] = /```yaml\n([\s\S]*?)```/.exec(
    readFileSync(join(ROOT, "docs/monitoring.md"), "utf8"),
  )!;
  const stored = Bun.YAML.parse(readFileSync(join(ROOT, "deploy/prometheus/prometheus.yml"), "utf8"));
  expect(stored).toMatchObject(Bun.YAML.parse(code) as object);
});

test("queries name metrics and labels that exist", () => {
  expect(QUERIES.length).toBeGreaterThan(40);
  expect([...ALERTS.map(({ expr }) => expr), ...QUERIES].flatMap(unknownIn)).toEqual([]);
});

test.each([
  ["inkling_made_up > 1", "no metric inkling_made_up"],
  ['rate(inkling_problems_total{cod="X"}[5m])', "inkling_problems_total has no label cod"],
  ['inkling_feed_stale{route=~"/{ip}"} > 0', "inkling_feed_stale has no label route"],
  ["1 > 0", "no metric in 1 > 0"],
])("what does not exist is found: %s", (query, problem) => expect(unknownIn(query)).toEqual([problem]));

describe("alerts", () => {
  test("have unique names, a severity, texts, and a link to a section of docs/troubleshooting.md", () => {
    const names = ALERTS.map(({ alert }) => alert);
    expect(names).toHaveLength(new Set(names).size);
    for (const { alert, labels, annotations } of ALERTS) {
      expect([alert, labels.severity]).toEqual([alert, expect.stringMatching(/^(critical|warning)$/)]);
      expect([alert, Object.keys(annotations).sort()]).toEqual([
        alert,
        ["description", "runbook_url", "summary"],
      ]);
      expect([alert, sections]).toEqual([
        alert,
        expect.arrayContaining([LINK.exec(annotations.runbook_url!)?.[1]]),
      ]);
    }
  });

  test("are what docs/troubleshooting.md lists; with log events, they link each section of docs/troubleshooting.md", () => {
    const listed = [...page.matchAll(/^\| `(Inkling\w+)` \| (\w+) \|/gm)].map(([, name, severity]) => [
      name,
      severity,
    ]);
    expect(listed).toEqual(ALERTS.map(({ alert, labels }) => [alert, labels.severity]));
    const events = readFileSync(join(ROOT, "docs/log-events.md"), "utf8");
    const linked = new Set([
      ...ALERTS.map(({ annotations }) => LINK.exec(annotations.runbook_url!)?.[1]),
      ...[...events.matchAll(/\(troubleshooting\.md#([\w-]+)\)/g)].map(([, section]) => section),
    ]);
    expect(sections.filter((section) => !linked.has(section))).toEqual([]);
  });
});

test("panels have ids of their own, and a row or a query", () => {
  const ids = PANELS.map(({ id }) => id);
  expect(ids).toHaveLength(new Set(ids).size);
  expect(PANELS.filter(({ type, targets = [] }) => (type === "row") !== (targets.length === 0))).toEqual([]);
});

const promtool = Bun.which("promtool");
test.skipIf(promtool === null)("promtool accepts the configuration, and its tests of the rules pass", () => {
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(promtool!, args, {
      cwd: dirname(RULES_FILE),
      encoding: "utf8",
    });
    expect([args, status, `${stdout}${stderr}`]).toEqual([args, 0, expect.any(String)]);
  };
  run("check", "config", "prometheus.yml");
  run("test", "rules", "inkling.rules.test.yml");
  const tested = readFileSync(join(dirname(RULES_FILE), "inkling.rules.test.yml"), "utf8");
  const fired = new Set([...tested.matchAll(/alertname="(\w+)", severity=/g)].map(([, name]) => name));
  expect(ALERTS.map(({ alert }) => alert).filter((name) => !fired.has(name))).toEqual([]);
  const what = "the configuration and the alert rules in deploy/, with their tests";
  tried(import.meta.path, "promtool", [promtool!, "--version"], what);
});
