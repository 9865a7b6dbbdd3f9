// audit.test.ts: tests that every command and every admin operation either only reads, or leaves exactly one entry in
// the audit trail. The entry has who made the change, through which interface, and the values before and after. A new
// command or operation that is in neither list makes the first tests fail.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { copyName } from "@inkling/contract";
import { currentName, pin, releaseNames } from "@inkling/data";
import type { Command } from "commander";
import { userName } from "../packages/cli/src/config/environment.ts";
import { runHere } from "../packages/cli/src/program.testing.ts";
import { makeProgram } from "../packages/cli/src/program.ts";
import { makeStyle } from "../packages/cli/src/terminal/terminal.ts";
import { FEEDS } from "../packages/compiler/src/catalog/feeds.ts";
import { RESOURCES } from "../packages/operations/src/index.ts";
import { ADMIN_ROUTES } from "../packages/server/src/admin/routes.ts";
import { type AuditEntry, auditJson } from "../packages/store/src/audit.ts";
import { parseNewKey } from "../packages/store/src/keys/key-input.ts";
import { openStore, type Store } from "../packages/store/src/store.ts";
import { type AdminTest, adminServer, closeAdminServers } from "./harness/admin-server.ts";
import { fetch } from "./harness/checked-fetch.ts";
import { decisionId, decisionRow } from "./harness/decision-rows.ts";
import { makeMirror } from "./harness/made-mirror.ts";
import { freePort } from "./harness/ports.ts";
import { smallRelease, temporaryFolder } from "./harness/release.ts";
import { testSettings } from "./harness/server-options.ts";

afterAll(closeAdminServers);

const ADA = { author: "ada", source: "cli" } as const;
const FLAG = { flag: "is_tor_exit", verdict: false, note: "our office" } as const;
const NOW = Date.now();
/** The audit trail stores no `ref`. */
const DELETED = {
  action: "decisions-deleted",
  subject: "decisions",
  before: null,
  after: { by: "ref", deleted: 1 },
} as const;
const OUTCOMES_IMPORTED = {
  action: "decisions-labelled",
  subject: "decisions",
  before: null,
  after: { fraud: 1 },
} as const;
const LABELLED = {
  action: "decision-labelled",
  subject: decisionId(1),
  before: { outcome: null },
  after: { outcome: "fraud" },
} as const;
const FEED = "disposable-email-domains";
const FACTS = {
  id: FEED,
  title: FEED,
  homepage: "https://lists.example",
  cadence_hours: 24,
  stale_hours: 48,
  weight: null,
  sets: "disposable",
  licence: "CC0-1.0",
  attribution: null,
  on: true,
  on_by_default: true,
  own: false,
  why_off: null,
  terms: null,
  needs_agreement: false,
  needs: [],
  not_set: [],
};

/** The parts of an entry other than who, when and by which interface. */
interface Expected {
  readonly action: string;
  readonly subject: unknown;
  readonly before: unknown;
  readonly after: unknown;
}

/** A host with its own data folder and database. */
class Host {
  readonly dataDir = join(temporaryFolder(), "data");
  readonly env: Record<string, string> = { INKLING_DATA_DIR: this.dataDir };

  constructor() {
    mkdirSync(this.dataDir);
    // With a single feed, builds take milliseconds.
    const disabled = FEEDS.filter(({ id, optIn }) => optIn === undefined && id !== FEED).map(({ id }) => id);
    writeFileSync(this.path("feeds.json"), JSON.stringify({ enabled: [], disabled }));
  }

  path(name: string): string {
    return join(this.dataDir, name);
  }

  run(...args: string[]) {
    return runHere(args, { env: this.env, cwd: this.dataDir });
  }

