// attacker.ts: sends hostile requests and judges the responses.

import { Connection, type RawResponse } from "../contract/connection.ts";
import { smallCity, smallFlag } from "../harness/release.ts";
import type { AttackedServer } from "./attacked-server.ts";
import { ADMIN_TARGETS, type HostileRequest, hostileRequests, isDocumented } from "./hostile-requests.ts";

const CONNECTIONS = 16;
const MAX_FAULTS = 10;
/** What only a key may see. */
const DATA = [smallCity(1), `"${smallFlag(1)}":`, '"providers":'];
/** Without a key: documents, and whether it is alive. */
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

/** The same of the admin listener, where no API key opens anything. */
function adminFault(_: HostileRequest, { status, body }: RawResponse): string | undefined {
  if (status >= "500") return "a 5xx";
  const isOpen = body.length === 0 || body.toString("latin1").startsWith("# HELP "); // HEAD; metrics
  return status < "400" && !isOpen ? "an answer without the admin token" : undefined;
}

export class Attacker {
  /** Responses by status; "closed" without one. */
  readonly statuses = new Map<string, number>();
  /** What was wrong, with the request. */
  readonly faults: string[] = [];
  private readonly server: AttackedServer;
  private readonly listener: "port" | "adminPort";

  constructor(server: AttackedServer, listener: "port" | "adminPort" = "port") {
    this.server = server;
    this.listener = listener;
  }

  /**
   * Sends so many requests of a seed on several connections, or fewer: until it has found enough, or is aborted.
   * @param pauseMs between two requests of a connection
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
