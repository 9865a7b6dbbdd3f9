import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import {
  MX_OUTCOMES,
  PROBLEM_CODES,
  REPUTATION_FLAGS,
  SANDBOX_ADDRESSES,
  SANDBOX_CHECKS,
  SANDBOX_DOMAINS,
  SANDBOX_PROBLEMS,
} from "@inkling/contract";
import { INCLUDE, labelEntries, parseEmail, parseIp, parsePrefix, prefixContains } from "@inkling/engine";
import type { Problem } from "../http/problems.ts";
import { sandboxAddress, sandboxEmail } from "./sandbox.ts";

const address = (text: string) => {
  return parseIp(text)!;
};
/** Returns the JSON of an answer, or the code of a problem. */
const bodyOrCode = (outcome: ReturnType<typeof sandboxEmail>) =>
  outcome instanceof Uint8Array ? JSON.parse(new TextDecoder().decode(outcome)) : outcome.code;

describe("sandbox addresses", () => {
  for (const { v4, v6, geolocation, flags = [] } of SANDBOX_ADDRESSES) {
    test.each([v4, v6, `::ffff:${v4}`])("%s", (text) => {
      expect(bodyOrCode(sandboxAddress("geolocate", address(text)))).toEqual(
        geolocation ?? "IP_ADDRESS_NOT_FOUND",
      );
      expect(bodyOrCode(sandboxAddress("reputation", address(text)))).toEqual(
        Object.fromEntries(REPUTATION_FLAGS.map((flag) => [flag, flags.includes(flag)])),
      );
    });
  }

  test.each([
    ["a documentation address in no row", "198.51.100.77", "IP_ADDRESS_NOT_FOUND"],
    ["the newer documentation prefix", "3fff::1", "IP_ADDRESS_NOT_FOUND"],
    ["a public address", "8.8.8.8", "SANDBOX_VALUE_REQUIRED"],
    ["a public IPv6 address", "2606:4700::1111", "SANDBOX_VALUE_REQUIRED"],
    ["a private address", "10.0.0.1", "IP_ADDRESS_RESERVED"],
    ["loopback", "::1", "IP_ADDRESS_RESERVED"],
  ])("%s", (_, text, code) => {
    expect(bodyOrCode(sandboxAddress("geolocate", address(text)))).toBe(code);
  });

  test("no two rows share an address or a domain", () => {
    const rows = [...SANDBOX_ADDRESSES, ...SANDBOX_PROBLEMS].flatMap(({ v4, v6 }) => [v4, v6]);
    expect(new Set(rows).size).toBe(rows.length);
    const domains = [...SANDBOX_DOMAINS, ...SANDBOX_CHECKS, ...SANDBOX_PROBLEMS].map(({ domain }) => domain);
    expect(new Set(domains).size).toBe(domains.length);
  });
});

