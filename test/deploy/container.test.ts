// tests deploy/container: the image as Kubernetes runs it, and the files, commands and settings that the image names.

import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { SETTING_NAMES, SETTINGS, variableName } from "@inkling/contract";
import { PackagedProgram, walk, walkFirstStart } from "../harness/packaged-program.ts";
import { withPrograms } from "../harness/programs.ts";
import { run } from "../harness/published-packages.ts";
import { temporaryFolder } from "../harness/release.ts";
import { FULL } from "../harness/share.ts";
import { until } from "../harness/until.ts";
import { Image, mayRunContainers, type RunOptions } from "./container-image.ts";

setDefaultTimeout(600_000);

const ROOT = resolve(import.meta.dir, "../..");
const CONTAINER = join(ROOT, "deploy/container");
const COMMAND = join(ROOT, "node_modules/.bin/inkling");
const DOCKERFILE = readFileSync(join(CONTAINER, "Dockerfile"), "utf8");
const VARIABLES = new Set(SETTING_NAMES.map(variableName));
/** Parses an instruction of the Dockerfile: `CMD ["up"]` returns ["up"]. */
const listOf = (instruction: string): string[] =>
  JSON.parse(new RegExp(`^${instruction}(?: .*CMD)? (\\[.*\\])$`, "m").exec(DOCKERFILE)![1]!);
/** Is this a command? For anything else, --help prints the program's help. */
const isCommand = (args: readonly string[]) =>
  Bun.spawnSync([COMMAND, ...args, "--help"])
    .stdout.toString()
    .startsWith(`Usage: inkling ${args.join(" ")} `);

interface Service {
  readonly image: string;
  readonly profiles?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}
interface Compose {
  readonly "x-inkling": { readonly build: { context: string; dockerfile: string; target: string } };
  readonly services: Readonly<Record<string, Service>>;
  readonly configs: { readonly prometheus: { readonly content: string } };
  readonly volumes: Readonly<Record<string, null>>;
}

describe("the Dockerfile names what there is", () => {
  test("settings, ports, commands", () => {
    const settings = DOCKERFILE.match(/\bINKLING_\w+(?==)/g)!;
    // No INKLING_ADMIN_HOST: the admin listener remains on loopback.
    expect(settings).toEqual(["INKLING_HOST", "INKLING_DRAIN_SECONDS", "INKLING_DATA_DIR"]);
    expect(settings.filter((name) => !VARIABLES.has(name))).toEqual([]);
    const ports: readonly unknown[] = /^EXPOSE (.*)$/m.exec(DOCKERFILE)![1]!.split(" ").map(Number);
    expect(ports).toEqual([SETTINGS.port.default, SETTINGS.adminPort.default]);
    expect(listOf("ENTRYPOINT")).toEqual(["inkling"]);
    const [program, ...health] = listOf("HEALTHCHECK");
    expect(program).toBe("inkling");
    for (const args of [listOf("CMD"), health]) expect([args, isCommand(args)]).toEqual([args, true]);
    expect(isCommand(["no-such-command"])).toBe(false);
  });

  test("the version", () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    expect(DOCKERFILE).toContain(`image.version="${version}"`);
  });

  test("of the clone only what .dockerignore lets in, and of that all that the build reads", () => {
    const lines = readFileSync(join(ROOT, ".dockerignore"), "utf8").split("\n");
    expect(lines).toContain("*");
    const let_in = lines.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
    for (const path of let_in) expect([path, existsSync(join(ROOT, path))]).toEqual([path, true]);
    const script = /bun (scripts\/\S+)/.exec(DOCKERFILE)![1]!;
    expect(existsSync(join(ROOT, script))).toBe(true);
    for (const path of ["package-lock.json", "tsconfig.json", "packages", "scripts"])
      expect(let_in).toContain(path);
  });
});

