// bare.ts: a Bun.serve that does nothing but answer with our size and headers: the part of a request that is Bun's own.
//
// run  bun bare.ts PORT BYTES HEADERS   (JSON of a record)

const [port, bytes, headers] = process.argv.slice(2);
const body = new Uint8Array(Number(bytes)).fill(0x20);
const kept = new Headers(JSON.parse(headers!) as Record<string, string>);

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  development: false,
  fetch: () => new Response(body, { headers: kept }),
});
