// hosts.ts: a group of hosts: `inkling serve` with one process each, on one PostgreSQL that a proxy can cut off.

import { Postgres } from "../../test/postgres.ts";
import { smallRelease } from "../../test/release.ts";
import { TcpProxy } from "../../test/tcp-proxy.ts";
import { until } from "../../test/until.ts";
import type { Checkout, Run } from "./record.ts";
import { AUTHORIZED, startInkling, temporaryFolder } from "./server.ts";

export type Host = Awaited<ReturnType<typeof startInkling>>;
export const HOSTS = 8;

/** A database of its own for a group. @returns its address, and that of the proxy before it */
export async function startDatabase(run: Run) {
  const postgres = await Postgres.create();
  run.defer(() => postgres.close());
  const direct = await postgres.freshDatabase();
  const proxy = await TcpProxy.to(postgres.port);
  run.defer(() => proxy.stop());
  const fresh = () => postgres.freshDatabase();
  return { direct, through: direct.replace(`:${postgres.port}/`, `:${proxy.port}/`), proxy, fresh };
}

/** A data folder with a release of one network. */
export function smallFolder(run: Run): string {
  const folder = temporaryFolder(run);
  smallRelease(folder, 1);
  return folder;
}

/** Starts hosts, each with its own data folder, and waits until all know of each other where they share a database. */
export async function startHosts(
  run: Run,
  folders: readonly string[],
  env: Readonly<Record<string, string>>,
  checkout: Checkout = run.checkout,
): Promise<Host[]> {
  const hosts: Host[] = [];
  for (const dataDir of folders) hosts.push(await startInkling(run, checkout, { dataDir, env }));
  const isGroup = env.INKLING_DATABASE_URL !== undefined;
  const count = async ({ adminPort }: Host) =>
    /^inkling_group_hosts (\d+)$/m.exec(await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text());
  if (isGroup) {
    for (const host of hosts) await until(async () => Number((await count(host))?.[1]) === hosts.length);
  }
  return hosts;
}

/** A lookup at a host: its status, the release that answered, and its body. */
export async function lookUpAt(
  { port }: Pick<Host, "port">,
  path: string,
  headers: Readonly<Record<string, string>> = AUTHORIZED,
) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
  const body = await response.text();
  return { status: response.status, release: response.headers.get("inkling-data-version"), body };
}
