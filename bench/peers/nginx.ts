// nginx.ts: nginx with ngx_http_geoip2 as the same end point: an address in the path, JSON from its variables.
//
// Three of them: "bare" looks up and prints five fields, nothing else; "guarded" also checks a key, limits its rate and
// writes an access log; "alike" checks a key and answers with as many members and headers as ours, so that both send the same
// amount: what its database does not have, such as names of countries, is written out for all alike. The database has one file for each family, so each address picks its own.
// One worker process; keep-alive connections are never closed for their number of requests.
// (It does not escape names in JSON, nor answers 404 for what it does not know: ours does both.)

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { databaseFiles } from "../lib/data.ts";
import {
  AUTHORIZED,
  freePort,
  type Running,
  SERVER_CORE,
  startServer,
  temporaryFolder,
} from "../lib/server.ts";

const FIELDS = ["city", "country_code", "latitude", "longitude", "state1"] as const;
const fewMembers = (geo: string) =>
  `{"city":{"name":"${geo}_city"},"country":{"iso_code":"${geo}_country_code"},"location":{"latitude":${geo}_latitude,"longitude":${geo}_longitude},"subdivisions":[{"name":"${geo}_state1"}]}`;
const allMembers = (geo: string) =>
  `{"city":{"name":"${geo}_city"},"continent":{"code":"EU","name":"Europe"},"country":{"iso_code":"${geo}_country_code","name":"United Kingdom"},"location":{"accuracy_radius":20,"latitude":${geo}_latitude,"longitude":${geo}_longitude,"time_zone":"Europe/London"},"postal":{"code":"EC4N"},"registered_country":{"iso_code":"GB","name":"United Kingdom"},"subdivisions":[{"iso_code":"ENG","name":"${geo}_state1"}]}`;
const allHeaders = `
      add_header ETag '"0123456789abcdef"';
      add_header Inkling-Data-Version 20261121T000000000Z-0123456789ab;
      add_header X-Request-Id $request_id;
      add_header RateLimit-Policy '"rate";q=1000000;w=1';
      add_header RateLimit '"rate";r=999999;t=1';`;

export type NginxKind = "bare" | "guarded" | "alike";
type Family = "4" | "6";

function configuration(kind: NginxKind, module: string, folder: string, port: number): string {
  const database = databaseFiles();
  const fields = (family: Family) => `  geoip2 ${database[`v${family}`]} {
${FIELDS.map((name) => `    $geo${family}_${name} source=$asked ${name};`).join("\n")}
  }`;
  const guard =
    kind === "bare"
      ? ""
      : `
      if ($is_known = 0) { return 401; }${kind === "guarded" ? "\n      limit_req zone=keys burst=100000 nodelay;" : ""}`;
  const members = kind === "alike" ? allMembers : fewMembers;
  // One location a family, each with variables of its own: choosing the file by a map would cost a regex a field.
  const location = (family: Family, characters: string) => `
    location ~ ^/v1/ip-intel/geolocate/(?<asked>[${characters}]+)$ {${guard}
      default_type application/json;
      add_header Cache-Control "private, max-age=300";
      add_header Vary Authorization;${kind === "alike" ? allHeaders : ""}
      return 200 '${members(`$geo${family}`)}';
    }`;
  return `load_module ${module};
worker_processes 1;
daemon off;
pcre_jit on;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log error;
events { worker_connections 1024; }
http {
  access_log ${kind === "guarded" ? `${folder}/access.log combined buffer=64k` : "off"};
  keepalive_requests 1000000000;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
${fields("4")}
${fields("6")}
  map_hash_bucket_size 128;
  map $http_authorization $is_known { default 0; "${AUTHORIZED.Authorization}" 1; }
  limit_req_zone $http_authorization zone=keys:10m rate=1000000r/s;
  server {
    listen 127.0.0.1:${port};${location("4", "0-9.")}${location("6", "0-9a-fA-F.:")}
    location = /healthz { return 200; }
  }
}
`;
}

/** Starts it on the server's core. */
export async function startNginx(kind: NginxKind, module: string): Promise<Running> {
  const folder = temporaryFolder();
  const port = freePort();
  const file = join(folder, "nginx.conf");
  writeFileSync(file, configuration(kind, module, folder, port));
  const command = ["nginx", "-p", folder, "-c", file, "-e", join(folder, "error.log")];
  return startServer(command, port, { path: "/healthz" }, { core: SERVER_CORE });
}
