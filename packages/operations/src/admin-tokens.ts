// admin-tokens.ts: lists, creates, shows and revokes named admin tokens. A token appears only in the answer that
// creates it. Servers read the database for each admin request, so a change applies immediately.

import { ADMIN_ROLE_TEXTS, ADMIN_ROLES, hasRole } from "@inkling/contract";
import { adminTokenJson, CreatorRevokedError, type ValidAdminToken } from "@inkling/store/admin-token";
import { StoreError } from "@inkling/store/error";
import { type NewAdminToken, newAdminToken, newAdminTokenBody } from "@inkling/store/keys/key-input";
import { z } from "zod";
import { id, operation, type Resource, text, time } from "./operation.ts";
import { AdminProblem, bodyProblem, checked, found, written } from "./problem.ts";

const fields = {
  name: text.meta({ description: "Author of every change made with the token" }),
  role: z.enum(ADMIN_ROLES),
  state: z.enum(["active", "expired"]),
  hint: text.meta({ description: "The first characters of the token" }),
  author: text.meta({ description: "Who created it" }),
  parent: text
    .nullable()
    .meta({ description: "The token that created it; null for the root token and the command line" }),
  created_at: time,
  expires_at: time.nullable(),
  last_used_at: text
    .nullable()
    .meta({ description: "The last UTC day with a request, such as 2026-06-01; null if there is none" }),
};
const adminToken = z
  .strictObject(fields)
  .meta({ id: "AdminToken", description: "An admin token, without the token itself" });
const name = id("The token's name");

export const ADMIN_TOKENS = {
  tag: "Admin tokens",
  noun: "admin token",
  command: {
    name: "admin-tokens",
    summary: "create, list and revoke named tokens of the admin API and the console",
  },
  operations: {
    list_admin_tokens: operation({
      route: "GET admin-tokens",
      summary: "List named admin tokens, oldest first, without the tokens themselves",
      docs: "named [admin tokens](#named-tokens), oldest first, with role, expiry and `last_used_at`, the last UTC day with a request, or null",
      input: {},
      output: z.strictObject({ admin_tokens: z.array(adminToken) }),
      command: { words: "admin-tokens list", examples: ["inkling admin-tokens list"] },
      run: async ({ store, now }) => {
        const all = await store.adminToken.list();
        return { admin_tokens: all.map((token) => adminTokenJson(token, now())) };
      },
    }),
    create_admin_token: operation({
      route: "POST admin-tokens",
      summary: "Create a named admin token; the token is shown only once",
      docs: '201: creates a token and returns it, shown once: `{"name":"ada","role":"read"}`. Optional `expires_at`',
      status: 201,
      audits: ["admin-token-created"],
      problems: ["ADMIN_TOKEN_EXISTS"],
      input: newAdminTokenBody.shape,
      output: z
        .strictObject({ ...fields, token: text.meta({ description: "The token; shown only once" }) })
        .meta({ id: "IssuedAdminToken" }),
      command: {
        words: "admin-tokens create",
        arguments: ["name"],
        flags: {
          role: { help: ADMIN_ROLES.map((role) => `${role}: ${ADMIN_ROLE_TEXTS[role]}`).join("; ") },
          expires_at: { none: { word: "never" } },
        },
        notes:
          "In the audit trail, the token is the author of each change. Give each person and each program a separate token.",
        examples: [
          "inkling admin-tokens create ada --role admin",
          "inkling admin-tokens create bea --role analyst",
          "TOKEN=$(inkling admin-tokens create support --role read --expires 90d)",
        ],
      },
      run: async ({ store, now, by, token: creator }, input) => {
        const wanted = checked(() => newAdminToken(input, now()));
        if (creator !== undefined) requireWithin(wanted, creator);
        const issued = await store.adminToken.add(wanted, by, creator?.name).catch((error: unknown) => {
          if (error instanceof CreatorRevokedError) throw new AdminProblem("TOKEN_INVALID");
          const isTaken = error instanceof StoreError && error.code === "CONFLICT";
          throw isTaken ? new AdminProblem("ADMIN_TOKEN_EXISTS", undefined, [], { cause: error }) : error;
        });
        return { ...adminTokenJson(issued.adminToken, now()), token: issued.token };
      },
    }),
    get_admin_token: operation({
      route: "GET admin-tokens/{id}",
      summary: "A named admin token, without the token itself",
      docs: "one named token, without the token itself",
      problems: ["ADMIN_TOKEN_NOT_FOUND"],
      input: name,
      output: adminToken,
      run: async ({ store, now }, { id }) =>
        adminTokenJson(found(await store.adminToken.get(id), "ADMIN_TOKEN_NOT_FOUND"), now()),
    }),
    revoke_admin_token: operation({
      route: "DELETE admin-tokens/{id}",
      summary:
        "Permanently revoke a named admin token and the tokens that it created, and end their sessions",
      docs: "revokes a named token permanently, and ends its sessions",
      audits: ["admin-token-revoked"],
      problems: ["ADMIN_TOKEN_NOT_FOUND", "REVOCATION_UNWRITTEN"],
      input: {
        ...name,
        keep_created: z
          .boolean("must be true or false")
          .default(false)
          .meta({ description: "Keep the tokens that it created" }),
      },
      output: z
        .strictObject({
          ...fields,
          also_revoked: z
            .array(text)
            .meta({ description: "Names of the tokens that it created, directly or through others" }),
        })
        .meta({ id: "RevokedAdminToken" }),
      command: {
        words: "admin-tokens revoke",
        flags: { id: { name: "name" } },
        examples: ["inkling admin-tokens revoke NAME", "inkling admin-tokens revoke NAME --keep-created"],
      },
      run: async ({ store, now, by }, { id, keep_created }) => {
        const revoked = await written(store.adminToken.revoke(id, by, keep_created));
        const { token, created } = found(revoked, "ADMIN_TOKEN_NOT_FOUND");
        return { ...adminTokenJson(token, now()), also_revoked: created.map((one) => one.name) };
      },
    }),
  },
} as const satisfies Resource;

/**
 * Checks that a new token has no more rights than the token that creates it, and does not outlive it.
 * @throws AdminProblem
 */
function requireWithin(
  { role, expiresAt = Number.POSITIVE_INFINITY }: NewAdminToken,
  creator: ValidAdminToken,
): void {
  if (!hasRole(creator.role, role))
    throw new AdminProblem(
      "ROLE_REQUIRED",
      `A token with the role \`${creator.role}\` cannot create a token with the role \`${role}\`.`,
    );
  if (expiresAt > (creator.expiresAt ?? Number.POSITIVE_INFINITY))
    throw bodyProblem([
      `expires_at: must not be later than ${new Date(creator.expiresAt!).toISOString()}, when the token that creates it expires`,
    ]);
}
