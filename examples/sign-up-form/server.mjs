// server.mjs: serves the form, and checks email addresses for it. The key never leaves this process.

import { fileURLToPath } from "node:url";
import { Inkling, Unavailable } from "@inkling/client";
import express from "express";

const { SERVER = "http://127.0.0.1:8080", KEY, PORT = "3000" } = process.env;

const inkling = new Inkling({ url: SERVER, key: KEY, onUnavailable: "allow", timeoutMs: 1_000 });
const app = express();
app.use((_, response, next) => {
  response.set("Content-Security-Policy", "default-src 'self'");
  next();
});
app.use(express.static(fileURLToPath(new URL("public", import.meta.url))));
app.use(express.json(), express.urlencoded({ extended: false }));

async function checkEmail(email) {
  const verdict = await inkling.email(String(email ?? ""), { evidence: true });
  if (verdict instanceof Unavailable) return { ok: true };
  if (!verdict.valid) return { ok: false, message: "Please check the address." };
  if (verdict.disposable) return { ok: false, message: "Please use an address that you keep." };
  const meant = verdict.evidence.find(({ did_you_mean }) => did_you_mean !== undefined)?.did_you_mean;
  return meant === undefined ? { ok: true } : { ok: true, message: `Did you mean ${meant}?` };
}

app.post("/check-email", async (request, response) => {
  response.json(await checkEmail(request.body?.email));
});

app.post("/sign-up", async (request, response) => {
  const { ok, message } = await checkEmail(request.body?.email);
  // Create the account here.
  response
    .status(ok ? 201 : 422)
    .type("text")
    .send(ok ? "Welcome!" : message);
});

const server = app.listen(Number(PORT), "127.0.0.1", (error) => {
  if (error) throw error; // the port is in use
  console.log(`Listening on http://127.0.0.1:${server.address().port}`);
});
