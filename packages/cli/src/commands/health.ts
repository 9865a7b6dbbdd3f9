// health.ts: `inkling health` tells whether this machine's server is ready, for health checks that have no HTTP client.

import { get } from "node:http";
import { text } from "node:stream/consumers";
import { type Command, Option } from "commander";
import { localUrl } from "../config/settings.ts";
import { addAction, type Context } from "../runtime/command.ts";
import { CliError, usage } from "../terminal/errors.ts";

const WAIT_MS = 4_000;

const OTHER =
  "INKLING_HOST and INKLING_PORT must match the server's settings; the server's log shows why it is not running";

export function addHealth(program: Command, context: Context): void {
  const command = program
    .command("health")
    .description("check whether the server on this machine is ready, for container health checks")
    .addOption(new Option("--admin-port <port>").hideHelp())
    .addHelpText("after", "\nExit codes: 0 ready, 1 not ready or no answer.\n\nExamples:\n  inkling health");
  addAction(command, context, ["host", "port"], async ({ settings, flags }) => {
    if (flags.adminPort !== undefined) {
      throw usage(
        "`health` checks the API, because the admin listener has no /readyz",
        "leave out --admin-port, and give the API's port with --port or INKLING_PORT",
      );
    }
    const url = `${localUrl(settings.host, settings.port)}/readyz`;
    const { status, body } = await request(url);
    const doctor = "run `inkling doctor` to see what to do";
    if (status === 503) throw new CliError(`the server is not ready: ${reasonsIn(body)}`, doctor);
    if (status !== 200) throw new CliError(`${url} returned status ${status}, not 200 or 503`, OTHER);
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

/** Sends a GET request. Does not use `fetch`, which would send the request to the proxy in HTTP_PROXY. */
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
