// Tests @inkling/client as an application gets it: packed, installed, on Node and on Bun, against a real server. The
// Python client runs the same cases. packages/client/src and packages/python/test have the detailed tests, with faulty
// servers.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { NO_FLAGS, SANDBOX_ADDRESSES, SANDBOX_DOMAINS, SANDBOX_PROBLEMS } from "@inkling/contract";
import { parsePeer } from "@inkling/engine";
import { type NewKey, openStore, parseNewKey } from "@inkling/store";
import fc from "fast-check";
import { CLIENT_ERRORS, SERVER_ERRORS } from "../../../packages/client/src/error-codes.ts";
import { InklingError } from "../../../packages/client/src/errors.ts";
import { formatIp, parseIp } from "../../../packages/client/src/ip.ts";
import { namedBlocks, partOf, sectionOf } from "../../harness/named-blocks.ts";
import { HOW_TO_INSTALL, hasPeer, PEERS, peerPath } from "../../harness/peers.ts";
import { CLIENT, installClient, run } from "../../harness/published-packages.ts";
import { tried } from "../../harness/recorded-rows.ts";
import { SMALL_NETWORK, smallCity, smallRelease, temporaryFolder } from "../../harness/release.ts";
import { ServerProgram } from "../../harness/server-program.ts";

const ROOT = resolve(import.meta.dir, "../../..");
const README = readFileSync(join(CLIENT, "README.md"), "utf8");
const MIDDLEWARE = readFileSync(join(CLIENT, "MIDDLEWARE.md"), "utf8");
const HOOKS = readFileSync(join(ROOT, "docs/auth-hooks.md"), "utf8");
const SIGN_UP = readFileSync(join(ROOT, "docs/sign-up-protection.md"), "utf8");
const CAPTCHA = readFileSync(join(ROOT, "docs/captcha.md"), "utf8");
const LOGIN = readFileSync(join(ROOT, "docs/login-protection.md"), "utf8");
const OUTAGES = readFileSync(join(ROOT, "docs/outages.md"), "utf8");
const filesIn = (...sections: string[]) => [...namedBlocks(sections.join(""), "ts")];
const CAPTCHA_SERVER = sectionOf(CAPTCHA, "The server");
const turnstile = filesIn(CAPTCHA_SERVER).find(([name]) => name === "turnstile.ts")!;
/** Next.js resolves a file without its extension, which Node does not. */
const withExtensions = (text: string) => text.replace(/ from "(\.\.?\/[\w/-]+)";$/gm, ' from "$1.js";');
/** The README's tests of a route, which are in folders of their own. */
const ROUTE_TESTS = /^### Test a protected route\n[\s\S]*?(?=^## )/m.exec(README)![0];
/** The other examples in TypeScript on both pages, and what they import. */
const blocks = [
  turnstile[1],
  ...[...`${README.replace(ROUTE_TESTS, "")}\n${MIDDLEWARE}`.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(
    ([, text]) => withExtensions(text!),
  ),
];
/** Recipes of sign-up-protection.md, which compile in TypeScript too. Koa has no types here. */
const recipes = ["express", "fastify", "hono", "next"].map((framework) => {
  const isIt = (text: string) => text.includes(`"@inkling/client/${framework}"`);
  return [...SIGN_UP.matchAll(/^```[jt]s\n([\s\S]*?)^```$/gm)].map(([, text]) => text!).find(isIt)!;
});
const ROUTE_WITH_REF = partOf(SIGN_UP, "// In JavaScript, leave out");
recipes.push(
  recipes[0]!.replace(/^\/\/.*\n/, "").replace(/^app\.post[\s\S]*?^\}\);\n/m, () => ROUTE_WITH_REF),
);
const [NODE_RUNNER] = /^import .* from "node:test";$/m.exec(ROUTE_TESTS)!;
const [, CASES] = /^```ts\n(\/\/ the end of the test's file\n[\s\S]*?)^```$/m.exec(ROUTE_TESTS)!;
/** The route that asks everybody for the CAPTCHA during an outage. */
const ASKING_ROUTE = partOf(OUTAGES, '  app.post("/sign-up", protect(inkling, options), async');
type Files = readonly (readonly [name: string, text: string])[];
const routeTest = (framework: string): Files =>
  filesIn(sectionOf(README, `In ${framework}`)).map(([name, head]) => [basename(name), head + CASES!]);
