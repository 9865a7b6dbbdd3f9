// looks.test.ts: tests the appearance of every page of the console in every state, in light and dark, on a desktop and
// on a phone.
//
// Each page is visited once per device. A finding from axe, or content wider than the window, is a failure.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { STARTER_RULESET } from "@inkling/contract";
import type { Page } from "playwright-core";
import { launchBrowser } from "../harness/browser.ts";
import { fetch } from "../harness/checked-fetch.ts";
import { smallDomain, smallRelease, temporaryFolder } from "../harness/release.ts";
import {
  ALL_FEEDS,
  CALIBRATION,
  DECISION_COUNTS,
  DECISIONS,
  HOSTS,
  HOUR,
  LARGE_NUMBERS,
  MONTH,
  NO_TRAFFIC,
  REPLAY,
  RULE_HITS,
  TOR_EXIT,
  TROUBLE,
  TROUBLED_FEEDS,
  UNUSED_FEEDS,
} from "./answers.ts";
import {
  ConsoleBrowser,
  type ConsoleServer,
  confirm,
  DEVICES,
  expectGoodLooks,
  startConsole,
  writeRuleset,
} from "./console-server.ts";

let server: ConsoleServer;
let tabs: ConsoleBrowser;

beforeAll(async () => {
  const dataDir = temporaryFolder();
  for (const n of [1, 2]) smallRelease(dataDir, n);
  smallRelease(dataDir, 3, [], ALL_FEEDS, true);
  server = await startConsole(dataDir);
  tabs = new ConsoleBrowser(await launchBrowser(), server);
});
afterAll(async () => {
  await tabs?.browser.close();
  await server?.stop();
});

/** Finds boxes whose content has to be scrolled. Runs in the page. */
const widerInside = (boxes: unknown[]) =>
  (boxes as { scrollWidth: number; clientWidth: number; textContent: string }[])
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
    .map(({ scrollWidth, clientWidth, textContent }) => [scrollWidth, clientWidth, textContent.slice(0, 60)]);

interface Label {
  readonly textContent: string;
  readonly ownerSVGElement: Label;
  getBoundingClientRect(): { left: number; right: number; top: number; bottom: number };
}
/** Finds chart labels that are not completely inside. Runs in the page. */
const outsideChart = (labels: unknown[]) =>
  (labels as Label[])
    .filter((label) => {
      const [text, chart] = [label.getBoundingClientRect(), label.ownerSVGElement.getBoundingClientRect()];
      const isInside = text.left >= chart.left && text.right <= chart.right;
      return !isInside || text.top < chart.top || text.bottom > chart.bottom;
    })
    .map(({ textContent }) => textContent);

const answer = (page: Page, path: string, json: unknown) =>
  page.route(`**/admin/v1/${path}`, (route) => route.fulfill({ json }));

