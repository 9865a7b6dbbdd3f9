// sbom.mjs: `npm run sbom [FILE]` writes the software bill of materials as CycloneDX JSON: the packages that run
// Inkling.
//
// exit the exit code of `npm sbom`

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./install.mjs";

// This does not use --omit=dev. With it, npm 11.19 also leaves out a package that one package needs at run time and
// another needs for its tests (lodash).
const args = ["sbom", "--sbom-format=cyclonedx", "--package-lock-only"];
const { status, stdout, stderr } = spawnSync("npm", args, {
  cwd: ROOT,
  encoding: "utf8",
  maxBuffer: 1 << 26,
  shell: process.platform === "win32",
});
if (status === 0) {
  const bill = JSON.parse(stdout);
  // npm names the project and its packages after their folders.
  const { component } = bill.metadata;
  component.type = "application";
  for (const one of [component, ...bill.components]) {
    const ref = one["bom-ref"];
    one.name = ref.slice(0, ref.lastIndexOf("@"));
  }
  // It does not use npm's development mark either, because a version that is locked twice has the mark of its first
  // place.
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
  const needed = new Map(
    Object.entries(packages)
      .filter(([, { dev, link }]) => !dev && !link)
      .map(([path, { name, version, license }]) => [
        `${name ?? path.split("node_modules/").at(-1)}@${version}`,
        license,
      ]),
  );
  bill.components = bill.components.filter((one) => needed.has(one["bom-ref"]));
  const refs = new Set([component, ...bill.components].map((one) => one["bom-ref"]));
  bill.dependencies = bill.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => refs.has(one)) }));
  // npm leaves out licences without an SPDX name.
  for (const one of bill.components) one.licenses ??= [{ license: { name: needed.get(one["bom-ref"]) } }];
  const text = `${JSON.stringify(bill, null, 2)}\n`;
  const [file] = process.argv.slice(2);
  if (file === undefined) process.stdout.write(text);
  else writeFileSync(file, text);
} else {
  process.stderr.write(stderr ?? "npm is not installed\n");
  process.exitCode = status ?? 1;
}
