// Tests MaxMind's clients for Node and Python, unchanged, against a server. They support only HTTPS, so a proxy with a
// certificate is between them.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fetch } from "../../harness/checked-fetch.ts";
import { withPrograms } from "../../harness/programs.ts";
import { tried } from "../../harness/recorded-rows.ts";
import { temporaryFolder } from "../../harness/release.ts";
import { startSmallServer } from "../../harness/server.ts";

const name = "@maxmind/geoip2-node locates addresses, and has its own errors";

/** @param command the program that uses the client; what it is given is appended */
async function withSdk(command: readonly string[]): Promise<Record<string, unknown>> {
  const folder = temporaryFolder();
  const [certificate, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const made = Bun.spawnSync([
    ...["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
    ...[
      "-subj",
      "/CN=localhost",
      "-addext",
      "subjectAltName=DNS:localhost",
      "-keyout",
      key,
      "-out",
      certificate,
    ],
  ]);
  if (!made.success) throw new Error(made.stderr.toString());
  const { server, origin, keys } = await startSmallServer();
  const proxy = Bun.serve({
    port: 0,
    tls: { cert: readFileSync(certificate), key: readFileSync(key) },
    fetch: ({ url, headers }) => fetch(origin + new URL(url).pathname, { headers }),
  });
  try {
    const given = JSON.stringify({ host: `localhost:${proxy.port}`, key: keys.test });
    const child = Bun.spawn([...command, given], {
      env: { ...process.env, NODE_EXTRA_CA_CERTS: certificate, REQUESTS_CA_BUNDLE: certificate },
      stdout: "pipe",
      stderr: "inherit",
    });
    return JSON.parse(await new Response(child.stdout).text());
  } finally {
    await proxy.stop(true);
    await server.stop();
  }
}

withPrograms(name, ["node", "openssl"], true, async () => {
  const found = await withSdk(["node", join(import.meta.dir, "maxmind-sdk.mjs")]);
  expect(found.city).toMatchObject({
    city: { names: { en: "Exampleton" } },
    continent: { code: "EU", names: { en: "Europe" } },
    country: { isoCode: "GB", names: { en: "United Kingdom" } },
    location: { accuracyRadius: 20, latitude: 51.75, longitude: -1.25, timeZone: "Europe/London" },
    postal: { code: "OX1" },
    registeredCountry: { isoCode: "GB" },
    subdivisions: [{ isoCode: "ENG", names: { en: "England" } }, { isoCode: "OXF" }],
    traits: {
      autonomousSystemNumber: 64496,
      autonomousSystemOrganization: "Example Broadband",
      ipAddress: "192.0.2.1",
      network: "192.0.2.0/24",
    },
  });
  expect(found.country).toMatchObject({
    country: { isoCode: "GB" },
    traits: { ipAddress: "2001:db8::1", network: "2001:db8::/32" },
  });
  expect(found.country).not.toHaveProperty("city");
  expect(found.little).not.toHaveProperty("city");
  expect(found.little).toMatchObject({ country: { isoCode: "US" }, registeredCountry: { isoCode: "CA" } });
  const { unknown, reserved, quota, away, insights, stranger } = found;
  expect([unknown, reserved, quota, away, insights, stranger]).toEqual([
    { code: "IP_ADDRESS_NOT_FOUND", status: 404 },
    { code: "IP_ADDRESS_RESERVED", status: 400 },
    { code: "INSUFFICIENT_FUNDS", status: 402 },
    { code: "SERVER_ERROR", status: 503 },
    { code: "PATH_NOT_FOUND", status: 404 },
    { code: "AUTHORIZATION_INVALID", status: 401 },
  ]);
  const sdk = "@maxmind/geoip2-node";
  tried(import.meta.path, sdk, sdk, "the web service, with its `host` option");
});

const python = ["python3", "/usr/bin/python3"].find(
  (program) =>
    Bun.which(program) !== null && Bun.spawnSync([program, "-c", "import geoip2.webservice"]).success,
);
if (python === undefined)
  test.skip("geoip2 for Python: needs the package (apt-get install python3-geoip2)", () => {});
else
  test("geoip2 for Python locates addresses, and has its own errors", async () => {
    const found = await withSdk([python, "-B", join(import.meta.dir, "maxmind-sdk.py")]);
    expect(found).toMatchObject({
      city: {
        city: { names: { en: "Exampleton" } },
        location: { accuracy_radius: 20, latitude: 51.75, longitude: -1.25, time_zone: "Europe/London" },
        traits: { autonomous_system_number: 64496, ip_address: "192.0.2.1" },
      },
      country: { country: { iso_code: "GB" }, traits: { ip_address: "2001:db8::1" } },
      unknown: { error: "AddressNotFoundError" },
      quota: { error: "OutOfQueriesError" },
      stranger: { error: "AuthenticationError" },
    });
    const version = [python, "-c", "import geoip2; print(geoip2.__version__)"];
    tried(import.meta.path, "geoip2 (Python)", version, "the web service, with its `host` option");
  });
