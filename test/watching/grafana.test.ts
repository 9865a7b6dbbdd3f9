// Tests the dashboard in deploy/ against the types that Grafana generates from its schema of dashboards.

import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HOW_TO_INSTALL, hasPeer, PEERS, peerPath } from "../harness/peers.ts";
import { ROOT } from "../harness/project-files.ts";
import { tried } from "../harness/recorded-rows.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

const TYPES = join(PEERS, "@grafana/schema/dist/types/raw/dashboard/x/types.gen");
const DASHBOARD = readFileSync(join(ROOT, "deploy/grafana/inkling.json"), "utf8");

/** Returns what the compiler says about the dashboard. The types have enumerations where JSON has text. */
function mistakesIn(dashboard: string): string {
  const folder = temporaryFolder();
  const typed = dashboard
    .replaceAll('"mode": "absolute"', "$& as ThresholdsMode")
    .replaceAll('"type": "value"', "$& as MappingType.ValueToText");
  const imports = `import type { Dashboard, MappingType, ThresholdsMode } from ${JSON.stringify(TYPES)};`;
  writeFileSync(
    join(folder, "dashboard.ts"),
    `${imports}\nexport const dashboard: Dashboard = ${typed.trim()};\n`,
  );
  const options = [
    "--noEmit",
    "--strict",
    "--skipLibCheck",
    "--module",
    "esnext",
    "--moduleResolution",
    "bundler",
  ];
  const command = [join(ROOT, "node_modules/.bin/tsc"), ...options, "dashboard.ts"];
  return Bun.spawnSync(command, { cwd: folder }).stdout.toString();
}

const how = hasPeer("@grafana/schema") ? "" : `: needs ${HOW_TO_INSTALL}`;
test.if(how === "")(`the dashboard is what Grafana's schema describes${how}`, () => {
  expect(mistakesIn(DASHBOARD)).toBe("");
  expect(mistakesIn(DASHBOARD.replace('"gridPos"', '"gridPosition"'))).toContain("gridPosition");
  expect(mistakesIn(DASHBOARD.replace(/"refresh": "\w+"/, '"refresh": 30'))).toContain("'number'");
  tried(import.meta.path, "Grafana's schema", peerPath("@grafana/schema"), "the dashboard in deploy/grafana");
});
