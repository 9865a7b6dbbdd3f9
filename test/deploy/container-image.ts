// container-image.ts: builds deploy/container/Dockerfile as an image without a daemon, and runs containers from it.
//
// The Dockerfile's stage `build` is replaced by its result, and the base image by this machine's C library,
// so that neither needs a registry. buildah builds the image. runc runs it as Kubernetes does, with a
// read-only root and no capabilities.

import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { executableFolder, run } from "../harness/published-packages.ts";

const ROOT = resolve(import.meta.dir, "../..");

interface Config {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly WorkingDir: string;
  readonly Volumes: Readonly<Record<string, object>>;
  readonly ExposedPorts: Readonly<Record<string, object>>;
  readonly Labels: Readonly<Record<string, string>>;
  readonly Healthcheck: { readonly Test: readonly string[] };
}

export interface RunOptions {
  readonly data: string;
  readonly readOnly?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** Uses this machine's network. By default, a container has only its own loopback device. */
  readonly sharesNetwork?: boolean;
  readonly memoryBytes?: number;
}

type Buildah = (...args: string[]) => Promise<string>;

export class Image {
  readonly config: Config;
  readonly root: string;
  readonly user: number;
  private readonly folder: string;
  private readonly buildah: Buildah;
  private count = 0;

  private constructor(folder: string, buildah: Buildah, root: string, config: Config) {
    this.folder = folder;
    this.buildah = buildah;
    this.root = root;
    this.config = config;
    this.user = Number(config.User.split(":")[0]);
  }

  static async make(target: string): Promise<Image> {
    const folder = mkdtempSync(join(tmpdir(), "inkling-image-"));
    const store = [
      "--root",
      join(folder, "store"),
      "--runroot",
      join(folder, "run"),
      "--storage-driver",
      "vfs",
    ];
    const buildah = async (...args: string[]) => (await run(["buildah", ...store, ...args], ROOT)).trim();

    const out = join(folder, "build/out");
    cpSync(await executableFolder(), out, { recursive: true });
    mkdirSync(join(out, "data"));
    const base = join(folder, "base");
    const libraries = (await run(["ldd", join(out, "inkling")], ROOT)).match(/\/\S+/g)!;
    for (const path of libraries) {
      mkdirSync(join(base, dirname(path)), { recursive: true });
      cpSync(path, join(base, path), { dereference: true });
    }
    mkdirSync(join(base, "tmp"));
    const scratch = await buildah("from", "scratch");
    await buildah("copy", scratch, base, "/");
    await buildah("commit", "--quiet", "--rm", scratch, "base");

    const args = ["--isolation", "chroot", "--format", "docker", "--quiet", "--target", target];
    const stages = ["--build-context", `build=${dirname(out)}`, "--build-arg", "BASE=localhost/base"];
    const file = join(ROOT, "deploy/container/Dockerfile");
    await buildah("build", ...args, ...stages, "-f", file, "-t", "inkling", ROOT);
    const { Docker } = JSON.parse(await buildah("inspect", "--type", "image", "inkling"));
    const container = await buildah("from", "inkling");
    return new Image(folder, buildah, await buildah("mount", container), Docker.config);
  }

  /** Saves the image for `docker load`. */
  async save(name: string): Promise<string> {
    const path = join(this.folder, "image.tar");
    await this.buildah("push", "--quiet", "inkling", `docker-archive:${path}:${name}`);
    return path;
  }

  /**
   * Returns the command line that runs a container. The command ends with the container, and its signals
   * reach the container.
   */
  command(args: readonly string[], options: RunOptions): { name: string; command: string[] } {
    const name = `inkling-test-${process.pid}-${this.count++}`;
    const bundle = join(this.folder, name);
    mkdirSync(bundle);
    writeFileSync(join(bundle, "config.json"), JSON.stringify(this.spec(args, options)));
    return { name, command: [...this.runc, "run", "--bundle", bundle, name] };
  }

  get runc(): string[] {
    return ["runc", "--root", join(this.folder, "runc")];
  }

  private spec(args: readonly string[], { data, env = {}, ...options }: RunOptions): object {
    const { config } = this;
    const namespaces = ["pid", "ipc", "uts", "mount", ...(options.sharesNetwork ? [] : ["network"])];
    const volume = { destination: Object.keys(config.Volumes)[0]!, type: "bind", source: data };
    const limit = options.memoryBytes;
    return {
      ociVersion: "1.0.0",
      root: { path: this.root, readonly: true },
      process: {
        user: { uid: this.user, gid: this.user },
        args: [...config.Entrypoint, ...(args.length > 0 ? args : config.Cmd)],
        env: [...config.Env, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)],
        cwd: config.WorkingDir,
        capabilities: {},
        noNewPrivileges: true,
      },
      mounts: [
        { destination: "/proc", type: "proc", source: "proc" },
        { destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["mode=755"] },
        { destination: "/tmp", type: "tmpfs", source: "tmpfs" },
        { ...volume, options: ["rbind", options.readOnly ? "ro" : "rw"] },
      ],
      linux: {
        namespaces: namespaces.map((type) => ({ type })),
        resources: { ...(limit !== undefined && { memory: { limit, swap: limit } }) },
      },
    };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Can this user run containers on this machine? */
export function mayRunContainers(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  return Bun.spawnSync([
    "unshare",
    "--mount",
    "--net",
    "--pid",
    "--fork",
    "mount",
    "-t",
    "tmpfs",
    "tmpfs",
    "/mnt",
  ]).success;
}
