// documented-proxies.ts: runs the documented proxy configurations, unchanged, in front of a server.
// documented-config.test.ts starts it in its own mount and network namespaces, where their ports and files
// are free.

import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../harness/release.ts";
import { startSmallServer } from "../../harness/server.ts";
import { until } from "../../harness/until.ts";

export interface Given {
  readonly proxy: "nginx" | "caddy" | "haproxy";
  readonly config: string;
  /** The origin to which requests are sent. */
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
}
export interface Seen {
  /** Statuses of GET and HEAD for an email address, and of a batch. */
  readonly statuses: readonly number[];
  /** Status of /v1/forward-auth. */
  readonly forwardAuth: number;
  /** Status of /readyz, which needs no key. */
  readonly ready: number;
  /** Statuses of GET and HEAD without a server behind the proxy. */
  readonly away: readonly number[];
  /** Everything that was logged. */
  readonly log: string;
}

/** An address that occurs only in the requests. */
export const ADDRESS = "jane.loggable@gmail.com";
const PATH = "/v1/user-intel/email";
const LOGS = "/var/log/nginx";
/** The servers behind a load balancer, of which only the last one runs. */
const SERVERS = ["10.0.0.11", "10.0.0.12", "10.0.0.13"];
/** If nginx has run before, its folders here belong to another user. */
const STATE = "/var/lib/nginx";

function run(...args: string[]): void {
  const { success, stderr } = Bun.spawnSync(args);
  if (!success) throw new Error(`${args.join(" ")}: ${stderr}`);
}

const isGroup = (config: string) => SERVERS.every((address) => config.includes(address));

/** @returns the command that starts the proxy in the foreground */
function prepare({ proxy, config }: Given): string[] {
  run("ip", "link", "set", "lo", "up");
  const folders = ["/etc/ssl", "/run", "/tmp", ...(proxy === "nginx" ? ["/etc/nginx", LOGS, STATE] : [])];
  for (const folder of folders) run("mount", "-t", "tmpfs", "tmpfs", folder);
  const [certificate, key] = ["/etc/ssl/inkling.pem", "/etc/ssl/inkling.key"];
  if (proxy !== "caddy")
    run(
      ...["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
      ...["-subj", "/CN=inkling.example", "-keyout", key, "-out", certificate, "-config", "/dev/null"],
    );
  if (isGroup(config))
    for (const address of SERVERS) run("ip", "address", "add", `${address}/32`, "dev", "lo");
  if (proxy === "haproxy") {
    appendFileSync(certificate, readFileSync(key));
    const file = join(temporaryFolder(), "haproxy.cfg");
    writeFileSync(file, config);
    run("haproxy", "-c", "-f", file);
    return ["haproxy", "-db", "-f", file];
  }
  if (proxy === "nginx") {
    mkdirSync("/etc/nginx/conf.d");
    const ownCertificate = config
      .replace("/etc/letsencrypt/live/inkling.example/fullchain.pem", certificate)
      .replace("/etc/letsencrypt/live/inkling.example/privkey.pem", key);
    writeFileSync("/etc/nginx/conf.d/inkling.conf", ownCertificate);
    writeFileSync("/etc/nginx/staff", "staff:{PLAIN}pass");
    // As distributions ship it: by default, everything is logged.
    writeFileSync(
      "/etc/nginx/nginx.conf",
      `user root; pid /run/nginx.pid; daemon off; error_log ${LOGS}/error.log; events {}
       http { access_log ${LOGS}/access.log; include /etc/nginx/conf.d/*.conf; }`,
    );
    run("nginx", "-t");
    return ["nginx"];
  }
  // Uses a certificate from its own authority, because no other is available here.
  const file = join(temporaryFolder(), "Caddyfile");
  writeFileSync(file, config.replace("{\n", "{\n  local_certs\n  skip_install_trust\n"));
  run("caddy", "validate", "--adapter", "caddyfile", "--config", file);
  return ["caddy", "run", "--adapter", "caddyfile", "--config", file];
}

if (import.meta.main) {
  const given: Given = JSON.parse(process.argv[2] ?? "");
  const command = prepare(given);
  // A request to an own address comes from that address.
  const host = isGroup(given.config) ? SERVERS.at(-1)! : "127.0.0.1";
  const options = { host, port: 8080, trustedProxies: [`${host}/32`] };
  const { server, keys } = await startSmallServer(options, ["127.0.0.1/32"]);
  const home = temporaryFolder();
  const env = { PATH: process.env.PATH ?? "", HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home };
  const proxy = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: "pipe", env });
  const output = Promise.all([new Response(proxy.stdout).text(), new Response(proxy.stderr).text()]);
  const headers = { authorization: `Bearer ${keys.live}`, ...given.headers };
  const send = (
    path: string,
    init: { method?: string; body?: string; headers?: Record<string, string> } = {},
  ) =>
    fetch(given.origin + path, {
      ...init,
      headers: { host: "inkling.example", ...headers, "content-type": "application/json", ...init.headers },
      tls: { rejectUnauthorized: false, serverName: "inkling.example" },
    })
      .then(({ status }) => status)
      .catch(() => 0);
  const both = async () => [
    await send(`${PATH}/${ADDRESS}`),
    await send(`${PATH}/${encodeURIComponent(ADDRESS)}`, { method: "HEAD" }),
  ];
  await until(async () => proxy.exitCode !== null || (await send("/healthz")) !== 0);
  const batch = { method: "POST", body: JSON.stringify({ values: [ADDRESS] }) };
  const statuses = [...(await both()), await send(PATH, batch)];
  const forwardAuth = await send("/v1/forward-auth", { headers: { "x-forwarded-for": "8.8.8.8" } });
  const ready = await send("/readyz");
  await server.stop();
  const away = await both();
  proxy.kill("SIGTERM");
  await proxy.exited;
  const files = given.proxy === "nginx" ? readdirSync(LOGS).map((name) => join(LOGS, name)) : [];
  const log = [...(await output), ...files.map((file) => readFileSync(file, "utf8"))].join("\n");
  process.stdout.write(`${JSON.stringify({ statuses, forwardAuth, ready, away, log } satisfies Seen)}\n`);
  process.exit(0);
}
