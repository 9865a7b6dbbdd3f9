// Tests `inkling rules …` and `inkling assess` as users run them, with both streams and the exit code.

import { beforeEach, describe, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { smallRelease, temporaryFolder } from "../../../../test/harness/release.ts";
import { runHere } from "../program.testing.ts";

let cwd: string;
beforeEach(() => {
  cwd = temporaryFolder();
});
/** Passes a file by its full path, and removes that path from the output. */
async function inkling(...args: string[]) {
  const file = join(cwd, "rules.toml");
  const { code, ...ran } = await runHere(
    args.map((arg) => (arg === "rules.toml" ? file : arg)),
    { cwd },
  );
  const [out, err] = [ran.out, ran.err].map((text) => text.replaceAll(file, "rules.toml"));
  return { out: out!, err: err!, code };
}
const write = (text: string) => writeFileSync(join(cwd, "rules.toml"), text);

const DENY_TOR = `[[rule]]
name = "no-tor"
when = 'ip.is_tor_exit'
then = "deny"
mode = "live"
`;

describe("a ruleset", () => {
  test("from the first file to a rollback", async () => {
    expect((await inkling("rules", "init", "rules.toml")).err).toStartWith("Wrote rules.toml. Next: ");
    expect(await inkling("rules", "init", "rules.toml")).toMatchObject({
      code: 1,
      err: expect.stringMatching(/exists\nhint/),
    });
    const checked = await inkling("rules", "check", "rules.toml");
    expect(checked).toMatchObject({ code: 0, err: "" });
    expect(checked.out).toEndWith("No mistakes; 0 live rules, 5 in shadow; 5 of 5 examples pass.\n");
    const published = await inkling("rules", "publish", "rules.toml", "--yes", "--note", "to begin with");
    expect(published.out).toBe("Published ruleset 1: 0 live rules, 5 in shadow.\n");
    expect((await inkling("rules", "publish", "rules.toml", "--yes")).out).toBe(
      "Ruleset 1 already has this text; nothing changed.\n",
    );
    write(DENY_TOR);
    const diff = (await inkling("rules", "diff", "1", "rules.toml")).out;
    expect(diff).toStartWith("--- ruleset 1\n+++ rules.toml\n");
    expect(diff).toContain("\n+when = 'ip.is_tor_exit'\n");
    expect((await inkling("rules", "publish", "rules.toml", "--yes", "--current", "0")).err).toMatch(
      /ruleset 1 was published in the meantime\nhint: .*rules diff/,
    );
    await inkling("rules", "publish", "rules.toml", "--yes", "--current", "1", "--author", "ada");
    expect((await inkling("rules", "rollback", "--yes", "--note", "too strict")).out).toBe(
      "Published ruleset 3, with the text of ruleset 1.\n",
    );
    const rows = (await inkling("rules", "list")).out.trim().split("\n");
    expect(rows.map((row) => row.replaceAll(/ +/g, " ").trim())).toEqual([
      "NUMBER PUBLISHED AUTHOR STATE NOTE",
      expect.stringMatching(/^3 .* active ruleset 1 again; too strict$/),
      expect.stringMatching(/^2 (?:just now|.* ago) ada$/),
      expect.stringMatching(/^1 .* to begin with$/),
    ]);
    expect((await inkling("rules", "show", "2")).out).toBe(DENY_TOR);
    expect((await inkling("rules", "diff")).out).toContain("--- ruleset 2\n+++ ruleset 3\n");
  });

  const wrong: [string, string, RegExp][] = [
    ["a mistake of TOML", "[[rule", /rules\.toml:1:\d+: /],
    [
      "a misspelt fact",
      DENY_TOR.replace("ip.is_tor_exit", "ip.is_tor_exits"),
      /rules\.toml:3:9: rule "no-tor": unknown fact "ip\.is_tor_exits": did you mean "ip\.is_tor_exit"\?/,
    ],
    [
      "two of them",
      "a = 1\nb = 2\n",
      /has 2 mistakes; nothing was changed\n {2}rules\.toml:1:1: .*\n {2}rules\.toml:2:1: /,
    ],
    [
      "an example that comes out otherwise",
      `${DENY_TOR}[[example]]\nname = "tor"\ngiven = { ip.is_tor_exit = true }\naction = "allow"\n`,
      /expected allow; got deny, rules no-tor/,
    ],
  ];
  test.each(wrong)("with %s is not published", async (_, text, message) => {
    write(text);
    const { code, err } = await inkling("rules", "publish", "rules.toml", "--yes");
    expect([code, err]).toEqual([1, expect.stringMatching(message)]);
    expect((await inkling("rules", "check", "rules.toml")).code).toBe(1);
    expect((await inkling("rules", "list")).err).toMatch(/there is no database yet/);
  });

  test("that nobody published is not there", async () => {
    write("");
    await inkling("rules", "publish", "rules.toml", "--yes");
    expect((await inkling("rules", "show", "9")).err).toMatch(
      /^inkling: there is no ruleset "9"\nhint: .*rules list/,
    );
    expect((await inkling("rules", "show", "x")).code).toBe(2);
    expect((await inkling("rules", "rollback", "--yes")).err).toMatch(/ruleset 1 is the first ruleset/);
  });
});

describe("inkling assess", () => {
  beforeEach(() => {
    smallRelease(join(cwd, "data"), 2, [], [], true); // 81.2.69.0/24 is a Tor exit
  });

  test("explains what the newest ruleset decides, and what would change it", async () => {
    const { out, err, code } = await inkling(
      "assess",
      "--ip",
      "81.2.69.142",
      "--email",
      "info@disposable-2.com",
    );
    expect([code, err]).toEqual([0, ""]);
    expect(out).toStartWith("deny: the score decided\nscore 0.97 █");
    expect(out).toMatch(/tor_exit +0\.60 +the address is a Tor exit\n/);
    expect(out).toMatch(/disposable +0\.90 .*without it: challenge\n/);
    expect(out).toContain(
      "\n  facts read: ip.is_tor_exit true, email.disposable true, email.role_account true\n",
    );
    expect(out).toContain("info@disposable-2.com: valid, disposable");
    write(DENY_TOR);
    await inkling("rules", "publish", "rules.toml", "--yes");
    expect((await inkling("assess", "--ip", "81.2.69.142")).out).toStartWith(
      "deny: rule no-tor of ruleset 1 decided\nscore 0.60 ",
    );
  });

  test("says when on_missing decided, and what would have been decided with all data", async () => {
    smallRelease(join(cwd, "data"), 3, ["is_abuser"], [], true);
    const ip = ["assess", "--ip", "8.8.8.8"] as const;
    const { out } = await inkling(...ip);
    expect(out).toStartWith(
      "challenge: on_missing decided, because data is missing; the score would allow\nscore 0.00 ",
    );
    expect(out).toContain(
      "\n  no reason to doubt the visitor in the available data\n  missing  is_abuser is unknown: no feed that provides it is loaded\n",
    );
    expect(JSON.parse((await inkling(...ip, "--json")).out).alternatives).toEqual([
      { without: { on_missing: "challenge" }, score: 0, action: "allow" },
    ]);
    write('[[rule]]\nname = "all"\nwhen = "ip.country == \'\'"\nthen = "allow"\nmode = "live"\n');
    expect((await inkling(...ip, "--rules", "rules.toml")).out).toStartWith(
      "allow: rule all of ruleset 0 decided",
    );
    write(
      '[[rule]]\nname = "abuse"\nwhen = "ip.is_abuser"\nthen = "deny"\nmode = "live"\n[[rule]]\nname = "all"\nwhen = "true"\nthen = "allow"\nmode = "live"\n',
    );
    expect((await inkling(...ip, "--rules", "rules.toml")).out).toStartWith(
      "challenge: on_missing decided, because data is missing; rule all of ruleset 0 would allow\n",
    );
  });

  test("says that the score decided if it is stricter than a rule with at_least", async () => {
    const rule =
      'name = "tor"\nwhen = "ip.is_tor_exit"\nthen = "challenge"\nat_least = true\nmode = "live"\n';
    write(`[thresholds]\nchallenge = 0.2\ndeny = 0.3\n[[rule]]\n${rule}`);
    expect((await inkling("assess", "--ip", "81.2.69.142", "--rules", "rules.toml")).out).toStartWith(
      "deny: the score decided, which is stricter than rule tor of ruleset 0\n",
    );
    write(`[[rule]]\n${rule}`);
    expect((await inkling("assess", "--ip", "81.2.69.142", "--rules", "rules.toml")).out).toStartWith(
      "challenge: rule tor of ruleset 0 decided\n",
    );
  });

  test("says that it does not read what a server remembers", async () => {
    write('[[rule]]\nname = "seen"\nwhen = "history.mailbox_seen"\nthen = "deny"\nmode = "live"\n');
    const { out } = await inkling("assess", "--email", "a@inkling-trial.dev", "--rules", "rules.toml");
    expect(out).toStartWith("challenge: on_missing decided");
    expect(out).toContain(
      "\n  missing  history is unknown: only POST /v1/assess reads what a server remembers\n",
    );
    expect(out).not.toContain("doctor");
  });

  test("takes a file, and facts of the types that it declares", async () => {
    write(
      `[facts]\nplan = "text"\nseats = "number"\n${DENY_TOR.replace("ip.is_tor_exit", 'facts.plan == "free" && facts.seats > 3.0')}`,
    );
    const assess = (...more: string[]) =>
      inkling("assess", "--email", "a@example.org", "--rules", "rules.toml", "--json", ...more);
    const { out } = await assess("--fact", "plan=free", "--fact", "seats=4");
    expect(JSON.parse(out)).toMatchObject({ action: "deny", rule: "no-tor", facts: { "facts.seats": 4 } });
    expect(await assess("--fact", "plan")).toMatchObject({
      code: 2,
      err: expect.stringMatching(/--fact must be a name/),
    });
    expect(await assess("--fact", "seats=many")).toMatchObject({
      code: 2,
      err: expect.stringMatching(/--fact seats: must have the type number/),
    });
    expect(await assess("--fact", "other=1")).toMatchObject({
      code: 2,
      err: expect.stringMatching(/declares no fact "other"/),
    });
  });

  test("says what is wrong with a visitor in terms of its options", async () => {
    expect(await inkling("assess")).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^inkling: --ip or --email is missing\n/),
    });
    const country = await inkling("assess", "--ip", "8.8.8.8", "--expected-country", "Germany");
    expect(country.err).toMatch(
      /^inkling: --expected-country: must be an ISO 3166-1 alpha-2 code such as DE: did you mean "DE"\?\n/,
    );
    expect((await inkling("assess", "--ip", "10.0.0.1")).err).toMatch(/IP_ADDRESS_RESERVED/);
    expect((await inkling("assess", "--ip", "10.0.1")).err).toMatch(
      /^inkling: "10\.0\.1" is not an IP address \(IP_ADDRESS_INVALID\)\n/,
    );
  });

  test("decides by the copy while the database is unreachable", async () => {
    write(DENY_TOR);
    await inkling("rules", "publish", "rules.toml", "--yes");
    const ruleset = JSON.parse((await inkling("rules", "show", "--json")).out);
    rmSync(join(cwd, "data/inkling.db"));
    const copy = { number: 1, text: ruleset.text, note: "", author: "ada", createdAt: 1 };
    const file = { format: "inkling-ruleset-snapshot", version: 1, ruleset: copy };
    writeFileSync(join(cwd, "data/ruleset.json"), JSON.stringify(file));
    writeFileSync(join(cwd, "data/inkling.db"), "no database at all, but a file");
    const { out, err } = await inkling("assess", "--ip", "81.2.69.142");
    expect(out).toStartWith("deny: rule no-tor of ruleset 1 decided");
    expect(err).toContain("the ruleset comes from ruleset.json");
    expect(readFileSync(join(cwd, "data/ruleset.json"), "utf8")).toContain("no-tor");
  });
});
