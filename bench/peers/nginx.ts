// nginx.ts: starts nginx with nginx.conf, in one of three variants. "bare" looks up an address and prints five fields.
// "guarded" also checks a key, applies a per-key rate limit and writes an access log. "alike" checks a key and sends as
// many fields and headers as Inkling does. Fields that nginx's database lacks (such as country names) are constants.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { databaseFiles } from "../lib/data.ts";
import { SERVER_CORE } from "../lib/proc.ts";
import type { Run } from "../lib/record.ts";
import { freePort, type Running, startServer, TOKEN, temporaryFolder } from "../lib/server.ts";

const [FEW, ALL] = [
  `{"city":{"name":"$_city"},"country":{"iso_code":"$_country_code"},"location":{"latitude":$_latitude,` +
    `"longitude":$_longitude},"subdivisions":[{"name":"$_state1"}]}`,
  `{"city":{"name":"$_city"},"continent":{"code":"EU","name":"Europe"},"country":{"iso_code":"$_country_code",` +
    `"name":"United Kingdom"},"location":{"accuracy_radius":20,"latitude":$_latitude,"longitude":$_longitude,` +
    `"time_zone":"Europe/London"},"postal":{"code":"EC4N"},"registered_country":{"iso_code":"GB",` +
    `"name":"United Kingdom"},"subdivisions":[{"iso_code":"ENG","name":"$_state1"}]}`,
];
const HEADERS = `add_header ETag '"0123456789abcdef"';
    add_header Inkling-Data-Version 20261121T000000000Z-0123456789ab;
    add_header X-Request-Id $request_id;
    add_header RateLimit-Policy '"rate";q=1000000;w=1';
    add_header RateLimit '"rate";r=999999;t=1';`;
const CHECK_KEY = "if ($is_known = 0) { return 401; }";

/** Starts nginx on the server's core with one worker process. */
export async function startNginx(
  run: Run,
  kind: "bare" | "guarded" | "alike",
  module: string,
): Promise<Running> {
  const folder = temporaryFolder(run);
  const [port, { v4, v6 }] = [freePort(), databaseFiles()];
  const fields = kind === "alike" ? ALL! : FEW!;
  const guards = {
    bare: "",
    alike: CHECK_KEY,
    guarded: `${CHECK_KEY} limit_req zone=keys burst=100000 nodelay;`,
  };
  const values: Readonly<Record<string, string>> = {
    MODULE: module,
    ACCESS_LOG: kind === "guarded" ? "access.log combined buffer=64k" : "off",
    DATABASE_4: v4,
    DATABASE_6: v6,
    TOKEN,
    PORT: String(port),
    HEADERS: kind === "alike" ? HEADERS : "",
    GUARD: guards[kind],
    FIELDS_4: fields.replaceAll("$_", "$geo4_"),
    FIELDS_6: fields.replaceAll("$_", "$geo6_"),
  };
  const file = join(folder, "nginx.conf");
  const template = readFileSync(join(import.meta.dir, "nginx.conf"), "utf8");
  writeFileSync(
    file,
    template.replaceAll(/@(\w+)@/g, (_, name) => values[name]!),
  );
  const command = ["nginx", "-p", folder, "-c", file, "-e", join(folder, "error.log")];
  return startServer(run, command, port, "/healthz", { core: SERVER_CORE });
}
