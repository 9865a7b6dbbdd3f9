// bare.ts: Bun.serve that does nothing: one answer of the usual size, with the headers of ours. What is left of the
// time of a request is Bun's own.
//
// run  bun bare.ts PORT BODY HEADERS   (JSON of a record)

const [port, body, headers] = process.argv.slice(2);
const bytes = new TextEncoder().encode(body);
const kept = new Headers(JSON.parse(headers!) as Record<string, string>);

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  development: false,
  reusePort: false,
  fetch: () => new Response(bytes, { headers: kept }),
});
