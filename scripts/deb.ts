// deb.ts: `npm run build:deb` builds packages for Debian and Ubuntu: inkling, and inkling-seeds with the data for the
// first build. The fixed files of both packages are in deploy/debian, and the systemd units are in deploy/systemd.
//
// DEBFULLNAME and DEBEMAIL set the maintainer, and SOURCE_DATE_EPOCH sets the time of all files.

import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import manifest from "../packages/cli/package.json" with { type: "json" };
import { buildBinary } from "./binary.ts";

const ROOT = resolve(import.meta.dir, "..");
const FIXED = join(ROOT, "deploy/debian");
const COMMAND = [process.execPath, join(ROOT, "packages/cli/src/main.ts")];
/** Targets of binary.ts, with Debian's names for their architectures. */
const TARGETS: Readonly<Record<string, string>> = { "linux-x64": "amd64", "linux-arm64": "arm64" };
/** The package enables none of these units. */
const UNITS = [
  "inkling.service",
  "inkling-builder.service",
  "inkling-backup.service",
  "inkling-backup.timer",
];
const HOMEPAGE = "https://www.npmjs.com/package/@inkling/cli";

interface Packaging {
  /** The folder that binary.ts has built. */
  readonly program: string;
  readonly architecture: string;
  readonly revision: number;
  readonly time: Date;
}

/** The files of one package, and functions that write them. */
class PackageFiles {
  readonly name: "inkling" | "inkling-seeds";
  readonly root: string;

  constructor(name: "inkling" | "inkling-seeds", folder: string) {
    this.name = name;
    this.root = join(folder, name);
  }

  put(path: string, content: string | Uint8Array, mode = 0o644): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), content);
    chmodSync(join(this.root, path), mode);
  }

  copy(from: string, to: string, mode?: number): void {
    this.put(to, readFileSync(from), mode);
  }

  zip(text: string, to: string): void {
    this.put(to, Bun.gzipSync(Buffer.from(text), { level: 9 }));
  }
}

/** Writes the files of both packages, with their control files, to `<folder>/inkling` and `<folder>/inkling-seeds`. */
export function stage(folder: string, packaging: Packaging): void {
  stageProgram(new PackageFiles("inkling", folder), packaging);
  stageSeeds(new PackageFiles("inkling-seeds", folder), packaging);
}

function stageProgram(files: PackageFiles, packaging: Packaging): void {
  const { program, architecture } = packaging;
  putDocuments(files, packaging);
  // The executable looks for seeds in its own folder, so it is not in /usr/bin.
  files.copy(join(program, "inkling"), "usr/lib/inkling/inkling", 0o755);
  files.copy(join(FIXED, "inkling"), "usr/bin/inkling", 0o755);
  for (const unit of UNITS) files.copy(join(ROOT, "deploy/systemd", unit), `usr/lib/systemd/system/${unit}`);
  files.copy(join(FIXED, "sysusers.conf"), "usr/lib/sysusers.d/inkling.conf");
  // This is not a conffile. Otherwise, an upgrade that changes a comment would ask every operator who has edited the file.
  files.copy(join(ROOT, "deploy/systemd/inkling.toml"), "usr/share/inkling/inkling.toml");
  files.copy(join(ROOT, "deploy/prometheus/inkling.rules.yml"), "usr/share/inkling/inkling.rules.yml");
  files.copy(join(ROOT, "deploy/grafana/inkling.json"), "usr/share/inkling/grafana-dashboard.json");
  for (const script of ["postinst", "prerm", "postrm"])
    files.copy(join(FIXED, script), `DEBIAN/${script}`, 0o755);
  files.copy(join(program, "LICENSES.txt"), "usr/share/doc/inkling/LICENSES.txt");
  files.copy(join(ROOT, "README.md"), "usr/share/doc/inkling/README.md");
  for (const name of readdirSync(join(ROOT, "docs")).filter((name) => name.endsWith(".md")))
    files.copy(join(ROOT, "docs", name), `usr/share/doc/inkling/docs/${name}`);
  files.put("usr/share/bash-completion/completions/inkling", printed("completion", "bash"));
  files.put("usr/share/fish/vendor_completions.d/inkling.fish", printed("completion", "fish"));
  mkdirSync(join(files.root, "etc/inkling/credentials"), { recursive: true });
  putControl(files, packaging, {
    Architecture: architecture,
    "Pre-Depends": "init-system-helpers (>= 1.54~)",
    Depends: `libc6 (>= ${libcOf(join(program, "inkling"))}), systemd (>= 252) | systemd-standalone-sysusers`,
    Recommends: "inkling-seeds",
    Description: `IP geolocation, IP reputation and disposable-email detection API
 Inkling answers over HTTP where an IP address is, whether it is a known
 abuser, a proxy or a Tor exit, and whether an email address is valid and
 whether it is disposable. It answers from data that it fetches from
 publishers, so the addresses in requests do not leave the machine.`,
  });
  chmodSync(join(files.root, "etc/inkling/credentials"), 0o750);
}

function stageSeeds(files: PackageFiles, packaging: Packaging): void {
  const { program } = packaging;
  putDocuments(files, packaging);
  for (const path of filesBelow(join(program, "seeds")))
    files.copy(path, `usr/share/inkling/${path.slice(program.length + 1)}`);
  mkdirSync(join(files.root, "usr/lib/inkling"), { recursive: true });
  putControl(files, packaging, {
    Architecture: "all",
    Enhances: "inkling",
    Description: `data for the first build of Inkling
 With these copies of geolocation, registry and disposable-email data,
 Inkling builds its first release in seconds, even without the internet.
 Without them, it downloads the data from the publishers.`,
  });
  // The link is created after the checksums, because listing the files follows links.
  symlinkSync("../../share/inkling/seeds", join(files.root, "usr/lib/inkling/seeds"));
}

