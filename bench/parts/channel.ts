// channel.ts: a release published to eight hosts by a channel, under load, and back.
//
// All hosts, the database, the publisher and the load share the machine's cores: what each server works for a release, and
// reads of it, is what another machine can be judged by.

import { join } from "node:path";
import * as store from "@inkling/release-store";
import { until } from "../../test/until.ts";
import * as data from "../lib/data.ts";
import { HOSTS, lookUpAt, startDatabase, startHosts } from "../lib/hosts.ts";
import { pathsOf, publishMarked } from "../lib/marked.ts";
import { bytesRead, cpuMicroseconds, output } from "../lib/proc.ts";
import { type Checkout, log, type Run } from "../lib/record.ts";
import { TOKEN, temporaryFolder } from "../lib/server.ts";
import { figure, sum } from "../lib/stats.ts";
import { storm } from "../lib/storm.ts";
import { CHECKS } from "../lib/targets.ts";

/** After the last server serves a release: what it still does about it counts. */
const AFTER_MS = 5_000;

/** What servers follow: a folder behind a web server that counts what it sends. */
function serveFolder(run: Run, folder: string) {
  const sent = { bytes: 0 };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const file = Bun.file(join(folder, new URL(request.url).pathname));
      if (!(await file.exists())) return new Response(null, { status: 404 });
      const from = Number(/^bytes=(\d+)-/.exec(request.headers.get("range") ?? "")?.[1] ?? 0);
      sent.bytes += file.size - from;
      return new Response(file.slice(from), { status: from > 0 ? 206 : 200 });
    },
  });
  run.defer(() => server.stop(true));
  return { url: `http://127.0.0.1:${server.port}`, sent };
}

/** A data folder with the current release of another, and nothing else of it. Copied: links would change its files' stamps. */
async function folderWith(run: Run, dataDir: string): Promise<string> {
  const folder = temporaryFolder(run, data.cacheFolder("group"));
  const parts = ["releases", "segments", store.DATA_FOLDER.current].map((name) => join(dataDir, name));
  await output(["cp", "--archive", ...parts, folder]);
  store.prepareDataFolder(folder);
  return folder;
}

async function measureCheckout(run: Run, checkout: Checkout, database: string): Promise<void> {
  const { suffix } = checkout;
  const builder = await folderWith(run, data.releaseFolder(checkout));
  const objects = temporaryFolder(run, data.cacheFolder("group"));
  const keyFile = join(temporaryFolder(run), "key.pem");
  const command = (...args: string[]) =>
    output(data.inkling(checkout.root, "channel", ...args), {
      env: {
        INKLING_DATA_DIR: builder,
        INKLING_CHANNEL: objects,
        INKLING_CHANNEL_SIGNING_KEY: keyFile,
      },
    });
  const { public_key } = JSON.parse(await command("init", keyFile, "--json"));
  await command("publish");
  const folders: string[] = [];
  for (let i = 0; i < HOSTS; i++) folders.push(await folderWith(run, builder));
  const current = data.openCurrent(builder);
  const { url, sent } = serveFolder(run, objects);
  const env = { INKLING_CHANNEL: url, INKLING_CHANNEL_KEY: public_key, INKLING_DATABASE_URL: database };
  const hosts = await startHosts(run, folders, env, checkout);
  log("making the second release");
  const next = publishMarked(builder, current, ["reputation", "email"]);
  const paths = pathsOf(current, 1_000);
  const seconds = run.size(90, 30);
  const ports = hosts.map(({ port }) => port);
  // All have found their first release sound, and the channel at it.
  for (const { adminPort } of hosts) {
    const metrics = async () => (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
    await until(async () => /^inkling_channel_version /m.test(await metrics()));
  }
  const loaded = storm(run, {
    ports,
    seconds,
    connections: 2 * HOSTS,
    rate: 400,
    paths,
    token: TOKEN,
  });
  const allServe = async (id: string) => {
    const times = hosts.map(async (host) => {
      while ((await lookUpAt(host, paths[0]!)).release !== id) await Bun.sleep(50);
    });
    await Promise.all(times);
  };
  await Bun.sleep(3_000);
  const what = `a release whose geo segment is unchanged, to ${HOSTS} hosts`;
  const each = (count: (pid: number) => number) => sum(hosts.map(({ pid }) => count(pid))) / HOSTS;
  for (const [who, id, args] of [
    ["publish", next.id, ["publish"]],
    ["rollback", current.manifest.id, ["rollback"]],
  ] as const) {
    const [from, before] = [performance.now(), sent.bytes];
    const [cpu, read] = [each(cpuMicroseconds), each(bytesRead)];
    await command(...args);
    const published = performance.now();
    await allServe(id);
    const took = (performance.now() - from) / 1000;
    await Bun.sleep(AFTER_MS);
    run.row(what, who + suffix, "until the last host serves it, s", [took]);
    run.row(what, who + suffix, "of that the command, s", [(published - from) / 1000]);
    run.row(what, who + suffix, "sent to all hosts, MB", [(sent.bytes - before) / 1e6]);
    run.row(what, who + suffix, "CPU of a server for it, s", [(each(cpuMicroseconds) - cpu) / 1e6]);
    run.row(what, who + suffix, "read by a server for it, MB", [(each(bytesRead) - read) / 1e6]);
  }
  const total = Object.values(next.segments).reduce((all, one) => all + (one?.bytes ?? 0), 0);
  run.note(`the whole release has ${figure(total / 1e6)} MB`);
  const all = await loaded;
  const of = (key: "failed" | "answers") => sum(all.map((one) => one[key]));
  const both = all.some(({ releases }) => releases.includes(next.id));
  const answers = `of ${of("answers").toLocaleString("en-US")} answers`;
  run.check(CHECKS.groupFailed + suffix, of("failed") === 0 && both, `${of("failed")} ${answers}`);
  for (const host of hosts) await host.stop();
}

export async function measureChannel(run: Run): Promise<void> {
  const database = await startDatabase(run);
  for (const checkout of run.checkouts) await measureCheckout(run, checkout, await database.fresh());
}
