// server.mjs: a sign-up form that protect() protects, with Express.

import { Inkling } from "@inkling/client";
import { protect } from "@inkling/client/express";
import express from "express";

const { SERVER = "http://127.0.0.1:8080", KEY, PORT = "3000" } = process.env;
const CHARACTERS = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text) => text.replace(/[&<>"]/g, (character) => CHARACTERS[character]);

/** The form. `confirmed` is the address that the visitor was asked about: sending it again confirms it. */
const form = (sentence = "", email = "") => `<!doctype html><title>Sign up</title>
<form method="post" action="/sign-up"><p role="alert">${escaped(sentence)}</p>
<label>Email <input name="email" type="email" value="${escaped(email)}" required></label>
<input name="confirmed" type="hidden" value="${escaped(email)}"> <button>Sign up</button></form>\n`;

const inkling = new Inkling({ url: SERVER, key: KEY, timeoutMs: 1_000 });
const app = express();
app.use(express.urlencoded({ extended: false }));

app.get("/", (_request, response) => response.type("html").send(form()));

const gate = protect(inkling, {
  trustProxy: 1,
  onInvalid({ email, error }, request, response) {
    if (email !== undefined && request.body.confirmed === email) return "admit";
    return response.status(422).type("html").send(form(error, email));
  },
  onDenied: (_decision, _request, response) =>
    response.status(403).type("html").send(form("We cannot create this account. Please contact us.")),
});

app.post("/sign-up", gate, ({ decision }, response) => {
  const isTrusted = decision.action === "allow" && !decision.review; // without a decision, action is undefined
  // Create the account here and, unless the visitor is trusted, send a link that confirms it. Store
  // `decision.id` with the account, so that inkling.outcome(id, "fraud") can report fraud later.
  response.status(201).json({ account: isTrusted ? "created" : "to be confirmed" });
});

const server = app.listen(Number(PORT), "127.0.0.1", (error) => {
  if (error) throw error; // the port is in use
  console.log(`Listening on http://127.0.0.1:${server.address().port}`);
});
