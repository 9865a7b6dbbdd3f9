// debian.test.ts: tests the Debian packages. Their texts must match the unit, the program and the documentation. The
// tests install, upgrade, remove and purge them in every order on a copy of this machine's system. They also do so in a
// separate Debian with a systemctl that records how it was called. Finally, systemd runs as PID 1, and starts,
// watches and confines the server as the unit specifies.

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { SETTING_NAMES, tomlKey } from "@inkling/contract";
import { pack, stage } from "../../scripts/deb.ts";
import { withPrograms } from "../harness/programs.ts";
import { executableFolder, run } from "../harness/published-packages.ts";
import { temporaryFolder } from "../harness/release.ts";
import { FULL } from "../harness/share.ts";
import { until } from "../harness/until.ts";
import { mayRunContainers } from "./container-image.ts";

setDefaultTimeout(3_600_000);

const ROOT = resolve(import.meta.dir, "../..");
const UNIT = readFileSync(join(ROOT, "deploy/systemd/inkling.service"), "utf8");
const unitOf = (name: string) => readFileSync(join(ROOT, "deploy/systemd", name), "utf8");
const PAGE = readFileSync(join(ROOT, "docs/install.md"), "utf8");
const SECTION = /^## Debian package\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(PAGE)?.[1] ?? "";
const value = (key: string) => new RegExp(`^${key}=(.*)$`, "m").exec(UNIT)?.[1] ?? "";

