// Tests the configurations in docs/ and of the client, unchanged, in the programs that they are for.

import { describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { HOW_TO_INSTALL, hasPeer, PEERS, peerPath } from "../../harness/peers.ts";
import { withPrograms } from "../../harness/programs.ts";
import { made, projectFiles } from "../../harness/project-files.ts";
import { tried } from "../../harness/recorded-rows.ts";
import { temporaryFolder } from "../../harness/release.ts";
import { startSmallServer } from "../../harness/server.ts";
import { FULL } from "../../harness/share.ts";
import type { Given as Documented, Judged } from "./documented-forward-auth.ts";
import { ADDRESS, type Given, type Seen } from "./documented-proxies.ts";
import type { Started, Verified } from "./documented-service.ts";

const ROOT = resolve(import.meta.dir, "../../..");
const UNSHARE = ["unshare", "--map-root-user", "--mount", "--net"];
const canUnshare =
  process.platform === "linux" &&
  !/^\/(tmp|run)\//.test(import.meta.dir) && // the namespaces hide these folders
  Bun.which("unshare") !== null &&
  Bun.spawnSync([...UNSHARE, "mount", "-t", "tmpfs", "tmpfs", temporaryFolder()]).success;

/** Only root itself may create users, not a user that is mapped to root. */
const isRoot = () => canUnshare && process.getuid?.() === 0;

function serviceRun<Seen>(given: object): Seen {
  return runApart("documented-service.ts", given, isRoot() ? ["unshare", "--mount", "--net"] : UNSHARE);
}

/**
 * Runs a script in its own namespaces.
 * @returns its output
 */
function runApart<Seen>(name: string, given: object, unshare = UNSHARE): Seen {
  const script = join(import.meta.dir, name);
  const { stdout, stderr } = Bun.spawnSync([...unshare, process.execPath, script, JSON.stringify(given)], {
    env: { ...process.env, TMPDIR: "/tmp" }, // a separate folder, because the runner's is hidden there
  });
  if (stdout.length === 0) throw new Error(stderr.toString());
  return JSON.parse(stdout.toString());
}

/** Returns the code blocks in a language, with their pages. */
const blocksOf = (language: string, files = projectFiles()) =>
  files
    .filter(({ path }) => path.endsWith(".md"))
    .flatMap(({ path, text }) =>
      Array.from(text.matchAll(/^```(\S+)\n([\s\S]*?)^```$/gm))
        .filter(([, name]) => name === language)
        .map(([, , code]) => ({ path, code: code! })),
    );

/** Returns the only code block of a page in a language. */
function block(language: string, page: string): string {
  const found = blocksOf(language).filter(({ path }) => path === page);
  expect(found).toHaveLength(1);
  return found[0]!.code;
}

/** Returns the first commands of a page after a heading. */
function commandsAfter(heading: string, page: string): string {
  const [, after] = readFileSync(join(ROOT, page), "utf8").split(new RegExp(`\n##+ ${heading}\n`));
  const [, commands] = /^```sh\n([\s\S]*?)^```$/m.exec(after ?? "") ?? [];
  if (commands === undefined) throw new Error(`${page}: no commands after "${heading}"`);
  return commands;
}

test("every configuration is run here", () => {
  const pages = (language: string) =>
    blocksOf(language)
      .map(({ path }) => path)
      .sort();
  const exports = "docs/exports.md"; // run by cookbook.test.ts
  expect(pages("nginx")).toEqual([
    exports,
    "docs/one-host.md",
    "docs/proxies.md",
    "docs/several-hosts.md",
    "packages/client/MIDDLEWARE.md",
  ]);
  expect(pages("caddyfile")).toEqual(["docs/one-host.md", "docs/proxies.md"]);
  expect(pages("haproxy")).toEqual(["docs/proxies.md", "docs/several-hosts.md"]);
  expect(pages("lua")).toEqual(["docs/proxies.md"]);
  expect(pages("systemd")).toEqual([]);
  expect(unnamed(projectFiles())).toEqual([]);
  expect(unnamed([made("a.md", "```\nserver {\n}\n```\n")])).toEqual(["a.md"]);
});

/** Pages with a configuration whose code block names no language, so that it is not run. */
const unnamed = (files: ReturnType<typeof projectFiles>) =>
  files
    .filter(({ path }) => path.endsWith(".md"))
    .filter(({ text }) =>
      Array.from(text.matchAll(/^```(\S*)\n([\s\S]*?)^```$/gm)).some(
        ([, name, code]) =>
          name === "" && /^(\s*(server|location) .*\{$|\[(Unit|Service)\]$|\s*reverse_proxy )/m.test(code!),
      ),
    )
    .map(({ path }) => path);

describe("proxies keep email addresses out of their logs, with and without a server behind them", () => {
  const tools = ["ip", "mount"];
  const seenBy = (given: Given): Seen => runApart("documented-proxies.ts", given);
  const isLogged = (log: string) => log.includes(ADDRESS.split("@")[0]!);

  withPrograms("nginx", ["nginx", "openssl", ...tools], canUnshare, () => {
    const given: Given = {
      proxy: "nginx",
      config: block("nginx", "docs/one-host.md"),
      origin: "https://127.0.0.1",
      headers: {},
    };
    const { statuses, forwardAuth, away, log } = seenBy(given);
    expect([statuses, away]).toEqual([
      [200, 200, 200],
      [502, 502],
    ]);
    // A proxy is admitted if it is listed, and its key is bound to its address.
    expect(forwardAuth).toBe(403);
    const listed = { ...given, config: given.config.replace("192.0.2.7", "127.0.0.1") };
    expect(seenBy(listed).forwardAuth).toBe(200);
    expect(log).toMatch(/HEAD 502/);
    expect(isLogged(log)).toBe(false);
    // Without the two lines about logs, the address is in the log. This proves that the check above can fail.
    const plain = given.config.replace(/^ {2}(access|error)_log .*\n/gm, "");
    expect(isLogged(seenBy({ ...given, config: plain }).log)).toBe(true);
    tried(import.meta.path, "nginx", ["nginx", "-v"], "TLS and logs, as in one-host.md");
  });

  withPrograms("nginx with one of three servers", ["nginx", "openssl", ...tools], canUnshare, () => {
    const site = block("nginx", "docs/one-host.md").replace(/^upstream inkling \{[\s\S]*?^\}$/m, "");
    const config = block("nginx", "docs/several-hosts.md") + site;
    const given: Given = { proxy: "nginx", config, origin: "https://127.0.0.1", headers: {} };
    const { statuses, forwardAuth, ready, away, log } = seenBy(given);
    expect([statuses, forwardAuth, ready, away]).toEqual([[200, 200, 200], 403, 403, [502, 502]]);
    expect(isLogged(log)).toBe(false);
    // Without another attempt, a request fails at a server that is gone.
    const once = config.replace("proxy_next_upstream error timeout;", "proxy_next_upstream off;");
    expect(seenBy({ ...given, config: once }).statuses).toContain(502);
    tried(import.meta.path, "nginx", ["nginx", "-v"], "three servers, as in several-hosts.md");
  });

  withPrograms("nginx in front of a page of staff", ["nginx", "openssl", ...tools], canUnshare, () => {
    const location = block("nginx", "packages/client/MIDDLEWARE.md");
    const { statuses, away, log } = seenBy({
      proxy: "nginx",
      config: `server {\nlisten 80;\n${location}}\n`,
      origin: "http://127.0.0.1/inkling",
      headers: { authorization: `Basic ${btoa("staff:pass")}` },
    });
    // The key in the text is not a real key.
    expect([statuses, away]).toEqual([
      [401, 401, 401],
      [502, 502],
    ]);
    expect(isLogged(log)).toBe(false);
    tried(import.meta.path, "nginx", ["nginx", "-v"], "lookups by staff, as in MIDDLEWARE.md");
  });

  withPrograms("Caddy", ["caddy", ...tools], canUnshare, () => {
    const given: Given = {
      proxy: "caddy",
      config: block("caddyfile", "docs/one-host.md"),
      origin: "https://127.0.0.1",
      headers: {},
    };
    const { statuses, away, log } = seenBy(given);
    expect([statuses, away]).toEqual([
      [200, 200, 200],
      [502, 502],
    ]);
    expect(isLogged(log)).toBe(false);
    const plain = given.config.replace(/^ +exclude .*\n/m, "");
    expect(isLogged(seenBy({ ...given, config: plain }).log)).toBe(true);
    tried(import.meta.path, "Caddy", ["caddy", "version"], "TLS and logs, as in one-host.md");
  });

  withPrograms("HAProxy with one of three servers", ["haproxy", "openssl", ...tools], canUnshare, () => {
    const config = block("haproxy", "docs/several-hosts.md");
    const given: Given = { proxy: "haproxy", config, origin: "https://127.0.0.1", headers: {} };
    const { statuses, forwardAuth, ready, away, log } = seenBy(given);
    expect([statuses, forwardAuth, ready, away]).toEqual([[200, 200, 200], 403, 403, [503, 503]]);
    expect(isLogged(log)).toBe(false);
    // The keys are bound to 127.0.0.1, which the server reads from X-Forwarded-For.
    const unnamed = seenBy({ ...given, config: config.replace("  option forwardfor\n", "") });
    expect(unnamed.statuses).toEqual([403, 403, 403]);
    tried(import.meta.path, "HAProxy", ["haproxy", "-v"], "three servers, as in several-hosts.md");
  });
});

describe("proxies that ask /v1/forward-auth about their visitors", () => {
  const page = "docs/proxies.md";
  const judgedBy = (given: Documented): Judged => runApart("documented-forward-auth.ts", given);
  const ordinary = { status: 200, flags: "none", country: "GB" };
  const refused = (status: number) => ({ status, flags: null, country: null });
  const passes = {
    ordinary,
    post: ordinary,
    loopback: { status: 200, flags: "reserved", country: "unknown" },
  };
  const denied = { tor: refused(403), forged: refused(403) };

  const nginx = (config: string): Documented => ({
    files: {
      "/etc/nginx/nginx.conf":
        "user root; pid /run/nginx.pid; daemon off; events {} http { include /etc/nginx/shop.conf; }",
      "/etc/nginx/shop.conf": config,
    },
    commands: [["nginx", "-t"], ["nginx"]],
  });
  withPrograms("nginx", ["nginx", "ip", "mount"], canUnshare, () => {
    const config = block("nginx", page);
    // Each verdict is requested once: POST and the third request come from a known visitor.
    const judged = { ...passes, ...denied, undecided: refused(500), away: [200, 500], lookups: 2 };
    expect(judgedBy(nginx(config))).toEqual(judged as unknown as Judged);
    const [directives, location] = [
      ...readFileSync(join(ROOT, page), "utf8").matchAll(
        /`(proxy_intercept_errors [^`]+|location @pass [^`]+)`/g,
      ),
    ];
    const open = config
      .replace(/^ {4}internal;$/m, directives![1]!)
      .replace("  location = /inkling", `${location![1]}\n  location = /inkling`);
    const away = { status: 200, flags: null, country: null };
    expect(judgedBy(nginx(open))).toMatchObject({ ...passes, ...denied, undecided: away, away: [200, 200] });
    tried(import.meta.path, "nginx", ["nginx", "-v"], "`/v1/forward-auth`, as in proxies.md");
  });

  withPrograms("Caddy", ["caddy", "ip", "mount"], canUnshare, () => {
    const file = "/etc/caddy/Caddyfile";
    const files = { [file]: block("caddyfile", page) };
    const commands = ["validate", "run"].map((what) => [
      "caddy",
      what,
      "--adapter",
      "caddyfile",
      "--config",
      file,
    ]);
    const judged = { ...passes, ...denied, undecided: refused(503), away: [502, 502], lookups: 5 };
    expect(judgedBy({ files, commands })).toEqual(judged as unknown as Judged);
    tried(import.meta.path, "Caddy", ["caddy", "version"], "`/v1/forward-auth`, as in proxies.md");
  });

  withPrograms("HAProxy", ["haproxy", "ip", "mount"], canUnshare, () => {
    const file = "/etc/haproxy/haproxy.cfg";
    const files = { [file]: block("haproxy", page), "/etc/haproxy/inkling.lua": block("lua", page) };
    const commands = ["-c", "-db"].map((option) => ["haproxy", option, "-f", file]);
    const judged = { ...passes, ...denied, undecided: refused(503), away: [200, 503], lookups: 2 };
    expect(judgedBy({ files, commands })).toEqual(judged as unknown as Judged);
    tried(import.meta.path, "HAProxy", ["haproxy", "-v"], "`/v1/forward-auth`, as in proxies.md");
  });

  const needed = hasPeer("@kubernetes-models/traefik") ? "" : `: needs ${HOW_TO_INSTALL}`;
  test.if(needed === "")(`Traefik's schema describes the middleware${needed}`, async () => {
    const [, code = ""] =
      /## Traefik\n\n```yaml\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, page), "utf8")) ?? [];
    const { forwardAuth } = (Bun.YAML.parse(code) as TraefikConfig).http.middlewares.inkling;
    const { Middleware } = await import(
      join(PEERS, "@kubernetes-models/traefik/traefik.io/v1alpha1/Middleware.js")
    );
    const validate = (over: object) =>
      new Middleware({
        metadata: { name: "inkling" },
        spec: { forwardAuth: { ...forwardAuth, ...over } },
      }).validate();
    validate({});
    expect(() => validate({ authResponseHeaders: "Inkling-Flags" })).toThrow("must be array");
    tried(
      import.meta.path,
      "Traefik's schema",
      peerPath("@kubernetes-models/traefik"),
      "the middleware, as in proxies.md; Traefik itself was not run",
    );
  });

  test("Traefik and Envoy: what they send, as their definitions have it, is judged", async () => {
    const { server, origin, keys } = await startSmallServer({
      trustedProxies: ["127.0.0.1/32"],
    });
    const [traefik, [envoy]] = blocksOf(
      "yaml",
      projectFiles().filter(({ path }) => path === page),
    ).map(({ code }) => Bun.YAML.parse(code)) as [
      TraefikConfig,
      [{ typed_config: { http_service: EnvoyService } }],
    ];
    const { pathname, search, password } = new URL(traefik.http.middlewares.inkling.forwardAuth.address);
    const { path_override, authorization_request } = envoy.typed_config.http_service;
    const [{ key, value }] = authorization_request.headers_to_add;
    const withKey = (text: string) => decodeURIComponent(text).replace("ink_live_…", keys.test);
    // Go sends the part before the host as Basic authentication.
    const sent: [method: string, path: string, name: string, value: string][] = [
      ["GET", pathname + search, "authorization", `Basic ${btoa(`inkling:${withKey(password)}`)}`],
      ["POST", path_override, key, withKey(value)],
    ];
    const statuses = [];
    for (const [method, path, name, value] of sent)
      for (const visitor of ["192.0.2.1", "192.0.2.6", "192.0.2.4"]) {
        const headers = { [name]: value, "x-forwarded-for": visitor };
        statuses.push((await globalThis.fetch(origin + path, { method, headers })).status);
      }
    await server.stop();
    expect(statuses).toEqual([200, 403, 403, 200, 403, 403]);
  });
});

interface TraefikConfig {
  readonly http: {
    readonly middlewares: { readonly inkling: { readonly forwardAuth: { readonly address: string } } };
  };
}

interface EnvoyService {
  readonly path_override: string;
  readonly authorization_request: {
    readonly headers_to_add: [{ readonly key: string; readonly value: string }];
  };
}

describe("the service of systemd", () => {
  const folder = join(ROOT, "deploy/systemd");
  const OWN_UNITS = [
    "inkling.service",
    "inkling-builder.service",
    "inkling-backup.service",
    "inkling-backup.timer",
  ].map((name) => [name, readFileSync(join(folder, name), "utf8")] as const);
  /** Returns a folder with an `inkling` command that writes its last argument as a file. */
  const ownCommand = () => {
    const bin = temporaryFolder();
    writeFileSync(join(bin, "inkling"), '#!/bin/sh\nfor last; do :; done; echo "$*" >"$last"\n', {
      mode: 0o755,
    });
    return bin;
  };
  withPrograms("its units are valid", ["systemd-analyze"], canUnshare, () => {
    const example = "examples/nightly-enrich";
    const units = ["nightly-enrich.service", "nightly-enrich-failed.service", "nightly-enrich.timer"].map(
      (name) => [name, `${example}/${name}`],
    );
    const files = Object.fromEntries(
      units.map(([name, path]) => [name!, readFileSync(join(ROOT, path!), "utf8")]),
    );
    const { problems, broken } = serviceRun<Verified>({
      verify: { ...Object.fromEntries(OWN_UNITS), ...files },
    });
    expect(problems).toEqual("");
    expect(broken).toContain("Unknown key");
    const version = ["systemd-analyze", "--version"];
    tried(import.meta.path, "systemd", version, "the units in deploy/ and examples/, by systemd-analyze");
  });

  withPrograms("its services may do little", ["systemd-analyze"], true, () => {
    for (const [name] of OWN_UNITS.filter(([name]) => name.endsWith(".service"))) {
      const command = ["systemd-analyze", "security", "--offline=true", "--no-pager", join(folder, name)];
      const [, level] =
        /exposure level for \S+: ([0-9.]+)/.exec(Bun.spawnSync(command).stdout.toString()) ?? [];
      expect([name, Number(level) <= 2]).toEqual([name, true]);
    }
  });

  test("all services have the same protection and the same settings", () => {
    const protection = (unit: string) => /^CapabilityBoundingSet=\n[\s\S]*?^# Memory.*$/m.exec(unit)?.[0];
    const settings = (unit: string) =>
      unit.match(/^(Environment=INKLING_CONFIG|EnvironmentFile|LoadCred|User).*$/gm);
    const [first = "", ...others] = OWN_UNITS.flatMap(([name, text]) =>
      name.endsWith(".service") ? [text] : [],
    );
    expect(others).toHaveLength(2);
    for (const unit of others)
      expect([protection(unit), settings(unit)]).toEqual([protection(first), settings(first)]);
    expect(protection(first)).toContain("NoNewPrivileges=yes");
  });

  test("pages disable a unit before they enable one that conflicts with it", () => {
    let enabled = 0;
    for (const [name, unit] of OWN_UNITS) {
      const [, other] = /^Conflicts=(\S+)\.service$/m.exec(unit) ?? [];
      if (other === undefined) continue;
      for (const { path, text } of projectFiles().filter(({ path }) => /^docs\/.*\.md$/.test(path)))
        for (const [line] of text.matchAll(
          new RegExp(`^.*\n.*systemctl enable --now ${name.replace(/\.service$/, "")}\\b.*$`, "gm"),
        )) {
          enabled++;
          expect([path, line]).toEqual([
            path,
            expect.stringMatching(new RegExp(`systemctl disable --now ${other}\\b[\\s\\S]*enable`)),
          ]);
        }
    }
    expect(enabled).toBe(1); // in several-hosts.md
  });

  /** Returns all commands of a section of several-hosts.md. */
  const commandsOf = (heading: string) => {
    const [, section = ""] = readFileSync(join(ROOT, "docs/several-hosts.md"), "utf8").split(
      `\n### ${heading}\n`,
    );
    const own = section.split(/\n##+ /)[0]!;
    return Array.from(own.matchAll(/^```sh\n([\s\S]*?)^```$/gm), ([, code]) => code!).join("");
  };

  test.each(["/usr/lib/systemd/system", "/opt/inkling/deploy/systemd"])(
    "a builder beside a server differs from a builder in settings, environment and folder: %s",
    (installed) => {
      const [steps = ""] = /^for unit in [\s\S]*? > .*\n/m.exec(commandsOf("A builder beside a server"))!;
      const [root, unit] = [temporaryFolder(), join(folder, "inkling-builder.service")];
      for (const path of [installed, "/etc/systemd/system"]) mkdirSync(join(root, path), { recursive: true });
      copyFileSync(unit, join(root, installed, "inkling-builder.service"));
      Bun.spawnSync(["sh", "-c", steps.replaceAll(/(?<= )\/(?=usr|opt|etc)/g, `${root}/`)]);
      const made = readFileSync(join(root, "etc/systemd/system/inkling-builder.service"), "utf8");
      const lines = (text: string) => text.split("\n").filter((line) => !line.startsWith("#"));
      const alone = lines(readFileSync(unit, "utf8"));
      const beside = lines(made);
      expect(alone.filter((line) => !beside.includes(line))).toEqual([
        "Conflicts=inkling.service",
        "Environment=INKLING_CONFIG=/etc/inkling/inkling.toml",
        "EnvironmentFile=-/etc/inkling/environment",
        "WorkingDirectory=/var/lib/inkling",
        "StateDirectory=inkling",
      ]);
      expect(beside.filter((line) => !alone.includes(line))).toEqual([
        "Environment=INKLING_CONFIG=/etc/inkling/builder.toml",
        "EnvironmentFile=-/etc/inkling/builder-environment",
        "WorkingDirectory=/var/lib/inkling-builder",
        "StateDirectory=inkling-builder",
      ]);
    },
  );

  test("`inkling-builder` is `inkling` with the builder's settings and environment", () => {
    const [, script = ""] = /inkling-builder <<'END'\n([\s\S]*?)^END$/m.exec(
      commandsOf("A builder beside a server"),
    )!;
    const bin = temporaryFolder();
    writeFileSync(join(bin, "builder-environment"), "AWS_REGION=eu-1\n");
    writeFileSync(join(bin, "inkling"), '#!/bin/sh\necho "$INKLING_CONFIG $AWS_REGION $*"\n', {
      mode: 0o755,
    });
    const here = script.replace(/\/etc\/inkling(?=\/builder-env)/, bin);
    const { stdout } = Bun.spawnSync(["sh", "-c", here, "sh", "feeds", "list"], {
      env: { PATH: `${bin}:${process.env.PATH}` },
    });
    expect(stdout.toString()).toBe("/etc/inkling/builder.toml eu-1 feeds list\n");
  });

  test("the documented copy of a server for another has its secrets, but none of a builder", () => {
    const [, page = ""] = readFileSync(join(ROOT, "docs/group-maintenance.md"), "utf8").split(
      "\n## Replace a host\n",
    );
    const [copy = ""] = /^tar .*$/m.exec(page)!;
    const [from, to] = [temporaryFolder(), temporaryFolder()];
    const files = ["inkling.toml", "environment", "postgres-ca.crt", "credentials/database_url"];
    const builders = ["channel-key.pem", "new-key.pem", "builder.toml", "builder-environment"];
    for (const path of [...files, ...builders]
      .map((name) => `etc/inkling/${name}`)
      .concat("var/lib/inkling/revoked")) {
      mkdirSync(dirname(join(from, path)), { recursive: true });
      writeFileSync(join(from, path), "");
    }
    const here = copy.replace("-C /", `-C ${from}`).replace("ssh NEW tar -C /", `tar -C ${to}`);
    expect(Bun.spawnSync(["sh", "-c", here]).exitCode).toBe(0);
    expect(readdirSync(join(to, "etc/inkling")).sort()).toEqual([
      "credentials",
      "environment",
      "inkling.toml",
      "postgres-ca.crt",
    ]);
    expect(readdirSync(join(to, "var/lib/inkling"))).toEqual(["revoked"]);
  });

  test("the nightly dump finds `runuser`, names the day and deletes old dumps only if it succeeds", () => {
    const [, path = "", folder = "", command = ""] = /^PATH=(\S+)\nD=(\S+)\n30 2 \* \* \* root (.*)$/m.exec(
      readFileSync(join(ROOT, "docs/backup.md"), "utf8"),
    )!;
    expect(path.split(":")).toContain("/usr/sbin");
    expect(folder).toBe("/var/backups/inkling");
    const [bin, dumps] = [temporaryFolder(), temporaryFolder()];
    const old = join(dumps, "inkling-2026-01-01.dump");
    writeFileSync(old, "");
    utimesSync(old, 0, 0);
    const run = (status: number) => {
      // PostgreSQL's programs warn in a folder that their user may not read, and cron would mail that each night.
      writeFileSync(join(bin, "runuser"), `#!/bin/sh\n[ "$PWD" = / ] && echo x\nexit ${status}\n`, {
        mode: 0o755,
      });
      const here = command.replaceAll("\\%", "%"); // cron's own escape
      Bun.spawnSync(["sh", "-c", here], { env: { PATH: `${bin}:${path}`, D: dumps } });
      return readdirSync(dumps).sort();
    };
    expect(run(1)).toEqual(["inkling-2026-01-01.dump", "new"]);
    expect(run(0)).toEqual([expect.stringMatching(/^inkling-20\d\d-\d\d-\d\d\.dump$/)]);
    expect(readFileSync(join(dumps, run(0)[0]!), "utf8")).toBe("x\n");
  });

  test("the backup's command names a file per second, and old files of that name are deleted", () => {
    const unit = readFileSync(join(folder, "inkling-backup.service"), "utf8");
    // systemd replaces %% and $$, and keeps the words in quotes together.
    const [write = "", remove = ""] = Array.from(unit.matchAll(/^ExecStart=(.*)$/gm), ([, command]) =>
      command!.replaceAll("%%", "%").replaceAll("$$", "$"),
    );
    const backups = temporaryFolder();
    const sh = (command: string, options = {}) =>
      Bun.spawnSync(["sh", "-c", command.replaceAll("/var/backups/inkling", backups)], {
        env: { PATH: `${ownCommand()}:${process.env.PATH}`, ...options },
      });
    const textOf = (name: string) => readFileSync(join(backups, name), "utf8");
    expect(sh(write).exitCode).toBe(0);
    const [name = ""] = readdirSync(backups);
    expect(name).toMatch(/^inkling-20\d\d-\d\d-\d\dT\d{6}Z\.backup$/);
    expect(textOf(name)).toBe(`backup ${join(backups, name)}\n`);
    for (const [other, days] of [
      ["inkling-13.backup", 13.5],
      ["inkling-14.backup", 14.5],
      ["before-upgrade.backup", 99],
    ] as const) {
      writeFileSync(join(backups, other), "");
      const at = Date.now() / 1_000 - days * 86_400;
      utimesSync(join(backups, other), at, at);
    }
    expect(sh(remove).exitCode).toBe(0);
    expect(readdirSync(backups).sort()).toEqual(["before-upgrade.backup", "inkling-13.backup", name].sort());
    expect(sh(write, { BACKUP_OPTIONS: "--decisions" }).exitCode).toBe(0);
    const latest = readdirSync(backups).sort().at(-1)!;
    expect(textOf(latest)).toBe(`backup --decisions ${join(backups, latest)}\n`);
  });

  const CHECKOUT = "git checkout --detach COMMIT";
  test.each([
    ["the backup fails", 1, 0, ["backup"]],
    ["the installation fails", 0, 1, ["backup", CHECKOUT, "npm"]],
    [
      "a feed was unreachable",
      0,
      0,
      [
        "backup",
        CHECKOUT,
        "npm",
        "update",
        "systemctl daemon-reload",
        "systemctl restart inkling",
        "curl",
        "doctor",
      ],
    ],
  ])("the documented upgrade, if %s", (_name, backup, npm, wanted) => {
    const steps = commandsAfter("Upgrade the program", "docs/backup.md");
    const bin = temporaryFolder();
    const log = join(bin, "log");
    const program = (name: string, script: string) =>
      writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    program("install", "exit 0");
    program(
      "runuser",
      `case "$*" in
*" backup "*) echo backup >>${log}; echo "$*" >${log}.backup; exit ${backup} ;;
*" doctor") echo doctor >>${log} ;;
*) echo update >>${log}; exit 3 ;;
esac`,
    );
    program("curl", `echo curl >>${log}`);
    program("git", `echo "git $*" >>${log}`);
    program("npm", `echo npm >>${log}; exit ${npm}`);
    program("systemctl", `echo "systemctl $*" >>${log}`);
    const here = steps.replaceAll(/(?<=^ *cd )\S+/gm, bin);
    Bun.spawnSync(["bash", "-c", here], { env: { PATH: `${bin}:${process.env.PATH}` } });
    const first = ["fetch", "log --oneline HEAD..origin/main", "rev-parse HEAD"]; // the last is for a downgrade
    expect(readFileSync(log, "utf8").trim().split("\n")).toEqual([
      ...first.map((command) => `git -C /opt/inkling ${command}`),
      ...wanted,
    ]);
    // The command refuses to overwrite a file, so each upgrade needs a name of its own.
    expect(readFileSync(`${log}.backup`, "utf8")).toMatch(
      /\/before-upgrade-20\d\d-\d\d-\d\dT\d{4}\.backup\n$/,
    );
  });

  const programs = ["useradd", "install", "runuser", "setpriv", "ip", "mount"];
  withPrograms("the documented steps make user, folder and key, and it starts", programs, isRoot(), () => {
    const steps = commandsAfter("Install as a service", "docs/one-host.md");
    const { owner, key, ready, exitCode, shell } = serviceRun<Started>({ steps, full: FULL });
    expect([owner, shell]).toEqual(["inkling:inkling 750", "/usr/sbin/nologin"]);
    expect(key).toStartWith("ink_live_");
    expect([ready, exitCode]).toEqual([200, 0]);
  });
});