  async withStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const store = await openStore(`sqlite://${this.path("inkling.db")}`);
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  }

  /** Returns the trail, oldest entry first. */
  trail(): Promise<AuditEntry[]> {
    return this.withStore(async ({ audit }) => (await audit.list({ limit: 100 })).items.toReversed());
  }

  releases(): [current: string, before: string] {
    for (const n of [1, 2]) smallRelease(this.dataDir, n);
    const [current, before] = releaseNames(this.dataDir);
    return [current!, before!];
  }

  makeKey() {
    return this.withStore(async (store) => {
      const { key } = await store.createKey(parseNewKey({ name: "shop" }, Date.now()), undefined, ADA);
      return key.id;
    });
  }

  async addOverride(): Promise<string> {
    const args = ["overrides", "add", "81.2.69.142", "--flag", "is_tor_exit=false", "--note", "x", "--json"];
    return JSON.parse((await this.run(...args)).out).id;
  }

  async makeChannel(): Promise<[current: string, before: string]> {
    this.env.INKLING_CHANNEL = join(this.dataDir, "channel");
    this.env.INKLING_CHANNEL_SIGNING_KEY = this.path("channel-key.pem");
    expect((await this.run("channel", "init")).code).toBe(0);
    return this.releases();
  }

  mirror(): string {
    makeMirror(join(this.dataDir, "mirror"));
    return join(this.dataDir, "mirror");
  }
}

/**
 * Prepares a host.
 * @returns the command line and its expected entry
 */
type Case = (host: Host) => Promise<readonly [args: readonly string[], expected: Expected]>;

const here = (after: object) => ({ ...after, host: hostname() });
const HOOK = { url: "https://example.com/hook", events: ["data.stale"] } as const;
const webhookWith = (fields: object) => expect.objectContaining({ ...HOOK, ...fields });
const addWebhook = async ({ webhooks }: Store) =>
  (await webhooks.add({ ...HOOK, allowPrivate: false }, ADA)).webhook.id;
const bobsToken = expect.objectContaining({ name: "bob", role: "read", state: "active" });
const addBobsToken = ({ adminToken }: Store) =>
  adminToken.add({ name: "bob", role: "read", expiresAt: undefined }, ADA);
const addDisabledWebhook = async (store: Store) => {
  const id = await addWebhook(store);
  await store.webhooks.disable(id);
  return id;
};
const enabled = (id: string) => {
  const [before, after] = [expect.any(String), null].map((disabled_at) => webhookWith({ disabled_at }));
  return { action: "webhook-enabled", subject: id, before, after };
};
const keyWith = (fields: object) => expect.objectContaining({ name: "shop", ...fields });

/**
 * Commands that change something and are tested here, each with at least one command line: those without a row, those
 * that prepare their input, and one of the others.
 */