describe("sandbox evidence", () => {
  test.each(SANDBOX_ADDRESSES.map((row) => [row.v4, row] as const))(
    "%s",
    (_, { v4, v6, geolocation, flags = [] }) => {
      for (const text of [v4, v6]) {
        const plain = bodyOrCode(sandboxAddress("reputation", address(text)));
        const { evidence, ...rest } = bodyOrCode(
          sandboxAddress("reputation", address(text), INCLUDE.evidence),
        );
        expect(rest).toEqual(plain);
        // docs/evidence.md: one entry sets the flag, and no entry removes it.
        const flagsOf = (effect: string) =>
          evidence.flatMap((entry: Entry) => (entry.effect === effect ? entry.flags : []));
        const removed = flagsOf("removes");
        expect(flagsOf("sets").filter((flag: string) => !removed.includes(flag))).toEqual(flags);
        for (const { network } of evidence) {
          expect(prefixContains(parsePrefix(network)!, address(text))).toBe(true);
        }
        const geo = bodyOrCode(sandboxAddress("geolocate", address(text), INCLUDE.evidence));
        if (geolocation !== undefined)
          expect(geo.evidence[0]).toMatchObject({ feed: "sandbox-places", effect: "sets" });
      }
    },
  );

  test.each(SANDBOX_ADDRESSES.map((row) => [row.v4, row] as const))(
    "the network of %s: each known field is filled once",
    (_, { v4, v6 }) => {
      for (const text of [v4, v6]) {
        const include = INCLUDE.evidence | INCLUDE.network;
        const { network, evidence } = bodyOrCode(sandboxAddress("reputation", address(text), include));
        const plain = bodyOrCode(sandboxAddress("reputation", address(text), INCLUDE.evidence));
        expect(evidence.slice(0, plain.evidence.length)).toEqual(plain.evidence);
        const filled = evidence.slice(plain.evidence.length).flatMap((entry: Entry) => entry.fields ?? []);
        const { asn, kind, shared } = network;
        const known = [asn && "asn", asn && "organization", kind !== "unknown" && "kind"];
        if (shared) known.push("shared", "services");
        expect(filled.sort()).toEqual(known.flatMap((name) => (name ? `network.${name}` : [])).sort());
        expect(prefixContains(parsePrefix(network.prefix)!, address(text))).toBe(true);
      }
    },
  );

  test.each(SANDBOX_DOMAINS.map((row) => [row.domain, row] as const))("%s", (domain, { providers }) => {
    const { evidence, ...rest } = bodyOrCode(sandboxEmail(`jane@${domain}`, true));
    expect(rest).toEqual(bodyOrCode(sandboxEmail(`jane@${domain}`)));
    const effects = evidence.map((entry: Entry) => entry.effect);
    expect(effects.includes("sets") && !effects.includes("removes")).toBe(providers.length > 0);
  });

  test("docs/email.md shows labels as they are", async () => {
    const docs = await Bun.file(join(import.meta.dir, "../../../../docs/email.md")).text();
    const shown = [...docs.matchAll(/email\/(\S+)\?include=evidence"\n.*?```json\n(.*?)```/gs)];
    expect(shown).toHaveLength(1);
    for (const [, text, json] of shown) {
      const { valid, host } = parseEmail(text!);
      const labels = labelEntries(text!, host!).map((label) => JSON.parse(new TextDecoder().decode(label)));
      const { evidence, ...rest } = JSON.parse(json!);
      expect(rest).toEqual({ valid, disposable: false, providers: [] });
      // The entries before the labels are what feeds state about the domain.
      expect(evidence.filter((entry: Entry) => entry.effect === "label")).toEqual(labels);
    }
  });

  test.each([
    ["postmaster@example.com", ["role_account"]],
    ["jane+shop@example.com", ["alias"]],
    ["Sales+EU@relay.example", ["disposable", "relay", "role_account", "alias"]],
    ["jane@gmail.con", ["mistyped"]],
    ["postmaster", []],
  ])("labels of %s", (text, labels) => {
    const { evidence } = bodyOrCode(sandboxEmail(text, true));
    expect(evidence.map((entry: Entry) => entry.label)).toEqual(labels);
  });

  test("an address in no row has none", () => {
    const unlisted = address("198.51.100.77");
    expect(bodyOrCode(sandboxAddress("reputation", unlisted, INCLUDE.evidence)).evidence).toEqual([]);
    expect(bodyOrCode(sandboxEmail("jane@nobody.example", true)).evidence).toEqual([]);
    expect(bodyOrCode(sandboxAddress("geolocate", unlisted, INCLUDE.evidence))).toBe("IP_ADDRESS_NOT_FOUND");
  });
});

interface Entry {
  readonly label: string;
  readonly effect: string;
  readonly flags?: readonly string[];
  readonly fields?: readonly string[];
}

describe("sandbox email", () => {
  for (const { domain, valid, providers } of SANDBOX_DOMAINS) {
    test(domain, () => {
      const disposable = providers.length > 0;
      expect(bodyOrCode(sandboxEmail(`jane+x@${domain.toUpperCase()}`))).toEqual({
        valid,
        disposable,
        providers,
      });
      expect(bodyOrCode(sandboxEmail(`jane doe@${domain}`))).toEqual({ valid: false, disposable, providers });
    });
  }

  test.each([
    ["an example domain in no row", "jane@nobody.example", false],
    ["a sub-domain of a row", "jane@x.disposable.example", false],
    ["no @", "disposable.example", false],
    ["nothing", "", false],
  ])("%s", (_, text, valid) => {
    expect(bodyOrCode(sandboxEmail(text))).toEqual({ valid, disposable: false, providers: [] });
  });
});

describe("sandbox checks", () => {
  test("there is a row for each outcome that can be had of a domain", () => {
    const outcomes = ["found", "skipped", ...SANDBOX_CHECKS.map(({ mx }) => mx)];
    expect([...new Set(outcomes)].sort()).toEqual([...MX_OUTCOMES].sort());
  });

  for (const { domain, mx, valid, providers } of SANDBOX_CHECKS) {
    test(domain, () => {
      const disposable = providers.length > 0;
      const checks = { mx };
      expect(bodyOrCode(sandboxEmail(`jane@${domain}`, false, true))).toEqual({
        valid,
        disposable,
        providers,
        checks,
      });
      expect(bodyOrCode(sandboxEmail(`jane doe@${domain}`, false, true))).toMatchObject({
        valid: false,
        checks,
      });
      expect(bodyOrCode(sandboxEmail(`jane@${domain}`))).toEqual({
        valid: true,
        disposable: false,
        providers: [],
      });
      const { evidence, ...rest } = bodyOrCode(sandboxEmail(`jane@${domain}`, true, true));
      expect(rest).toEqual({ valid, disposable, providers, checks });
      expect(evidence.map((entry: Entry) => entry.effect)).toEqual(disposable ? ["sets"] : []);
    });
  }

  test.each([
    "jane@gmail.com",
    "jane..doe@gmail.com",
    "@gmail.com",
    "jane@gmail.com.",
    "jane@mailinator.com",
    "jane@github.io",
    "upsc@nic.in",
  ])("%s: a real domain has no fixed answer", (text) => {
    for (const [withEvidence, withMx] of [[], [true, false], [false, true]])
      expect(bodyOrCode(sandboxEmail(text, withEvidence, withMx))).toBe("SANDBOX_VALUE_REQUIRED");
  });

  test.each([
    ["jane@example.com", "found"],
    ["jane doe@example.com", "found"],
    ["jane@disposable.example", "found"],
    ["jane@invalid.example", "skipped"],
    ["jane@gmail.con", "skipped"],
    ["jane", "skipped"],
  ])("%s: %s, and the rest as without checks", (text, mx) => {
    const { checks, ...rest } = bodyOrCode(sandboxEmail(text, false, true));
    expect(checks).toEqual({ mx });
    expect(rest).toEqual(bodyOrCode(sandboxEmail(text)));
  });
});

describe("sandbox problems", () => {
  test("there is a row for each code", () => {
    expect(SANDBOX_PROBLEMS.map(({ code }) => code)).toEqual([...PROBLEM_CODES]);
  });

  for (const { code, v4, v6, domain } of SANDBOX_PROBLEMS) {
    test(code, () => {
      for (const text of [v4, v6]) {
        expect(bodyOrCode(sandboxAddress("geolocate", address(text)))).toBe(code);
        expect(bodyOrCode(sandboxAddress("reputation", address(text)))).toBe(code);
      }
      expect(bodyOrCode(sandboxEmail(`jane@${domain}`))).toBe(code);
    });
  }

  test("SCOPE_REQUIRED contains the scope, as with a live key", () => {
    const { v4, domain } = SANDBOX_PROBLEMS.find(({ code }) => code === "SCOPE_REQUIRED")!;
    const refusals = [
      sandboxAddress("geolocate", address(v4)),
      sandboxAddress("reputation", address(v4)),
      sandboxEmail(`jane@${domain}`),
    ];
    const challenges = refusals.map((refusal) => (refusal as Problem).headers["WWW-Authenticate"]);
    expect(challenges.map((challenge) => challenge!.replace(/.* scope=/, ""))).toEqual([
      '"geolocate"',
      '"reputation"',
      '"email"',
    ]);
  });
});

describe("docs/sandbox.md", () => {
  test("shows the places as they are", async () => {
    const docs = await Bun.file(join(import.meta.dir, "../../../../docs/sandbox.md")).text();
    const shown = [...docs.matchAll(/```json\n(.*?)```/gs)].map(([, json]) => JSON.parse(json!));
    const [first, second] = SANDBOX_ADDRESSES;
    expect(shown.slice(1)).toEqual([first!.geolocation, second!.geolocation]); // the first block is about 192.0.2.6
  });
});
