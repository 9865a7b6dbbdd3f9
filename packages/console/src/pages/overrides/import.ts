// import.ts: imports overrides, all or none.

import type { Api } from "@inkling/operations";
import type { Imported } from "@inkling/server/admin-answers";
import { ApiError, call, UserError } from "../../api.ts";

/** A parsed override file. Only the server validates it. */
type OverrideFile = Api["POST overrides/import"]["input"];

/**
 * @throws {UserError} The message identifies the override of each mistake by its value instead of its index in the
 * file.
 */
export async function importOverrides(file: OverrideFile): Promise<Imported> {
  return call("POST overrides/import", file).catch((error: unknown) => {
    if (!(error instanceof ApiError) || error.problems.length === 0) throw error;
    const nameValue = (line: string) =>
      line.replace(/^overrides\.(\d+)\.(?:value: )?/, (prefix, index) => {
        const { value } = file.overrides[index] as { readonly value?: unknown };
        return typeof value === "string" ? `${value}: ` : prefix;
      });
    throw new UserError(error.problems.map(nameValue).join("; "));
  });
}
