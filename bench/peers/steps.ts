// steps.ts: a Bun.serve that does the first so many steps of a lookup, to measure what each one adds.
//
// run  bun steps.ts PORT STEPS SEGMENT BYTES HEADERS   (a geo segment; size of a body; JSON of a record)

import { edenGC } from "bun:jsc";
import { IpAddress, IpSegment, parseIpInto, unwrapIpv4 } from "@inkling/engine";

const [port, steps, segment, bytes, headers] = process.argv.slice(2);
const count = Number(steps);
const geo = IpSegment.open(Bun.mmap(segment!, { shared: false }), "geo");
const body = new Uint8Array(Number(bytes)).fill(0x20);
const kept = new Headers(JSON.parse(headers!) as Record<string, string>);
const address = new IpAddress();
const lefts = Array.from({ length: 2048 }, (_, i) => `"default";r=${100_000_000 - i};t=1`);
const PREFIX = "/v1/ip-intel/geolocate/".length;
let [turn, seen] = [0, 0];

function answer(request: Request): Response {
  let found: Uint8Array<ArrayBuffer> = body;
  let target = "";
  if (count >= 1) {
    const { url } = request;
    target = url.slice(url.indexOf("/", 8));
    seen += target.length;
  }
  if (count >= 2)
    seen += request.headers.get("host")!.length + (request.headers.get("authorization")?.length ?? 0);
  if (count >= 3 && request.headers.get("if-none-match") !== null) seen++;
  if (count >= 4) kept.set("X-Request-Id", String(1e9 + turn));
  if (count >= 5) kept.set("RateLimit", lefts[turn & 2047]!);
  if (count >= 6) {
    if (!parseIpInto(target.slice(PREFIX), address)) throw new Error(`not an address: ${target}`);
    unwrapIpv4(address);
    const value = geo.lookup(address);
    seen += value?.length ?? 0;
    if (count >= 7 && value !== undefined) found = value as Uint8Array<ArrayBuffer>;
  }
  if (++turn % 4_096 === 0 && count >= 8) setImmediate(edenGC);
  return new Response(found, { headers: kept });
}

Bun.serve({ hostname: "127.0.0.1", port: Number(port), development: false, fetch: answer });
process.on("exit", () => seen); // what the steps read is used
