// server.mjs: sign-up protection with Express.

import { Inkling, Unavailable } from "@inkling/client";
import { visitor } from "@inkling/client/express";
import express from "express";

const { SERVER = "http://127.0.0.1:8080", KEY, PORT = "3000" } = process.env;
const STATUS = { allow: 201, challenge: 202, refuse: 422 };

const inkling = new Inkling({ url: SERVER, key: KEY, onUnavailable: "allow", timeoutMs: 1_000 });
const app = express();
app.use(express.json());
app.use(visitor(inkling, { trustProxy: 1 }));

app.post("/sign-up", async (request, response) => {
  const email = request.body?.email;
  if (typeof email !== "string") return response.status(400).json({ error: "email is missing" });
  const [verdict, reputation] = await Promise.all([inkling.email(email), request.visitor.reputation()]);
  for (const answer of [verdict, reputation])
    if (answer instanceof Unavailable) console.warn(`Inkling is unavailable: ${answer.error.code}`);
  const decision = decide(verdict, reputation);
  // Create the account here. For "challenge", create it only after a CAPTCHA or a confirmed email.
  response.status(STATUS[decision]).json({ decision });
});

/** Known facts decide first. Unknown facts never count as harmless. */
function decide(email, reputation) {
  if (!(email instanceof Unavailable) && (email.disposable || !email.valid)) return "refuse";
  if (email instanceof Unavailable || reputation instanceof Unavailable) return "challenge";
  const { is_abuser, is_proxy, is_tor_exit } = reputation;
  return is_abuser || is_proxy || is_tor_exit ? "challenge" : "allow";
}

const server = app.listen(Number(PORT), "127.0.0.1", (error) => {
  if (error) throw error; // the port is in use
  console.log(`Listening on http://127.0.0.1:${server.address().port}`);
});
