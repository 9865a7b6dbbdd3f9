// apart-hosts.ts: a group of servers, each in its own network namespace. Between them and PostgreSQL is a
// link that delays and loses packets, and is cut in the end. apart-hosts.test.ts starts it in a mount and a
// network namespace.
//
// If the kernel has netem, it makes the link slow. Otherwise a proxy at the database's end does.

import { parseNewKey } from "../../../packages/store/src/keys/key-input.ts";
import { openStore } from "../../../packages/store/src/store.ts";
import { Postgres } from "../../harness/postgres.ts";
import { randomWords } from "../../harness/random.ts";
import { SMALL_NETWORK } from "../../harness/release.ts";
import { FLAG_ADDRESS } from "../../harness/server.ts";
import { ServerProgram } from "../../harness/server-program.ts";
import { TcpProxy } from "../../harness/tcp-proxy.ts";
import { until } from "../../harness/until.ts";
import { load, mostAboveRate } from "./demand.ts";

export interface Seen {
  readonly link: "netem" | "proxy";
  /** Maximum number of lookups above the rates of all hosts together in any window. */
  readonly most: number;
  readonly allowed: number;
  readonly refused: number;
  readonly failed: number;
  /** Number of hosts that the override reached, and that the revocation reached. */
  readonly overridden: number;
  readonly revoked: number;
}

export const LIMIT = { rate: 100, burst: 200 };
export const HOSTS = 3;
const CUT_AFTER_SECONDS = 2;
const DELAY_MS = 100;
const LOSS_PERCENT = 5;
const ADDRESS = SMALL_NETWORK.replace("0/24", "142");

function run(...command: string[]): void {
  const { success, stderr } = Bun.spawnSync(command);
  if (!success) throw new Error(`${command.join(" ")}: ${stderr}`);
}

/**
 * Creates a namespace and the link to it.
 * @returns the command prefix for commands in the namespace, and both addresses
 */
function makeNamespace(i: number) {
  const [name, here, there] = [`host${i}`, `10.77.${i}.1`, `10.77.${i}.2`];
  const inside = ["ip", "netns", "exec", name];
  run("ip", "netns", "add", name);
  run("ip", "link", "add", `here${i}`, "type", "veth", "peer", "name", `there${i}`, "netns", name);
  run("ip", "address", "add", `${here}/24`, "dev", `here${i}`);
  run("ip", "link", "set", `here${i}`, "up");
  run(...inside, "ip", "address", "add", `${there}/24`, "dev", `there${i}`);
  for (const device of ["lo", `there${i}`]) run(...inside, "ip", "link", "set", device, "up");
  const half = ["netem", "delay", `${DELAY_MS / 2}ms`, "loss", `${LOSS_PERCENT}%`];
  const slow = [
    ["tc", "qdisc", "add", "dev", `here${i}`, "root", ...half],
    [...inside, "tc", "qdisc", "add", "dev", `there${i}`, "root", ...half],
  ];
  const hasNetem = slow.every((command) => Bun.spawnSync(command).success);
  return { inside, here, there, hasNetem };
}

async function startHost(i: number, postgres: Postgres, url: string) {
  const { inside, here, there, hasNetem } = makeNamespace(i);
  const proxy = await TcpProxy.to(postgres.port, here);
  const words = randomWords(i);
  const random = () => words() / 2 ** 32;
  if (!hasNetem) proxy.slowness = { delayMs: DELAY_MS / 2, loss: LOSS_PERCENT / 100, random };
  const server = new ServerProgram({
    host: there,
    prefix: inside,
    env: {
      INKLING_HOST: there,
      INKLING_DATABASE_URL: url.replace(`127.0.0.1:${postgres.port}`, `${here}:${proxy.port}`),
      INKLING_WORKERS: "1",
    },
  });
  await server.until("it listened", () => server.events("listening").length > 0);
  const get = (path: string, token: string) => server.get(`/v1/ip-intel/${path}/${ADDRESS}`, token);
  const isAbuser = async (token: string) =>
    ((await (await get("reputation", token)).json()) as { is_abuser?: boolean }).is_abuser === true;
  return {
    server,
    proxy,
    hasNetem,
    isAbuser,
    status: async (token: string) => (await get("geolocate", token)).status,
  };
}

async function main(seconds: number): Promise<Seen> {
  run("mount", "-t", "tmpfs", "tmpfs", "/run");
  run("ip", "link", "set", "lo", "up");
  const postgres = await Postgres.create();
  try {
    const url = await postgres.freshDatabase();
    const store = await openStore(url, { timeoutMs: 60_000 });
    const limited = await store.createKey(parseNewKey({ name: "limited", ...LIMIT }, 0));
    const free = await store.createKey(parseNewKey({ name: "free" }, 0));
    const hosts = await Promise.all(Array.from({ length: HOSTS }, (_, i) => startHost(i, postgres, url)));
    try {
      for (const { status } of hosts) await until(async () => (await status(free.token)) === 200);
      const { allowed, refused, failed } = await load({
        seconds,
        // Uneven, and four times the limit in total. Every 3 seconds, a different host gets the largest part.
        rates: (second) => hosts.map((_, i) => [280, 80, 40][(i + Math.floor(second / 3)) % HOSTS]!),
        lookUp: (host) => hosts[host]!.status(limited.token),
        onSecond: (second) => {
          if (second === CUT_AFTER_SECONDS) for (const { proxy } of hosts) proxy.cut();
        },
      });
      for (const { proxy } of hosts) proxy.mend();
      await store.overrides.put([FLAG_ADDRESS], { author: "test", source: "cli" });
      for (const { isAbuser } of hosts) await until(() => isAbuser(free.token));
      await store.revokeKey(free.key.id);
      for (const { status } of hosts) await until(async () => (await status(free.token)) === 401);
      return {
        link: hosts.every(({ hasNetem }) => hasNetem) ? "netem" : "proxy",
        most: mostAboveRate(allowed, HOSTS * LIMIT.rate),
        allowed: allowed.length,
        refused,
        failed,
        overridden: hosts.length,
        revoked: hosts.length,
      };
    } finally {
      for (const { server } of hosts) server.child.kill("SIGKILL");
      await store.close();
    }
  } finally {
    await postgres.close();
  }
}

if (import.meta.main) {
  const seen = await main(Number(process.argv[2]));
  process.stdout.write(`${JSON.stringify(seen)}\n`);
  process.exit(0);
}