const AUDITED: Readonly<Record<string, readonly Case[]>> = {
  "keys create": [
    async () => [
      ["keys", "create", "--name", "shop", "--rate", "5"],
      {
        action: "key-created",
        subject: expect.stringMatching(/^key_/),
        before: null,
        after: keyWith({ rate: 5 }),
      },
    ],
  ],
  "admin-tokens rotate": [
    async (host) => {
      await host.withStore((store) => store.adminToken.create(ADA));
      const token = { created_at: expect.any(String) };
      const subject = "admin token";
      return [
        ["admin-tokens", "rotate"],
        { action: "admin-token-created", subject, before: token, after: token },
      ];
    },
  ],
  "rules publish": [
    async (host) => {
      writeFileSync(host.path("rules.toml"), "[weights]\nproxy = 0.5\n");
      return [
        ["rules", "publish", host.path("rules.toml"), "--note", "strict", "--yes"],
        {
          action: "ruleset-published",
          subject: "ruleset 1",
          before: null,
          after: expect.objectContaining({ number: 1, note: "strict" }),
        },
      ];
    },
  ],
  "decisions import-outcomes": [
    async (host) => {
      await host.withStore(({ decisions }) => decisions.add([decisionRow(1, NOW - 1, { ref: "user-81" })]));
      writeFileSync(host.path("outcomes.csv"), "ref,outcome,at\nuser-81,fraud,\nuser-82,fraud,\n");
      return [["decisions", "import-outcomes", host.path("outcomes.csv")], OUTCOMES_IMPORTED];
    },
  ],
  "rules calibrate": [
    async (host) => {
      await host.withStore(async ({ decisions }) => {
        await decisions.add(Array.from({ length: 20 }, (_, n) => decisionRow(n, NOW)));
        for (let n = 0; n < 20; n++) await decisions.label(decisionId(n), "fraud");
      });
      const after = expect.objectContaining({ number: 1, note: "weights that outcomes suggest" });
      return [
        ["rules", "calibrate", "--yes"],
        { action: "ruleset-published", subject: "ruleset 1", before: null, after },
      ];
    },
  ],
  "rules rollback": [
    async (host) => {
      const texts = ["", "[weights]"];
      await host.withStore(async ({ rulesets }) => {
        for (const text of texts) await rulesets.publish({ text, note: "" }, ADA);
      });
      const [before, after] = [2, 3].map((number) => expect.objectContaining({ number }));
      return [
        ["rules", "rollback", "--yes"],
        { action: "ruleset-rolled-back", subject: "ruleset 3", before, after },
      ];
    },
  ],
  "overrides add": [
    async () => [
      ["overrides", "add", "81.2.69.142", "--flag", "is_tor_exit=false", "--note", "our office"],
      {
        action: "override-added",
        subject: expect.stringMatching(/^ovr_/),
        before: null,
        after: expect.objectContaining(FLAG),
      },
    ],
    async (host) => {
      const subject = await host.addOverride();
      const [before, after] = ["x", "new"].map((note) => expect.objectContaining({ note }));
      return [
        ["overrides", "add", "81.2.69.142", "--flag", "is_tor_exit=false", "--note", "new"],
        { action: "override-changed", subject, before, after },
      ];
    },
  ],
  "overrides remove": [
    async (host) => {
      const id = await host.addOverride();
      const [before, after] = [null, expect.any(String)].map((removed_at) =>
        expect.objectContaining({ removed_at }),
      );
      return [["overrides", "remove", id], { action: "override-removed", subject: id, before, after }];
    },
  ],
  "overrides import": [
    async (host) => {
      const overrides = [{ value: "81.2.69.142", ...FLAG }];
      const file = { format: "inkling-overrides", version: 1, overrides };
      writeFileSync(host.path("overrides-to-import.json"), JSON.stringify(file));
      return [
        ["overrides", "import", host.path("overrides-to-import.json")],
        {
          action: "override-added",
          subject: expect.stringMatching(/^ovr_/),
          before: null,
          after: expect.objectContaining(FLAG),
        },
      ];
    },
  ],
  "feeds enable": [
    async () => [
      ["feeds", "enable", "dshield", "--yes"],
      { action: "feed-enabled", subject: "dshield", before: { on: false }, after: here({ on: true }) },
    ],
  ],
  "feeds disable": [
    async () => [
      ["feeds", "disable", FEED],
      { action: "feed-disabled", subject: FEED, before: { on: true }, after: here({ on: false }) },
    ],
  ],
  "feeds add": [
    async (host) => {
      writeFileSync(host.path("office.txt"), "91.9.0.0/24\n");
      const row = { id: "office", format: "networks", claims: "vpn", file: host.path("office.txt") };
      return [
        ["feeds", "add", "office", "--format", "networks", "--claims", "vpn", "--file", row.file],
        { action: "feed-added", subject: "office", before: null, after: here(row) },
      ];
    },
  ],
  "feeds remove": [
    async (host) => {
      const row = { id: "office", format: "networks", claims: "vpn", file: host.path("office.txt") };
      writeFileSync(host.path("feeds.json"), JSON.stringify({ added: [row] }));
      return [
        ["feeds", "remove", "office"],
        { action: "feed-removed", subject: "office", before: row, after: here({}) },
      ];
    },
  ],
  "data update": [
    async (host) => [
      ["data", "update", "--mirror", host.mirror()],
      {
        action: "data-update-asked",
        subject: "data",
        before: { current: null },
        after: here({ requested: "all feeds" }),
      },
    ],
    ...[FEED, "release"].map(
      (subject): Case =>
        async (host) => {
          const mirror = host.mirror();
          expect((await host.run("data", "update", "--mirror", mirror)).code).toBe(0);
          const path = host.path("feeds/report.json");
          const report = JSON.parse(readFileSync(path, "utf8"));
          const feed = report.feeds.find(({ id }: { id: string }) => id === FEED);
          feed.held = { sha256: "0".repeat(64), why: "too many" };
          writeFileSync(path, JSON.stringify(report));
          return [
            ["data", "update", "--mirror", mirror, "--accept", subject],
            {
              action: "data-accepted",
              subject,
              before: { current: currentName(host.dataDir), held: "too many" },
              after: here({ accepted: true }),
            },
          ];
        },
    ),
  ],
  "data rollback": [
    async (host) => {
      const [current, before] = host.releases();
      return [
        ["data", "rollback"],
        {
          action: "release-rolled-back",
          subject: "data",
          before: { current, pinned: null },
          after: here({ current: before, pinned: before }),
        },
      ];
    },
    async (host) => {
      const [current] = host.releases();
      return [
        ["data", "rollback", current],
        {
          action: "release-pinned",
          subject: "data",
          before: { current, pinned: null },
          after: here({ current, pinned: current }),
        },
      ];
    },
  ],
  "data unpin": [
    async (host) => {
      const [current, before] = host.releases();
      pin(host.dataDir, before);
      return [
        ["data", "unpin"],
        {
          action: "release-unpinned",
          subject: "data",
          before: { current: before, pinned: before },
          after: here({ current, pinned: null }),
        },
      ];
    },
  ],
  "channel publish": [
    async (host) => {
      const [current] = await host.makeChannel();
      return [
        ["channel", "publish"],
        {
          action: "channel-published",
          subject: "stable",
          before: null,
          after: here({ version: expect.any(Number), release: current }),
        },
      ];
    },
  ],
  "channel rollback": [
    async (host) => {
      const [current, before] = await host.makeChannel();
      for (const name of [before, current]) expect((await host.run("channel", "publish", name)).code).toBe(0);
      const of = (release: string) => ({ version: expect.any(Number), release });
      return [
        ["channel", "rollback"],
        { action: "channel-rolled-back", subject: "stable", before: of(current), after: here(of(before)) },
      ];
    },
  ],
  restore: [
    async () => {
      const other = new Host();
      await other.makeKey();
      expect((await other.run("backup", "saved.backup")).code).toBe(0);
      const rows = (n: number) => expect.objectContaining({ inkling_keys: n });
      return [
        ["restore", other.path("saved.backup"), "--force"],
        {
          action: "database-restored",
          subject: "database",
          before: { rows: rows(0) },
          after: expect.objectContaining({ rows: rows(1) }),
        },
      ];
    },
  ],
};

