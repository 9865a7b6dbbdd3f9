// Tests values on the command line, with a small release: 81.2.69.0/24 is a proxy in City 1, and disposable-1.com is
// listed.

import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { currentName } from "@inkling/data";
import { smallRelease } from "../../../../test/harness/release.ts";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { runHere } from "../program.testing.ts";

const temp = temporaryFolder();
const dataDir = join(temp, "data");
smallRelease(dataDir, 1);

const inkling = (...args: string[]) => runHere(args, { env: { INKLING_DATA_DIR: dataDir }, cwd: temp });
const IP = "81.2.69.142";
const ON_NETWORK = "81.2.69.14";
const withNetworks = join(temp, "with-networks");
smallRelease(withNetworks, 1, [], [], true);
const EMAIL = "a@disposable-1.com";

describe("values", () => {
  test("of either kind, a line each; what has no answer does not stop the others", async () => {
    const { out, err, code } = await inkling(IP, "10.0.0.1", EMAIL, "8.8.8.8");
    expect(out).toBe(
      `${IP}: City 1, United Kingdom; a proxy or VPN\n${EMAIL}: valid, disposable\n8.8.8.8: nothing known against it\n`,
    );
    expect(err).toBe("10.0.0.1 is a private address (IP_ADDRESS_RESERVED)\n");
    expect(code).toBe(1);
  });

  test("one: all that is known of it", async () => {
    const { out, code } = await inkling(IP);
    const [place, reputation] = [
      (await inkling("lookup", "geolocate", IP)).out,
      (await inkling("lookup", "reputation", IP)).out,
    ];
    expect([out, code]).toEqual([`${place}\n${reputation}`, 0]);
    expect((await inkling("lookup", IP)).out).toBe(out);
    const reserved = await inkling("10.0.0.1");
    expect(reserved.err).toStartWith("inkling: 10.0.0.1 is a private address");
    expect(reserved.err).not.toContain("X-Forwarded-For");
  });

  test.each(["10.0.0.1", "8.8.8.8:443"])(
    "%s has no answer: exit code 1, however it is asked for",
    async (value) => {
      const ways = [[value], [value, "--json"], [value, "-f", "value"], [IP, value], [IP, value, "--json"]];
      for (const args of ways) expect([args, (await inkling(...args)).code]).toEqual([args, 1]);
    },
  );

  test("what cannot be looked up does not stop the others", async () => {
    const { out, err, code } = await inkling("8.8.8.8:443", EMAIL, "lokup.", "1.2.3.4/33");
    expect([out, code]).toEqual([`${EMAIL}: valid, disposable\n`, 1]);
    expect(err.trim().split("\n")).toEqual([
      '"8.8.8.8:443" cannot be looked up: leave out the port',
      '"lokup." is not an IP address, network, AS number, domain or email address',
      '"1.2.3.4/33" cannot be looked up: the prefix length of an IPv4 network is at most /32',
    ]);
  });

  test("as JSON, there is an object for each value", async () => {
    const { out, err, code } = await inkling("lokup.", EMAIL, "10.0.0.1", "--json");
    const lines = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect([err, code, lines.map(({ value }) => value)]).toEqual(["", 1, ["lokup.", EMAIL, "10.0.0.1"]]);
    expect(lines[0].error).toContain("is not an IP address, network, AS number, domain or email address");
  });

  test("networks, AS numbers and domains: shares, feeds, owners", async () => {
    const from = ["--data-dir", withNetworks];
    const network = await inkling("81.2.69.0/24", ...from);
    expect([network.err, network.code]).toEqual(["", 0]);
    expect(network.out).toStartWith("81.2.69.0/24: 100% of addresses are flagged (proxy or VPN 100%)\n");
    expect(network.out).toMatch(/^ {2}proxy or VPN +100%: \S+ 100%$/m);
    expect(network.out).toContain("AS20712 Andrews & Arnold, Ltd");
    const system = JSON.parse((await inkling("as20712", "-j", ...from)).out);
    expect(system.as).toMatchObject({ number: 20712, organization: "Andrews & Arnold, Ltd" });
    expect(system.as.ipv4.networks).not.toBeEmpty();
    expect(system.as.ipv4.owners).toEqual([
      expect.objectContaining({ asn: 20712, organization: "Andrews & Arnold, Ltd", share: 1 }),
    ]);
    const lines = await inkling("81.2.69.0/24", "AS20712", "disposable-1.com", "10.1.0.0/16", "AS1", ...from);
    expect(lines.out.split("\n").map((line) => line.split(":")[0])).toEqual([
      "81.2.69.0/24",
      "AS20712 Andrews & Arnold, Ltd",
      "disposable-1.com",
      "",
    ]);
    expect(lines.err).toBe(
      "10.1.0.0/16 is a private network (IP_ADDRESS_RESERVED)\nno network of AS1 is known\n",
    );
    expect((await inkling("disposable-1.com")).out).toMatch(/^disposable-1\.com: valid, disposable\n/);
    expect((await inkling("81.2.69.0/24", "-f", "value", ...from)).code).toBe(1);
  });

  test("as JSON: the API's answers, or its problems", async () => {
    const { out, err, code } = await inkling(IP, EMAIL, "8.8.8.8", "10.0.0.1", "--json");
    const body = async (lookup: string, value: string) =>
      JSON.parse(
        (await inkling("lookup", lookup, value, "--json", ...(lookup === "email" ? [] : ["--network"]))).out,
      );
    const lines = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines).toEqual([
      { value: IP, geolocate: await body("geolocate", IP), reputation: await body("reputation", IP) },
      { value: EMAIL, email: await body("email", EMAIL) },
      {
        value: "8.8.8.8",
        geolocate: await body("geolocate", "8.8.8.8"),
        reputation: await body("reputation", "8.8.8.8"),
      },
      {
        value: "10.0.0.1",
        geolocate: await body("geolocate", "10.0.0.1"),
        reputation: await body("reputation", "10.0.0.1"),
      },
    ]);
    expect(lines[3].reputation.code).toBe("IP_ADDRESS_RESERVED");
    expect([err, code]).toEqual(["", 1]);
  });

  test("as JSON: networks, and evidence with --evidence, of one value as of several", async () => {
    const from = ["--data-dir", withNetworks];
    expect((await inkling(ON_NETWORK, ...from)).out).toContain("AS20712 Andrews & Arnold, Ltd");
    const one = JSON.parse((await inkling(ON_NETWORK, "--json", "--evidence", ...from)).out);
    for (const { network, evidence } of [one.geolocate, one.reputation]) {
      expect(network).toMatchObject({ asn: 20712, organization: "Andrews & Arnold, Ltd" });
      expect(evidence).not.toBeEmpty();
    }
    const lines = async (...flags: string[]) =>
      (await inkling(ON_NETWORK, EMAIL, "--json", ...flags, ...from)).out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
    const [address, email] = await lines("--evidence");
    expect(address).toEqual(one);
    expect(email.email.evidence).toBeArray();
    const plain = JSON.parse((await inkling(ON_NETWORK, "--json", ...from)).out);
    const [{ geolocate, reputation }, other] = await lines();
    expect(plain).toMatchObject({ geolocate, reputation });
    expect([geolocate.network, reputation.network]).toEqual([one.geolocate.network, one.reputation.network]);
    for (const answer of [geolocate, reputation, other.email]) expect(answer.evidence).toBeUndefined();
  });

  test.each<[flags: string[], values: string[]]>([
    [["--json"], [IP]],
    [
      ["--json", "--evidence"],
      [IP, EMAIL],
    ],
    [
      ["--field", "value,is_proxy"],
      [IP, EMAIL],
    ],
    [["--field=is_proxy"], [IP]],
    [["--data-dir", dataDir, "--attribution"], [IP]],
  ])("options before the values: %j %j", async (flags, values) => {
    const before = await inkling(...flags, ...values);
    expect(before).toEqual(await inkling(...values, ...flags));
    expect(before.code).toBe(0);
  });

  test("an unknown option before a value, or an option before a command, is still refused", async () => {
    expect((await inkling("--jsn", IP)).err).toStartWith("inkling: unknown option '--jsn'\n");
    expect((await inkling("--json", "keys", "list")).err).toStartWith("inkling: unknown option '--json'\n");
  });

  test("fields of networks, by name and by pattern", async () => {
    const names = "asn organization kind shared services operator prefix"
      .split(" ")
      .map((name) => `network_${name}`);
    const fields = (list: string) => inkling(ON_NETWORK, EMAIL, "--field", list, "--data-dir", withNetworks);
    const { out } = await fields(names.join(","));
    expect(out).toStartWith("20712\tAndrews & Arnold, Ltd\t");
    expect(out).toEndWith(`\n${"\t".repeat(6)}\n`);
    expect((await fields("network_*")).out).toBe(out);
    expect((await inkling(IP, "--field", "value,is_prox*,co*y_iso_code")).out).toBe(`${IP}\ttrue\tGB\n`);
  });

  test("a field or pattern that means nothing: the error lists the names", async () => {
    const { err, code } = await inkling(IP, "--field", "netwrk_*,city_name");
    expect(err).toStartWith('inkling: --field: there is no "netwrk_*"\nhint: ');
    expect(err).toMatch(/available: value, .*network_prefix.*providers; \* matches any characters/);
    expect(code).toBe(2);
  });

  test("fields and JSON exclude each other, also in a text", async () => {
    for (const args of [[IP], ["lookup", IP], ["grep", "none.txt"]]) {
      const { out, err, code } = await inkling(...args, "--json", "--field", "is_proxy");
      expect([out, code]).toEqual(["", 2]);
      expect(err).toStartWith("inkling: --field prints text, so it cannot be used with --json\nhint: ");
    }
  });

  test("fields", async () => {
    expect((await inkling(IP, "--field", "country_iso_code")).out).toBe("GB\n");
    const { out } = await inkling(IP, EMAIL, "--field", "value,city_name, is_proxy,disposable");
    expect(out).toBe(`${IP}\tCity 1\ttrue\t\n${EMAIL}\t\t\ttrue\n`);
  });

  test("a flag without data is empty, not false", async () => {
    const own = join(temp, "without");
    smallRelease(own, 1, ["is_abuser"]);
    const { out, err } = await inkling(IP, "--field", "is_abuser,is_tor_exit", "--data-dir", own);
    expect(out).toBe("\tfalse\n");
    expect(err).toContain("is_abuser is unknown");
  });
});

