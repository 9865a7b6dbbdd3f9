// attacker.ts: sends hostile requests and judges the responses.

import { Connection, type RawResponse } from "../contract/connection.ts";
import { smallCity, smallFlag } from "../harness/release.ts";
import type { AttackedServer } from "./attacked-server.ts";
import { ADMIN_TARGETS, type HostileRequest, hostileRequests, isDocumented } from "./hostile-requests.ts";

const CONNECTIONS = 16;
const MAX_FAULTS = 10;
/** Data that only a request with a key may receive. */
const DATA = [smallCity(1), `"${smallFlag(1)}":`, '"providers":'];
/** Bodies allowed without a key: documents, and the liveness check. */
const OPEN = /^\{"(status|openapi)"|^<!doctype html>/i;

/** @returns what is wrong with a response, or undefined */
function fault(request: HostileRequest, response: RawResponse): string | undefined {
  const status = Number(response.status.slice(0, 3));
  const body = response.body.toString("latin1");
  const headers = response.headers.map(([name, value]) => `${name}: ${value}`).join("\n");
  if (status >= 500 && request.key !== "sandbox") return "a 5xx";
  if (
    status < 300 &&
    request.key === undefined &&
    request.method !== "HEAD" &&
    !OPEN.test(body) &&
    body !== ""
  )
    return "an answer without a key";
  if (request.key === undefined && DATA.some((text) => body.includes(text)) && !OPEN.test(body))
    return "data without a key";
  if (request.key === undefined && /^inkling-(flags|country):/im.test(headers)) return "flags without a key";
  const isProblem = /^content-type: application\/(problem|vnd\.maxmind\.com-error)\+json/im.test(headers);
  if (isProblem && body !== "" && !isDocumented(JSON.parse(body).code))
    return "a problem without a documented code";
  if (status >= 400 && !isProblem && body !== "") return "an error that is no problem document";
  const leak = request.secrets.find(
    (secret) => (isProblem && body.includes(secret)) || headers.includes(secret),
  );
  return leak === undefined ? undefined : `repeats ${leak}`;
}

/** Like {@link fault}, for the admin listener, where no API key gives access. */
function adminFault(_: HostileRequest, { status, body }: RawResponse): string | undefined {
  if (status >= "500") return "a 5xx";
  const isOpen = body.length === 0 || body.toString("latin1").startsWith("# HELP "); // a HEAD request, or metrics
  return status < "400" && !isOpen ? "an answer without the admin token" : undefined;
}

export class Attacker {
  /** Number of responses by status; "closed" counts connections closed without a response. */
  readonly statuses = new Map<string, number>();
  /** Each fault, with its request. */
  readonly faults: string[] = [];
  private readonly server: AttackedServer;
  private readonly listener: "port" | "adminPort";

  constructor(server: AttackedServer, listener: "port" | "adminPort" = "port") {
    this.server = server;
    this.listener = listener;
  }

  /**
   * Sends up to `most` requests from a seed on several connections. Stops earlier if it has found enough
   * faults or is aborted.
   * @param pauseMs milliseconds between two requests on a connection
   */
  async send(
    seed: number,
    most: number,
    { signal, pauseMs = 0 }: { signal?: AbortSignal; pauseMs?: number } = {},
  ): Promise<void> {
    const requests = hostileRequests(
      seed,
      this.server.keys,
      this.listener === "adminPort" ? ADMIN_TARGETS : undefined,
    );
    let left = most;
    const converse = async () => {
      const connection = new Connection(this.server[this.listener]);
      while (left-- > 0 && this.faults.length < MAX_FAULTS && signal?.aborted !== true) {
        await this.sendOne(connection, requests.next().value);
        if (pauseMs > 0) await Bun.sleep(pauseMs);
      }
      connection.close();
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, converse));
  }

  private async sendOne(connection: Connection, request: HostileRequest): Promise<void> {
    const response = await connection.send(request.bytes, request.method !== "HEAD").catch((error) => {
      if (error.message !== "the server closed the connection") throw error;
      return undefined;
    });
    const kind = response === undefined ? "closed" : response.status.slice(0, 3);
    this.statuses.set(kind, (this.statuses.get(kind) ?? 0) + 1);
    const judge = this.listener === "port" ? fault : adminFault;
    const found = response && judge(request, response);
    if (found !== undefined)
      this.faults.push(`${found}: ${response!.status} to ${request.bytes.toString("latin1").slice(0, 600)}`);
  }
}
