// primary.ts: a server of several processes: workers that answer, and this one, which answers no look-up.
//
// in   ServerOptions with more than one worker
// out  RunningServer
// err  as serve.ts; a worker that ends is replaced (crew.ts)
//
// Only this process opens the database, follows releases and reads each new one through. Workers are told of keys, overrides
// and releases; limits, quotas and counts lie in memory that all share (shared-memory.ts), so they are exact for the
// machine, and outlive any worker.

import { formatPrefix } from "@inkling/engine";
import { listenError } from "../http/listener.ts";
import type { LoadedKeys } from "../keys/keyring.ts";
import { CellAllotment } from "../limits/cell-allocator.ts";
import { type Recorder, UsageCollector } from "../limits/shared-usage.ts";
import type { Releases } from "../releases/follow.ts";
import { type RunningServer, running, type ServerOptions } from "../server.ts";
import { type Closers, makeDataFolder, makeLog } from "./bootstrap.ts";
import { type KeysNews, keysToWire, type ToWorker, type WireKeys } from "./messages.ts";
import { LAYOUT, SharedMemory } from "./shared-memory.ts";
import { Crew } from "./worker-pool.ts";

const LEAST_CELLS = 1024;

/** @throws StartError, StoreError */
export async function startSupervisor(
  options: ServerOptions,
  workers: number,
  closers: Closers,
): Promise<RunningServer> {
  const now = Date.now;
  const log = makeLog(options, closers);
  makeDataFolder(options.dataDir);
  const claim = claimPort(options.host, options.port);
  closers.push(() => claim.release());
  const memory = new SharedMemory(workers, options.dataDir, now(), options.standby?.descriptor);
  const standby = memory.descriptor === options.standby?.descriptor ? options.standby : undefined;
  if (standby === undefined) options.standby?.dismiss();
  closers.push(() => memory.close());
  const told = new Told(memory);

  // Before everything else: the first one loads its code on another core while this process loads and opens its own.
  const crew = new Crew({
    workers,
    descriptor: memory.descriptor,
    standby,
    log,
    optionsOf: (worker) => ({
      worker,
      workers,
      layout: LAYOUT,
      base: memory.base,
      host: options.host,
      port: claim.port,
      dataDir: options.dataDir,
      mode: options.mode,
      version: options.version,
      rate: options.rate,
      burst: options.burst,
      trustedProxies: options.trustedProxies.map(formatPrefix),
      maxConnections: options.maxConnections,
      dnsServers: options.dnsServers ?? [],
      logLevel: options.logLevel,
    }),
    news: {
      release: () => releaseNews(backstage.releases),
      overrides: () => ({ type: "overrides", overrides: backstage.overrides.current.all }),
      keys: () => told.keysNews,
    },
    onKeysTaken: (change) => told.settled(change, backstage.usage, now()),
  });
  closers.push(() => crew.kill());

  const [{ openBackstage, startAdmin, closeBackstage }, { CrewMetrics }] = await Promise.all([
    import("./services.ts"),
    import("./pool-metrics.ts"),
  ]);
  const backstage = await openBackstage(options, log, closers, {
    onKeys: (loaded) => {
      told.keysLoaded(loaded);
      crew.tell("keys");
    },
    onAway: (reason) => {
      told.away = reason;
      crew.tell("keys");
    },
    onRelease: () => crew.tell("release"),
    onOverrides: () => crew.tell("overrides"),
    usage: {
      collect: (recorder) => told.collector.collect(memory.view.cells, recorder, now()),
      onUsed: (keyId, used) => told.collector.tell(keyId, used, memory.view.cells),
    },
  });
  const source = new CrewMetrics(options, backstage, crew, memory.view, now());
  const admin = startAdmin(options, backstage, log, source, () => source.refresh());
  closers.push(() => admin.stop(true));
  await crew.listen();
  backstage.releases.start(); // only now: verifying would slow the start down
  log.info("listening", {
    host: options.host,
    port: claim.port,
    admin_port: admin.port,
    version: options.version,
    workers,
  });

  return running(claim.port, admin.port!, log, async () => {
    log.info("stopping");
    await crew.stop();
    claim.release();
    await admin.stop(true);
    await closeBackstage(backstage, log);
    memory.close();
    log.info("stopped");
    log.flush();
  });
}

function releaseNews({ current, isVerified, refused, since }: Releases): ToWorker {
  return { type: "release", name: current?.name, isVerified, refused, since };
}

/** What the workers are told of keys, and the cells that the keys have. */
class Told {
  readonly collector = new UsageCollector();
  /** Why the database is away. */
  away: string | undefined;
  private readonly memory: SharedMemory;
  private readonly allotment = new CellAllotment();
  private keys: WireKeys | undefined;
  private change = 0;

  constructor(memory: SharedMemory) {
    this.memory = memory;
  }

  /** @throws when there is no memory for so many keys: those before stay in force */
  keysLoaded(loaded: LoadedKeys): void {
    const { allotment, collector, memory } = this;
    this.change++;
    const added = allotment.assign(
      loaded.tokens.map(({ key }) => key.id),
      this.change,
    );
    for (const keyId of added) collector.add(keyId, allotment.cells.get(keyId)!);
    memory.reserve(Math.max(LEAST_CELLS, 2 ** Math.ceil(Math.log2(allotment.size + 1))));
    this.keys = keysToWire(loaded);
    this.away = undefined;
  }

  get keysNews(): KeysNews {
    const { change, keys, allotment, away } = this;
    return { type: "keys", change, keys, cells: [...allotment.cells], away };
  }

  /** No worker knows keys that were gone before `change`: their cells are free. */
  settled(change: number, recorder: Recorder, now: number): void {
    const { cells } = this.memory.view;
    this.allotment.settled(change, (keyId, cell) => {
      this.collector.remove(keyId, cells, recorder, now);
      cells.clear(cell);
    });
  }
}

interface Claim {
  readonly port: number;
  release(): void;
}

/**
 * Sees to it that nobody else has the port. Workers share it, and a share of it could be had by any other program of
 * this user that asks for one: so it is tried alone first, under a name that one supervisor at a time can have.
 * @param port 0 = any free one
 * @throws StartError
 */
function claimPort(hostname: string, port: number): Claim {
  try {
    const probe = Bun.listen({ hostname, port, socket: { data() {} } });
    const found = probe.port;
    probe.stop(true);
    const name = claimName(hostname, found);
    if (name === undefined) return { port: found, release() {} };
    return { port: found, release: () => name.stop(true) };
  } catch (error) {
    throw listenError("port", hostname, port, error);
  }
}

/** A name that the system forgets with its process; undefined where there are no such names. */
function claimName(hostname: string, port: number) {
  if (process.platform !== "linux") return undefined;
  return Bun.listen({ unix: `\0inkling ${hostname} ${port}`, socket: { data() {} } });
}