/** Commands that change something and are tested elsewhere. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  up: "below: the keys of a first start; settings as of serve",
  serve: "test/scenarios/server/running-settings.test.ts: settings at a start",
  build: "settings as of serve; what it publishes is no operator's change",
  "database copy": "test/scenarios/server/backup.test.ts: its entry is in the new database",
};

/** Commands that derive from a row. What the row changes is tested over the admin API, which runs the same function. */
const OF_ROWS = RESOURCES.flatMap(({ operations }) =>
  Object.values(operations).flatMap(({ command }) => command?.words ?? []),
);

/** Other commands that change nothing. */
const READS = [
  "assess",
  "backup",
  "channel init",
  "channel status",
  "completion",
  "config",
  "data diff",
  "data status",
  "data verify",
  "decisions export",
  "doctor",
  "enrich",
  ...["clickhouse", "csv", "haproxy", "ipset", "mmdb", "nftables", "nginx", "parquet"].map(
    (format) => `export ${format}`,
  ),
  "feeds check",
  "feeds export-mirror",
  "feeds list",
  "grep",
  "health",
  "lookup email",
  "lookup geolocate",
  "lookup reputation",
  "mcp", // what its tools change is an operation of the admin API
  "rules check",
  "rules diff",
  "rules init",
  "rules replay",
];

