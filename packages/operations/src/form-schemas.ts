// form-schemas.ts: derives what pages need to show a form for an operation. The console's bundle contains it instead of
// zod.

import type { AdminRole } from "@inkling/contract";
import { type FieldSchema, fieldSchema, fieldsOf, RESOURCES, roleOf } from "./index.ts";

/** The role that an operation needs, and the fields of its input that are not in the path. */
interface FormSchema {
  readonly role: AdminRole;
  readonly fields: Readonly<Record<string, FieldSchema & { readonly required?: boolean }>>;
}
export type FormSchemas = Readonly<Record<string, FormSchema>>;

/** Returns the schemas of all operations, by route. */
export const formSchemas = (): FormSchemas =>
  Object.fromEntries(
    RESOURCES.flatMap(({ operations }) => Object.values(operations)).map((row) => [
      row.route,
      {
        role: roleOf(row),
        fields: Object.fromEntries(
          fieldsOf(row).map(([name, schema]) => [
            name,
            { ...fieldSchema(schema), ...(!schema.safeParse(undefined).success && { required: true }) },
          ]),
        ),
      },
    ]),
  );