describe("compose.yaml names what there is", () => {
  const compose = Bun.YAML.parse(readFileSync(join(CONTAINER, "compose.yaml"), "utf8")) as Compose;
  const { services } = compose;
  const ours = Object.values(services).filter(({ image }) => image.startsWith("inkling:"));

  test("settings and commands of the program", () => {
    expect(ours).toHaveLength(2);
    for (const { command, environment = {}, healthcheck } of ours) {
      expect([command, isCommand(command!)]).toEqual([command, true]);
      expect(Object.keys(environment).filter((name) => !VARIABLES.has(name))).toEqual([]);
      const [, program, ...args] = healthcheck?.test ?? ["CMD", "inkling", "health"];
      expect([program, isCommand(args)]).toEqual(["inkling", true]);
    }
    // The admin listener is on loopback unless the operator configures otherwise. Prometheus needs more, so it starts
    // only with its profile.
    expect(services.server!.environment!.INKLING_ADMIN_HOST).toMatch(
      /^\$\{INKLING_ADMIN_HOST:-127\.0\.0\.1\}$/,
    );
    expect(services.prometheus!.profiles).toEqual(["metrics"]);
    expect(services.server!.environment!.INKLING_DATABASE_URL).toEndWith("@postgres/inkling");
  });

  test("a target of the Dockerfile, and the version", () => {
    const { context, dockerfile, target } = compose["x-inkling"].build;
    expect(join(CONTAINER, context, dockerfile)).toBe(join(CONTAINER, "Dockerfile"));
    expect(DOCKERFILE).toContain(` AS ${target}\n`);
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    expect(ours.map(({ image }) => image)).toEqual([`inkling:${version}-seeds`, `inkling:${version}-seeds`]);
  });

  test("ports, services, volumes and files; only the API is open to other machines", () => {
    expect(services.server!.ports).toEqual([
      `${SETTINGS.port.default}:${SETTINGS.port.default}`,
      `127.0.0.1:${SETTINGS.adminPort.default}:${SETTINGS.adminPort.default}`,
    ]);
    for (const { ports = [], depends_on = {}, volumes = [] } of Object.values(services)) {
      for (const name of Object.keys(depends_on)) {
        expect(Object.keys(services)).toContain(name);
        expect(services[name]!.healthcheck).toBeDefined();
      }
      for (const volume of volumes) {
        const [from = ""] = volume.split(":");
        if (from.startsWith(".")) expect([from, existsSync(join(CONTAINER, from))]).toEqual([from, true]);
        else expect(Object.keys(compose.volumes)).toContain(from);
      }
      for (const port of ports) expect(port).toMatch(/^(8080:8080|127\.0\.0\.1:.*)$/);
    }
  });

  test("Prometheus reads the server as deploy/prometheus does", () => {
    const own = Bun.YAML.parse(compose.configs.prometheus.content) as object;
    const file = readFileSync(join(ROOT, "deploy/prometheus/prometheus.yml"), "utf8");
    expect(own).toEqual(Bun.YAML.parse(file.replace("127.0.0.1", "server")) as object);
  });
});

/** Docker Compose 2, if it is installed in a version that supports `content` in a configuration. */
const COMPOSE = [["docker", "compose"], ["docker-compose"]].find((command) => {
  if (Bun.which(command[0]!) === null) return false;
  const [version = ""] = /^\d+\.\d+\.\d+/.exec(composed([...command, "version", "--short"]).out) ?? [];
  return Bun.semver.satisfies(version, ">=2.23.1");
});

function composed(command: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { env: { ...process.env, ...env } });
  return { code: exitCode, out: stdout.toString(), err: stderr.toString() };
}

describe.if(COMPOSE !== undefined)("Docker Compose 2.23.1 or newer reads compose.yaml", () => {
  const path = join(CONTAINER, "compose.yaml");
  const config = (file: string, env = {}) =>
    composed([...COMPOSE!, "-f", file, "config", "--format", "json"], { POSTGRES_PASSWORD: "", ...env });

  test("and needs a password alone", () => {
    const without = config(path);
    expect([without.code === 0, without.err]).toEqual([false, expect.stringContaining("choose one")]);
    const { code, out, err } = config(path, { POSTGRES_PASSWORD: "secret" });
    expect([code, err]).toEqual([0, ""]);
    const { services } = JSON.parse(out);
    expect(services.server.environment.INKLING_DATABASE_URL).toBe(
      "postgres://inkling:secret@postgres/inkling",
    );
    expect(services.postgres.environment.POSTGRES_PASSWORD).toBe("secret");
    const limits = { read_only: true, cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] };
    for (const name of ["server", "builder"]) expect(services[name]).toMatchObject(limits);
  });

  test("and would name a mistake", () => {
    const file = join(temporaryFolder(), "compose.yaml");
    writeFileSync(file, readFileSync(path, "utf8").replace("mem_limit", "memory_limit"));
    const { code, err } = config(file, { POSTGRES_PASSWORD: "secret" });
    expect([code === 0, err]).toEqual([false, expect.stringContaining("memory_limit")]);
  });
});

