// hosts.ts: formats the text of `inkling hosts`.

import { HOSTS, type Output } from "@inkling/operations";
import { isSharedDatabase } from "@inkling/store/store";
import type { Command } from "commander";
import type { Context } from "../runtime/command.ts";
import { addResource } from "../runtime/operation-command.ts";
import { CliError } from "../terminal/errors.ts";
import { formatAge, formatCount, table } from "../terminal/terminal.ts";

export const addHosts = (program: Command, context: Context) =>
  addResource(program, context, HOSTS, {
    hosts: {
      prepare: async (input, { settings }) => {
        if (isSharedDatabase(settings.databaseUrl)) return input;
        const hint =
          "a group of hosts needs a shared PostgreSQL database: set INKLING_DATABASE_URL, see docs/several-hosts.md";
        throw new CliError("the database is SQLite, which only one host can use", hint);
      },
      text: ({ hosts }) =>
        hosts.length > 0
          ? hostsText(hosts)
          : "No host uses this database now: start one with `inkling serve` and this database.",
    },
  });

type Host = Output<typeof HOSTS.operations.hosts>["hosts"][number];

const HEAD = ["HOST", "STATE", "VERSION", "RELEASE", "AGE", "REQUESTS/S", "CLOCK", "LAST CONTACT"];
const NUMBERS = ["REQUESTS/S", "CLOCK"].map((name) => HEAD.indexOf(name));

function hostsText(hosts: readonly Host[]): string {
  const notes = hosts.flatMap(({ name, reasons, warnings }) => {
    const why = [...reasons, ...warnings].join("; ");
    return why === "" ? [] : [`${name}: ${why}`];
  });
  return [table([HEAD, ...hosts.map(rowOf)], NUMBERS), ...notes].join("\n");
}

function rowOf({ name, state, version, release, silent_seconds: silent, ...rest }: Host): string[] {
  const { requests_per_second: load, clock_offset_seconds: clock } = rest;
  return [
    name,
    state.replace("-", " "),
    version ?? "-",
    release === null ? "-" : `${release.name}${release.pinned ? " (pinned)" : ""}`,
    release === null ? "-" : formatAge(release.age_seconds * 1_000),
    load === null ? "-" : formatCount(load),
    clock === null ? "-" : `${clock > 0 ? "+" : ""}${formatCount(clock)} s`,
    silent < 2 ? "now" : `${formatAge(silent * 1_000)} ago`,
  ];
}