const maintainer = () =>
  `${process.env.DEBFULLNAME ?? "Inkling authors"} <${process.env.DEBEMAIL ?? "authors@inkling.example"}>`;
const versionOf = ({ revision }: Packaging) => `${manifest.version}-${revision}`;

/** Writes the files that both packages have: copyright, notice, changelogs, and the warnings that lintian ignores. */
function putDocuments(files: PackageFiles, packaging: Packaging): void {
  const folder = `usr/share/doc/${files.name}`;
  const date = packaging.time.toUTCString().replace("GMT", "+0000");
  const entry = `inkling (${versionOf(packaging)}) unstable; urgency=medium

  * Version ${manifest.version}: changelog.gz has its changes.

 -- ${maintainer()}  ${date}
`;
  files.zip(entry, `${folder}/changelog.Debian.gz`);
  files.zip(readFileSync(join(ROOT, "CHANGELOG.md"), "utf8"), `${folder}/changelog.gz`);
  files.copy(join(FIXED, "copyright"), `${folder}/copyright`);
  files.copy(join(ROOT, "NOTICE"), `${folder}/NOTICE`);
  files.copy(join(FIXED, `${files.name}.lintian-overrides`), `usr/share/lintian/overrides/${files.name}`);
}

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();

/** Writes DEBIAN/md5sums and DEBIAN/control for the existing files, and makes all folders readable for everyone. */
function putControl(
  files: PackageFiles,
  packaging: Packaging,
  fields: Readonly<Record<string, string>>,
): void {
  const { name, root } = files;
  const paths = filesBelow(root).filter((path) => !path.startsWith(join(root, "DEBIAN")));
  const sums = paths.map((path) => {
    const sum = new Bun.CryptoHasher("md5").update(readFileSync(path)).digest("hex");
    return `${sum}  ${path.slice(root.length + 1)}\n`;
  });
  files.put("DEBIAN/md5sums", sums.join(""));
  const control = {
    Package: name,
    ...(name !== "inkling" && { Source: "inkling" }),
    Version: versionOf(packaging),
    Maintainer: maintainer(),
    "Installed-Size": paths.reduce((sum, path) => sum + Math.ceil(statSync(path).size / 1024), 0),
    Section: "net",
    Priority: "optional",
    Homepage: HOMEPAGE,
    ...fields,
  };
  const lines = Object.entries(control).map(([key, value]) => `${key}: ${value}\n`);
  files.put("DEBIAN/control", lines.join(""));
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true }))
    if (entry.isDirectory()) chmodSync(join(entry.parentPath, entry.name), 0o755);
  chmodSync(root, 0o755);
}

/** Returns the output of a command, with the command's name in the package. */
function printed(...args: string[]): string {
  const { npm_command: _, ...env } = process.env; // otherwise, the output mentions npx if npx runs this script
  const { success, stdout, stderr } = Bun.spawnSync([...COMMAND, ...args], { env });
  if (!success) throw new Error(`inkling ${args.join(" ")}: ${stderr}`);
  return stdout.toString();
}

/** Returns the oldest version of the C library that a program can use. */
function libcOf(path: string): string {
  const versions = [
    ...readFileSync(path)
      .subarray(0, 1 << 20)
      .toString("latin1")
      .matchAll(/\0GLIBC_2\.(\d+)/g),
  ];
  if (versions.length === 0) throw new Error(`${path} requires no version of the C library`);
  return `2.${Math.max(...versions.map(([, minor]) => Number(minor)))}`;
}

/** Builds both packages from the output of binary.ts. @returns their paths in `out` */
export function pack(packaging: Packaging, out: string): string[] {
  const { architecture, revision, time } = packaging;
  const work = mkdtempSync(join(tmpdir(), "inkling-deb-"));
  try {
    stage(work, packaging);
    return Object.entries({ inkling: architecture, "inkling-seeds": "all" }).map(([name, suffix]) => {
      const path = join(out, `${name}_${manifest.version}-${revision}_${suffix}.deb`);
      const options = ["--root-owner-group", "-Zxz", "-z0"]; // level 6 reduces 108 MB only to 91 MB, and takes minutes
      const { success, stderr } = Bun.spawnSync(["dpkg-deb", ...options, "--build", join(work, name), path], {
        env: { ...process.env, SOURCE_DATE_EPOCH: String(Math.floor(time.getTime() / 1000)) },
      });
      if (!success) throw new Error(`dpkg-deb: ${stderr}`);
      return path;
    });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const options = { out: { type: "string" }, revision: { type: "string", default: "1" } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [target = `${process.platform}-${process.arch}`] = positionals;
  const architecture = TARGETS[target];
  if (architecture === undefined)
    throw new Error(`there is no package for ${target}: ${Object.keys(TARGETS).join(", ")}`);
  if (!/^[1-9]\d*$/.test(values.revision)) throw new Error("--revision is 1 or more");
  const revision = Number(values.revision);
  if (Bun.which("dpkg-deb") === null)
    throw new Error("dpkg-deb is not installed: it comes with Debian's dpkg");
  const epoch = process.env.SOURCE_DATE_EPOCH;
  const time = epoch === undefined ? new Date() : new Date(Number(epoch) * 1000);
  const out = resolve(values.out ?? join(ROOT, "binaries", `${target}-deb`));
  const program = join(out, "program");
  rmSync(out, { recursive: true, force: true });
  try {
    await buildBinary(target, program);
    const paths = pack({ program, architecture, revision, time }, out);
    for (const path of paths) process.stdout.write(`${path}: ${Math.round(statSync(path).size / 1e6)} MB\n`);
  } finally {
    rmSync(program, { recursive: true, force: true });
  }
}
