// form-schemas.ts: what pages need to show a form for an operation. The console's bundle contains it instead of zod.

import type { AdminRole } from "@inkling/contract";
import { type MemberSchema, memberSchema, membersOf, RESOURCES } from "./index.ts";

/** The role that an operation needs, and the members of its input that are not in the path. */
interface FormSchema {
  readonly role: AdminRole;
  readonly members: Readonly<Record<string, MemberSchema & { readonly required?: boolean }>>;
}
export type FormSchemas = Readonly<Record<string, FormSchema>>;

/** Returns the schemas of all operations, by route. */
export const formSchemas = (): FormSchemas =>
  Object.fromEntries(
    RESOURCES.flatMap(({ operations }) => Object.values(operations)).map((row) => [
      row.route,
      {
        role: row.role ?? (row.route.startsWith("GET ") ? "read" : "admin"),
        members: Object.fromEntries(
          membersOf(row).map(([name, schema]) => [
            name,
            { ...memberSchema(schema), ...(!schema.safeParse(undefined).success && { required: true }) },
          ]),
        ),
      },
    ]),
  );
