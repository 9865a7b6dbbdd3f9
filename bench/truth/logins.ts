// logins.ts: measures the starter ruleset's rule against credential stuffing with simulated logins.

import { challenged, type LoginEvent, school, stuffing } from "../../test/harness/login-simulation.ts";
import { count, share } from "./rows.ts";

const ACCOUNTS = 10_000;
const NETWORKS = 500;
const PEOPLE = 1_500;

export async function loginTable(): Promise<string> {
  const attack = `attack: ${count(ACCOUNTS)} accounts from ${NETWORKS} networks within`;
  const pupils = `school: ${count(PEOPLE)} people behind one address within 2 hours, failed attempts:`;
  const rows: [string, readonly LoginEvent[]][] = [
    ...[1, 3, 12].map((hours): [string, LoginEvent[]] => [
      `${attack} ${hours} h`,
      stuffing(ACCOUNTS, NETWORKS, hours),
    ]),
    ...[8, 25, 40].map((failing): [string, LoginEvent[]] => [
      `${pupils} ${failing}%`,
      school(PEOPLE, failing),
    ]),
  ];
  const lines: string[] = [];
  for (const [name, events] of rows) {
    const found = await challenged(events);
    const cell = (event: LoginEvent["event"]) => {
      const all = events.flatMap((one, n) => (one.event === event ? [found[n]] : []));
      const some = all.filter(Boolean).length;
      return `${count(some)} of ${count(all.length)} (${share(some, all.length)})`;
    };
    lines.push(`| ${name} | ${cell("login_failed")} | ${cell("login")} |\n`);
  }
  return `| simulated logins | failed attempts challenged | logins challenged |\n|---|---|---|\n${lines.join("")}`;
}
