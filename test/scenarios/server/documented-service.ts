// documented-service.ts: runs the documented steps and the systemd units, unchanged.
// documented-config.test.ts starts it in its own mount and network namespaces. It has its own folders instead
// of /opt, /usr/local/bin and /var/lib, and an overlay on /etc.

import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { smallRelease, temporaryFolder } from "../../harness/release.ts";
import { until } from "../../harness/until.ts";

export interface Verified {
  /** systemd's messages about the units; should be empty. */
  readonly problems: string;
  /** systemd's messages about a unit with a misspelt key. */
  readonly broken: string;
}
export interface Started {
  readonly owner: string;
  readonly shell: string | undefined;
  readonly key: string;
  readonly ready: number;
  readonly exitCode: number;
}
interface Steps {
  /** Steps that install the unit. */
  readonly steps: string;
  /** Whether all data is built. */
  readonly full: boolean;
}

const ROOT = resolve(import.meta.dir, "../../..");
const LINK = "/usr/local/bin/inkling";
const DATA = "/var/lib/inkling";
const UNIT = "/etc/systemd/system/inkling.service";

function run(...args: string[]): string {
  const env = { PATH: process.env.PATH ?? "", INKLING_OFFLINE: "1" };
  const { success, stdout, stderr } = Bun.spawnSync(args, { stdin: "ignore", env });
  if (!success) throw new Error(`${args.join(" ")}: ${stderr}`);
  return stdout.toString();
}

function mountInstallation(): void {
  run("mount", "-t", "tmpfs", "tmpfs", "/opt");
  mkdirSync("/opt/inkling");
  run("mount", "--bind", ROOT, "/opt/inkling");
  layOver("/usr/local/bin");
  layOver("/etc");
}

/** Puts an overlay on a folder, which shows its content and keeps changes separate. */
function layOver(folder: string): void {
  const layer = temporaryFolder();
  run("mount", "-t", "tmpfs", "tmpfs", layer);
  for (const name of ["upper", "work"]) mkdirSync(join(layer, name));
  const layers = `lowerdir=${folder},upperdir=${join(layer, "upper")},workdir=${join(layer, "work")}`;
  run("mount", "-t", "overlay", "overlay", "-o", layers, folder);
}

function verify(units: Readonly<Record<string, string>>): Verified {
  mountInstallation();
  symlinkSync("/opt/inkling/deploy/debian/inkling", LINK);
  symlinkSync("/opt/inkling/examples/nightly-enrich/nightly-enrich.sh", "/usr/local/bin/nightly-enrich");
  const folder = temporaryFolder();
  const problemsOf = (names: readonly string[]) => {
    const paths = names.map((name) => join(folder, name));
    const { stdout, stderr } = Bun.spawnSync(["systemd-analyze", "verify", "--man=no", ...paths]);
    // Only messages about these units, because the machine's own units have their own problems.
    return `${stdout}${stderr}`
      .split("\n")
      .filter((line) => names.some((name) => line.includes(name)))
      .join("\n");
  };
  for (const [name, text] of Object.entries(units)) writeFileSync(join(folder, name), text);
  const problems = problemsOf(Object.keys(units));
  writeFileSync(
    join(folder, "broken.service"),
    units["inkling.service"]!.replace("WatchdogSec", "WachdogSec"),
  );
  return { problems, broken: problemsOf(["broken.service"]) };
}

async function start({ steps, full }: Steps): Promise<Started> {
  run("ip", "link", "set", "lo", "up");
  run("mount", "-t", "tmpfs", "tmpfs", "/var/lib");
  mountInstallation();
  // An existing user would hide whether the steps create it.
  if (/^inkling:/m.test(readFileSync("/etc/passwd", "utf8"))) run("userdel", "inkling");
  const isBuild = (line: string) => line.endsWith(" data update");
  const lines = steps.trim().split("\n");
  if (!lines.some(isBuild)) throw new Error("no step builds the data");
  rmSync(LINK, { force: true }); // for the same reason as /etc/passwd above
  const shown = run("sh", "-euc", lines.filter((line) => full || !isBuild(line)).join("\n"));
  const { mode } = statSync(DATA);
  const owner = `${run("stat", "-c", "%U:%G", DATA).trim()} ${(mode & 0o777).toString(8)}`;
  const [entry = ""] = /^inkling:.*$/m.exec(readFileSync("/etc/passwd", "utf8")) ?? [];
  if (!full) {
    smallRelease(DATA, 1);
    run("chown", "-R", "inkling:inkling", DATA);
  }
  return {
    owner,
    shell: entry.split(":").at(-1),
    key: shown.trim().split("\n").at(-1)!,
    ...(await serve(readFileSync(UNIT, "utf8"))),
  };
}

/** Runs the unit's command with the unit's write permissions, and stops it. */
async function serve(unit: string): Promise<Pick<Started, "ready" | "exitCode">> {
  const value = (key: string) => new RegExp(`^${key}=(.*)$`, "m").exec(unit)?.[1] ?? "";
  const user = value("User");
  if (value("ProtectSystem") !== "strict" || `/var/lib/${value("StateDirectory")}` !== DATA)
    throw new Error("the unit protects the system in another way");
  run("mount", "-t", "tmpfs", "tmpfs", "/tmp"); // for PrivateTmp
  chmodSync("/tmp", 0o1777);
  run("mount", "-o", "remount,bind,ro", "/");
  const command = ["setpriv", `--reuid=${user}`, `--regid=${user}`, "--init-groups", "--no-new-privs"];
  const [name = "", setting = ""] = value("Environment").split("=");
  const server = Bun.spawn([...command, ...value("ExecStart").split(" ")], {
    cwd: value("WorkingDirectory"),
    env: { PATH: process.env.PATH ?? "", INKLING_OFFLINE: "1", [name]: setting },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "inherit",
  });
  let ready = 0;
  const look = () =>
    fetch("http://127.0.0.1:8080/readyz").then(
      ({ status }) => status,
      () => 0,
    );
  await until(async () => {
    ready = await look();
    return ready === 200 || server.exitCode !== null;
  });
  server.kill("SIGTERM");
  return { ready, exitCode: await server.exited };
}

if (import.meta.main) {
  const given: { verify: Record<string, string> } | Steps = JSON.parse(process.argv[2] ?? "");
  const seen = "verify" in given ? verify(given.verify) : await start(given);
  process.stdout.write(`${JSON.stringify(seen)}\n`);
  process.exit(0);
}
