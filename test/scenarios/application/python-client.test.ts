// Tests the Python client: its own tests pass, and its README's example prints the output that the README shows.
// test/scenarios/application/client.test.ts runs the Python client with the TypeScript client's cases.

import { expect, test } from "bun:test";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createDjangoProject } from "../../harness/django-project.ts";
import { namedBlocks } from "../../harness/named-blocks.ts";
import { withPrograms } from "../../harness/programs.ts";
import { run } from "../../harness/published-packages.ts";
import { tried } from "../../harness/recorded-rows.ts";
import { temporaryFolder } from "../../harness/release.ts";
import { startSmallServer } from "../../harness/server.ts";

const PYTHON = resolve(import.meta.dir, "../../../packages/python");
const README = readFileSync(join(PYTHON, "README.md"), "utf8");
const page = (name: string) => readFileSync(join(PYTHON, `../../docs/${name}.md`), "utf8");
const CAPTCHA_PAGE = page("captcha-python");

test("the licence is the project's, and the version that of the npm packages", () => {
  const text = (path: string) => readFileSync(join(PYTHON, path), "utf8");
  expect(text("LICENSE")).toBe(text("../../LICENSE"));
  const { version } = JSON.parse(text("../../package.json"));
  expect(text("pyproject.toml")).toContain(`version = "${version}"`);
  expect(README).toContain(`/inkling_client-${version}-py3-none-any.whl `);
});

withPrograms("its own tests pass", ["python3"], true, async () => {
  await run(["python3", "-B", "-W", "error::ResourceWarning", "test/test_client.py"], PYTHON);
});

/** A Python that has the frameworks, which Debian's packages install for its own Python only. */
const FRAMEWORKS = "import django, fastapi, flask";
const withFrameworks = ["python3", "/usr/bin/python3"].find(
  (program) => Bun.which(program) !== null && Bun.spawnSync([program, "-c", FRAMEWORKS]).success,
);

withPrograms("protect() decides, without a framework", ["python3"], true, async () => {
  await run(["python3", "-B", "test/test_protect.py", "Decided"], PYTHON);
});

if (withFrameworks === undefined)
  test.skip("protect() in FastAPI, Django and Flask: needs the three packages", () => {});
else
  test("protect() in FastAPI, Django and Flask", async () => {
    await run([withFrameworks, "-B", "test/test_protect.py"], PYTHON);
    // The page's tests, as written: its files under their names, and no variables but the test's own.
    const folder = temporaryFolder();
    await createDjangoProject(folder, withFrameworks);
    const files = namedBlocks(CAPTCHA_PAGE, "python");
    for (const [name, code] of files) appendFileSync(join(folder, name), code);
    const tests = [...files.keys()].filter((name) => name.startsWith("test_"));
    expect(tests).toEqual(["test_sign_up.py", "test_application.py"]);
    const path = [PYTHON, join(PYTHON, "test"), process.env.PYTHONPATH].filter(Boolean).join(":");
    const setUp = `import importlib.util, sys
if importlib.util.find_spec("httpx") is None:
    import asgi_client
    sys.modules["fastapi.testclient"] = asgi_client
`;
    const unset = ["KEY", "TURNSTILE_SITE_KEY", "TURNSTILE_SECRET"].flatMap((name) => ["-u", name]);
    const python = (...args: string[]) =>
      run(
        ["env", ...unset, `PYTHONPATH=${path}`, "sh", "-c", '"$@" 2>&1', "sh", withFrameworks, "-B", ...args],
        folder,
      );
    for (const name of tests)
      await python("-c", `${setUp}import ${name.replace(".py", "")} as it\nit.test_sign_up()\n`);
    expect(await python("manage.py", "test")).toContain("Ran 5 tests");
    await python("manage.py", "check");
  });

test("has complete types, by pyright", async () => {
  const python = withFrameworks === undefined ? [] : ["--pythonpath", withFrameworks];
  const frameworks = ["django", "fastapi", "flask"].map((name) => `${name}.py`);
  const files = [...new Bun.Glob("*.py").scanSync(join(PYTHON, "inkling"))]
    .filter((name) => python.length > 0 || !frameworks.includes(name))
    .map((name) => join("inkling", name));
  expect(await run([join(PYTHON, "../../node_modules/.bin/pyright"), ...python, ...files], PYTHON)).toContain(
    "0 errors, 0 warnings",
  );
  tried(import.meta.path, "pyright", "pyright", "the types of the Python client");
});

withPrograms("has complete types, by mypy --strict", ["mypy"], true, async () => {
  await run(["mypy", "--cache-dir", join(temporaryFolder(), "mypy"), "inkling"], PYTHON);
  tried(import.meta.path, "mypy", ["mypy", "--version"], "the types of the Python client, with --strict");
});

