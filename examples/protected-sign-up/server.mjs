// server.mjs: a sign-up form that protect() guards, with Express.
//
// in   the form; POST /sign-up email=…; SERVER, KEY and PORT in the environment
// out  {"account": "created" | "to be confirmed"}; 403 for a denied visitor

import { Inkling, Unavailable } from "@inkling/client";
import { protect } from "@inkling/client/express";
import express from "express";

const { SERVER = "http://127.0.0.1:8080", KEY, PORT = "3000" } = process.env;
const FORM = `<!doctype html><title>Sign up</title><form method="post" action="/sign-up">
<label>Email <input name="email" type="email" required></label> <button>Sign up</button></form>`;

const inkling = new Inkling({ url: SERVER, key: KEY, timeoutMs: 1_000 });
const app = express();
app.use(express.urlencoded({ extended: false }));

app.get("/", (_request, response) => response.type("html").send(FORM));

app.post("/sign-up", protect(inkling, { trustProxy: 1 }), ({ assessment }, response) => {
  const isUndecided = assessment instanceof Unavailable;
  const isTrusted = !isUndecided && assessment.action === "allow" && !assessment.review;
  // Create the account here and, unless the visitor is trusted, send a link that confirms it. Store
  // `assessment.id` with the account, so that inkling.outcome(id, "abuse") can report abuse later.
  response.status(201).json({ account: isTrusted ? "created" : "to be confirmed" });
});

const server = app.listen(Number(PORT), "127.0.0.1", () =>
  console.log(`Listening on http://127.0.0.1:${server.address().port}`),
);
