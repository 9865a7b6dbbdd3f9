// documented-batches.test.ts: runs the scripts of docs/batches.md against a server, and reads their output as the page says.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { withPrograms } from "../../harness/programs.ts";
import { run } from "../../harness/published-packages.ts";
import { SMALL_NETWORK, smallDomain, smallRelease, temporaryFolder } from "../../harness/release.ts";
import { type SmallServer, startServerOn } from "../../harness/server.ts";

const PAGE = readFileSync(resolve(import.meta.dir, "../../../docs/batches.md"), "utf8");
const [, SCRIPT] = /^```sh\n(sed [\s\S]*?)^```$/m.exec(PAGE)! as unknown as [string, string];
/** In small release 1, the addresses in this network are proxies. */
const PROXY = SMALL_NETWORK.replace("0/24", "1");
const VALUES = [PROXY, "8.8.8.8", "10.0.0.1", "nonsense", PROXY];

let inkling: SmallServer;
beforeAll(async () => {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1, [], [], true);
  inkling = await startServerOn(dataDir);
});
afterAll(() => inkling.server.stop());

/** Runs a script in a new folder that has the file `ips.txt`, and an own `curl` if there is one. */
function runIn(folder: string, script: string, curl?: string): Promise<string> {
  writeFileSync(join(folder, "ips.txt"), `${VALUES.join("\n")}\n\n`);
  if (curl !== undefined) {
    writeFileSync(join(folder, "curl"), `#!/bin/sh\n${curl}\n`);
    chmodSync(join(folder, "curl"), 0o755);
  }
  const variables = [`KEY=${inkling.keys.live}`, `PATH=${folder}:${process.env.PATH}`];
  const text = script.replace("http://127.0.0.1:8080", inkling.origin);
  return run(["env", ...variables, "sh", "-c", text], folder);
}

const codes = (printed: string) =>
  printed
    .trim()
    .split("\n")
    .map((line) => line.split("\t"))
    .map(([value, answer]) => [value, JSON.parse(answer!).code ?? JSON.parse(answer!).is_proxy]);
const EXPECTED = VALUES.map((value, at) => [
  value,
  [true, false, "IP_ADDRESS_RESERVED", "IP_ADDRESS_INVALID", true][at],
]);

test("the script prints each value with its answer", async () => {
  expect(codes(await runIn(temporaryFolder(), SCRIPT))).toEqual(EXPECTED as never);
});

test("the script continues behind the last answer, and stops if an attempt brings none", async () => {
  const folder = temporaryFolder();
  const curl = `echo >> "${folder}/calls"; "${Bun.which("curl")}" "$@" > "${folder}/whole"
head -n 2 "${folder}/whole"; echo '{"code":"BATCH_INVALID"}'; printf '{"is_ab'`;
  expect(codes(await runIn(folder, SCRIPT, curl))).toEqual(EXPECTED as never);
  expect(readFileSync(join(folder, "calls"), "utf8")).toHaveLength(3);
  await expect(runIn(temporaryFolder(), SCRIPT, "cat > /dev/null")).rejects.toThrow();
});

withPrograms("enrich.py continues behind the last line of its table", ["python3"], true, async () => {
  const folder = temporaryFolder();
  const [, code] = /^```python\n(# enrich\.py\n[\s\S]*?)^```$/m.exec(PAGE)!;
  writeFileSync(join(folder, "enrich.py"), code!.replace("http://127.0.0.1:8080", inkling.origin));
  const path = resolve(import.meta.dir, "../../../packages/python");
  const environment = [`PYTHONPATH=${path}`, `KEY=${inkling.keys.live}`];
  const enrich = async (ips: readonly string[]) => {
    const email = ["someone@gmail.com", `someone@${smallDomain(1)}`];
    const rows = ips.map((ip, at) => `${ip},${email[at % 2]}`);
    writeFileSync(join(folder, "visitors.csv"), `${["ip,email", ...rows].join("\n")}\n`);
    const [, command] = /^(python3 enrich\.py .*)$/m.exec(PAGE)!;
    await run(["env", ...environment, "sh", "-c", `cd "${folder}" && ${command}`], folder);
    return readFileSync(join(folder, "enriched.csv"), "utf8").trim().split("\r\n");
  };
  const [, head] = /^(ip,email,country.*)$/m.exec(PAGE)!;
  const expected = EXPECTED.map(([ip, found], at) => {
    const email = at % 2 === 0 ? "someone@gmail.com,X,False" : `someone@${smallDomain(1)},X,True`;
    const isProxy = found === true ? "True" : "False";
    const flags = typeof found === "string" ? ",," : `${found === true ? "GB" : ""},${isProxy},False`;
    return `${ip},${email.replace("X", flags)},${typeof found === "string" ? found : ""}`;
  });
  expect(await enrich(VALUES.slice(0, 3))).toEqual([head!, ...expected.slice(0, 3)]);
  expect(await enrich(VALUES)).toEqual([head!, ...expected]);
});

test("DuckDB makes a table of the output", async () => {
  const folder = temporaryFolder();
  const script = SCRIPT.replace("/reputation >", "/reputation?include=network >");
  await runIn(folder, `${script} > answers.tsv`.replace(/\n > answers/, " > answers"));
  const [, create = ""] = /^```sql\n([\s\S]*?)^```$/m.exec(PAGE)!;
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  await connection.run(create.replace("answers.tsv", join(folder, "answers.tsv")));
  const rows = (await connection.runAndReadAll("FROM reputation")).getRows();
  const expected = EXPECTED.map(([value, found]) =>
    typeof found === "string"
      ? [value, null, null, found]
      : [value, found, value === PROXY ? "Andrews & Arnold, Ltd" : null, null],
  );
  expect(rows).toEqual(expected as never);
});