test("standard input, among other values", async () => {
  const child = Bun.spawn(
    [
      "node",
      join(import.meta.dir, "../../bin/inkling.mjs"),
      EMAIL,
      "-",
      "--field",
      "value,is_proxy,disposable",
    ],
    {
      cwd: temp,
      env: { ...process.env, INKLING_DATA_DIR: dataDir },
      stdin: Buffer.from(`${IP}\r\n\nlokup\n8.8.8.8`),
      stdout: "pipe",
      stderr: "pipe",
    },
  );
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  expect(out).toBe(`${EMAIL}\t\ttrue\n${IP}\ttrue\t\n8.8.8.8\tfalse\t\n`);
  expect([err, code]).toEqual([
    '"lokup" is not an IP address, network, AS number, domain or email address\n',
    1,
  ]);
});

test("standard input, where no value is given", async () => {
  const bin = join(import.meta.dir, "../../bin/inkling.mjs");
  const piped = async (stdin: Buffer | "ignore", ...flags: string[]) => {
    const env = { ...process.env, INKLING_DATA_DIR: dataDir };
    const child = Bun.spawn(["node", bin, ...flags], {
      cwd: temp,
      env,
      stdin,
      stdout: "pipe",
      stderr: "pipe",
    });
    return [await child.stdout.text(), await child.exited];
  };
  const field = ["--field", "value,is_proxy"];
  expect(await piped(Buffer.from(`${IP}\n`), ...field)).toEqual([`${IP}\ttrue\n`, 0]);
  expect(await piped(Buffer.from(`${IP}\n`))).toEqual([expect.stringContaining(`${IP}: `), 0]);
  expect(await piped("ignore")).toEqual(["", 2]); // the help, as with a terminal
});