const LOGIN_TEST = filesIn(sectionOf(LOGIN, "The check"), sectionOf(LOGIN, "Unit test"));
/** The pages' unit tests, each with the modules that it tests. */
const UNIT_TESTS: Readonly<Record<string, Files>> = {
  Express: [...filesIn(CAPTCHA_SERVER), ...routeTest("Express")],
  "Express, asking everybody": [...filesIn(CAPTCHA_SERVER), ...routeTest("Express")].map(
    ([name, text]) =>
      [
        name,
        text
          .replace(/^ {2}app\.post[\s\S]*?^ {2}\}\);\n/m, () => ASKING_ROUTE)
          .replace('[201, { account: "to be confirmed" }]);', '[403, { captcha: "the site key" }]);'),
      ] as const,
  ),
  Fastify: [...filesIn(CAPTCHA_SERVER, sectionOf(CAPTCHA, "Fastify")), ...routeTest("Fastify")],
  Hono: [...filesIn(CAPTCHA_SERVER, sectionOf(CAPTCHA, "Hono")), ...routeTest("Hono")],
  "Next.js": [
    turnstile,
    ["sign-up.ts", filesIn(sectionOf(MIDDLEWARE, "Next.js")).find(([name]) => name === "app/sign-up.ts")![1]],
    ...routeTest("Next.js"),
  ],
  logins: LOGIN_TEST,
  "logins with a CAPTCHA instead of a second factor": LOGIN_TEST.map(
    ([name, text]) =>
      [
        name,
        name === "attempts.ts"
          ? text.replace(/^ {4}if \(action === "challenge"\).*\n/m, () =>
              partOf(LOGIN, '    if (action === "challenge" && solved'),
            )
          : text.replace(/^.*"second factor"\);\n/gm, () => partOf(LOGIN, "    assert.equal((await logIn(")),
      ] as const,
  ),
};
const LOGIN_ROUTES: Readonly<Record<string, Files>> = Object.fromEntries(
  ["Express", "Fastify", "Hono", "Next.js", "Sign-up and login together"].map((framework) => [
    `login ${framework}`,
    filesIn(CAPTCHA_SERVER, sectionOf(LOGIN, "The check"), sectionOf(LOGIN, framework)).map(
      ([name, text]) => [basename(name), text.replace("../../attempts", "./attempts")] as const,
    ),
  ]),
);
const folderOf = (name: string) => join(project, `unit-${name.replace(/\W/g, "-")}`);
function writeFiles(folder: string, files: Files): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of files) writeFileSync(join(folder, name), text);
}
/** The compiler's flags beyond `strict` that the README says its examples compile with. */
const FLAGS = [
  .../^The examples also compile with ([\s\S]*?)\.$/m.exec(README)![1]!.matchAll(/`(\w+)`/g),
].map(([, flag]) => flag!);
/** Returns the name that a block's first line gives its file, if any, and its extension. */
const fileOf = (text: string) => /^\/\/ (\S+)\.(m?)ts\n/.exec(text)?.slice(1);
const typeScript = new Bun.Transpiler({ loader: "ts" });

/** Installs the part of Next.js that the pages use. Its headers are those that a test sets. */
function installNextHeaders(): void {
  const folder = join(project, "node_modules/next");
  mkdirSync(folder, { recursive: true });
  const exports = { "./headers": { types: "./headers.d.ts", default: "./headers.js" } };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "next", type: "module", exports }));
  writeFileSync(join(folder, "headers.d.ts"), "export declare function headers(): Promise<Headers>;\n");
  writeFileSync(
    join(folder, "headers.js"),
    "export const headers = async () => new Headers(globalThis.sent);\n",
  );
}
const NODE = Bun.which("node")!;
/** For another version of Node, put it first in PATH. */
const NODE_MAJOR = `Node ${/\d+/.exec(Bun.spawnSync([NODE, "--version"]).stdout.toString())}`;
const PYTHON = Bun.which("python3");

