// client-e2e.mjs: runs @inkling/client as an application does, on the runtime that runs this file, against a
// real server.
//
// client.test.ts copies this file beside an installed package.

import { Inkling, InklingError, Unavailable } from "@inkling/client";

const { url, sandbox, live, paced, addresses, emails } = JSON.parse(process.argv[2]);
const inkling = new Inkling({ url, key: sandbox, retries: 0 });

/** Returns an answer, or an error's fields. */
async function outcome(work) {
  try {
    return { answer: (await work) ?? null };
  } catch (error) {
    if (!(error instanceof InklingError)) throw error;
    const { code, httpStatus, hint, requestId, message } = error;
    return { code, httpStatus, hint, requestId, message };
  }
}

async function batched(client, lookup, values, options) {
  const results = [];
  for await (const { value, ok, answer, error } of client.batch(lookup, values, options))
    results.push(ok ? { value, answer: answer ?? null } : { value, code: error.code });
  return results;
}

async function eachSingly(client) {
  const found = {};
  for (const ip of addresses) {
    found[ip] = {
      geolocate: await outcome(client.geolocate(ip)),
      reputation: await outcome(client.reputation(ip)),
      evidence: await outcome(client.reputation(ip, { evidence: true })),
    };
  }
  for (const email of emails) found[email] = await outcome(client.email(email));
  return found;
}

const singles = await eachSingly(inkling);
const checked = await outcome(
  inkling.email("jane@mx-disposable.example", { checks: ["mx"], evidence: true }),
);

/** Returns the code and the verdict of an unavailable lookup. */
async function unavailableBy(onUnavailable, ip, options) {
  const { verdict, error } = await new Inkling({ url, key: live, onUnavailable }).reputation(ip, options);
  return { code: error.code, verdict };
}

const otherEnd = live.endsWith("0") ? "1" : "0";
const wrongKey = await outcome(new Inkling({ url, key: live.slice(0, -1) + otherEnd }).reputation("me"));
const away = new Inkling({ url: "http://127.0.0.1:1", key: live, retries: 0, onUnavailable: "deny" });
const unavailable = await away.reputation("81.2.69.142");

const many = Array.from({ length: 2_500 }, (_, i) => `81.2.${60 + (i % 20)}.${i % 256}`);
const withLive = new Inkling({ url, key: live });
const reputation = await withLive.reputation("81.2.69.1");
const ofBatch = (await withLive.batch("reputation", ["81.2.69.1"]).next()).value;
const incomplete = {
  data: reputation.data,
  json: JSON.stringify(reputation),
  batched: ofBatch.data,
  required: await unavailableBy("deny", "81.2.69.1", { require: ["is_abuser"] }),
};
process.stdout.write(
  `${JSON.stringify({
    singles,
    checked,
    batchOfAddresses: await batched(inkling, "reputation", addresses),
    batchOfEmails: await batched(inkling, "email", emails),
    many: (await batched(withLive, "geolocate", many)).map(
      ({ value, answer }, i) => value === many[i] && answer?.city.name,
    ),
    paced: (
      await batched(new Inkling({ url, key: paced }), "reputation", many.slice(0, 500), { size: 100 })
    ).map(({ code }) => code ?? "ok"),
    cached: await Promise.all([withLive.geolocate("81.2.69.1"), withLive.geolocate("81.2.69.1")]),
    again: await withLive.geolocate("81.2.69.1"),
    incomplete,
    reserved: await unavailableBy("allow", "10.0.0.1"),
    wrongKey,
    unavailable: unavailable instanceof Unavailable && { ...unavailable, error: unavailable.error.code },
  })}\n`,
);
