// fastify.mjs: the service that a user would write in an afternoon: Fastify, the maxmind reader, a key check, the
// rate-limit plugin, and an answer with a schema, which Fastify prints faster.
//
// run  node fastify.mjs PORT KEY IPV4_DATABASE IPV6_DATABASE

import { createHash, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";
import rateLimit from "@fastify/rate-limit";
import Fastify from "fastify";
import { open } from "maxmind";

const [port, key, v4, v6] = process.argv.slice(2);
const readers = { 4: await open(v4), 6: await open(v6) };
const digest = (text) => createHash("sha256").update(text).digest();
const known = digest(`Bearer ${key}`);

const app = Fastify({ logger: false });
await app.register(rateLimit, {
  max: 100_000_000,
  timeWindow: 1000,
  keyGenerator: (request) => request.headers.authorization ?? "",
});
app.addHook("onRequest", async (request, reply) => {
  if (request.url === "/healthz") return;
  const isKnown = timingSafeEqual(digest(request.headers.authorization ?? ""), known);
  if (!isKnown) return reply.code(401).send({ error: "unknown key" });
});
const text = { type: "string" };
const number = { type: "number" };
const object = (properties) => ({ type: "object", properties });
const answer = object({
  city: object({ name: text }),
  country: object({ iso_code: text }),
  location: object({ latitude: number, longitude: number }),
  subdivisions: { type: "array", items: object({ name: text }) },
});
app.get("/v1/ip-intel/geolocate/:ip", { schema: { response: { 200: answer } } }, async (request, reply) => {
  const { ip } = request.params;
  const family = isIP(ip);
  if (family === 0) return reply.code(400).send({ error: "no address" });
  const found = readers[family].get(ip);
  if (found === null) return reply.code(404).send({ error: "not found" });
  reply.header("Cache-Control", "private, max-age=300").header("Vary", "Authorization");
  return {
    city: { name: found.city },
    country: { iso_code: found.country_code },
    location: { latitude: found.latitude, longitude: found.longitude },
    subdivisions: [{ name: found.state1 }],
  };
});
app.get("/healthz", async () => ({ status: "alive" }));
await app.listen({ host: "127.0.0.1", port: Number(port) });
