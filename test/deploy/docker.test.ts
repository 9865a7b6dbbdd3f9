// docker.test.ts: tests the image under a separate Docker daemon, with the command line from docs/container.md. The
// container uses this machine's network, so that the daemon needs no bridge.

import { afterAll, describe, expect, setDefaultTimeout } from "bun:test";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fetch } from "../harness/checked-fetch.ts";
import { unmountAll } from "../harness/mounts.ts";
import { freePort } from "../harness/ports.ts";
import { withPrograms } from "../harness/programs.ts";
import { run } from "../harness/published-packages.ts";
import { temporaryFolder } from "../harness/release.ts";
import { FULL } from "../harness/share.ts";
import { until } from "../harness/until.ts";
import { Image, mayRunContainers } from "./container-image.ts";

setDefaultTimeout(3_600_000);

const PAGE = readFileSync(resolve(import.meta.dir, "../../docs/container.md"), "utf8");
const [, OPTIONS = "", NAME = ""] =
  /^docker run (.*) -v inkling:\/data -p 8080:8080 (\S+)$/m.exec(PAGE) ?? [];

const cleanUps: (() => unknown)[] = [];
afterAll(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
});

/**
 * Starts a daemon that ends with the test.
 * @returns the client's command
 */
async function startDaemon(): Promise<string[]> {
  const folder = temporaryFolder();
  const socket = `unix://${join(folder, "socket")}`;
  const places = ["--data-root", "--exec-root"].flatMap((flag) => [flag, join(folder, flag.slice(2))]);
  const rest = ["--pidfile", join(folder, "pid"), "--host", socket, "--storage-driver", "vfs"];
  const network = ["--bridge", "none", "--iptables=false", "--ip6tables=false"];
  const daemon = Bun.spawn(["dockerd", ...places, ...rest, ...network], {
    stdio: ["ignore", "ignore", Bun.file(join(folder, "log"))],
  });
  cleanUps.push(async () => {
    daemon.kill("SIGTERM");
    await daemon.exited;
    unmountAll(folder); // the daemon leaves the network namespace of `--network host` mounted
  });
  const docker = ["docker", "--host", socket];
  await until(() => {
    if (daemon.exitCode !== null) throw new Error(readFileSync(join(folder, "log"), "utf8"));
    return Bun.spawnSync([...docker, "version"]).success;
  });
  return docker;
}

describe.if(FULL)("Docker", () => {
  withPrograms(
    "runs the image with seeds: first start, health, keys, restart, 512 MB, stop",
    ["dockerd", "docker", "buildah", "runc"],
    mayRunContainers(),
    async () => {
      expect([OPTIONS, NAME]).toEqual([
        "--stop-timeout 45 --read-only --tmpfs /tmp --cap-drop ALL",
        expect.stringContaining("-seeds"),
      ]);
      const image = await Image.make("seeds");
      cleanUps.push(() => image.remove());
      const client = await startDaemon();
      const docker = async (...args: string[]) => (await run([...client, ...args], "/")).trim();
      await docker("load", "--input", await image.save(NAME));

      const [port, adminPort] = [freePort(), freePort()];
      const env = {
        INKLING_HOST: "127.0.0.1",
        INKLING_PORT: port,
        INKLING_ADMIN_PORT: adminPort,
        INKLING_OFFLINE: 1,
      };
      const settings = Object.entries(env).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
      const start = (...more: string[]) => {
        const options = [
          "--detach",
          "--network",
          "host",
          ...OPTIONS.split(" "),
          "-v",
          "inkling:/data",
          ...settings,
        ];
        return docker("run", ...options, ...more);
      };
      const inspect = async (id: string, field: string) => docker("inspect", "--format", `{{${field}}}`, id);
      const healthy = (id: string) =>
        until(async () => {
          if ((await inspect(id, ".State.Running")) !== "true") throw new Error(await docker("logs", id));
          return (await inspect(id, ".State.Health.Status")) === "healthy";
        });
      const stop = async (id: string) => {
        await docker("stop", id);
        return inspect(id, ".State.ExitCode");
      };
      const status = async (key: string) => {
        const headers = { Authorization: `Bearer ${key}` };
        return (await fetch(`http://127.0.0.1:${port}/v1/ip-intel/geolocate/81.2.69.142`, { headers }))
          .status;
      };

      const first = await start(NAME);
      await healthy(first); // a volume that is created with the container belongs to its user
      const key = await docker("exec", first, "inkling", "keys", "create", "--name", "test");
      await until(async () => (await status(key)) === 200);
      expect(await stop(first)).toBe("0");

      const tight = await start("--memory", "512m", "--memory-swap", "512m", NAME, "serve");
      await healthy(tight);
      expect(await status(key)).toBe(200);
      await docker("exec", tight, "inkling", "data", "verify"); // reads the whole release while the server runs
      expect(await stop(tight)).toBe("0");
      expect(await inspect(tight, ".State.OOMKilled")).toBe("false");
    },
  );
});
