// one-process.ts: a server of one process, which answers, and does everything else besides.
//
// in   ServerOptions with one worker
// out  RunningServer
// err  as serve.ts

import { App } from "../api/app.ts";
import { makeCounts } from "../api/counts.ts";
import { ConnectionLimit } from "../http/connections.ts";
import { drained, type Handler, listen } from "../http/listener.ts";
import { requestIds } from "../http/request-id.ts";
import { Buckets } from "../limits/token-bucket.ts";
import { EmailChecks } from "../lookup/mx.ts";
import { MxLookups } from "../mx/check.ts";
import { MxCounts } from "../mx/counts.ts";
import { makeResolver } from "../mx/dns-client.ts";
import { type RunningServer, running, type ServerOptions } from "../server.ts";
import { type Closers, makeDataFolder, makeLog } from "./bootstrap.ts";
import { closeBackstage, openBackstage, startAdmin } from "./services.ts";

/** @throws StartError, StoreError */
export async function startOneProcess(options: ServerOptions, closers: Closers): Promise<RunningServer> {
  const now = Date.now;
  const log = makeLog(options, closers);
  makeDataFolder(options.dataDir);
  const buckets = new Buckets({ rate: options.rate, burst: options.burst });
  const backstage = await openBackstage(options, log, closers, {
    onKeyRemoved: (keyId) => buckets.drop(keyId),
  });
  const { releases, keyring, usage, overrides } = backstage;

  const counts = makeCounts();
  const elapsed = () => performance.now();
  const mxCounts = new MxCounts();
  const mx = new MxLookups({ dns: makeResolver(options.dnsServers ?? []), counts: mxCounts, elapsed });
  closers.push(() => mx.stop());
  const status = { version: options.version, mode: options.mode, releases, keyring };
  const app = new App({
    ...status,
    buckets,
    usage,
    overrides,
    documents: () => import("../openapi/documents.ts"),
    checks: new EmailChecks(mx, mxCounts),
    trustedProxies: options.trustedProxies,
    counts,
    log,
    now,
    elapsed,
    newRequestId: requestIds((bytes) => crypto.getRandomValues(bytes)),
  });
  const answer: Handler = (request, server) => app.handle(request, server);
  const api = listen({
    what: "port",
    hostname: options.host,
    port: options.port,
    fetch: answer,
    mostBody: Number.MAX_SAFE_INTEGER,
  });
  closers.push(() => api.stop(true));
  releases.start(); // only now: verifying would slow the start down
  const connections = new ConnectionLimit({
    port: api.port!,
    most: options.maxConnections,
    onExcess: (closed, most) => log.error("too-many-connections", { closed, most }),
  });
  closers.push(() => connections.stop());
  if (connections.most < options.maxConnections) {
    log.info("fewer-connections", {
      most: connections.most,
      asked: options.maxConnections,
      why: "open files limit",
    });
  }
  const admin = startAdmin(options, backstage, log, {
    ...status,
    overrides,
    counts,
    mx: mxCounts,
    usage,
    connections,
    now,
    startedAt: now(),
  });
  closers.push(() => admin.stop(true));
  log.info("listening", {
    host: options.host,
    port: api.port,
    admin_port: admin.port,
    version: options.version,
  });

  const shutDown = async () => {
    log.info("stopping");
    connections.stop();
    await drained(api);
    mx.stop();
    await admin.stop(true);
    await closeBackstage(backstage, log);
    log.info("stopped");
    log.flush();
  };
  return running(api.port!, admin.port!, log, shutDown);
}
