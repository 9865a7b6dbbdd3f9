// mounts.ts: file systems that a program under test left mounted.

import { readFileSync } from "node:fs";

/** Returns the mount points at or below `folder` from `mountinfo` (proc(5)), innermost first. */
export function mountsIn(folder: string, mountinfo = readFileSync("/proc/self/mountinfo", "utf8")): string[] {
  const points = mountinfo
    .split("\n")
    .flatMap((line) => line.split(" ")[4] ?? [])
    .map((point) =>
      point.replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8))),
    );
  return points.filter((point) => point === folder || point.startsWith(`${folder}/`)).reverse();
}

/** Unmounts everything at or below `folder`, so that the folder can be removed. */
export function unmountAll(folder: string): void {
  for (const point of mountsIn(folder)) {
    const { success, stderr } = Bun.spawnSync(["umount", point], { stderr: "pipe" });
    if (!success) throw new Error(`${point} is still mounted: ${stderr}`);
  }
}