test("every command reads, or is one of those that leave an entry", async () => {
  const program = await makeProgram({
    terminal: { out: () => {}, err: () => {}, live: false, columns: 80, style: makeStyle(false) },
    env: {},
    cwd: "/",
    version: "0.0.0",
    stopper: { signal: new AbortController().signal, release: () => {} },
    ending: { exitCode: 0 },
  });
  const leaves = (command: Command, path: string): string[] =>
    command.commands.length === 0
      ? [path]
      : command.commands.flatMap((inner) => leaves(inner, `${path} ${inner.name()}`.trim()));
  const known = new Set([...OF_ROWS, ...READS, ...Object.keys(AUDITED), ...Object.keys(ELSEWHERE)]);
  expect(leaves(program, "").sort()).toEqual([...known].sort());
});

describe.each(Object.entries(AUDITED))("inkling %s", (_, cases) => {
  test.each(cases.map((prepare, i) => [i + 1, prepare] as const))(
    "leaves one entry (%i)",
    async (_, prepare) => {
      const host = new Host();
      const [args, expected] = await prepare(host);
      const known = new Set((await host.trail()).map(({ sequence }) => sequence));
      const ran = await host.run(...args);
      expect([ran.err, ran.code]).toEqual([ran.err, 0]);
      const trail = await host.trail();
      // After a restore, the trail is the backup's.
      const added = args[0] === "restore" ? trail.slice(-1) : trail.filter((it) => !known.has(it.sequence));
      expect(added.map(auditJson)).toEqual([
        {
          sequence: expect.any(Number),
          at: expect.any(String),
          author: userName(),
          source: "cli",
          ...expected,
        } as never,
      ]);
    },
  );
});

test("what is so already leaves no entry", async () => {
  const host = new Host();
  const [current] = host.releases();
  pin(host.dataDir, current);
  const id = await host.makeKey();
  const override = await host.addOverride();
  for (const line of [`keys revoke ${id}`, `overrides remove ${override}`])
    await host.run(...line.split(" "));
  const before = await host.trail();
  expect(before).toHaveLength(4);
  for (const line of [
    "feeds disable dshield",
    `feeds enable ${FEED}`,
    `data rollback ${current}`,
    `keys revoke ${id}`,
    `overrides remove ${override}`,
  ])
    expect([line, (await host.run(...line.split(" "))).code]).toEqual([line, 0]);
  expect(await host.trail()).toEqual(before);
});

test("the keys and the token of a first start have entries", async () => {
  const host = new Host();
  smallRelease(host.dataDir, 1);
  writeFileSync(
    host.path("feeds.json"),
    JSON.stringify({ enabled: [], disabled: FEEDS.filter(({ optIn }) => !optIn).map(({ id }) => id) }),
  );
  const stop = new AbortController();
  const [port, adminPort] = [await freePort(), await freePort()];
  const env = { ...host.env, INKLING_OFFLINE: "1", INKLING_WORKERS: "1" };
  const ports = ["--port", String(port), "--admin-port", String(adminPort)];
  const ran = runHere(["up", ...ports], { env, cwd: host.dataDir, signal: stop.signal });
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    await response?.arrayBuffer();
    if (response?.ok) break;
    await Bun.sleep(20);
  }
  stop.abort();
  await ran;
  expect((await host.trail()).map(({ author, source, action }) => `${author} ${source} ${action}`)).toEqual([
    "inkling up cli key-created",
    "inkling up cli key-created",
    "inkling up cli admin-token-created",
  ]);
});

describe("without a database that answers", () => {
  const UNREACHABLE = "postgres://inkling@127.0.0.1:9/inkling";

  test("nothing is changed", async () => {
    const host = new Host();
    const before = readFileSync(host.path("feeds.json"), "utf8");
    const ran = await runHere(["feeds", "disable", FEED], {
      env: { ...host.env, INKLING_DATABASE_URL: UNREACHABLE },
      cwd: host.dataDir,
    });
    expect([ran.code, readFileSync(host.path("feeds.json"), "utf8")]).toEqual([1, before]);
    expect(ran.err).toMatch(/^inkling: postgres:\/\/inkling@/m);
  });
});

