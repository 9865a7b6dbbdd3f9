import { describe, expect, test } from "bun:test";
import { MX_OUTCOMES, type MxOutcome } from "@inkling/contract";
import { knownHosts } from "@inkling/engine";
import type { MxFinding } from "../mx/check.ts";
import { Counts } from "../telemetry/counts.ts";
import { EmailChecks, mxCheck } from "./mx.ts";

const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const read = (body: Uint8Array) => JSON.parse(new TextDecoder().decode(body));
const GOOD = { valid: true, disposable: false, providers: [] };
const DEDICATED = ["prd-smtp.10minutemail.com"];
/** The answer with evidence, as the MX check requests it. */
const explained =
  (evidence: readonly object[] = []) =>
  () =>
    bytes({ ...GOOD, evidence });

describe("what each outcome does to `valid`", () => {
  const refutes: readonly MxOutcome[] = ["null", "nxdomain"];
  for (const outcome of MX_OUTCOMES) {
    for (const valid of [true, false]) {
      test(`${outcome} of an address that is ${valid ? "" : "not "}valid`, () => {
        const { body } = mxCheck({ outcome, known: [] })(bytes({ ...GOOD, valid }), explained());
        expect(read(body)).toEqual({
          valid: valid && !refutes.includes(outcome),
          disposable: false,
          providers: [],
          checks: { mx: outcome },
        });
      });
    }
  }
});

describe("what the mail host does to `disposable`", () => {
  const listed = { valid: true, disposable: true, providers: ["a.example", "b.example"] };
  const rows: [name: string, answer: object, hosts: string[], isCleared: boolean, want: object][] = [
    ["dedicated", GOOD, DEDICATED, false, { disposable: true, providers: ["10minutemail.com"] }],
    ["dedicated, not valid", { ...GOOD, valid: false }, DEDICATED, false, { valid: false, disposable: true }],
    ["dedicated, but cleared", GOOD, DEDICATED, true, { disposable: false, providers: [] }],
    ["dedicated, and listed", listed, DEDICATED, false, listed],
    ["ordinary, and listed", listed, ["mx.example.net"], false, listed],
    ["a relay", GOOD, ["mx1.simplelogin.co"], false, { disposable: false, providers: [] }],
    ["shared", GOOD, ["aspmx.l.google.com"], false, { disposable: false, providers: [] }],
    ["shared beside dedicated", GOOD, [...DEDICATED, "aspmx.l.google.com"], false, { disposable: false }],
    ["unknown", GOOD, ["mx.example.net"], false, { disposable: false, providers: [] }],
  ];
  test.each(rows)("%s", (_, answer, hosts, isCleared, want) => {
    const evidence = isCleared ? [{ feed: "f", label: "relay", effect: "label" }] : [];
    const check = mxCheck({ outcome: "found", known: knownHosts(hosts) });
    const { body, entry } = check(bytes(answer), explained(evidence));
    expect(read(body)).toMatchObject({ ...want, checks: { mx: "found" } });
    expect(entry !== undefined).toBe(read(body).disposable && !(answer as typeof GOOD).disposable);
  });

  test("other fields remain, and checks come after them", () => {
    const { body } = mxCheck({ outcome: "found", known: [] })(bytes({ ...GOOD, later: 1 }), explained());
    expect(new TextDecoder().decode(body)).toBe(
      '{"valid":true,"disposable":false,"providers":[],"later":1,"checks":{"mx":"found"}}',
    );
  });
});

describe("evidence that keeps an address from being disposable", () => {
  const check = mxCheck({ outcome: "found", known: knownHosts(DEDICATED) });
  const entry = (effect: string, flags: readonly string[]) => ({ feed: "f", label: "l", effect, flags });
  test.each([
    ["nothing", [], false],
    ["an entry that removes it", [entry("removes", ["disposable"])], true],
    ["an entry that sets it", [entry("sets", ["disposable"])], false],
    ["a label", [{ feed: "f", label: "l", effect: "label" }], false],
    ["a relay, on no other list", [{ feed: "f", label: "relay", effect: "label" }], true],
    ["ordinary mail, on no other list", [{ feed: "f", label: "free_mail", effect: "label" }], false],
    ["both", [entry("sets", ["disposable"]), entry("removes", ["disposable"])], true],
  ])("%s", (_, evidence, want) =>
    expect(read(check(bytes(GOOD), explained(evidence)).body).disposable).toBe(!want),
  );
});

describe("the name that DNS is queried for", () => {
  const queried = (text: string) => {
    const hosts: string[] = [];
    const counts = new Counts();
    const source = {
      find: (host: string): MxFinding => {
        hosts.push(host);
        return { outcome: "found", known: [] };
      },
    };
    const finding = new EmailChecks(source, counts, ["corp.de", "xn--bcher-kva.at"]).checkMx(
      text,
      "key_1",
    ) as MxFinding;
    expect([...counts.mx.answers]).toEqual([[finding.outcome, 1]]);
    return hosts[0] ?? finding.outcome;
  };
  test.each([
    ["jane@Example.DE", "example.de"],
    ["jane@mail.example.co.uk", "mail.example.co.uk"],
    ["jane@bücher.de", "xn--bcher-kva.de"],
    ["jane doe@example.de", "example.de"],
    ["jane@github.io", "github.io"],
    ["jane@corp.de", "skipped"],
    ["jane@Mail.a.Corp.de", "skipped"],
    ["jane@bücher.at", "skipped"],
    ["jane@nocorp.de", "nocorp.de"],
    ["jane@corp.de.com", "corp.de.com"],
    ["jane@x.internal", "skipped"],
    ["jane@x.onion", "skipped"],
    ["jane@nas.home.arpa", "skipped"],
    ["jane@intranet", "skipped"],
    ["jane@server.lan", "skipped"],
    ["jane@server.corp", "skipped"],
    ["jane@example.com", "skipped"],
    ["jane@x.test", "skipped"],
    ["jane@printer.local", "skipped"],
    ["jane@co.uk", "skipped"],
    ["jane@x.nosuchtld", "skipped"],
    ["jane@localhost", "skipped"],
    ["jane@[192.0.2.1]", "skipped"],
    ["jane@127.0.0.1", "skipped"],
    ["jane", "skipped"],
    ["", "skipped"],
  ])("%s: %s", (text, want) => expect(queried(text)).toBe(want));

  test("a late finding is counted when it comes", async () => {
    const counts = new Counts();
    const late: Promise<MxFinding> = Promise.resolve({ outcome: "timeout", known: [] });
    const waiting = new EmailChecks({ find: () => late }, counts).checkMx("jane@example.de", "key_1");
    expect(counts.mx.answers.size).toBe(0);
    expect(await waiting).toMatchObject({ outcome: "timeout" });
    expect([...counts.mx.answers]).toEqual([["timeout", 1]]);
  });
});