withPrograms("the pages' examples have complete types, by mypy --strict", ["mypy"], true, async () => {
  const folder = temporaryFolder();
  const files = new Map(
    [...README.matchAll(/^```python\n([\s\S]*?)^```$/gm)].map(([, code], index) => {
      const name = /^# (\S+\.py)\n/.exec(code!)?.[1] ?? `example_${index}.py`;
      return [name, code!] as const;
    }),
  );
  for (const name of ["captcha-python", "login-python", "outages"])
    for (const section of page(name).split(/^## /m))
      for (const [file, code] of namedBlocks(section, "python"))
        files.set(files.has(file) ? file.replace(".py", "_again.py") : file, code);
  for (const name of ["accounts", "shop"]) {
    mkdirSync(join(folder, name));
    files.set(`${name}/__init__.py`, "");
  }
  // The page excepts the tests, and Django's settings are lines of another file.
  const isTyped = ([name]: readonly [string, string]) =>
    !/(?:^|\/)tests?[_.]|settings(?:_again)?\.py$/.test(name);
  const typed = [...files].filter(isTyped);
  for (const [name, code] of typed) writeFileSync(join(folder, name), code);
  // Django has no types of its own.
  const django = "disallow_untyped_decorators = False\ndisallow_subclassing_any = False\n";
  const frameworks = "[mypy-django.*,fastapi.*,flask.*]\nignore_missing_imports = True\n";
  writeFileSync(join(folder, "mypy.ini"), `[mypy]\nstrict = True\n${django}${frameworks}`);
  const printed = await run(["env", `MYPYPATH=${PYTHON}`, "mypy", "--cache-dir", "cache", "."], folder);
  expect(printed).toContain(`no issues found in ${typed.length} source files`);
});

withPrograms("the README's examples run", ["python3"], true, async () => {
  const { server, origin, keys } = await startSmallServer();
  try {
    const examples = [...README.matchAll(/^```python\n([\s\S]*?)^```$/gm)].map(([, code]) => code!);
    const [first, lookups] = examples;
    const exampleWith = (text: string) => examples.find((code) => code.includes(text))!;
    const decisions = exampleWith("import Inkling, Unavailable, visitor_address");
    const concurrent = exampleWith("asyncio.gather");
    const folder = temporaryFolder();
    const environment = [`SERVER=${origin}`, `KEY=${keys.test}`, `PYTHONPATH=${PYTHON}`];
    const python = (...args: string[]) => run(["env", ...environment, "python3", "-B", ...args], folder);

    const onServer = (code: string) =>
      code.replace("http://127.0.0.1:8080", origin).replace("ink_live_…", keys.test);
    const plain = onServer(first!)
      .replace("185.220.101.1", "192.0.2.6")
      .replace("mailinator.com", "disposable.example");
    expect(await python("-c", plain)).toBe("True\nTrue\n");
    expect(await python("-c", onServer(exampleWith("in SERVER_CODES")))).toStartWith("IP_ADDRESS_RESERVED ");
    await python("-c", exampleWith("fake.outcome("));
    const fake = "from inkling.testing import FakeInkling\nfake = FakeInkling()";
    const labels = [
      'print(charge_back(fake, "asm_" + "0" * 16), charge_back(fake, "asm_1"))',
      'fake.server.fail("DECISIONS_UNREACHABLE")',
      'print(charge_back(fake, "asm_1"))',
    ];
    expect(await python("-c", [exampleWith("def charge_back"), fake, ...labels].join("\n"))).toBe(
      "labelled unknown\nlater\n",
    );

    const sandboxed = onServer(lookups!)
      .replaceAll("81.2.69.142", "192.0.2.6")
      .replace("someone@mailinator.com", "jane@mx-disposable.example");
    const checks = [
      'assert location.country.iso_code == "GB"',
      "assert reputation.is_tor_exit and reputation.evidence[0].feed and reputation.json",
      'assert (email.disposable, email.checks.mx) == (True, "found")',
    ];
    writeFileSync(join(folder, "lookups.py"), [sandboxed, ...checks].join("\n"));
    writeFileSync(join(folder, "visitors.txt"), "192.0.2.4\nnonsense\n10.0.0.1\n192.0.2.7\n");
    const printed = (await python("lookups.py")).trim().split("\n");
    expect(printed).toEqual(expect.arrayContaining(["IP_ADDRESS_INVALID", "IP_ADDRESS_RESERVED"]));
    const calls = [
      ["192.0.2.1", "a@example.com"],
      ["192.0.2.6", "a@example.com"],
      ["203.0.113.16", "a@example.com"],
      ["192.0.2.1", "a@mistyped.example"],
      ["192.0.2.1", "a@invalid.example"],
      ["192.0.2.1", "a@disposable.example"],
    ].map(
      ([ip, email]) =>
        `print(sign_up({"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": "${ip}"}, {"email": "${email}"}))`,
    );
    const decided = onServer(decisions).replace(
      ', on_unavailable="allow"',
      ', on_unavailable="allow", retries=0',
    );
    writeFileSync(join(folder, "decisions.py"), [decided, ...calls].join("\n"));
    expect((await python("decisions.py")).trim().split("\n")).toEqual([
      "welcome",
      "confirm",
      "confirm",
      "Did you mean a@example.com?",
      "Please check the email address.",
      "refused",
    ]);
    expect(printed.some((line) => line.startsWith("192.0.2."))).toBe(true);

    const awaited = [
      'is_disposable("jane@disposable.example")',
      'where_and_what("192.0.2.5")',
      'abusers(["192.0.2.1", "192.0.2.4"])',
    ];
    const prints = awaited.map((call) => `print(asyncio.run(${call}))`);
    writeFileSync(join(folder, "awaited.py"), [onServer(concurrent), ...prints].join("\n"));
    expect(await python("awaited.py")).toBe("True\n('GB', True)\n['192.0.2.4']\n");
  } finally {
    await server.stop();
  }
});