test("inkling audit: filters, JSON, wrong values", async () => {
  const host = new Host();
  const id = await host.makeKey();
  await host.run("feeds", "disable", FEED);
  const actions = async (...args: string[]) =>
    JSON.parse((await host.run("audit", "--json", ...args)).out).map(
      ({ action }: { action: string }) => action,
    );
  expect(await actions()).toEqual(["feed-disabled", "key-created"]);
  expect(await actions("--author", "ada")).toEqual(["key-created"]);
  expect(await actions("--subject", id)).toEqual(["key-created"]);
  expect(await actions("--action", "feed-disabled")).toEqual(["feed-disabled"]);
  expect(await actions("--source", "cli", "--since", "1h")).toEqual(["feed-disabled", "key-created"]);
  expect(await actions("--since", "2999-01-01")).toEqual([]);
  expect(await actions("--limit", "1")).toEqual(["feed-disabled"]);
  await host.run("keys", "update", id, "--rate", "5", "--networks", "192.0.2.0/24");
  const changed = 'shop networks=["192.0.2.0/24"] (was []) rate=5 (was null)\n';
  expect((await host.run("audit", "--limit", "1")).out).toEndWith(changed);
  expect((await host.run("audit", "--source", "api")).err).toBe("No change matches.\n");
  for (const [flag, value] of [
    ["--source", "phone"],
    ["--action", "deleted"],
    ["--since", "yesterday"],
    ["--limit", "0"],
  ] as const) {
    expect([flag, (await host.run("audit", flag, value)).code]).toEqual([flag, 2]);
  }
});