test("journald keeps every line of the services", () => {
  for (const name of ["inkling.service", "inkling-builder.service"]) {
    const unit = readFileSync(join(ROOT, "deploy/systemd", name), "utf8");
    expect(unit).toMatch(/^\[Service\][^[]*^LogRateLimitIntervalSec=0$/m);
  }
});

describe("the packages", () => {
  const program = temporaryFolder();
  mkdirSync(join(program, "seeds/a-feed"), { recursive: true });
  writeFileSync(join(program, "seeds/a-feed/data.csv"), "1.0.0.0\n");
  writeFileSync(join(program, "inkling"), "\x7fELF\0GLIBC_2.9\0GLIBC_2.17\0GLIBC_2.2.5\0");
  writeFileSync(join(program, "LICENSES.txt"), "a 1.0.0: MIT\n");
  const folder = temporaryFolder();
  stage(folder, { program, architecture: "amd64", revision: 3, time: new Date(0) });
  const main = join(folder, "inkling");
  const seeds = join(folder, "inkling-seeds");
  const text = (path: string) => readFileSync(join(main, path), "utf8");
  const mode = (path: string) => (lstatSync(join(main, path)).mode & 0o7777).toString(8);

  test("control fields", () => {
    const control = text("DEBIAN/control");
    for (const line of ["Version: 0.1.0-3", "Architecture: amd64", "Recommends: inkling-seeds"])
      expect(control.split("\n")).toContain(line);
    // Earlier versions of systemd cannot load a folder of credentials.
    expect(control).toMatch(/^Depends: libc6 \(>= 2\.17\), systemd \(>= 252\) \| /m);
    const other = readFileSync(join(seeds, "DEBIAN/control"), "utf8");
    for (const line of ["Source: inkling", "Version: 0.1.0-3", "Architecture: all"])
      expect(other.split("\n")).toContain(line);
  });

  test("the unit is the clone's, and what it names is there", () => {
    expect(text("usr/lib/systemd/system/inkling.service")).toBe(UNIT);
    const units = readdirSync(join(ROOT, "deploy/systemd")).filter((name) => !name.endsWith(".toml"));
    expect(readdirSync(join(main, "usr/lib/systemd/system")).sort()).toEqual(units.sort());
    // Each unit that can be enabled keeps its state over a removal, and is stopped and purged.
    const enabled = units.filter((name) => /^\[Install\]$/m.test(unitOf(name))).sort();
    const lists: Record<string, number> = { postinst: 2, prerm: 1, postrm: 1 };
    for (const [script, count] of Object.entries(lists)) {
      const found = text(`DEBIAN/${script}`).matchAll(/(?:for unit in|try-restart|invoke stop) ([^;>]+)/g);
      const named = Array.from(found, ([, list = ""]) => list.trim().split(" ").sort());
      expect([script, named]).toEqual([script, Array(count).fill(enabled)]);
    }
    expect(enabled).toHaveLength(3);
    const [command] = value("ExecStart").split(" ");
    const script = join("/usr/bin", command!);
    const executable = /^program=(\S+)$/m.exec(text(script))?.[1] ?? "";
    expect([mode(executable), text(executable)]).toEqual(["755", expect.stringContaining("ELF")]);
    const [variable, settings = ""] = value("Environment").split("=");
    expect(variable).toBe("INKLING_CONFIG");
    // An upgrade neither asks about the settings nor replaces them.
    expect([existsSync(join(main, "DEBIAN/conffiles")), existsSync(join(main, settings))]).toEqual([
      false,
      false,
    ]);
    const template = "/usr/share/inkling/inkling.toml";
    expect(text("DEBIAN/postinst")).toContain(`install -m 0644 ${template} ${settings}\n`);
    expect(text(script)).toContain(`export INKLING_CONFIG="\${INKLING_CONFIG:-${settings}}"\n`);
    const [, credentials = ""] = value("LoadCredential").split(":");
    expect([credentials, mode(credentials)]).toEqual([join(dirname(settings), "credentials"), "750"]);
    const user = value("User");
    expect([text("usr/lib/sysusers.d/inkling.conf"), value("Group")]).toEqual([
      `u ${user} - "Inkling" ${value("WorkingDirectory")} /usr/sbin/nologin\n`,
      user,
    ]);
    const data = `/var/lib/${value("StateDirectory")}`;
    expect(text(template)).toContain(`\ndata_dir = "${data}"\n`);
    const install = `install -d -o ${user} -g ${user} -m ${value("StateDirectoryMode")} ${data}\n`;
    expect(text("DEBIAN/postinst")).toContain(install);
    expect(text("DEBIAN/postrm")).toContain(`rm -rf ${data} ${dirname(settings)}\n`);
    // The folder in which the executable looks for seeds.
    const beside = join(dirname(executable), "seeds");
    const target = resolve(dirname(beside), readlinkSync(join(seeds, beside)));
    expect(existsSync(join(seeds, target, "a-feed/data.csv"))).toBe(true);
  });

  test.each([
    ["a user of the service", true, ["keys", "list"], "", "the service's"],
    ["a user of the service with a folder", true, ["keys", "--data-dir", "x"], "x", "the service's"],
    ["another user", false, ["keys", "list"], "", "the service's"],
    ["another user with --data-dir", false, ["data", "update", "--data-dir", "x"], "", "none"],
    ["another user with --data-dir=", false, ["data", "update", "--data-dir=x"], "", "none"],
    ["another user with INKLING_DATA_DIR", false, ["data", "update"], "x", "none"],
    ["another user with a flag that begins alike", false, ["data", "--data-directory"], "", "the service's"],
  ])("the command of %s", (_, mayRead, args, INKLING_DATA_DIR, settings) => {
    const etc = temporaryFolder();
    if (mayRead) mkdirSync(join(etc, "credentials"));
    const script = text("usr/bin/inkling")
      .replaceAll("/etc/inkling", etc)
      .replace(/^exec .*$/m, `echo "\${INKLING_CONFIG:-none}"`);
    const env = { PATH: process.env.PATH ?? "", INKLING_DATA_DIR };
    const { stdout } = Bun.spawnSync(["sh", "-c", script, "inkling", ...args], { env });
    expect(stdout.toString().trim()).toBe(settings === "none" ? "none" : join(etc, "inkling.toml"));
  });

  test("the alert rules and the dashboard are in the package", () => {
    const folder = "usr/share/inkling";
    expect(text(`${folder}/inkling.rules.yml`)).toContain("alert: InklingDown");
    expect(JSON.parse(text(`${folder}/grafana-dashboard.json`)).panels.length).toBeGreaterThan(10);
    for (const page of ["usr/share/doc/inkling/docs/monitoring.md"])
      expect(text(page)).toContain(`/${folder}/grafana-dashboard.json`);
  });

  test("the settings exist, and the hint names a section of a page that is there", () => {
    const all = text("usr/share/inkling/inkling.toml").replace(/^# (\w+ = )/gm, "$1");
    const names = Object.keys(Bun.TOML.parse(all));
    expect(names.length).toBeGreaterThan(4);
    for (const name of names) expect(SETTING_NAMES.map(tomlKey)).toContain(name);
    const [, page = "", heading] = /steps: \/(\S+), "(.+)"/.exec(text("DEBIAN/postinst")) ?? [];
    expect(text(page)).toContain(`\n## ${heading}\n`);
  });

  test("scripts can be parsed, modes are plain, sums cover every file", async () => {
    for (const script of ["DEBIAN/postinst", "DEBIAN/prerm", "DEBIAN/postrm", "usr/bin/inkling"])
      await run(["sh", "-n", join(main, script)], folder);
    const files = readdirSync(main, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.parentPath.endsWith("DEBIAN"))
      .map((entry) => join(entry.parentPath, entry.name).slice(main.length + 1));
    const sums = text("DEBIAN/md5sums")
      .trim()
      .split("\n")
      .map((line) => line.slice(34));
    expect(sums).toEqual(files.sort());
    const executables = files.filter((path) => mode(path) !== "644");
    expect(executables).toEqual(["usr/bin/inkling", "usr/lib/inkling/inkling"]);
  });

  test("completions name the commands as they are called", () => {
    const completions = [
      "usr/share/bash-completion/completions/inkling",
      "usr/share/fish/vendor_completions.d/inkling.fish",
    ];
    for (const words of completions.map(text))
      expect([words.includes("doctor"), words.includes("npx")]).toEqual([true, false]);
  });
});

const isRoot = process.platform === "linux" && process.getuid?.() === 0;

const ENVIRONMENT = [
  "DEBIAN_FRONTEND=noninteractive",
  "INKLING_OFFLINE=1",
  "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
];

/** Where the packages are installed: this machine's system. Its changes vanish with the namespace. */
const OVERLAY = `
  mount -t tmpfs tmpfs "$1"
  mkdir "$1/upper" "$1/work" "$1/root"
  mount -t overlay overlay -o lowerdir=/,upperdir="$1/upper",workdir="$1/work" "$1/root"
  mount --rbind /dev "$1/root/dev"
  mkdir -p "$1/root/srv"
  [ -z "$2" ] || cp "$2"/*.deb "$1/root/srv/"
  exec chroot "$1/root" bash -euc "$3"`;
const inOverlay = (script: string, packages = ""): readonly string[] => [
  ...[
    "env",
    "-i",
    ...ENVIRONMENT,
    "unshare",
    "--mount",
    "sh",
    "-euc",
    OVERLAY,
    "sh",
    temporaryFolder(),
    packages,
    script,
  ],
];
const isDebian = () =>
  Bun.which("unshare") !== null &&
  Bun.spawnSync([...inOverlay("dpkg-query --show init-system-helpers && ! getent passwd inkling")]).success;

describe("in every order of installation, upgrade, removal and purge", () => {
  /** Packs two revisions whose program answers if its user can read the secrets. */
  async function packTwo(): Promise<string> {
    const program = temporaryFolder();
    mkdirSync(join(program, "seeds"));
    const script = `#!/bin/sh
ls /etc/inkling/credentials && cat /etc/inkling/credentials/* && echo answered
exit
\0GLIBC_2.17`;
    writeFileSync(join(program, "inkling"), script);
    writeFileSync(join(program, "LICENSES.txt"), "");
    const out = temporaryFolder();
    for (const revision of [1, 2])
      await pack({ program, architecture: "amd64", revision, time: new Date(0) }, out);
    return out;
  }
  let packed: Promise<string> | undefined;

  const CHECK = `
    printf secret >/etc/inkling/credentials/database_url
    runuser -u inkling -- inkling keys list
    stat -c '%U:%G %a' /etc/inkling/credentials /var/lib/inkling
    rm /etc/inkling/credentials/database_url`;
  const GOOD = "database_url\nsecretanswered\nroot:inkling 2750\ninkling:inkling 750\n";
  const DPKG = "dpkg --force-architecture --force-depends --no-triggers";
  const install = (revision: number) =>
    `${DPKG} --install /srv/inkling_0.1.0-${revision}_amd64.deb >/dev/null 2>&1`;
  const remove = `${DPKG} --remove inkling >/dev/null`;
  const purge = `${DPKG} --purge inkling >/dev/null`;
  const checked = [install(1), CHECK];
  const orders: readonly (readonly [name: string, steps: readonly string[], answers: number])[] = [
    ["install", checked, 1],
    ["install, remove, install", [...checked, remove, ...checked], 2],
    ["install, remove, install a newer one", [...checked, remove, install(2), CHECK], 2],
    ["install, upgrade, remove, install", [...checked, install(2), CHECK, remove, install(2), CHECK], 3],
    ["install, upgrade, downgrade", [...checked, install(2), CHECK, install(1), CHECK], 3],
    ["install, remove, remove, purge, install", [...checked, remove, remove, purge, ...checked], 2],
    ["install, purge, install, remove, install", [...checked, purge, ...checked, remove, ...checked], 3],
  ];
  for (const [name, steps, answers] of orders)
    withPrograms(name, ["dpkg-deb", "dpkg", "runuser"], isRoot && isDebian(), async () => {
      packed ??= packTwo();
      expect(await run(inOverlay(steps.join("\n"), await packed), ROOT)).toBe(GOOD.repeat(answers));
    });

  withPrograms(
    "secrets, settings and the operator's own modes are kept; a purge leaves only the user",
    ["dpkg-deb", "dpkg", "runuser"],
    isRoot && isDebian(),
    async () => {
      packed ??= packTwo();
      const script = `
        ${install(1)}
        printf secret >/etc/inkling/credentials/api_key
        echo 'port = 9000' >/etc/inkling/inkling.toml
        chmod 2770 /etc/inkling/credentials
        ${remove}
        ${install(2)}
        runuser -u inkling -- inkling keys list
        stat -c '%G %a' /etc/inkling/credentials
        cat /etc/inkling/inkling.toml
        dpkg-statoverride --update --add root root 0700 /etc/inkling/credentials
        ${install(1)}
        stat -c '%G %a' /etc/inkling/credentials
        ${purge}
        ls -d /etc/inkling /var/lib/inkling /usr/lib/inkling 2>&1 | grep -v 'No such file' || true
        getent passwd inkling | cut -d: -f1`;
      expect(await run(inOverlay(script, await packed), ROOT)).toBe(
        "api_key\nsecretanswered\ninkling 2770\nport = 9000\nroot 700\ninkling\n",
      );
    },
  );
});

interface Booted {
  /**
   * Returns the output of a bash script.
   * @throws Error if the script fails
   */
  run(script: string): Promise<string>;
  shutDown(): Promise<void>;
}

/** A separate Debian in which each call has its own namespaces. */
class Debian {
  private readonly root = join(temporaryFolder(), "root");

  /** @param packages package names for apt, separated by commas */
  async make(packages: string): Promise<void> {
    await run(["mmdebstrap", "--variant=apt", `--include=${packages}`, "bookworm", this.root], ROOT);
  }

  writeDownSystemctl(): void {
    renameSync(join(this.root, "usr/bin/systemctl"), join(this.root, "usr/bin/systemctl-real"));
    // The fake systemctl reports that systemd is running. The real program enables units.
    this.write(
      "/usr/bin/systemctl",
      `#!/bin/sh
echo "$@" >>/called
case "$*" in
  "enable --now "*) SYSTEMD_OFFLINE=1 exec systemctl-real enable --quiet "$3" ;;
  *is-enabled*) SYSTEMD_OFFLINE=1 exec systemctl-real "$@" ;;
esac
`,
    );
    chmodSync(join(this.root, "usr/bin/systemctl"), 0o755);
  }

  write(path: string, content: string | Uint8Array): void {
    writeFileSync(join(this.root, path), content);
  }

  exists(path: string): boolean {
    return lstatSync(join(this.root, path), { throwIfNoEntry: false }) !== undefined;
  }

  async run(script: string): Promise<string> {
    const mounts = `ip link set lo up; mount --bind "$1" "$1"; cd "$1"; mount -t proc proc proc; mount --rbind /dev dev
      mount -t tmpfs tmpfs run; mkdir -p run/systemd/system
      exec chroot . bash -euc "$2"`;
    const namespaces = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"];
    const command = [...namespaces, "sh", "-euc", mounts, "sh", this.root, script];
    return run(["env", "-i", ...ENVIRONMENT, ...command], ROOT);
  }

  /** Boots the system with systemd as PID 1 and only a loopback device. */
  async boot(): Promise<Booted> {
    const name = `inkling-test-${process.pid}`;
    const options = [
      "--register=no",
      "--keep-unit",
      "--private-network",
      "--link-journal=no",
      "--console=pipe",
    ];
    const command = ["systemd-nspawn", "--boot", `--machine=${name}`, `--directory=${this.root}`, ...options];
    const container = Bun.spawn(command, { stdio: ["ignore", "ignore", "pipe"] });
    const log = new Response(container.stderr).text();
    const children = `/proc/${container.pid}/task/${container.pid}/children`;
    const booted: Booted = {
      run: async (script) => {
        const pid = readFileSync(children, "utf8").trim();
        const enter = ["nsenter", `--target=${pid}`, "--all", "env", "-i", ...ENVIRONMENT];
        return run([...enter, "bash", "-euc", script], ROOT);
      },
      shutDown: async () => {
        container.kill("SIGTERM");
        await container.exited;
        rmSync(`/run/systemd/nspawn/propagate/${name}`, { recursive: true, force: true });
      },
    };
    const isUp = () =>
      booted.run("systemctl is-active multi-user.target").then(
        () => true,
        () => false,
      );
    await until(async () => {
      if (container.exitCode !== null) throw new Error(await log);
      return isUp();
    });
    return booted;
  }

  /** Returns how systemctl was called since the last check, without calls about other units. */
  called(): string[] {
    const path = join(this.root, "called");
    const lines = existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
    this.write("called", "");
    return lines.filter((line) => /inkling|daemon-reload/.test(line) && !line.includes("is-"));
  }
}

/**
 * Runs the unit's command as its user. Succeeds if the server became ready and then stopped with exit code 0.
 */
const SERVE = `
ready() {
  { exec 3<>/dev/tcp/127.0.0.1/8080; } 2>/dev/null || return 1
  printf 'GET /readyz HTTP/1.0\\r\\n\\r\\n' >&3
  head -1 <&3 | grep ' 200 '
}
cd ${value("WorkingDirectory")}
setpriv --reuid=${value("User")} --regid=${value("Group")} --init-groups --no-new-privs \\
  env ${value("Environment")} ${value("ExecStart")} >/srv/log 2>&1 &
server=$!
until ready; do
  kill -0 $server || { cat /srv/log >&2; exit 1; }
  sleep 0.2
done
kill $server
wait $server
`;

/** Packs the first two revisions. */
async function packAll(out: string): Promise<readonly [readonly string[], readonly string[]]> {
  const program = await executableFolder();
  const architecture = (await run(["dpkg", "--print-architecture"], out)).trim();
  const time = new Date();
  const packed = (revision: number) => pack({ program, architecture, revision, time }, out);
  return [packed(1), packed(2)];
}

const installation = (revision: number) =>
  `apt-get install --yes /srv/inkling_0.1.0-${revision}_*.deb /srv/inkling-seeds_0.1.0-${revision}_*.deb`;
/** The page's commands after the installation. Without internet, `data update` exits with 3, as the page says. */
const STEPS = (/^```sh\n(apt install .*)\n([\s\S]*?)^```$/m.exec(SECTION)?.[2] ?? "").replace(
  /^.* data update$/m,
  "$& || [ $? -eq 3 ]",
);

const tools = ["dpkg-deb", "mmdebstrap", "lintian", "unshare", "chroot", "ip"];
describe.if(FULL)("on Debian", () => {
  withPrograms(
    "lintian finds nothing; install, steps of the page, upgrade, removal, purge",
    tools,
    isRoot,
    async () => {
      const out = temporaryFolder();
      const [first, second] = await packAll(out);
      expect(await run(["lintian", "--allow-root", ...first], out)).toBe("");

      const debian = new Debian();
      await debian.make("systemd");
      debian.writeDownSystemctl();
      for (const path of [...first, ...second])
        debian.write(join("/srv", path.slice(out.length)), readFileSync(path));
      const install = (revision: number) => debian.run(installation(revision));

      expect(await install(1)).toContain("not started yet");
      expect(debian.called()).toEqual(["--system daemon-reload"]);
      expect(await debian.run("stat -c '%U:%G %a' /var/lib/inkling /etc/inkling/credentials")).toBe(
        "inkling:inkling 750\nroot:inkling 2750\n",
      );
      const wanted = "/etc/systemd/system/multi-user.target.wants/inkling.service";
      expect(debian.exists(wanted)).toBe(false);

      expect(STEPS).toContain("data update");
      expect((await debian.run(STEPS)).trim().split("\n").at(-1)).toStartWith("ink_live_");
      expect([debian.called(), debian.exists(wanted)]).toEqual([["enable --now inkling"], true]);
      await debian.run(SERVE);

      // A command has the same credentials as the service.
      debian.write("/etc/inkling/credentials/database_url", "postgres://inkling@127.0.0.1:1/inkling\n");
      const list = "cd /; runuser -u inkling -- inkling keys list 2>&1 || true";
      expect(await debian.run(list)).toContain("127.0.0.1:1");
      await debian.run("rm /etc/inkling/credentials/database_url");
      expect(await debian.run(list)).toContain("checkout");
      const settings = 'data_dir = "/var/lib/inkling"\nport = 8080\n';
      debian.write("/etc/inkling/inkling.toml", settings);
      expect(await install(2)).not.toContain("not started");
      expect(debian.called()).toEqual([
        "--system daemon-reload",
        expect.stringContaining("try-restart inkling.service"),
      ]);
      expect(
        await debian.run("cat /etc/inkling/inkling.toml; dpkg --verify inkling inkling-seeds || true"),
      ).toMatch(
        // nothing else differs from the default
        /^data_dir = "\/var\/lib\/inkling"\nport = 8080\n$/,
      );
      await debian.run(SERVE);

      await debian.run("apt-get remove --yes inkling");
      expect(debian.called()).toEqual([
        expect.stringContaining("stop inkling.service"),
        "--system daemon-reload",
      ]);
      for (const path of ["/var/lib/inkling/current", "/etc/inkling/inkling.toml"])
        expect([path, debian.exists(path)]).toEqual([path, true]);
      await install(2); // after a removal, every command works again
      expect(await debian.run(list)).toContain("checkout");
      await debian.run("apt-get purge --yes inkling inkling-seeds");
      const left = await debian.run(
        "find / -xdev -iname '*inkling*' -not -path '/srv/*'; getent passwd inkling",
      );
      expect(left).toMatch(/^inkling:x:\d+:\d+:Inkling:\/var\/lib\/inkling:\/usr\/sbin\/nologin\n$/);
    },
  );

  withPrograms(
    "under systemd: steps of the page, confinement, settings, secrets, failures, boot, upgrade, stop, purge",
    ["dpkg-deb", "mmdebstrap", "systemd-nspawn", "nsenter"],
    isRoot && mayRunContainers(),
    async () => {
      const out = temporaryFolder();
      const packages = (await packAll(out)).flat();
      const debian = new Debian();
      await debian.make("systemd,systemd-sysv,curl");
      for (const path of packages) debian.write(join("/srv", path.slice(out.length)), readFileSync(path));
      let machine = await debian.boot();
      try {
        const inside = async (script: string) => (await machine.run(script)).trim();
        const property = (name: string) => inside(`systemctl show --value -p ${name} inkling`);
        const journal = () => inside("journalctl --sync; journalctl -u inkling --no-pager -o cat");
        const fails = (script: string) => expect(inside(script)).rejects.toThrow("ended with 1");
        const [, url = ""] = /^curl .* (http:\S+)$/m.exec(SECTION) ?? [];
        const status = (key: string) =>
          inside(`curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer ${key}' ${url} || true`);

        await inside(installation(1));
        const key = (await inside(STEPS)).split("\n").at(-1)!;
        expect(key).toStartWith("ink_live_");
        expect(await status(key)).toBe("200");

        const confinement = await inside(`
          for pid in $(cat /sys/fs/cgroup/{systemd,}/system.slice/inkling.service/cgroup.procs 2>/dev/null); do
            grep -E '^(CapBnd|NoNewPrivs|Seccomp):' /proc/$pid/status
            stat -c %U /proc/$pid
            ls -A /proc/$pid/root/home /proc/$pid/root/root | grep -v : || true
            for path in /etc /usr /var /var/lib /proc/sys; do
              nsenter --target $pid --mount test ! -w $path || echo $path
            done
          done`);
        const each = "CapBnd:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\ninkling\n";
        const processes = `${confinement}\n`.split(each);
        expect(processes).toEqual(["", expect.stringMatching(/^\s*$/)]); // one process

        const settings = "/etc/inkling/inkling.toml";
        await inside(`echo 'prot = 1' >>${settings}`);
        await fails("systemctl restart inkling");
        expect(await journal()).toContain(
          "prot in /etc/inkling/inkling.toml is not a setting; did you mean port?",
        );
        expect([await property("ActiveState"), await property("NRestarts")]).toEqual(["failed", "0"]);
        await inside(`sed -i '/^prot/d' ${settings}`);

        const other = await inside(
          "cd /tmp; touch no.toml; INKLING_CONFIG=no.toml inkling keys create --name other 2>/dev/null",
        );
        await inside(`umask 077; echo ${other} >/etc/inkling/credentials/api_key; systemctl restart inkling`);
        expect(await status(other)).toBe("200");
        await inside("rm /etc/inkling/credentials/api_key");

        for (const [signal, result] of [
          ["KILL", "code=killed, status=9/KILL"],
          ["STOP", "Failed with result 'watchdog'"],
        ]) {
          const before = await property("MainPID");
          await inside(`kill -${signal} ${before}`);
          await inside(
            `until [ $(systemctl show --value -p MainPID inkling) != ${before} ] && systemctl --quiet is-active inkling
             do sleep 0.2; done`,
          );
          expect(await status(key)).toBe("200");
          expect(await journal()).toContain(result!);
        }
        expect(await property("NRestarts")).toBe("2");

        await machine.shutDown();
        machine = await debian.boot();
        expect(await status(key)).toBe("200");

        const old = await property("MainPID");
        await inside(installation(2));
        expect([await status(key), old === (await property("MainPID"))]).toEqual(["200", false]);
        await inside("systemctl stop inkling");
        expect(await Promise.all(["Result", "ExecMainStatus"].map(property))).toEqual(["success", "0"]);
        expect(await journal()).toMatch(/"event":"stopped"}\n(.*\n)*Stopped inkling.service/);
        await inside("systemctl start inkling; apt-get purge --yes inkling");
        expect([await status(key), await property("LoadState")]).toEqual(["000", "not-found"]);
      } finally {
        await machine.shutDown();
      }
    },
  );
});