describe.each(DEVICES)("on a $device", ({ device, viewport }) => {
  let page: Page;
  const look = (name: string) => expectGoodLooks(page, name, device);
  const opened = new Set<string>();
  const go = (hash: string) => {
    opened.add(hash.split(/[/?]/)[0]!);
    return tabs.go(page, hash);
  };
  const click = (name: string | RegExp) => page.getByRole("button", { name }).first().click();

  beforeAll(async () => {
    // The test injects axe into the page, which the page's own policy forbids.
    page = await tabs.open({ viewport, bypassCSP: true });
  });
  afterAll(() => page.context().close());

  test("login, start, examples", async () => {
    await page.getByLabel("Admin token").waitFor();
    await look("login");
    await tabs.logIn(page);
    await page.route("**/admin/v1/data", async (route) => {
      await route.fulfill({ json: { ...(await (await route.fetch()).json()), ...TROUBLE } });
    });
    await answer(page, "data/feeds", { feeds: TROUBLED_FEEDS, unused: UNUSED_FEEDS });
    await answer(page, "hosts", HOSTS);
    await answer(page, "traffic**", HOUR);
    await page.reload();
    await page.getByText("What needs you").waitFor();
    await page.locator(".chart").waitFor();
    await look("start");
    await page.unrouteAll();
    await go("lookup");
    await page.getByText("Examples").waitFor();
    await look("examples");
  });

  test("lookups", async () => {
    await go("lookup/jane@gmial.com");
    await page.getByText("did they mean").first().waitFor();
    await look("email");
    await go("lookup/81.2.64.0%2F18");
    await page.getByText("Parts with a single answer").waitFor();
    await look("network");
    await go("lookup/AS20712");
    await page.getByText("Parts over IPv4 with a single answer").waitFor();
    await look("as");
    await go(
      `lookup/81.2.69.142%208.8.8.8%20someone@${smallDomain(3)}%2010.0.0.1%20${smallDomain(3)}%2081.2.0.0%2F16`,
    );
    await page.getByRole("table").waitFor();
    await look("list");
    await page.getByLabel("Select all shown").check();
    await click(/^Override \d selected/);
    await page.getByRole("dialog").waitFor();
    await look("override-many");
    await click("Cancel");
    await answer(page, "lookup", TOR_EXIT);
    await go("lookup/185.220.101.1");
    await page.locator(".zoom svg").waitFor();
    await click("Zoom in");
    await look("address");
    await click("Set Abuser for 185.220.101.1");
    await page.getByLabel("Reason").waitFor();
    await look("override-dialog");
    await click("Cancel");
    await page.unroute("**/admin/v1/lookup");
  });

  test("assess", async () => {
    await go("assess");
    await page.getByLabel("Event").waitFor();
    await look("assess");
    await page.getByLabel("IP address").fill("81.2.69.142");
    await page.getByLabel("Email address").fill(`info@${smallDomain(3)}`);
    await page.getByLabel("Expected country").fill("FR");
    await click("Assess");
    await page.getByText("Evidence about the email address").waitFor();
    await page.getByText(/^\d+ other facts$/).click();
    await look("assessed");
  });

  test("rules", async () => {
    await answer(page, "decisions/calibration**", RULE_HITS);
    await go("rules");
    const live = STARTER_RULESET.replace('mode = "shadow"', 'mode = "live"').replace(
      "3 * history",
      "3.0 + history",
    );
    await page.getByText("5 of 5 examples pass").waitFor();
    await look("rules");
    if (device === "desk") {
      await click("Publish this ruleset");
      await page.getByRole("dialog").getByText("No decisions are stored").waitFor();
      await look("rules-publish");
      await page.getByRole("dialog").getByRole("button", { name: "Publish" }).click();
    }
    await page.getByRole("table", { name: "History" }).waitFor();
    await writeRuleset(page, live);
    await page.getByText("4 of 5 examples pass").waitFor();
    await look("rules-changed");
    await click("Add a rule");
    for (const name of ["Add a condition", "Add a condition", "or … in condition 2"]) await click(name);
    await page.getByLabel("Fact", { exact: true }).last().selectOption("ip.country");
    await page.getByLabel("Operator").last().selectOption({ label: "is none of" });
    await click("Add a value");
    await look("rules-builder");
    await page.getByLabel("Rule", { exact: true }).selectOption({ index: 4 });
    await page.getByText("The builder cannot show this rule").waitFor();
    await look("rules-beyond");
    await writeRuleset(page, `${live.replaceAll("ip.kind ==", "ip.knd ==")}[[rule]]`);
    await page.getByText(/\d mistakes?$/).waitFor();
    await look("rules-mistakes");
    await answer(page, "rulesets/replay", REPLAY);
    await click("Replay the draft");
    await page.getByText("1,234 of 100,000 decisions would change").waitFor();
    for (const examples of await page.locator("details > summary", { hasText: "3" }).all())
      await examples.click();
    await look("rules-replayed");
    await page.unrouteAll();
    await go("rules/1");
    await page.getByRole("region", { name: "Changes in ruleset 1" }).waitFor();
    await look("ruleset");
  });

  test("decisions", async () => {
    await answer(page, "decisions/counts", DECISION_COUNTS);
    await answer(page, "decisions?**", DECISIONS);
    await answer(page, "decisions/asm_*", DECISIONS.decisions[0]);
    await go("decisions");
    await page.getByRole("table", { name: "Decisions" }).waitFor();
    await look("decisions");
    await page.getByLabel("Select all shown").check();
    await click("Label 4 selected");
    await page.getByRole("dialog").waitFor();
    await look("label-many");
    await click("Cancel");
    await page.locator("tbody a").first().click();
    await page.getByRole("heading", { name: "Facts" }).waitFor();
    await look("decision");
    await answer(page, "decisions/outcomes", {
      labelled: 1,
      problems: [
        { line: 2, problem: "wrong", message: `outcome: must be one of legitimate, fraud ${"x".repeat(90)}` },
        { line: 3, problem: "already_labelled", message: "already labelled fraud" },
      ],
    });
    await go("decisions");
    const file = { name: "o.csv", mimeType: "text/csv", buffer: Buffer.from("a,fraud\nb,c\na,fraud") };
    await page.getByLabel("File", { exact: true }).setInputFiles(file);
    await click("Import");
    await page.getByText("Read 3 of 3 lines.").waitFor();
    await look("decisions-imported");
    await page.unrouteAll();
  });

  test("review, calibration", async () => {
    await answer(page, "decisions/review**", { decisions: DECISIONS.decisions, waiting: 1_000 });
    await go("review");
    await page.getByText("Decision 1 of 1,000.").waitFor();
    await look("review");
    await answer(page, "decisions/calibration", CALIBRATION);
    await answer(page, "rulesets/suggested", { current: 0, weights: [{}], text: "[weights]\nproxy = 0.4\n" });
    await go("calibration");
    await click("Apply the suggested weights");
    await page.getByText("+proxy = 0.4").waitFor();
    await look("calibration");
    await page.unrouteAll();
  });

  test("data", async () => {
    await go("data");
    await click(/^Show changes in/);
    await page.getByText(/Abuser: IPv4 addresses 256 added/).waitFor();
    await look("data");
    await click(/^Show all \d+: Feeds/);
    expect(await page.locator("table").first().locator("tbody tr").count()).toBe(ALL_FEEDS.length);
    await page.getByLabel("Search", { exact: true }).fill("ipsum");
    await page.getByRole("link", { name: "ipsum-3", exact: true }).click();
    await page.getByRole("heading", { name: "What this feed claims about a value" }).waitFor();
    await page.getByLabel("Value").fill("nonsense");
    await click("Look up");
    await page.getByText("nonsense cannot be looked up.").waitFor();
    await page.getByLabel("Value").fill("8.8.8.8");
    await click("Look up");
    await page.getByText("ipsum-3 is not in the evidence about 8.8.8.8.").waitFor();
    await answer(page, "lookup", TOR_EXIT);
    await page.getByLabel("Value").fill("185.220.101.1");
    await click("Look up");
    const claims = page.getByRole("table", { name: "Claims of ipsum-3 about 185.220.101.1" });
    await claims.waitFor();
    expect((await claims.getByRole("row").allInnerTexts()).at(-1)).toMatch(
      /185\.220\.101\.1[\s\S]*label only[\s\S]*traffic of a Tor exit's users/,
    );
    await page.unroute("**/admin/v1/lookup");
    await look("feed");
    await go("data");
    await click("Roll back");
    await page.getByRole("dialog").waitFor();
    await look("dialog");
    await click("Cancel");
  });

  test("data, with every problem", async () => {
    await page.route("**/admin/v1/data", async (route) => {
      await route.fulfill({ json: { ...(await (await route.fetch()).json()), ...TROUBLE } });
    });
    await answer(page, "data/feeds", { feeds: TROUBLED_FEEDS, unused: UNUSED_FEEDS });
    await answer(page, "data/update", TROUBLE.update);
    await go("keys");
    await go("data");
    await page.getByText("An update is running").waitFor();
    await page.getByRole("progressbar", { name: "Update" }).waitFor();
    expect(await page.getByRole("button", { name: "Update now" }).isDisabled()).toBe(true);
    const away = page.locator("small.bad", { hasText: "could not be reached" });
    expect(await away.innerText()).toStartWith(
      "publisher: lists.with-a-very-long-name.example/… could not be reached: host not found;",
    );
    expect(await away.getAttribute("title")).toContain("parts?and=a,query");
    expect(await page.getByText("<img src=x").count()).toBe(1); // text, not an element
    await page.getByText("2 feeds: publisher: … could not be reached: host not found").click();
    await page.getByRole("link", { name: "second-of-two" }).first().waitFor();
    expect(await page.getByText("see above").count()).toBe(2);
    await page.getByLabel("Show", { exact: true }).selectOption("missing");
    expect(await page.locator("table").first().locator("tbody tr").count()).toBe(1);
    expect(await page.locator("table .badge").first().getAttribute("class")).toBe("badge bad");
    await page.getByLabel("Show", { exact: true }).selectOption("");
    expect(await page.locator(".scroll").evaluateAll(widerInside)).toEqual([]);
    await look("data-troubled");
    await page.unrouteAll();
  });

  test("keys", async () => {
    await go("keys");
    await page.getByLabel("Name").fill(`checkout, ${device}`);
    await click("Create key");
    const token = await page.locator("code.token").innerText();
    const url = `${server.api}/v1/ip-intel/geolocate/81.2.69.142`;
    await (await fetch(url, { headers: { Authorization: `Bearer ${token}` } })).text();
    await page.getByRole("table").waitFor();
    await look("keys");
    await answer(page, "**/usage", MONTH);
    await page.getByRole("link", { name: "Open this key" }).click();
    await page.locator(".chart").first().waitFor();
    const fills = await page.evaluate<string[]>(
      '[...document.querySelectorAll(".chart > svg rect")].map((one) => getComputedStyle(one).fill)',
    );
    expect(new Set(fills).size).toBe(5);
    expect(fills).not.toContain("rgb(0, 0, 0)"); // the fill of a colour that is not defined
    await look("key");
    await page.unrouteAll();
  });

  test("traffic", async () => {
    await answer(page, "traffic**", HOUR);
    await go("traffic");
    await page.locator(".zoom svg").waitFor();
    await look("traffic");
    await page.unrouteAll();
    await answer(page, "traffic**", LARGE_NUMBERS);
    await page.getByLabel("Period").selectOption("1");
    await page.getByText("over 5 s").first().waitFor();
    await page
      .locator(".chart circle")
      .getByText(/p99 over 5 s$/)
      .first()
      .waitFor({ state: "attached" });
    const labels = page.locator(".chart > svg text");
    expect(await labels.count()).toBeGreaterThan(20);
    expect(await labels.evaluateAll(outsideChart)).toEqual([]);
    await page.unrouteAll();
  });

  test("hosts", async () => {
    await answer(page, "hosts", HOSTS);
    await go("hosts");
    await page.getByText("web-1:8080").waitFor();
    await look("hosts");
    await page.unrouteAll();
  });

  test("overrides", async () => {
    await go("overrides");
    await page.getByLabel(/^Address/).fill("192.88.10.0/24");
    await page.getByLabel("Reason").fill("a partner's network, until the end of the year");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("button", { name: /^Remove the override/ }).waitFor();
    if (device === "phone") await page.getByText("Filters", { exact: true }).click();
    await page.getByLabel("Also show removed").check();
    await page.getByRole("table", { name: "Overrides" }).waitFor();
    await look("overrides");
    await confirm(page, /^Remove the override/, "Remove");
    await page.getByLabel("Also show removed").uncheck();
    await page.getByText("No overrides").waitFor();
  });

  test("audit", async () => {
    await go("audit");
    await page.getByRole("table").waitFor();
    await page.getByText("before, after").first().click();
    await look("audit");
    if (device === "phone") await page.getByText("Filters", { exact: true }).click();
    await page.getByLabel("Source").selectOption("file");
    await page.getByText("Nothing matches.").waitFor();
    await look("audit-filtered");
  });

  test("the other pages of the navigation", async () => {
    const links = await page.locator("nav a").all(); // on a phone, the menu hides them
    const hashes = await Promise.all(links.map((link) => link.getAttribute("href")));
    const others = hashes.map((hash) => hash!.slice("#/".length)).filter((id) => !opened.has(id));
    expect(others).toContain("webhooks");
    for (const id of others) {
      await go(id);
      await page.locator("main .card").first().waitFor();
      await page.locator("main .loading").waitFor({ state: "detached" });
      await look(id);
    }
  });

  test("loading, and a server that does not answer", async () => {
    await page.route("**/admin/v1/data/feeds", () => {}); // no answer yet
    await page.goto(`${server.origin}/#/data`);
    await page.reload(); // forgets what the frame has loaded
    await page.locator("main .loading").waitFor();
    await look("loading");
    await page.route("**/admin/v1/keys**", (route) => route.abort());
    await page.goto(`${server.origin}/#/keys`);
    await page.getByRole("alert").waitFor();
    await look("error");
    await page.unrouteAll();
  });
});