test.each(["export csv --lookup reputation --out -", "enrich - --ip-column 1", "grep"])(
  "a reader that has closed the pipe ends it quietly: %s",
  async (line) => {
    const bin = join(import.meta.dir, "../../bin/inkling.mjs");
    const script = `{ node ${bin} ${line}; echo "$?" >&2; } | exec true`;
    const child = Bun.spawn(["sh", "-c", script], {
      cwd: temp,
      env: { ...process.env, INKLING_DATA_DIR: dataDir },
      stdin: Buffer.from(`${IP}\n`.repeat(10_000)),
      stdout: "ignore",
      stderr: "pipe",
    });
    const err = await child.stderr.text();
    expect(err).not.toContain("EPIPE");
    expect(err).toEndWith("0\n");
  },
);

test("an export to a missing folder reports the folder", async () => {
  const { err, code } = await inkling("export", "csv", "--out", join(temp, "nowhere/x.csv"));
  expect(err).toStartWith(`inkling: the folder ${join(temp, "nowhere")} does not exist\n`);
  expect(code).toBe(1);
});

describe("grep", () => {
  const text = `seen ${IP}:44, Chrome/120.0.0.0\nfrom <${EMAIL}> at 10.0.0.1, ${IP}\n`;
  test.each([
    ["text", text],
    ["gzip", gzipSync(text)],
  ])("any text, each value once: %s", async (name, content) => {
    writeFileSync(join(temp, name), content);
    expect(await inkling("grep", join(temp, name))).toEqual({
      out: `${IP}: City 1, United Kingdom; a proxy or VPN\n${EMAIL}: valid, disposable\n`,
      err: "",
      code: 0,
    });
    expect((await inkling("grep", join(temp, name), "--field", "value")).out).toBe(`${IP}\n${EMAIL}\n`);
  });
  test("a file that is not there", async () => {
    expect((await inkling("grep", "nowhere")).err).toContain("nowhere does not exist");
  });
});