const EVERYTHING: NewKey = parseNewKey({ name: "test", rate: 0 }, Date.now());
const tokens = { sandbox: "", live: "", paced: "" };

/** A folder in which the package is installed as npm would install it. */
const project = temporaryFolder();
let packed: readonly string[] = [];
let url = "";
let server: ServerProgram;

async function startServer(): Promise<void> {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1, ["is_abuser"]);
  const databaseUrl = `sqlite://${join(dataDir, "inkling.db")}`;
  const store = await openStore(databaseUrl);
  for (const [name, over] of [
    ["sandbox", { mode: "test" }],
    ["live", {}],
    ["paced", { rate: 2_000, burst: 100 }],
  ] as const) {
    tokens[name] = (await store.createKey({ ...EVERYTHING, ...over })).token;
  }
  await store.close();
  server = new ServerProgram({
    dataDir,
    env: { INKLING_ALLOW_MISSING: "1", INKLING_RATE: "1000", INKLING_BURST: "1000", INKLING_WORKERS: "1" },
  });
  await server.ready();
  url = `http://127.0.0.1:${server.port}`;
}

beforeAll(async () => {
  [packed] = await Promise.all([installClient(project), startServer()]);
  installNextHeaders();
  for (const text of blocks) {
    const file = fileOf(text);
    if (file !== undefined)
      writeFileSync(join(project, `${basename(file[0]!)}.${file[1]}js`), typeScript.transformSync(text));
  }
});
afterAll(() => server.kill());

/** The files on Node's test runner, with the line that the README says. */
const onNodeRunner = (files: Files): Files =>
  files.map(([name, text]) => [
    name,
    withExtensions(text.replace(/^import .* from "vitest";$/m, NODE_RUNNER!)),
  ]);

