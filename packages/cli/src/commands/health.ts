// health.ts: `inkling health`: is the server of this machine ready? For health checks that have no HTTP client.

import { get } from "node:http";
import { text } from "node:stream/consumers";
import type { Command } from "commander";
import { localUrl } from "../config/settings.ts";
import { addAction, type Context } from "../runtime/command.ts";
import { CliError } from "../terminal/errors.ts";

const WAIT_MS = 4_000;

const OTHER = "INKLING_HOST and INKLING_PORT must be the server's; its log says why it does not run";

export function addHealth(program: Command, context: Context): void {
  const command = program
    .command("health")
    .description("check whether the server on this machine is ready, for container health checks")
    .addHelpText("after", "\nExit codes: 0 ready, 1 not ready or no answer.\n\nExamples:\n  inkling health");
  addAction(command, context, ["host", "port"], async ({ settings }) => {
    const url = `${localUrl(settings.host, settings.port)}/readyz`;
    const { status, body } = await request(url);
    const doctor = "`npx @inkling/cli doctor` names what to do";
    if (status === 503) throw new CliError(`the server is not ready: ${reasonsIn(body)}`, doctor);
    if (status !== 200) throw new CliError(`what listens at ${url} answers with ${status}`, OTHER);
    context.terminal.out("ready");
  });
}

function reasonsIn(body: string): string {
  try {
    return (JSON.parse(body) as { reasons: string[] }).reasons.join("; ");
  } catch {
    return body;
  }
}

/** Not by `fetch`, which would ask a proxy of HTTP_PROXY. */
function request(url: string): Promise<{ status: number | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) =>
      reject(new CliError(`no server answers at ${url}: ${error.message}`, OTHER));
    const signal = AbortSignal.timeout(WAIT_MS);
    get(url, { signal }, (response) =>
      text(response).then((body) => resolve({ status: response.statusCode, body }), fail),
    ).on("error", fail);
  });
}
