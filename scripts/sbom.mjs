// sbom.mjs: `npm run sbom [FILE]`: the software bill of materials, as CycloneDX JSON: what is installed to run Inkling.
//
// in   package-lock.json, all platforms; the packages of development are left out
// out  the file, or standard output
// exit that of `npm sbom`

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./install.mjs";

// Not with --omit=dev: npm 11.19 then leaves out what one package needs to run and another for its tests (lodash).
const args = ["sbom", "--sbom-format=cyclonedx", "--package-lock-only"];
const { status, stdout, stderr } = spawnSync("npm", args, {
  cwd: ROOT,
  encoding: "utf8",
  maxBuffer: 1 << 26,
  shell: process.platform === "win32",
});
if (status === 0) {
  const bill = JSON.parse(stdout);
  // npm calls the project and its packages by the names of their folders.
  const { component } = bill.metadata;
  component.type = "application";
  for (const one of [component, ...bill.components]) {
    const ref = one["bom-ref"];
    one.name = ref.slice(0, ref.lastIndexOf("@"));
  }
  // Nor by npm's mark of development: a version that is locked twice has that of its first place.
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
  // npm leaves out licences that SPDX has no name for.
  for (const one of bill.components) one.licenses ??= [{ license: { name: needed.get(one["bom-ref"]) } }];
  const text = `${JSON.stringify(bill, null, 2)}\n`;
  const [file] = process.argv.slice(2);
  if (file === undefined) process.stdout.write(text);
  else writeFileSync(file, text);
} else {
  process.stderr.write(stderr ?? "npm is not installed\n");
  process.exitCode = status ?? 1;
}
