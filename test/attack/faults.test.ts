// Tests machine faults during an attack, with one worker and with several: damaged releases, a pointer that leads
// nowhere, a deleted database. The last sound release must keep answering.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  copyFileSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fetch } from "../harness/checked-fetch.ts";
import { smallRelease, temporaryFolder } from "../harness/release.ts";
import { share } from "../harness/share.ts";
import { until } from "../harness/until.ts";
import { type AttackedServer, startAttackedServer } from "./attacked-server.ts";
import { Attacker } from "./attacker.ts";
import { ADDRESS } from "./hostile-requests.ts";

/** Enough new connections to reach every worker. */
const CONNECTIONS = 32;
const ROUNDS = 25;
const POINTERS = ["20990101T000000000Z-000000000000", "../../etc/passwd", "", "\0\n"];

describe.each([1, 2])("with %i workers, under attack", (workers) => {
  let server: AttackedServer;
  let attacker: Attacker;
  let attack: Promise<void>;
  const end = new AbortController();
  let sound: string;
  let number = 1;
  beforeAll(async () => {
    server = await startAttackedServer(workers);
    sound = (await versions()).values().next().value!;
    attacker = new Attacker(server);
    attack = attacker.send(workers, Number.POSITIVE_INFINITY, { signal: end.signal, pauseMs: share(0, 20) });
    attack.catch(() => {}); // the last test reports its error
  });
  afterAll(async () => {
    end.abort();
    await attack.catch(() => {});
    await server.stop();
  });

  /**
   * Returns the releases that answer a known key, over many connections.
   * @throws Error for an answer that is not a place
   */
  async function versions(): Promise<Set<string>> {
    const readOne = async () => {
      const response = await fetch(`http://127.0.0.1:${server.port}/v1/ip-intel/geolocate/${ADDRESS}`, {
        headers: { Authorization: `Bearer ${server.keys.live}`, Connection: "close" },
        keepalive: false,
      });
      const body = await response.text();
      if (response.status !== 200) throw new Error(`${response.status}: ${body}`);
      return response.headers.get("inkling-data-version")!;
    };
    return new Set(await Promise.all(Array.from({ length: CONNECTIONS }, readOne)));
  }

  /**
   * Creates the next release in another folder and moves it in, damaged. Files in use are never written to.
   */
  function bring(damage: (segment: string) => void): { id: string; name: string } {
    const elsewhere = temporaryFolder();
    const { id, files } = smallRelease(elsewhere, ++number);
    damage(files[0]!);
    const name = readFileSync(join(elsewhere, "current"), "utf8").trim();
    const paths = readdirSync(join(elsewhere, "segments")).map((file) => `segments/${file}`);
    for (const path of [...paths, `releases/${name}.json`, "current"]) {
      copyFileSync(join(elsewhere, path), join(server.dataDir, `${path}.new`));
      renameSync(join(server.dataDir, `${path}.new`), join(server.dataDir, path));
    }
    return { id, name };
  }
  /** Repeats the check until each worker has read the files and the database again. */
  const goesOn = async () => {
    for (let round = 0; round < ROUNDS; round++) {
      expect([...(await versions())]).toEqual([sound]);
      await Bun.sleep(50);
    }
  };
  const refusals = () => server.err.split('"event":"release-refused"').length;

  test("a sound release takes over", async () => {
    sound = bring(() => {}).id;
    await until(async () => [...(await versions())].join() === sound);
  });

  test.each([
    ["cut short", (path: string) => truncateSync(path, 200)],
    ["empty", (path: string) => truncateSync(path, 0)],
    ["gone", (path: string) => rmSync(path)],
  ])("a release with a segment that is %s is refused by every worker", async (_, damage) => {
    const before = refusals();
    const { name } = bring(damage);
    await until(() => refusals() > before);
    expect(server.err).toContain(name);
    expect([...(await versions())]).toEqual([sound]);
  });

  test.each(share(POINTERS, POINTERS.slice(0, 1)))("a pointer to %j changes nothing", async (text) => {
    writeFileSync(join(server.dataDir, "current.new"), text);
    renameSync(join(server.dataDir, "current.new"), join(server.dataDir, "current"));
    await goesOn();
  });

  test("and the next sound release takes over", async () => {
    sound = bring(() => {}).id;
    await until(async () => [...(await versions())].join() === sound);
  });

  test("without its database known keys go on", async () => {
    for (const file of readdirSync(server.dataDir).filter((name) => name.startsWith("inkling.db")))
      rmSync(join(server.dataDir, file));
    await goesOn();
  });

  test("no response to the attack was wrong meanwhile", async () => {
    end.abort();
    await attack;
    expect(attacker.faults).toEqual([]);
    expect(attacker.statuses.get("200")).toBeGreaterThan(0);
    expect(server.isRunning()).toBe(true);
    expect((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status).toBe(200);
  });
});
