// watched.ts: reads the alert rules and the dashboard in deploy/ for tests.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { YAML } from "bun";
import { ROOT } from "../harness/project-files.ts";

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

export const RULES_FILE = join(ROOT, "deploy/prometheus/inkling.rules.yml");
export const RULES_TEXT = readFileSync(RULES_FILE, "utf8");
export const ALERTS = (YAML.parse(RULES_TEXT) as { groups: { rules: AlertRule[] }[] }).groups.flatMap(
  ({ rules }) => rules,
);
export const PANELS: readonly Panel[] = JSON.parse(
  readFileSync(join(ROOT, "deploy/grafana/inkling.json"), "utf8"),
).panels;
export const QUERIES = PANELS.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
