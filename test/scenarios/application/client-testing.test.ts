// Compares @inkling/client/testing with the server whose sandbox it replaces: every row, as lookups and as batches.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type BatchOptions, Inkling, InklingError } from "@inkling/client";
import { SANDBOX_CHECKS } from "@inkling/contract";
import { fakeInkling } from "../../../packages/client/src/testing/index.ts";
import { SANDBOX } from "../../../packages/client/src/testing/sandbox-answers.ts";
import { type SmallServer, startSmallServer } from "../../harness/server.ts";

let small: SmallServer;
let real: Inkling;
const fake: Inkling = fakeInkling();
beforeAll(async () => {
  small = await startSmallServer();
  real = new Inkling({ url: small.origin, key: small.keys.test, retries: 0, cacheEntries: 0 });
});
afterAll(() => small.server.stop());

const ADDRESSES = [
  ...Object.keys(SANDBOX.reputation),
  ...Object.keys(SANDBOX.reputation)
    .filter((text) => !text.includes(":"))
    .map((text) => `::ffff:${text}`),
  ...["me", "198.51.100.77", "3fff::1", "2001:db8:0:0:0:0:0:6", "2001:DB8::7"],
  ...["10.0.0.1", "::1", "fe80::1", "100.64.0.1", "8.8.8.8", "2606:4700::1111"],
  ...["nonsense", "1.2.3", "192.0.2.1:80", "../x"],
];
const EMAILS = [
  ...Object.keys(SANDBOX.email).flatMap((domain) => [
    `jane@${domain}`,
    `j.a-n_e@${domain.toUpperCase()}`,
    `jane doe@${domain}`,
    `jane.@${domain}`,
    `"jane doe"@${domain}`,
    `jäné@${domain}`,
    `@${domain}`,
    `${"j".repeat(65)}@${domain}`,
  ]),
  ...[
    "",
    "jane",
    "jane@",
    "example.com",
    "jane@nobody.example",
    "jane@x.disposable.example",
    "jane@constructor",
  ],
  ...[
    "jane@gmail.com",
    "jane..doe@gmail.com",
    "jane@mailinator.com",
    "jane@localhost",
    "jane@192.0.2.1",
    "a@-x.com",
  ],
];

/** Returns an answer with its data state, or an error's members. */
async function outcome(work: Promise<object | undefined>): Promise<unknown> {
  try {
    const answer = await work;
    return { answer: answer ?? null, data: answer && "data" in answer ? answer.data : undefined };
  } catch (error) {
    if (!(error instanceof InklingError)) throw error;
    const { code, httpStatus, message, hint, retryAfterSeconds } = error;
    return { code, httpStatus, message, hint, retryAfterSeconds };
  }
}

describe.each([true, false])("evidence: %p", (evidence) => {
  test("addresses", async () => {
    const outcomes = (client: Inkling) =>
      Promise.all(
        ADDRESSES.map(async (ip) => [
          ip,
          await outcome(client.geolocate(ip, { evidence })),
          await outcome(client.reputation(ip, { evidence })),
        ]),
      );
    expect(await outcomes(fake)).toEqual(await outcomes(real));
  });

  test.each([[[]], [["mx"]]] as const)("email addresses, checks %p", async (checks) => {
    const outcomes = (client: Inkling) =>
      Promise.all(
        EMAILS.map(async (email) => [email, await outcome(client.email(email, { evidence, checks }))]),
      );
    expect(await outcomes(fake)).toEqual(await outcomes(real));
  });

  test.each([
    ["geolocate", ADDRESSES],
    ["reputation", ADDRESSES],
    ["email", EMAILS],
  ] as const)("a batch of %s", async (lookup, values) => {
    const outcomes = async (client: Inkling) => {
      const results: unknown[] = [];
      for await (const result of client.batch(lookup, values, { evidence, size: 50 }))
        results.push(result.ok ? result : { ...result, error: result.error.message });
      return results;
    };
    const expected = await outcomes(real);
    expect(expected).toHaveLength(values.length);
    expect(await outcomes(fake)).toEqual(expected);
  });
});

test("decisions, of each address with each kind of email address", async () => {
  const emails = EMAILS.filter((email) => !email.startsWith("@") && email !== "");
  const visitors = [
    ...ADDRESSES.map((ip) => ({ ip })),
    ...emails.map((email) => ({ email })),
    ...ADDRESSES.flatMap((ip, i) => ({ ip, email: emails[i % emails.length]! })),
    ...ADDRESSES.map((ip) => ({ ip, email: "jane@mistyped.example", expected_country: "DE" })),
  ];
  const outcomes = (client: Inkling) =>
    Promise.all(
      visitors.map(async (visitor) => {
        const input = { event: "sign_up", user_agent: "Mozilla/5.0", ...visitor };
        return [visitor, await outcome(client.assess(input, { evidence: true }))];
      }),
    );
  expect(await outcomes(fake)).toEqual(await outcomes(real));
  const facts = (client: Inkling) =>
    client.assess({ event: "sign_up", ip: "192.0.2.6", email: "jane@example.com" }, { facts: true });
  expect(await facts(fake)).toEqual(await facts(real));
});

test("outcomes of decisions", async () => {
  const outcomes = (client: Inkling) =>
    Promise.all(
      ["asm_0000000000000000", "asm_1111111111111111", "nonsense"].map((id) =>
        client.outcome(id, "abuse").then(
          () => "labelled",
          (error) => error.code,
        ),
      ),
    );
  expect(await outcomes(real)).toEqual(["labelled", "DECISION_NOT_FOUND", "DECISION_NOT_FOUND"]);
  expect(await outcomes(fake)).toEqual(await outcomes(real));
});

test("what the server refuses as a whole", async () => {
  const options: BatchOptions = { checks: ["mx"] };
  const code = (client: Inkling) =>
    client
      .batch("email", [`jane@${SANDBOX_CHECKS[0]!.domain}`], options)
      .next()
      .then(
        () => "answered",
        (error) => error.code,
      );
  expect([await code(fake), await code(real)]).toEqual(["PARAMETER_INVALID", "PARAMETER_INVALID"]);
});
