// admin-tokens.ts: lists, creates, shows and revokes named admin tokens over the admin API.
//
// err  AdminProblem, KeyInputError, StoreError
// src  docs/admin-api.md
// note A token appears only in the response to the request that creates it.

import { ADMIN_PATH, ADMIN_ROLES, hasRole } from "@inkling/contract";
import { CreatorRevokedError, type ValidAdminToken } from "@inkling/store/admin-token";
import { StoreError } from "@inkling/store/error";
import { adminTokenJson, type NewAdminToken } from "@inkling/store/keys/admin-token";
import { KeyInputError } from "@inkling/store/keys/key";
import { newAdminTokenBody, parseNewAdminToken } from "@inkling/store/keys/key-input";
import { z } from "zod";
import { AdminProblem } from "../http/problems.ts";
import { type AdminHandlers, handler, rawBody, text, time } from "./handler.ts";

const members = {
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
export const adminTokenAnswer = z
  .strictObject(members)
  .meta({ id: "AdminToken", description: "An admin token, without the token itself" });
export const revokedAdminTokenAnswer = z
  .strictObject({
    ...members,
    also_revoked: z
      .array(text)
      .meta({ description: "Names of the tokens that it created, directly or through others" }),
  })
  .meta({ id: "RevokedAdminToken" });
export const issuedAdminTokenAnswer = z
  .strictObject({ ...members, token: text.meta({ description: "The token; shown only once" }) })
  .meta({ id: "IssuedAdminToken" });

export const ADMIN_TOKEN_HANDLERS = {
  list_admin_tokens: handler({
    answer: z.strictObject({ admin_tokens: z.array(adminTokenAnswer) }),
    run: async ({ store, now }) => {
      const all = await store.adminToken.list();
      return { document: { admin_tokens: all.map((token) => adminTokenJson(token, now())) } };
    },
  }),
  make_admin_token: handler({
    body: rawBody(newAdminTokenBody),
    answer: issuedAdminTokenAnswer,
    run: async ({ store, now }, { body, by, token: creator }) => {
      const wanted = parseNewAdminToken(body, now());
      requireWithin(wanted, creator!); // always set: this operation requires a token
      const { adminToken, token } = await store.adminToken
        .add(wanted, by, creator?.name)
        .catch((error: unknown) => {
          if (error instanceof CreatorRevokedError) throw new AdminProblem("TOKEN_INVALID");
          const isTaken = error instanceof StoreError && error.code === "CONFLICT";
          throw isTaken ? new AdminProblem("ADMIN_TOKEN_EXISTS") : error;
        });
      return {
        document: { ...adminTokenJson(adminToken, now()), token },
        headers: { Location: `${ADMIN_PATH}admin-tokens/${adminToken.name}` },
      };
    },
  }),
  get_admin_token: handler({
    answer: adminTokenAnswer,
    run: async ({ store, now }, { id }) => ({
      document: adminTokenJson(found(await store.adminToken.get(id)), now()),
    }),
  }),
  revoke_admin_token: handler({
    query: {
      keep_created: z
        .literal("true", "must be true")
        .optional()
        .meta({ description: "`true` keeps the tokens that it created" }),
    },
    answer: revokedAdminTokenAnswer,
    run: async ({ store, now }, { id, by, query }) => {
      const { token, created } = found(await store.adminToken.revoke(id, by, query.keep_created === "true"));
      return { document: { ...adminTokenJson(token, now()), also_revoked: created.map(({ name }) => name) } };
    },
  }),
} satisfies AdminHandlers;

/**
 * Checks that a new token has no more rights than the token that creates it, and does not outlive it.
 * @throws AdminProblem, KeyInputError
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
    throw new KeyInputError([
      `expires_at: must not be later than ${new Date(creator.expiresAt!).toISOString()}, when the token that creates it expires`,
    ]);
}

/** @throws AdminProblem if the token does not exist */
function found<T>(value: T | undefined): T {
  if (value === undefined) throw new AdminProblem("ADMIN_TOKEN_NOT_FOUND");
  return value;
}
