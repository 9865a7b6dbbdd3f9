// reader.mjs: runs Inkling's in-process lookups on request, so that rounds of several programs can alternate. Plain
// JavaScript, for Node and Bun.
//
// run  bun|node reader.mjs READER DATABASE VALUES MODULE
//      READER is geo, reputation or email, with a segment and the engine's module; or local, with a data folder and the
//      module of @inkling/local.
//
// The lookup has the same steps as in the server: parse, unwrap, check for special use, find, and get the answer's
// bytes. "answer" takes a view of the segment, as the server passes it to the socket, and reads its last byte. "copy"
// copies the whole answer to a buffer. "blocks" takes BLOCK texts in one call. "object" (only with local) waits for a
// promise of an object.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [reader, database, valuesPath, enginePath] = process.argv.slice(2);
const isBun = typeof Bun !== "undefined";
const runtime = isBun ? `Bun ${Bun.version}` : `Node ${process.versions.node}`;
const CLOSING_BRACE = 0x7d;

/** Unlike `filter`, it creates no array, whose time would count as the lookups'. */
function countOf(items, isCounted) {
  let count = 0;
  for (const item of items) if (isCounted(item)) count++;
  return count;
}

/** Bun maps the file. Node cannot map files, so it reads the file once. */
function open(path) {
  if (isBun) return Bun.mmap(path, { shared: false });
  const read = readFileSync(path);
  return new Uint8Array(read.buffer, read.byteOffset, read.length);
}

async function ours() {
  const engine = await import(pathToFileURL(enginePath).href);
  const {
    AddressBlock,
    answerEmail,
    EmailSegment,
    IpAddress,
    IpSegment,
    parseIpInto,
    specialUse,
    unwrapIpv4,
  } = engine;
  if (reader === "email") {
    const segment = EmailSegment.open(open(database));
    return { answer: (text) => answerEmail(text, segment).length > 0 };
  }
  const segment = IpSegment.open(open(database), reader);
  const address = new IpAddress();
  const out = new Uint8Array(4096);
  const isAnswer = (answer) => answer !== undefined && answer[answer.length - 1] === CLOSING_BRACE;
  const answerer = new engine.Answerer();
  const block = AddressBlock && new AddressBlock(answerer); // earlier checkouts have none
  const answerAll = (texts) =>
    block.answerAll.length === 3 // the signature in earlier checkouts
      ? block.answerAll(lookup, texts, source)
      : block.answerAll(answerer, lookup, texts, source);
  const states = engine.dataStates({ missing: [], partial: [] });
  const release = { geo: segment, reputation: segment, states };
  const source = { release, overrides: engine.Overrides.NONE, now: 0, mode: "serve" };
  const lookup = reader === "geo" ? "geolocate" : reader;
  const isPublic = (text) => {
    if (!parseIpInto(text, address)) throw new Error(`not an address: ${text}`);
    unwrapIpv4(address);
    return specialUse(address) === undefined;
  };
  return {
    answer: (text) => isAnswer(isPublic(text) ? segment.lookup(address) : undefined),
    blocks: (texts) => countOf(answerAll(texts), isAnswer),
    copy: (text) => {
      const answer = isPublic(text) ? segment.lookup(address) : undefined;
      if (answer !== undefined) out.set(answer);
      return answer !== undefined;
    },
  };
}

/** Returns the calls of an application: bytes for one value and for many, and the object from the promise. */
async function local() {
  const { createLocal } = await import(pathToFileURL(enginePath).href);
  const inkling = await createLocal({ data: database });
  return {
    answer: (text) => inkling.geolocateBytes(text)?.length > 0,
    blocks: (texts) => countOf(inkling.lookupMany("geolocate", texts), (it) => it?.length > 0),
    object: async (text) => (await inkling.geolocate(text)) !== undefined,
  };
}

const ways = reader === "local" ? await local() : await ours();
// Copies each value to its own string, because a slice would refer to the whole file.
const values = readFileSync(valuesPath, "latin1")
  .trimEnd()
  .split("\n")
  .map((text) => Buffer.from(text, "latin1").toString("latin1"));

process.stdout.write(`ready ${runtime}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  const [way, count, block] = line.split(" ");
  process.stdout.write(`${JSON.stringify(await pass(way, Number(count), Number(block)))}\n`);
}

/** Times one pass. "blocks" takes a whole block in one call, and "object" returns promises. */
async function pass(way, count, block) {
  const lookUp = ways[way];
  const times = [];
  let found = 0;
  for (let i = 0; i + block <= count; i += block) {
    const texts = values.slice(i, i + block);
    const from = performance.now();
    if (way === "blocks") found += lookUp(texts);
    else if (way === "object") for (const text of texts) found += await lookUp(text);
    else for (const text of texts) if (lookUp(text)) found++;
    times.push(Math.round(((performance.now() - from) * 1e7) / block) / 10);
  }
  if (found === 0) throw new Error("no value is found");
  return times;
}
