// @inkling/server: the server with its HTTP API and admin API.

export type { Geolocation } from "@inkling/contract";
export type { DataActions } from "../admin/handler.ts";
export { type Problem, problem, problemBody } from "../http/problems.ts";
export { problemOf } from "../lookup/failures.ts";
export type { DnsServer } from "../mx/dns-servers.ts";
export { formatDnsServer, parseDnsServer } from "../mx/dns-servers.ts";
export { sendTest } from "../webhooks/sender.ts";
export { type RunningServer, type ServerOptions, StartError, startServer } from "./server.ts";
