// bare.ts: runs a Bun.serve that only answers with a body and headers like Inkling's. It shows Bun's part of a request.
//
// run  bun bare.ts PORT BYTES HEADERS [used]
//      HEADERS is a JSON object. With "used", each request also uses Bun's interface as a lookup does: it reads the URL
//      and three headers, and sets two headers.

const [port, bytes, headers, used] = process.argv.slice(2);
const body = new Uint8Array(Number(bytes)).fill(0x20);
const kept = new Headers(JSON.parse(headers!) as Record<string, string>);

let requests = 0;

function answer(request: Request): Response {
  const { url, headers } = request;
  const isKnown = headers.get("host") !== null && headers.get("authorization") !== null;
  const response = new Response(body, { headers: kept });
  if (isKnown && headers.get("if-none-match") === null && url.length > 0) {
    response.headers.set("X-Request-Id", String(1e9 + requests++));
    response.headers.set("RateLimit", '"default";r=1999999;t=1');
  }
  return response;
}

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  development: false,
  fetch: used === undefined ? () => new Response(body, { headers: kept }) : answer,
});
