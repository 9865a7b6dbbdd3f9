// Fuzzes the reports that servers of a group write about themselves into the database. Every host is listed, whatever its
// report: `inkling hosts` and the console have output that fits their schema, without control characters.

import type { HostReport } from "@inkling/data";
import { readHostReport } from "@inkling/data";
import type { Database } from "@inkling/store/database";
import { HOSTS, listHosts } from "../../../packages/operations/src/hosts.ts";
import type { Target } from "../target.ts";

const NOW = Date.parse("2026-06-01T12:00:00Z");
const REPORT: HostReport = {
  name: "web-1:8080",
  version: "0.1.0",
  at: "2026-06-01T12:00:00.000Z",
  ready: false,
  reasons: ["no release", "東京 💥"],
  warnings: ["the copy of feed x is old"],
  release: { name: "20260601T1200Z-abc", created_at: "2026-06-01T11:00:00.000Z" },
  pinned: false,
  refused: null,
  channel: { name: "stable", version: 7, release: "20260601T1200Z-abc", fault: "unreachable" },
  requests_per_second: 12.5,
  clock_offset_seconds: -0.1,
};

export default function hostReports(): Target {
  const { output } = HOSTS.operations.hosts;
  return {
    corpus: [REPORT, { ...REPORT, ready: true, release: null, channel: null }].map((report) =>
      Buffer.from(JSON.stringify(report)),
    ),
    tokens: [
      "\\u0000",
      "\\u001b[31m",
      "\\ud83d",
      "\\u202e",
      '"__proto__":{}',
      "1e999",
      "-1",
      "null",
      "[]",
      '"created_at":"',
      "0000-01-01T00:00:00Z",
      "x".repeat(300),
    ],
    check: async (input) => {
      const report = Buffer.from(input).toString("utf8");
      const row = { id: "h1", contact_at: String(NOW - 5_000), report, now: String(NOW) };
      const tables = { isShared: true, clock: () => "", run: async () => [row] } as unknown as Database;
      const hosts = await listHosts(tables);
      output.parse({ shared: true, hosts });
      const shown = JSON.stringify(hosts);
      if (hosts.length !== 1 || /[\p{C}]/u.test(JSON.parse(shown)[0].reasons.join("")))
        throw new Error(`listed as ${shown}`);
      if (shown.length > 20_000) throw new Error(`${shown.length} characters`);
      const read = readHostReport(report);
      if (read === undefined) return "unreadable";
      if (JSON.stringify(readHostReport(JSON.stringify(read))) !== JSON.stringify(read))
        throw new Error("the report is not read as written");
      return hosts[0]!.state;
    },
  };
}