describe("an earlier release", () => {
  const folder = join(temp, "two-releases");
  smallRelease(folder, 1);
  const earlier = currentName(folder)!;
  smallRelease(folder, 2);
  const inFolder = (...args: string[]) => inkling(...args, "--data-dir", folder);

  test.each([earlier, earlier.split("-")[1]!])("%s: lookups and exports read it", async (release) => {
    expect((await inFolder(IP)).out).toContain("City 2");
    expect((await inFolder(IP, "--release", release)).out).toContain("City 1");
    const one = await inFolder("lookup", "email", EMAIL, "--release", release);
    expect([one.out, one.code]).toEqual([expect.stringContaining("disposable"), 0]);
    await inFolder("export", "csv", "--lookup", "email", "--out", join(temp, "now.csv"));
    await inFolder(
      "export",
      "csv",
      "--lookup",
      "email",
      "--out",
      join(temp, "then.csv"),
      "--release",
      release,
    );
    const [now, then] = ["now", "then"].map((name) => readFileSync(join(temp, `${name}.csv`), "utf8"));
    expect([now!.includes("disposable-2.com"), then!.includes("disposable-2.com")]).toEqual([true, false]);
  });

  test("that does not exist is refused with the names of those that do", async () => {
    for (const args of [[IP], ["export", "csv", "--out", join(temp, "none.csv")]]) {
      const { err, code } = await inFolder(...args, "--release", "nope");
      expect([code, err]).toEqual([1, expect.stringContaining(`there is no release nope in ${folder}\n`)]);
      expect(err).toContain(`the stored releases are ${currentName(folder)}, ${earlier}`);
    }
  });
});
