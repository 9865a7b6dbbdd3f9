// admin-tokens.ts: lists, creates, shows and revokes named admin tokens over the admin API.
//
// err  AdminProblem, KeyInputError, StoreError
// src  docs/admin-api.md
// note A token appears only in the response to the request that creates it.

import { ADMIN_PATH, ADMIN_SCOPES } from "@inkling/contract";
import { z } from "zod";
import { AdminProblem } from "../http/problems.ts";
import { adminTokenJson } from "../keys/admin-token.ts";
import { newAdminTokenBody, parseNewAdminToken } from "../keys/key-input.ts";
import { StoreError } from "../store/error.ts";
import { type AdminHandlers, handler, rawBody, text, time } from "./handler.ts";

const members = {
  name: text.meta({ description: "Author of every change made with the token" }),
  scope: z.enum(ADMIN_SCOPES),
  state: z.enum(["active", "expired"]),
  hint: text.meta({ description: "The first characters of the token" }),
  author: text.meta({ description: "Who created it" }),
  created_at: time,
  expires_at: time.nullable(),
  last_used_at: text
    .nullable()
    .meta({ description: "The last UTC day with a request, such as 2026-06-01; null if there is none" }),
};
export const adminTokenAnswer = z
  .strictObject(members)
  .meta({ id: "AdminToken", description: "An admin token, without the token itself" });
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
    run: async ({ store, now }, { body, by }) => {
      const wanted = parseNewAdminToken(body, now());
      const { adminToken, token } = await store.adminToken.add(wanted, by).catch((error: unknown) => {
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
    answer: adminTokenAnswer,
    run: async ({ store, now }, { id, by }) => ({
      document: adminTokenJson(found(await store.adminToken.revoke(id, by)), now()),
    }),
  }),
} satisfies AdminHandlers;

/** @throws AdminProblem if the token does not exist */
function found<T>(value: T | undefined): T {
  if (value === undefined) throw new AdminProblem("ADMIN_TOKEN_NOT_FOUND");
  return value;
}
