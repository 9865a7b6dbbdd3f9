// enrich-maxmind.mjs: a file of addresses enriched as a user of npm `maxmind` would do it: line by line, in a stream.
//
// run  node enrich-maxmind.mjs DATABASE IN OUT

import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { createInterface } from "node:readline";
import { open } from "maxmind";

const [database, from, to] = process.argv.slice(2);
const reader = await open(database);
const out = createWriteStream(to);
const quoted = (text = "") => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
for await (const line of createInterface({ input: createReadStream(from) })) {
  const found = reader.get(line);
  const row = `${line},${found?.country?.iso_code ?? ""},${quoted(found?.city?.names?.en)}\n`;
  if (!out.write(row)) await once(out, "drain");
}
out.end();
await once(out, "finish");
