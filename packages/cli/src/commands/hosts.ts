// hosts.ts: `inkling hosts` lists the hosts that share a PostgreSQL database, with their release, load, readiness and
// last contact.

import { hostJson, type ListedHost, listHosts } from "@inkling/server";
import { isSharedDatabase } from "@inkling/store/store";
import type { Command } from "commander";
import { addAction, type Context } from "../runtime/command.ts";
import { withExistingStore } from "../runtime/store.ts";
import { CliError } from "../terminal/errors.ts";
import { formatAge, formatCount, table } from "../terminal/terminal.ts";

export function addHosts(program: Command, context: Context): void {
  const command = program
    .command("hosts")
    .description("list the hosts that share a PostgreSQL database: release, load, readiness, last contact")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
A host that stops cleanly leaves the list immediately. A host that disappears leaves it after ten minutes.
CLOCK is the host's clock minus the database's.

Examples:
  INKLING_DATABASE_URL=postgres://inkling:…@db/inkling inkling hosts
  inkling hosts --json`,
    );
  addAction(command, context, ["dataDir"], async ({ settings, flags }) => {
    if (!isSharedDatabase(settings.databaseUrl)) {
      const hint =
        "a group of hosts needs a shared PostgreSQL database: set INKLING_DATABASE_URL, see docs/cluster.md";
      throw new CliError("the database is SQLite, which only one host can use", hint);
    }
    const { label, hosts } = await withExistingStore(settings, async (store) => ({
      label: store.label,
      hosts: await listHosts(store.tables),
    }));
    if (hosts.length === 0 && !flags.json) {
      return context.terminal.err(
        `No host uses ${label} now: start one with \`inkling serve\` and this database.\n`,
      );
    }
    return { json: hosts.map(hostJson), text: () => hostsText(hosts) };
  });
}

const HEAD = ["HOST", "STATE", "VERSION", "RELEASE", "AGE", "REQUESTS/S", "CLOCK", "LAST CONTACT"];
const NUMBERS = ["REQUESTS/S", "CLOCK"].map((name) => HEAD.indexOf(name));

function hostsText(hosts: readonly ListedHost[]): string {
  const notes = hosts.map(hostJson).flatMap(({ name, reasons, warnings }) => {
    const why = [...reasons, ...warnings].join("; ");
    return why === "" ? [] : [`${name}: ${why}`];
  });
  return [table([HEAD, ...hosts.map(rowOf)], NUMBERS), ...notes].join("\n");
}

function rowOf(host: ListedHost): string[] {
  const { name, state, version, release, ...rest } = hostJson(host);
  const { requests_per_second: load, clock_offset_seconds: clock } = rest;
  return [
    name,
    state.replace("-", " "),
    version ?? "-",
    release === null ? "-" : `${release.name}${release.pinned ? " (pinned)" : ""}`,
    release === null ? "-" : formatAge(release.age_seconds * 1_000),
    load === null ? "-" : formatCount(load),
    clock === null ? "-" : `${clock > 0 ? "+" : ""}${formatCount(clock)} s`,
    host.ageMs < 2_000 ? "now" : `${formatAge(host.ageMs)} ago`,
  ];
}
