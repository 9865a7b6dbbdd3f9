// npm-registry.ts: an npm registry on this machine, for installs without internet access.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { temporaryFolder } from "./release.ts";

const MODULES = resolve(import.meta.dir, "../../node_modules");
const BUN = /^@oven\/bun-/;

export interface Registry {
  readonly url: string;
  /** Names of requested packages that are missing. */
  readonly missing: Set<string>;
  stop(): void;
}

/** @param archives archive paths by package name */
export function startRegistry(archives: ReadonlyMap<string, string>): Registry {
  const missing = new Set<string>();
  const server: Bun.Server<undefined> = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch: async (request): Promise<Response> => {
      const [name = "", isArchive] = decodeURIComponent(new URL(request.url).pathname).slice(1).split("/-/");
      const manifest = await manifestOf(name, archives.get(name));
      if (manifest === undefined) {
        missing.add(name);
        return new Response("{}", { status: 404 });
      }
      if (isArchive !== undefined)
        return new Response(archives.has(name) ? Bun.file(archives.get(name)!) : packed(name));
      const tarball = `${server.url}${name}/-/package.tgz`;
      const { version } = manifest;
      return Response.json({
        name,
        "dist-tags": { latest: version },
        versions: { [version]: { ...manifest, dist: { tarball } } },
      });
    },
  });
  return { url: server.url.href, missing, stop: () => void server.stop(true) };
}

interface Manifest {
  readonly version: string;
}

async function manifestOf(name: string, archive: string | undefined): Promise<Manifest | undefined> {
  if (archive !== undefined)
    return JSON.parse(await new Response(tar("-xzOf", archive, "package/package.json")).text());
  const path = join(MODULES, name, "package.json");
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}

/**
 * Packs an installed package as it was published. The install script of `bun` moves the program out of the platform's
 * package.
 */
function packed(name: string): ReadableStream {
  const folder = join(MODULES, name);
  if (name === "bun") {
    const placeholders = temporaryFolder();
    for (const program of ["bun.exe", "bunx.exe"]) writeFileSync(join(placeholders, program), "placeholder");
    const names = "--transform=s,^\\./bin,package/bin,;s,^\\.,package,;s,^bun,package/bin/bun,";
    const own = ["-C", folder, "--exclude=./bin/*.exe", "."];
    return tar("-cf", "-", names, "-C", placeholders, "bun.exe", "bunx.exe", ...own);
  }
  if (BUN.test(name) && !existsSync(join(folder, "bin/bun"))) {
    const program = join(MODULES, "bun/bin");
    const names = "--transform=s,^bun.exe,package/bin/bun,;s,^\\.,package,";
    return tar("-chf", "-", names, "-C", program, "bun.exe", "-C", folder, ".");
  }
  return tar("-cf", "-", "-C", folder, "--transform=s,^\\.,package,", ".");
}

function tar(...args: string[]): ReadableStream {
  return Bun.spawn(["tar", ...args], { stdout: "pipe", stderr: "inherit" }).stdout;
}