describe("the package", () => {
  test("holds what was built, its pages and its licence, and nothing else", () => {
    const modules = new Bun.Glob("**/*.ts").scanSync(join(CLIENT, "src"));
    const built = [...modules]
      .filter((name) => !name.endsWith(".test.ts"))
      .map((name) => name.replace(/\.ts$/, ""))
      .flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`]);
    expect(packed).toEqual([...built, "LICENSE", "MIDDLEWARE.md", "README.md", "package.json"].sort());
  });

  test("bundles the fake only where it is imported", async () => {
    const bundle = async (entry: string) => {
      const dist = join(project, "node_modules/@inkling/client/dist", entry);
      const { outputs } = await Bun.build({ entrypoints: [dist], target: "browser" });
      return outputs[0]!.text();
    };
    const [main, testing] = await Promise.all([bundle("index.js"), bundle("testing/index.js")]);
    expect([main.includes("ANSWER_NOT_SET"), testing.includes("ANSWER_NOT_SET")]).toEqual([false, true]);
  });

  test("errors.md says which codes are an `Unavailable`", () => {
    const page = readFileSync(join(ROOT, "docs/errors.md"), "utf8");
    const rows = [...page.matchAll(/^\| (`[A-Z_`, ]+`) \| .+ \| (an `Unavailable`|thrown).* \|$/gm)];
    const said = new Map(
      rows.flatMap(([, codes, result]) =>
        codes!.match(/[A-Z_]+/g)!.map((code) => [code, result === "an `Unavailable`"] as const),
      ),
    );
    const errors: Readonly<Record<string, { readonly status?: number; readonly hint: string }>> = {
      ...SERVER_ERRORS,
      ...CLIENT_ERRORS,
    };
    for (const [code, { status }] of Object.entries(errors)) {
      const error = new InklingError(code, "", { status });
      // An outcome throws, whatever its code.
      const isUnavailable = error.isUnavailable && code !== "DECISIONS_UNREACHABLE";
      expect([code, said.get(code) ?? false]).toEqual([code, isUnavailable]);
    }
    expect([...said.values()].filter((one) => !one).length).toBeGreaterThan(9);
  });

  test("depends on nothing", () => {
    const manifest = JSON.parse(readFileSync(join(CLIENT, "package.json"), "utf8"));
    for (const kind of ["dependencies", "peerDependencies", "optionalDependencies"])
      expect(manifest[kind]).toBeUndefined();
  });

  test.each([
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ])("has types, which the pages' examples use: %s", async (module, moduleResolution) => {
    expect(blocks.length).toBeGreaterThan(3);
    [...blocks, ...recipes].forEach((text, i) => {
      const [name = `readme-${i}`, module = ""] = fileOf(text) ?? [];
      writeFileSync(join(project, `${basename(name)}.${module}ts`), text);
    });
    writeFiles(project, [
      ...onNodeRunner(filesIn(HOOKS)),
      ...filesIn(OUTAGES),
      ["bun.d.ts", 'declare module "bun:sqlite" { export class Database {} }\n'],
    ]);
    for (const [name, files] of Object.entries({ ...UNIT_TESTS, ...LOGIN_ROUTES }))
      writeFiles(folderOf(name), onNodeRunner(files));
    const subPaths = Object.keys(JSON.parse(readFileSync(join(CLIENT, "package.json"), "utf8")).exports);
    const frameworks = subPaths
      .filter((path) => path !== "." && path !== "./package.json")
      .map((path, i) => `import * as v${i} from "@inkling/client${path.slice(1)}";\nexport { v${i} };\n`)
      .join("");
    writeFileSync(join(project, "frameworks.ts"), frameworks);
    const [types] = /^\| for \| types from [\s\S]*?\n\n/m.exec(README)!;
    const names = [...new Set(types.match(/(?<=[`<])[A-Z]\w+/g))];
    expect(names.length).toBeGreaterThan(10);
    writeFileSync(join(project, "types.ts"), `export type { ${names.join(", ")} } from "@inkling/client";\n`);
    const compilerOptions = {
      module,
      moduleResolution,
      target: "es2023",
      lib: ["es2023", "dom", "dom.asynciterable"],
      types: ["node"],
      strict: true,
      ...Object.fromEntries(FLAGS.map((flag) => [flag, true])),
      noEmit: true,
    };
    writeFileSync(
      join(project, "tsconfig.json"),
      JSON.stringify({ compilerOptions, include: ["*.ts", "unit-*"] }),
    );
    expect(await run([join(ROOT, "node_modules/.bin/tsc"), "-p", "."], project)).toBe("");
  });
});

describe("an existing service", () => {
  const [, settings] = /^```json\n(\{ "compilerOptions".*)\n```$/m.exec(README)!;
  test.each(["module", "commonjs"])("compiles the recipe with the README's settings: %s", async (type) => {
    const folder = join(project, type);
    mkdirSync(folder);
    writeFiles(folder, filesIn(CAPTCHA_SERVER));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type }));
    writeFileSync(join(folder, "tsconfig.json"), settings!);
    const compile = (...args: string[]) =>
      run([join(ROOT, "node_modules/.bin/tsc"), "-p", ".", ...args], folder);
    expect(await compile()).toBe("");
    expect(await compile("--lib", "es2022")).toBe("");
    expect(await compile("--module", "node20")).toBe("");
    expect(await compile("--module", "esnext", "--moduleResolution", "bundler")).toBe("");
    // CommonJS that requires an ES module
    if (type === "commonjs") await expect(compile("--module", "node16")).rejects.toThrow("TS1479");
    else expect(await compile("--module", "node16")).toBe("");
  });
});

test("the README lists the codes that only the client can detect", () => {
  const [, codes] = /^The type `ClientCode` has ([\s\S]*?)\. `ServerCode`/m.exec(README)!;
  expect([...codes!.matchAll(/[A-Z_]{2,}/g)].map(([code]) => code)).toEqual(Object.keys(CLIENT_ERRORS));
});

/** How the cases run: the TypeScript client on two runtimes, and the Python client. */
const RUNTIMES = [
  ["Node", [NODE, "e2e.mjs"]],
  ["Bun", [process.execPath, "e2e.mjs"]],
  ["Python", [PYTHON ?? "", join(import.meta.dir, "client-e2e.py")]],
] as const;
if (PYTHON === null) test.skip("on Python: needs python3", () => {});

describe.each(RUNTIMES.filter(([, [program]]) => program !== ""))("on %s", (name, command) => {
  const isTypeScript = name !== "Python";
  const software = name === "Node" ? NODE_MAJOR : name;
  const emails = [
    ...SANDBOX_DOMAINS.map(({ domain }) => `jane@${domain}`),
    ...SANDBOX_PROBLEMS.map(({ domain }) => `jane@${domain}`),
    "not an address",
    "jäné@bücher.example",
  ];
  const addresses = [
    ...SANDBOX_ADDRESSES.flatMap(({ v4, v6 }) => [v4, v6]),
    ...SANDBOX_PROBLEMS.map(({ v4 }) => v4),
    "10.0.0.1",
    "nonsense",
    "me",
  ];
  // biome-ignore lint/suspicious/noExplicitAny: JSON of another process
  let results: any;
  beforeAll(async () => {
    cpSync(join(import.meta.dir, "client-e2e.mjs"), join(project, "e2e.mjs"));
    results = JSON.parse(
      await run([...command, JSON.stringify({ url, ...tokens, addresses, emails })], project),
    );
  });

  test.each(SANDBOX_ADDRESSES.flatMap((row) => [row.v4, row.v6].map((ip) => [ip, row] as const)))(
    "the sandbox's %s",
    (ip, { geolocation, flags = [], evidence = [] }) => {
      const { geolocate, reputation, evidence: reasoned } = results.singles[ip];
      expect(geolocate).toEqual({ answer: geolocation ?? null });
      const plain = Object.fromEntries(
        ["is_abuser", "is_proxy", "is_tor_exit"].map((flag) => [flag, (flags as string[]).includes(flag)]),
      );
      expect(reputation).toEqual({ answer: plain });
      expect(reasoned.answer.evidence).toHaveLength(evidence.length);
    },
  );

  test.each(SANDBOX_DOMAINS.map((row) => [row.domain, row] as const))(
    "jane@%s",
    (domain, { valid, providers }) => {
      expect(results.singles[`jane@${domain}`]).toEqual({
        answer: { valid, disposable: providers.length > 0, providers: [...providers] },
      });
    },
  );

  // An unknown place is not an error in the client.
  test.each(
    SANDBOX_PROBLEMS.filter(({ code }) => code !== "IP_ADDRESS_NOT_FOUND").map(
      (row) => [row.code, row] as const,
    ),
  )("%s", (code, { v4, domain }) => {
    const { reputation } = results.singles[v4];
    expect(reputation).toMatchObject({ code });
    expect(reputation.httpStatus).toBeGreaterThanOrEqual(400);
    expect(reputation.hint.length).toBeGreaterThan(10);
    expect(reputation.requestId).toMatch(/^\w+$/);
    const email = results.singles[`jane@${domain}`];
    expect(email).toMatchObject({ code, httpStatus: reputation.httpStatus });
    expect(JSON.stringify(email)).not.toContain("jane@");
  });

  test("an email address with the result of DNS, and with evidence", () => {
    const { checks, evidence, ...plain } = results.checked.answer;
    expect(plain).toEqual({ valid: true, disposable: true, providers: ["disposable.example"] });
    expect(checks).toEqual({ mx: "found" });
    expect(evidence).toMatchObject([{ mail_host: "mx.disposable.example" }]);
  });

  test("invalid addresses", () => {
    expect(results.singles["10.0.0.1"].reputation.code).toBe("IP_ADDRESS_RESERVED");
    expect(results.singles.nonsense.geolocate.code).toBe("IP_ADDRESS_INVALID");
    expect(results.singles["not an address"].answer.valid).toBe(false);
  });

  test("a batch has the same answer for each value as a lookup", () => {
    for (const [i, { value, answer, code }] of results.batchOfAddresses.entries()) {
      expect(value).toBe(addresses[i]);
      const { reputation } = results.singles[value];
      if (code !== undefined) expect(code).toBe(reputation.code);
      else if (reputation.code === "IP_ADDRESS_NOT_FOUND") expect(answer).toBeNull();
      else expect(answer).toEqual(reputation.answer);
    }
    for (const [i, { value, answer, code }] of results.batchOfEmails.entries()) {
      expect(value).toBe(emails[i]);
      const single = results.singles[value];
      if (code !== undefined) expect(code).toBe(single.code);
      else if (single.code === "IP_ADDRESS_NOT_FOUND") expect(answer).toBeNull();
      else expect(answer).toEqual(single.answer);
    }
    expect(results.batchOfAddresses).toHaveLength(addresses.length);
    expect(results.batchOfEmails).toHaveLength(emails.length);
    tried(import.meta.path, software, [command[0], "--version"], "the client, with every sandbox value");
  });

  test("a batch of thousands, in order, and values without a place", () => {
    const [, , third] = SMALL_NETWORK.split(".").map(Number);
    expect(results.many).toHaveLength(2_500);
    results.many.forEach((city: unknown, i: number) => {
      if (60 + (i % 20) === third) expect(city).toBe(smallCity(1));
      else expect(city).toBeFalsy();
    });
  });

  test("a batch faster than its key is paced, not refused", () =>
    expect(results.paced).toEqual(new Array(500).fill("ok")));

  if (isTypeScript) {
    test("the README's example of the fake passes", async () => {
      const [example, ...others] = blocks.filter((text) => text.includes("@inkling/client/testing"));
      expect(others).toEqual([]);
      writeFileSync(join(project, "fake.mjs"), typeScript.transformSync(example!));
      await run([command[0], "fake.mjs"], project);
    });

    test.each(Object.entries(UNIT_TESTS))("the pages' unit test passes: %s", async (framework, files) => {
      const folder = folderOf(`${name} ${framework}`);
      const compiled = onNodeRunner(files).map(
        ([file, text]) => [file.replace(/ts$/, "js"), typeScript.transformSync(text)] as const,
      );
      writeFiles(folder, compiled);
      const [file] = compiled.at(-1)!;
      const output = await run(
        [command[0], ...(name === "Bun" ? ["test"] : ["--test"]), `./${file}`],
        folder,
      );
      if (/^Node/.test(name) && framework === "Next.js")
        for (const [count] of ROUTE_TESTS.matchAll(/(?<=^ℹ ).+$/gm)) expect(output).toContain(count);
    });

    test("the server action for Next.js answers each visitor", async () => {
      const handler = readFileSync(join(project, "sign-up.js"), "utf8");
      writeFileSync(join(project, "sign-up.js"), handler.replace("http://127.0.0.1:8080", url));
      const created = { account: "created" };
      const asked = { captcha: "the site key" };
      const rows = [
        [{ email: "jane@example.com" }, "192.0.2.1", created],
        [{ email: "jane@example.com" }, "192.0.2.6", asked],
        [{ email: "jane@example.com", "cf-turnstile-response": "wrong" }, "192.0.2.6", asked],
        [{ email: "jane@example.com", "cf-turnstile-response": "solved" }, "192.0.2.6", created],
        [{ email: "jane@example.com" }, undefined, created],
        [{ email: "jane@example.com" }, "10.0.0.1", created],
        [
          { email: "jane@example.com" },
          "203.0.113.14",
          { error: expect.stringContaining("try again later") },
        ],
        [
          { email: "jane@disposable.example" },
          "192.0.2.1",
          { error: expect.stringContaining("cannot accept") },
        ],
        [{ email: "jane@mistyped.example" }, "192.0.2.1", { did_you_mean: "jane@example.com" }],
        [{ email: "jane@mistyped.example", confirmed: "jane@mistyped.example" }, "192.0.2.1", created],
        [{ email: "" }, "192.0.2.1", { error: "Please check the email address." }],
        [{}, "192.0.2.1", { error: "Please check the email address." }],
      ] as const;
      const script = `import { signUp } from "./actions.js";
const ask = globalThis.fetch;
globalThis.fetch = (to, sent) =>
  new URL(to).host === "challenges.cloudflare.com"
    ? Response.json({ success: sent.body.get("response") === "solved" })
    : ask(to, sent);
const answers = [];
for (const [fields, from] of ${JSON.stringify(rows)}) {
  globalThis.sent = from ? { "X-Forwarded-For": from } : {};
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  answers.push(await signUp({}, form));
}
console.log(JSON.stringify(answers));`;
      writeFileSync(join(project, "act.mjs"), script);
      const variables = [`KEY=${tokens.sandbox}`, "TURNSTILE_SITE_KEY=the site key"];
      const printed = await run(["env", ...variables, command[0], "act.mjs"], project);
      const answers = JSON.parse(printed.split("\n").at(-2)!);
      expect(answers).toHaveLength(rows.length);
      for (const [i, [, , answer]] of rows.entries()) expect(answers[i]).toMatchObject(answer);
    });
  }

  test("data that the server lacks is in the answer, and is required", () => {
    const { data, json, required, batched } = results.incomplete;
    const { ageHours: _, ...state } = data;
    expect(state).toEqual({ missing: ["is_abuser"], incomplete: [], version: expect.stringMatching(/^\w+/) });
    expect(json).toBe(JSON.stringify({ ...NO_FLAGS, is_proxy: true }));
    expect(batched).toEqual(data);
    expect(required).toEqual({ code: "DATA_INCOMPLETE", verdict: "deny" });
  });

  test("a private address is decided by onUnavailable", () =>
    expect(results.reserved).toEqual({ code: "IP_ADDRESS_RESERVED", verdict: "allow" }));

  test("cached answers are the same", () => {
    expect(results.again).toEqual(results.cached[0]);
    expect(results.again.city.name).toBe(smallCity(1));
  });

  test("a wrong key, and an unavailable server", () => {
    expect(results.wrongKey).toMatchObject({ code: "KEY_INVALID", httpStatus: 401 });
    expect(results.unavailable).toEqual({ available: false, verdict: "deny", error: "CONNECTION_FAILED" });
  });
});

describe("vitest", () => {
  if (!hasPeer("vitest")) {
    test.skip(`needs ${HOW_TO_INSTALL}`, () => {});
    return;
  }
  test.each(Object.entries(UNIT_TESTS))("runs the pages' unit test: %s", async (framework, files) => {
    const folder = join(project, "vitest", framework);
    writeFiles(folder, files);
    symlinkSync(PEERS, join(folder, "node_modules"));
    const printed = await run(["env", "NO_COLOR=1", NODE, join(PEERS, "vitest/vitest.mjs"), "run"], folder);
    const [shown] = /^ +Tests .*$/m.exec(
      framework.startsWith("logins") ? "      Tests  5 passed (5)" : ROUTE_TESTS,
    )!;
    expect(printed).toContain(shown);
    tried(
      import.meta.path,
      "vitest",
      peerPath("vitest"),
      "the unit tests of routes and logins, as in the client's README",
    );
  });
});

describe("addresses are read as the server reads them", () => {
  const groups = fc.array(fc.constantFrom("0", "", "ffff", "2001", "db8", "1", "ABCD", "g", "00000"), {
    maxLength: 9,
  });
  const quads = fc.array(fc.oneof(fc.integer({ min: 0, max: 300 }).map(String), fc.constantFrom("01", "")), {
    minLength: 3,
    maxLength: 5,
  });
  const texts = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    groups.map((parts) => parts.join(":")),
    quads.map((parts) => parts.join(".")),
    fc.tuple(groups, fc.ipV4()).map(([parts, quad]) => [...parts, quad].join(":")),
    fc.constantFrom("::", ":::", "::ffff:1.2.3.4", "1.2.3", "1.2.3.4 ", "::1%lo", "[::1]", "1.2.3.4:80"),
  );
  test("whatever the text", () => {
    let accepted = 0;
    let refused = 0;
    fc.assert(
      fc.property(texts, (text) => {
        const ours = parseIp(text);
        const engine = parsePeer(text);
        if (engine === undefined) {
          refused++;
          return ours === undefined;
        }
        accepted++;
        const { family, words } = engine;
        const value = [...words.subarray(0, family === 4 ? 1 : 4)].reduce(
          (sum, word) => (sum << 32n) | BigInt(word),
          0n,
        );
        if (ours?.value !== value) return false;
        const again = parseIp(formatIp(ours));
        return again?.value === ours.value && again.bits === ours.bits;
      }),
      { numRuns: 3_000 },
    );
    expect(accepted).toBeGreaterThan(500);
    expect(refused).toBeGreaterThan(500);
  });
});
