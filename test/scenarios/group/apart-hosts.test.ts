// apart-hosts.test.ts: tests servers of a group far from their database, with a round trip of 100 ms and 5% packet
// loss. In the end they are cut off.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { drilled } from "../../harness/recorded-rows.ts";
import { share } from "../../harness/share.ts";
import { HOSTS, LIMIT, type Seen } from "./apart-hosts.ts";

const UNSHARE = ["unshare", "--mount", "--net"];
const PROBE =
  "mount -t tmpfs tmpfs /run && ip netns add probe && ip link add here0 type veth peer name there0 netns probe";
const canSeparate =
  process.platform === "linux" &&
  Bun.which("unshare") !== null &&
  Bun.spawnSync([...UNSHARE, "sh", "-c", PROBE]).success;
const SECONDS = share(30, 10);

const name = "a slow network that loses packets: each host keeps the limit, overrides and revocations arrive";
if (!canSeparate) test.skip(`${name}: needs root, unshare and ip (iproute2)`, () => {});
else
  test(name, async () => {
    const script = join(import.meta.dir, "apart-hosts.ts");
    const child = Bun.spawn([...UNSHARE, process.execPath, script, String(SECONDS)], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [out, errors] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    if (out === "") throw new Error(errors);
    const seen: Seen = JSON.parse(out);
    // While it is cut off, each host uses only its own count.
    expect(seen.most).toBeLessThanOrEqual(HOSTS * LIMIT.burst);
    // Each host may owe what the others took before the cut, but some of the limit must always be usable.
    expect(seen.allowed).toBeGreaterThan(LIMIT.burst / 2);
    expect(seen.refused).toBeGreaterThan(0); // otherwise this test proves nothing
    expect(seen).toMatchObject({ failed: 0, overridden: 3, revoked: 3 });
    drilled(
      import.meta.path,
      "a group 100 ms from its database, with 5% packet loss, then cut off",
      "every lookup, at most each host's share of a key's rate",
      "overrides and revocations, which arrive on every host",
    );
  });
