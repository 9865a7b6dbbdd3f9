// The configurations of docs/ and of the client, as they stand there, run by the programs that they are for.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ADDRESS, type Given, type Seen } from "./documented-proxies.ts";
import type { Started, Verified } from "./documented-service.ts";
import { withPrograms } from "./programs.ts";
import { made, projectFiles } from "./project-files.ts";
import { temporaryFolder } from "./release.ts";
import { FULL } from "./share.ts";

const ROOT = resolve(import.meta.dir, "..");
const UNSHARE = ["unshare", "--map-root-user", "--mount", "--net"];
const canUnshare =
  process.platform === "linux" &&
  !/^\/(tmp|run)\//.test(import.meta.dir) && // the namespaces hide these folders
  Bun.which("unshare") !== null &&
  Bun.spawnSync([...UNSHARE, "mount", "-t", "tmpfs", "tmpfs", temporaryFolder()]).success;

/** Users are made only by root itself, and not by a user that looks like it. */
const isRoot = () => canUnshare && process.getuid?.() === 0;

function serviceRun<Seen>(given: object): Seen {
  return runApart("documented-service.ts", given, isRoot() ? ["unshare", "--mount", "--net"] : UNSHARE);
}

/** Runs a script in namespaces of its own. @returns what it prints */
function runApart<Seen>(name: string, given: object, unshare = UNSHARE): Seen {
  const script = join(import.meta.dir, name);
  const { stdout, stderr } = Bun.spawnSync([...unshare, process.execPath, script, JSON.stringify(given)], {
    env: { ...process.env, TMPDIR: "/tmp" }, // one of its own: the runner's is not there
  });
  if (stdout.length === 0) throw new Error(stderr.toString());
  return JSON.parse(stdout.toString());
}

/** Code blocks of a language, with the page that each is on. */
const blocksOf = (language: string, files = projectFiles()) =>
  files
    .filter(({ path }) => path.endsWith(".md"))
    .flatMap(({ path, text }) =>
      Array.from(text.matchAll(/^```(\S+)\n([\s\S]*?)^```$/gm))
        .filter(([, name]) => name === language)
        .map(([, , code]) => ({ path, code: code! })),
    );

/** The only block of a page. */
function block(language: string, page: string): string {
  const found = blocksOf(language).filter(({ path }) => path === page);
  expect(found).toHaveLength(1);
  return found[0]!.code;
}

test("every configuration is run here", () => {
  const pages = (language: string) => blocksOf(language).map(({ path }) => path);
  expect(pages("nginx")).toEqual(["docs/operations.md", "packages/client/README.md"]);
  expect(pages("caddyfile")).toEqual(["docs/operations.md"]);
  expect(pages("systemd")).toEqual([]);
  expect(unnamed(projectFiles())).toEqual([]);
  expect(unnamed([made("a.md", "```\nserver {\n}\n```\n")])).toEqual(["a.md"]);
});

/** Pages with a configuration whose block does not name its language, and so is not run. */
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
      config: block("nginx", "docs/operations.md"),
      origin: "https://127.0.0.1",
      headers: {},
    };
    const { statuses, away, log } = seenBy(given);
    expect([statuses, away]).toEqual([
      [200, 200, 200],
      [502, 502],
    ]);
    expect(log).toMatch(/HEAD 502/);
    expect(isLogged(log)).toBe(false);
    // without the two lines about logs the address is there, so that the check above can fail
    const plain = given.config.replace(/^ {2}(access|error)_log .*\n/gm, "");
    expect(isLogged(seenBy({ ...given, config: plain }).log)).toBe(true);
  });

  withPrograms("nginx in front of a page of staff", ["nginx", "openssl", ...tools], canUnshare, () => {
    const location = block("nginx", "packages/client/README.md");
    const { statuses, away, log } = seenBy({
      proxy: "nginx",
      config: `server {\nlisten 80;\n${location}}\n`,
      origin: "http://127.0.0.1/inkling",
      headers: { authorization: `Basic ${btoa("staff:pass")}` },
    });
    // the key in the text is none
    expect([statuses, away]).toEqual([
      [401, 401, 401],
      [502, 502],
    ]);
    expect(isLogged(log)).toBe(false);
  });

  withPrograms("Caddy", ["caddy", ...tools], canUnshare, () => {
    const given: Given = {
      proxy: "caddy",
      config: block("caddyfile", "docs/operations.md"),
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
  });
});

describe("the service of systemd", () => {
  const path = join(ROOT, "deploy/systemd/inkling.service");
  withPrograms("its units are valid", ["systemd-analyze"], canUnshare, () => {
    const folder = "examples/nightly-enrich";
    const units = ["nightly-enrich.service", "nightly-enrich.timer"].map((name) => [
      name,
      `${folder}/${name}`,
    ]);
    const files = Object.fromEntries(
      units.map(([name, path]) => [name!, readFileSync(join(ROOT, path!), "utf8")]),
    );
    const { problems, broken } = serviceRun<Verified>({
      verify: { "inkling.service": readFileSync(path, "utf8"), ...files },
    });
    expect(problems).toEqual("");
    expect(broken).toContain("Unknown key");
  });

  withPrograms("it may do little", ["systemd-analyze"], true, () => {
    const command = ["systemd-analyze", "security", "--offline=true", "--no-pager", path];
    const [, level] =
      /exposure level for \S+: ([0-9.]+)/.exec(Bun.spawnSync(command).stdout.toString()) ?? [];
    expect(Number(level)).toBeLessThanOrEqual(2);
  });

  const programs = ["useradd", "install", "runuser", "setpriv", "ip", "mount"];
  withPrograms("the documented steps make user, folder and key, and it starts", programs, isRoot(), () => {
    const steps = block("sh", "docs/operations.md");
    const { owner, key, ready, exitCode, shell } = serviceRun<Started>({ steps, full: FULL });
    expect([owner, shell]).toEqual(["inkling:inkling 750", "/usr/sbin/nologin"]);
    expect(key).toStartWith("ink_live_");
    expect([ready, exitCode]).toEqual([200, 0]);
  });
});
