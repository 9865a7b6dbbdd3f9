// record.ts: records recorded.ndjson.br again: `npx bun test/contract/record.ts`. Only for an intended change
// of the contract, with a line in CHANGELOG.md.

import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { contractFeeds } from "./feeds.ts";
import { RECORDED, replay } from "./replay.ts";
import { contractRequests } from "./requests.ts";

const FIXTURES = resolve(import.meta.dir, "../../packages/compiler/fixtures/feeds");
const SANDBOX_PAGE = resolve(import.meta.dir, "../../docs/sandbox.md");

const lines: string[] = [];
const feeds = contractFeeds((name) => readFileSync(resolve(FIXTURES, name), "utf8"));
const requests = contractRequests(feeds, readFileSync(SANDBOX_PAGE, "utf8"));
await replay(requests, (request, response) => {
  lines.push(JSON.stringify({ ...request, response }));
});
// A window of 16 MiB, because /openapi.json occurs many times.
const bytes = brotliCompressSync(`${lines.join("\n")}\n`, {
  params: { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_QUALITY]: 9 },
});
writeFileSync(RECORDED, bytes);
process.stdout.write(`${lines.length} requests, ${bytes.length} bytes\n`);