describe("the admin API", () => {
  /** A request and its expected entry. */
  type Request = readonly [path: string, body: unknown, expected: Expected];
  type Prepare = (it: AdminTest & { readonly host: Host }) => Promise<Request>;

  const makeKey = async ({ store }: AdminTest) =>
    (await store.createKey(parseNewKey({ name: "shop" }, Date.now()), undefined, ADA)).key.id;
  const addOverride = async ({ ask }: AdminTest) =>
    (await ask("POST", "overrides", { value: "81.2.69.142", ...FLAG })).document.id as string;
  const OVERRIDE: Pick<Expected, "subject" | "before" | "after"> = {
    subject: expect.stringMatching(/^ovr_/),
    before: null,
    after: expect.objectContaining(FLAG),
  };

  const CHANGES: Readonly<Record<string, Prepare>> = {
    choose_feed: async () => [
      "data/feeds",
      { id: FACTS.id, on: false },
      { action: "feed-disabled", subject: FACTS.id, before: { on: true }, after: here({ on: false }) },
    ],
    update_now: async ({ host }) => {
      const current = currentName(host.dataDir);
      const after = here({ requested: "all feeds" });
      return [
        "data/update",
        undefined,
        { action: "data-update-asked", subject: "data", before: { current }, after },
      ];
    },
    accept_copies: async ({ host }) => {
      const current = currentName(host.dataDir);
      const about = { sets: "disposable", source: "none", state: "missing", entries: 0, licence: "x" };
      const held = { sha256: "0".repeat(64), why: "too many" };
      const report = { format: 1, at: new Date().toISOString(), feeds: [{ id: FEED, ...about, held }] };
      mkdirSync(host.path("feeds"), { recursive: true });
      writeFileSync(host.path("feeds/report.json"), JSON.stringify(report));
      return [
        "data/accept",
        { copies: [copyName(FEED, held.sha256)] },
        {
          action: "data-accepted",
          subject: FEED,
          before: { current, held: "too many" },
          after: here({ accepted: true }),
        },
      ];
    },
    roll_back: async ({ host }) => {
      const [current, to] = releaseNames(host.dataDir);
      return [
        "data/rollback",
        { current },
        {
          action: "release-rolled-back",
          subject: "data",
          before: { current, pinned: null },
          after: here({ current: to, pinned: to }),
        },
      ];
    },
    pin: async ({ host }) => {
      const current = currentName(host.dataDir);
      return [
        "data/pin",
        { current },
        {
          action: "release-pinned",
          subject: "data",
          before: { current, pinned: null },
          after: here({ current, pinned: current }),
        },
      ];
    },
    unpin: async ({ host }) => {
      const [current, pinned] = releaseNames(host.dataDir);
      pin(host.dataDir, pinned!);
      return [
        "data/pin",
        undefined,
        {
          action: "release-unpinned",
          subject: "data",
          before: { current: pinned, pinned },
          after: here({ current, pinned: null }),
        },
      ];
    },
    create_key: async () => [
      "keys",
      { name: "shop" },
      { action: "key-created", subject: expect.stringMatching(/^key_/), before: null, after: keyWith({}) },
    ],
    change_key: async (it) => {
      const id = await makeKey(it);
      const [before, after] = [keyWith({ rate: null }), keyWith({ rate: 5 })];
      return [`keys/${id}`, { rate: 5 }, { action: "key-changed", subject: id, before, after }];
    },
    revoke_key: async (it) => {
      const id = await makeKey(it);
      const [before, after] = [keyWith({ revoked_at: null }), keyWith({ revoked_at: expect.any(String) })];
      return [`keys/${id}`, undefined, { action: "key-revoked", subject: id, before, after }];
    },
    rotate_key: async (it) => {
      const id = await makeKey(it);
      return [
        `keys/${id}/rotate`,
        {},
        { action: "key-rotated", subject: id, before: keyWith({}), after: keyWith({}) },
      ];
    },
    create_admin_token: async () => [
      "admin-tokens",
      { name: "bob", role: "read" },
      { action: "admin-token-created", subject: "bob", before: null, after: bobsToken },
    ],
    revoke_admin_token: async ({ store }) => {
      await addBobsToken(store);
      const entry = { action: "admin-token-revoked", subject: "bob", before: bobsToken, after: null };
      return ["admin-tokens/bob", undefined, entry];
    },
    put_override: async () => [
      "overrides",
      { value: "81.2.69.142", ...FLAG },
      { action: "override-added", ...OVERRIDE },
    ],
    import_overrides: async () => [
      "overrides/import",
      { format: "inkling-overrides", version: 1, overrides: [{ value: "81.2.69.142", ...FLAG }] },
      { action: "override-added", ...OVERRIDE },
    ],
    remove_override: async (it) => {
      const id = await addOverride(it);
      const [before, after] = [null, expect.any(String)].map((removed_at) =>
        expect.objectContaining({ removed_at }),
      );
      return [`overrides/${id}`, undefined, { action: "override-removed", subject: id, before, after }];
    },
    publish_ruleset: async () => [
      "rulesets",
      { text: "", note: "none" },
      {
        action: "ruleset-published",
        subject: "ruleset 1",
        before: null,
        after: expect.objectContaining({ number: 1, note: "none" }),
      },
    ],
    restore_ruleset: async ({ store }) => {
      for (const text of ["", "[weights]"]) await store.rulesets.publish({ text, note: "" }, ADA);
      const [before, after] = [2, 3].map((number) => expect.objectContaining({ number }));
      return [
        "rulesets/1/restore",
        {},
        { action: "ruleset-rolled-back", subject: "ruleset 3", before, after },
      ];
    },
    set_decision_outcome: async ({ store }) => {
      await store.decisions.add([decisionRow(1, NOW)]);
      return [`decisions/${decisionId(1)}/outcome`, { outcome: "fraud" }, LABELLED];
    },
    import_outcomes: async ({ store }) => {
      await store.decisions.add([decisionRow(1, NOW - 1, { ref: "user-81" })]);
      return ["decisions/outcomes", { lines: ["user-81,fraud", "user-82,fraud"] }, OUTCOMES_IMPORTED];
    },
    delete_decisions: async ({ store }) => {
      await store.decisions.add([decisionRow(1, NOW, { ref: "user-81" }), decisionRow(2, NOW)]);
      return ["decisions?ref=user-81", undefined, DELETED];
    },
    add_webhook: async () => [
      "webhooks",
      HOOK,
      {
        action: "webhook-added",
        subject: expect.stringMatching(/^whk_/),
        before: null,
        after: webhookWith({ allow_private: false }),
      },
    ],
    rotate_webhook: async ({ store }) => {
      const id = await addWebhook(store);
      const [before, after] = [null, expect.any(String)].map((old_secret_until) =>
        webhookWith({ old_secret_until }),
      );
      return [`webhooks/${id}/rotate`, {}, { action: "webhook-rotated", subject: id, before, after }];
    },
    enable_webhook: async ({ store }) => {
      const id = await addDisabledWebhook(store);
      return [`webhooks/${id}/enable`, undefined, enabled(id)];
    },
    remove_webhook: async ({ store }) => {
      const id = await addWebhook(store);
      const before = webhookWith({});
      return [`webhooks/${id}`, undefined, { action: "webhook-removed", subject: id, before, after: null }];
    },
  };
  const CHANGED = [...ADMIN_ROUTES.keys()].flatMap((id) => {
    const prepare = CHANGES[id];
    return prepare === undefined ? [] : [[id, prepare] as const];
  });
  const auditsOf = (id: string): readonly string[] => {
    const row = ADMIN_ROUTES.get(id)!.row;
    return row.method === "GET" ? [] : row.audits;
  };

  test("every operation whose row names an audit action has a change here", () => {
    const audited = [...ADMIN_ROUTES.keys()].filter((id) => auditsOf(id).length > 0);
    expect(Object.keys(CHANGES).sort()).toEqual([...audited].sort());
  });

  // One function derives the author and the source of every request, so two operations are enough for the console.
  describe.each([
    ["api", CHANGED],
    ["console", CHANGED.slice(0, 2)],
  ] as const)("source %s", (source, changed) => {
    test.each(changed)("%s leaves one entry", async (id, prepare) => {
      const host = new Host();
      const [current] = host.releases();
      let isRequested = false;
      const it = await adminServer({
        settings: testSettings({ dataDir: host.dataDir, decisions: true }),
        releases: {
          current: { name: current } as never,
          open: () => undefined,
          check: async () => {},
        },
        actions: {
          feeds: { all: [FACTS], choose: () => {} },
          updates: {
            get state() {
              return { running: false, asked: isRequested, last: null };
            },
            get isUnderWay() {
              return isRequested;
            },
            request: () => {
              isRequested = true;
            },
          },
        },
      });
      const [path, body, expected] = await prepare({ ...it, host });
      const { sequence } = (await it.store.audit.list({ limit: 1 })).items[0]!;
      const { method } = ADMIN_ROUTES.get(id)!.row;
      const answer = await it.ask(method, path, body, await headersOf(it, source));
      expect([answer.code, answer.status < 300]).toEqual([answer.code, true]);
      const { items } = await it.store.audit.list({ limit: 100 });
      const added = items.filter((entry) => entry.sequence > sequence);
      expect(auditsOf(id)).toContain(expected.action);
      expect(added.map(auditJson)).toEqual([
        { sequence: sequence + 1, at: expect.any(String), author: "bob", source, ...expected } as never,
      ]);
    });
  });

  async function headersOf({ ask, token }: AdminTest, source: string): Promise<Record<string, string>> {
    if (source === "api") return { "Inkling-Author": "bob" };
    const { headers, document } = await ask(
      "POST",
      "session",
      { token, author: "bob" },
      { Authorization: "" },
    );
    const cookie = headers.get("set-cookie")!.split(";")[0]!;
    return {
      Authorization: "",
      Cookie: cookie,
      "Inkling-Console": document.secret,
      "Sec-Fetch-Site": "same-origin",
    };
  }
});
