// server.mjs: a checkout with Fastify.

import { denies, Inkling, Unavailable } from "@inkling/client";
import { visitor } from "@inkling/client/fastify";
import Fastify from "fastify";

const { SERVER = "http://127.0.0.1:8080", KEY, PORT = "3000" } = process.env;

const inkling = new Inkling({ url: SERVER, key: KEY, onUnavailable: "deny", timeoutMs: 1_000 });
const app = Fastify();
await app.register(visitor(inkling, { trustProxy: 1, eager: true }));

async function refuseAbusers(request, reply) {
  const reputation = await request.visitor.reputation();
  if (denies(reputation, ({ is_abuser, is_tor_exit }) => is_abuser || is_tor_exit))
    return reply.code(403).send({ error: "Orders from this network are not possible." });
}

const body = {
  type: "object",
  required: ["card_country"],
  properties: { card_country: { type: "string", pattern: "^[A-Z]{2}$" } },
};
app.post("/checkout", { schema: { body }, preHandler: refuseAbusers }, async (request) => {
  const place = await request.visitor.geolocate();
  // Undefined if no feed has the country. Such an order is reviewed as well.
  const country = place instanceof Unavailable ? undefined : place?.country.iso_code;
  return { order: country === request.body.card_country ? "accepted" : "review" };
});

console.log(`Listening on ${await app.listen({ port: Number(PORT), host: "127.0.0.1" })}`);