describe("without data", () => {
  let empty: ConsoleServer;
  beforeAll(async () => {
    empty = await startConsole(temporaryFolder());
  });
  afterAll(() => empty?.stop());

  const EMPTY: readonly [name: string, hash: string, text: string][] = [
    ["start", "start", "Lookups return 503 until there is a release. Start an update."],
    ["assess", "assess", "Nothing is stored, logged or counted."],
    ["rules", "rules", "No ruleset yet, so the score decides."],
    ["decisions", "decisions", "This server does not store decisions"],
    ["review", "review", "No decisions are waiting for review."],
    ["calibration", "calibration", "The newest ruleset has no rules."],
    ["data", "data", "No release yet"],
    ["keys", "keys", "No keys yet"],
    ["traffic", "traffic", "No data yet. The first minute since the start has not passed."],
    ["overrides", "overrides", "No overrides. Only feeds decide."],
    ["audit", "audit", "before, after"],
    ["address", "lookup/81.2.69.142", "The server has no data release that it can use."],
    ["list", "lookup/81.2.69.142%20someone@mailinator.com", "no data release"],
  ];
  test.each(DEVICES)("every page shows what is missing on a $device", async ({ device, viewport }) => {
    const own = new ConsoleBrowser(tabs.browser, empty);
    const page = await own.logIn(await own.open({ viewport, bypassCSP: true }));
    await answer(page, "traffic**", NO_TRAFFIC);
    for (const [name, hash, text] of EMPTY) {
      await own.go(page, hash);
      await page.locator("main").getByText(text).first().waitFor();
      await expectGoodLooks(page, `${name}-empty`, device);
    }
    await page.context().close();
    expect(own.faults).toEqual([]);
  });
});

test("no script failed, and no other host was requested", () => expect(tabs.faults).toEqual([]));