describe("the image", () => {
  const images: Image[] = [];
  afterAll(() => {
    for (const image of images) image.remove();
  });
  const imageOf = async (target: string) => {
    const image = await Image.make(target);
    images.push(image);
    return image;
  };
  let made: Promise<Image> | undefined;
  const theImage = () => (made ??= imageOf("program"));

  /** Runs a container until it exits. */
  async function ended(args: readonly string[], options: RunOptions) {
    const { command } = (await theImage()).command(args, options);
    const { exitCode, stdout, stderr } = Bun.spawnSync(command);
    return { code: exitCode, out: stdout.toString(), err: stderr.toString() };
  }
  const isPossible = mayRunContainers();
  const inContainers = (name: string, body: () => Promise<void>) =>
    withPrograms(name, ["buildah", "runc"], isPossible, body);
  const own = (image: Image, folder: string) =>
    run(["chown", "-R", `${image.user}:${image.user}`, folder], "/");

  inContainers("without seeds stays far below 200 MB, and its volume is its user's", async () => {
    const { root, user, config } = await theImage();
    const files = readdirSync(join(root, "opt/inkling"));
    expect(files.sort()).toEqual(["LICENSE", "LICENSES.txt", "NOTICE", "inkling"]);
    const bytes = files.reduce((sum, name) => sum + statSync(join(root, "opt/inkling", name)).size, 0);
    expect(bytes).toBeLessThan(170e6); // the base image has 20 MB
    expect(user).toBe(65532);
    expect(statSync(join(root, Object.keys(config.Volumes)[0]!)).uid).toBe(user);
    expect(config.Healthcheck.Test).toEqual(["CMD", "inkling", "health"]);
  });

  inContainers("says in a line and a hint what is wrong", async () => {
    const image = await theImage();
    const mine = temporaryFolder();
    await own(image, mine);
    const foreign = temporaryFolder();
    const cases: readonly [string, readonly string[], RunOptions, string, string][] = [
      [
        "read-only volume",
        ["up"],
        { data: mine, readOnly: true },
        "on a read-only file system",
        "make it writable",
      ],
      ["foreign volume", ["up"], { data: foreign }, "/data: permission denied", "this is user 65532"],
      [
        "low port",
        [],
        { data: mine, env: { INKLING_PORT: "80" } },
        "not allowed to listen on port 80",
        "--port",
      ],
      [
        "no release",
        ["data", "status"],
        { data: mine },
        "there is no release in /data",
        "`inkling data update`",
      ],
      [
        "no server",
        ["health"],
        { data: mine },
        "no server answers at http://127.0.0.1:8080/readyz",
        "INKLING_PORT",
      ],
    ];
    for (const [name, args, options, fault, hint] of cases) {
      const { code, out, err } = await ended(args, options);
      expect([name, code, out, err.trim().split("\n").length]).toEqual([name, 1, "", 2]);
      expect(err).toMatch(/^inkling: .*\nhint: /);
      expect(err).toContain(fault);
      expect(err).toContain(hint);
    }
  });

  inContainers("serves as PID 1 without seeds, knows its health, and ends in order", async () => {
    const image = await theImage();
    const data = temporaryFolder();
    await own(image, data);
    const { name, command } = image.command([], { data });
    const child = Bun.spawn(command, { stdout: "pipe", stderr: "pipe" });
    const log = new Response(child.stderr).text();
    const inside = (...args: string[]) => Bun.spawnSync([...image.runc, "exec", name, ...args]);
    try {
      await until(() => {
        if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
        return inside("inkling", "health").success;
      });
      expect(inside("inkling", "health").stdout.toString()).toBe("ready\n");
      const { pid } = JSON.parse(Bun.spawnSync([...image.runc, "state", name]).stdout.toString());
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      expect(status).toMatch(/^NSpid:.*\t1$/m);
      expect(status).toMatch(/^Uid:\t65532\t65532\t/m);
      expect(status).toMatch(/^CapEff:\t0+$/m);
    } finally {
      child.kill("SIGTERM");
    }
    expect(await child.exited).toBe(0);
    expect((await log).trim()).toEndWith('"event":"stopped"}');
    // The publishers are asked, and nothing looks for seeds.
    expect(await log).toContain('"event":"feeds-not-reached"');
    expect(await log).not.toContain("ENOENT");
  });

  /** Returns the whole program, which runs in containers that share this machine's network. */
  const programOf = (image: Image) => {
    const folder = temporaryFolder();
    const data = join(folder, "data");
    mkdirSync(data);
    return new PackagedProgram((args, env) => {
      Bun.spawnSync(["chown", "-R", `${image.user}:${image.user}`, data]);
      return image.command(args, { data, env, sharesNetwork: true }).command;
    }, folder);
  };

  inContainers("has all that it starts and serves", async () => {
    const image = await theImage();
    const group = process.getegid!();
    process.setegid!(image.user); // the image's user must be able to read the test's releases
    try {
      await walk(programOf(image));
    } finally {
      process.setegid!(group);
    }
  });

  if (FULL) {
    inContainers(
      "builds the first data from its seeds; 512 MB are enough to serve it, not to build it",
      async () => {
        const image = await imageOf("seeds");
        const program = programOf(image);
        await walkFirstStart(program);
        const tight = { data: program.dataDir, env: { INKLING_OFFLINE: "1" }, memoryBytes: 512 * 2 ** 20 };
        const { name, command } = image.command(["serve"], tight);
        const child = Bun.spawn(command, { stdout: "ignore", stderr: "ignore" });
        await until(() => {
          if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
          return Bun.spawnSync([...image.runc, "exec", name, "inkling", "health"]).success;
        });
        child.kill("SIGTERM");
        expect(await child.exited).toBe(0);
        const empty = temporaryFolder();
        await own(image, empty);
        const build = image.command(["data", "update"], { ...tight, data: empty });
        const { exitCode, stderr } = Bun.spawnSync(build.command);
        expect(exitCode).toBe(1);
        expect(stderr.toString()).toContain(
          "inkling: the build died (SIGKILL)\nhint: the system or container may be short",
        );
      },
    );
  }
});
