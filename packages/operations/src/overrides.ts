// overrides.ts: adds, lists, shows, removes, exports and imports overrides, which are the operator's own verdicts.

import { MAX_IMPORT_BYTES } from "@inkling/contract";
import { OVERRIDE_FLAGS, OVERRIDE_KINDS } from "@inkling/engine";
import { OVERRIDE_PAGES, OverrideConflictError } from "@inkling/store/overrides";
import { exportFile, importedOverrides, overrideFile } from "@inkling/store/overrides/file";
import { newOverride, newOverrideBody, OverrideInputError } from "@inkling/store/overrides/override";
import { overrideJson } from "@inkling/store/overrides/record";
import { z } from "zod";
import { count, id, nextCursor, operation, pageInput, type Resource, text, time } from "./operation.ts";
import { AdminProblem, bodyProblem, found } from "./problem.ts";

const effect = { value: text, flag: z.enum(OVERRIDE_FLAGS), verdict: z.boolean(), note: text, author: text };
const fields = {
  id: text,
  kind: z.enum(OVERRIDE_KINDS),
  ...effect,
  created_at: time,
  expires_at: time.nullable(),
  removed_at: time.nullable(),
};
export const override = z.strictObject(fields).meta({ id: "Override" });

const one = id("The override's id");
const problems = ["OVERRIDE_CONTRADICTS", "OVERRIDES_FULL", "OVERRIDE_TOO_WIDE"] as const;
const audits = ["override-added", "override-changed"] as const;
const { force } = newOverrideBody.shape;

export const OVERRIDES = {
  tag: "Overrides",
  noun: "override",
  command: {
    name: "overrides",
    summary: "override the verdict on an address, network, domain or email address",
  },
  operations: {
    list_overrides: operation({
      route: "GET overrides",
      summary: "List active overrides, newest first",
      docs: "active [overrides](overrides.md#the-admin-api), newest first",
      input: {
        ...pageInput((cursor) => OVERRIDE_PAGES.isCursor(cursor)),
        ended: z
          .boolean("must be true or false")
          .default(false)
          .meta({ description: "Include removed and expired overrides" }),
      },
      output: z.strictObject({ overrides: z.array(override), ...nextCursor }),
      command: {
        words: "overrides list",
        flags: { ended: { name: "all" } },
        examples: ["inkling overrides list", "inkling overrides list --all --json"],
      },
      run: async ({ store }, { ended, ...page }) => {
        const { items, next } = await store.overrides.list(page, ended);
        return { overrides: items.map(overrideJson), next_cursor: next ?? null };
      },
    }),
    put_override: operation({
      route: "POST overrides",
      summary: "Add an override, or change its note and expiry",
      docs: "201: adds an override. 200: it was already active; `outcome` is `changed` if it has a new note or expiry",
      status: 201,
      isCreated: ({ outcome }) => outcome === "added",
      isIdempotent: false,
      role: "analyst",
      audits,
      problems,
      refreshes: "overrides",
      input: newOverrideBody.shape,
      output: z.strictObject({ ...fields, outcome: z.enum(["added", "changed", "unchanged"]) }),
      command: {
        words: "overrides add",
        arguments: ["value"],
        flags: {
          flag: { with: "verdict", help: `${OVERRIDE_FLAGS.join(", ")}, each with =true or =false` },
          expires_at: { help: "when it expires", none: { word: "never" } },
        },
        hasAuthor: true,
        notes: `VALUE is an address, a network, a domain (including its subdomains), or an email address, which is stored only as a
SHA-256 hash. The most specific override wins: the longest prefix, or the email address before its domain. Servers apply
it within a second. Adding it again changes its note and expiry. See docs/overrides.md.`,
        examples: [
          'inkling overrides add 81.2.69.142 --flag is_tor_exit=false --note "our office" --expires 30d',
          'inkling overrides add 81.2.69.0/24 --flag is_abuser=true --note "ticket 4711"',
          'inkling overrides add example-shop.com --flag disposable=false --note "a customer"',
          'inkling overrides add someone@gmail.com --flag disposable=true --note "ticket 4712"',
        ],
      },
      run: async ({ store, now, by }, input) => {
        const [write] = await changing(async () =>
          store.overrides.put([newOverride(input, { now: now(), author: by.author })], by),
        );
        const { override, outcome } = write!; // `put` returns one write per override
        return { ...overrideJson(override), outcome };
      },
    }),
    export_overrides: operation({
      route: "GET overrides/export",
      summary: "Export all active overrides as a file",
      docs: "all active overrides, as a file",
      input: {},
      output: z.strictObject({
        format: text,
        version: count,
        exported_at: time,
        overrides: z.array(z.strictObject({ ...effect, created_at: time, expires_at: time.nullable() })),
      }),
      command: {
        words: "overrides export",
        examples: ["inkling overrides export > overrides.json", "inkling overrides export | jq ."],
      },
      run: async ({ store, now }) => exportFile((await store.overrides.load()).overrides, now()),
    }),
    import_overrides: operation({
      route: "POST overrides/import",
      summary: "Import overrides from a file: all or none",
      docs: "imports overrides from a file: all or none. Optional `force`",
      role: "analyst",
      audits,
      problems,
      maxBodyBytes: MAX_IMPORT_BYTES,
      refreshes: "overrides",
      input: { ...overrideFile.shape, force },
      output: z.strictObject({ added: count, changed: count, unchanged: count, expired: count }),
      run: async ({ store, now, by }, { overrides, force }) =>
        changing(async () => {
          const file = importedOverrides(overrides, { now: now(), author: by.author }, force);
          const writes = await store.overrides.put(file.overrides, by);
          const count = (outcome: string) => writes.filter((write) => write.outcome === outcome).length;
          return {
            added: count("added"),
            changed: count("changed"),
            unchanged: count("unchanged"),
            expired: file.expired,
          };
        }),
    }),
    get_override: operation({
      route: "GET overrides/{id}",
      summary: "One override",
      docs: "one override",
      problems: ["OVERRIDE_NOT_FOUND"],
      input: one,
      output: override,
      run: async ({ store }, { id }) =>
        overrideJson(found(await store.overrides.find(id), "OVERRIDE_NOT_FOUND")),
    }),
    remove_override: operation({
      route: "DELETE overrides/{id}",
      summary: "Remove an override",
      docs: "removes an override",
      role: "analyst",
      audits: ["override-removed"],
      problems: ["OVERRIDE_NOT_FOUND"],
      refreshes: "overrides",
      input: one,
      output: override,
      run: async ({ store, by }, { id }) =>
        overrideJson(found(await store.overrides.remove(id, by), "OVERRIDE_NOT_FOUND")),
    }),
  },
} as const satisfies Resource;

/** Waits for a change of overrides. @throws AdminProblem if the store or the input's check refuses it */
const changing = <T>(change: () => Promise<T>): Promise<T> =>
  change().catch((error: unknown) => {
    if (error instanceof OverrideConflictError)
      throw new AdminProblem(
        error.why === "CONTRADICTS" ? "OVERRIDE_CONTRADICTS" : "OVERRIDES_FULL",
        undefined,
        error.problems,
        { cause: error },
      );
    if (!(error instanceof OverrideInputError)) throw error;
    if (error.code === "INVALID") throw bodyProblem(error.problems);
    throw new AdminProblem(`OVERRIDE_${error.code}`, undefined, error.problems);
  });
