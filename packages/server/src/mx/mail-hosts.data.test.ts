// Compares the table of mail hosts with the hosts in the test vectors, and with the lists of mail providers in the
// mirror.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { disposableHost, findMxHost, knownHosts, MX_HOSTS } from "@inkling/engine";
import { MIRROR, VECTORS } from "../../../../test/harness/data-folders.ts";

describe("mail hosts of the vectors", () => {
  const rows = readFileSync(join(VECTORS, "guards/mx_hosts.csv"), "utf8")
    .trim()
    .split("\n")
    .slice(1)
    .map((line) => line.split(",") as [string, string, string]);

  test("are all known, with the same kind", () => {
    const kinds: Readonly<Record<string, string>> = { "shared-never-use": "shared" };
    const ours = rows.map(([host]) => `${host} ${findMxHost(host)?.kind}`);
    expect(ours).toEqual(rows.map(([host, , kind]) => `${host} ${kinds[kind] ?? kind}`));
    expect(rows.length).toBeGreaterThan(40);
  });

  test("a domain there is disposable when the host is dedicated, and only then", () => {
    for (const [host, , kind] of rows)
      expect(`${host} ${disposableHost(knownHosts([host])) !== undefined}`).toBe(
        `${host} ${kind === "dedicated"}`,
      );
  });
});

describe("lists of the mirror", () => {
  test.each(["free-mail.txt", "relay-mail.txt"])(
    "no domain of %s is a dedicated host or its service",
    (file) => {
      const names = readFileSync(join(MIRROR, file), "utf8").split(/\r?\n/).filter(Boolean);
      const found = names.filter(
        (name) =>
          findMxHost(name)?.kind === "dedicated" ||
          MX_HOSTS.some(({ kind, service }) => kind === "dedicated" && service === name),
      );
      // mail.tm is on both lists, and it is disposable: docs/policy.md#mail-domains, "Where lists disagree".
      expect(found.filter((name) => name !== "mail.tm")).toEqual([]);
    },
  );
});
