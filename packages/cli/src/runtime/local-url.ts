// local-url.ts: where this machine reaches a listener.

import { urlHost } from "@inkling/engine";

/** @param host that it listens on: any address of this machine is best tried at the loopback one */
export function localUrl(host: string, port: number): string {
  const reached = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${urlHost(reached)}:${port}`;
}
