// files.tsx: exports all overrides as a file, and imports overrides: all or none.

import type { Api } from "@inkling/operations";
import type { Imported } from "../../answers.ts";
import { ApiError, call, UserError } from "../../api.ts";
import { Button, Card } from "../../components/basics.tsx";
import { Field, Form } from "../../components/form.tsx";
import { messageOf, notify, useAction } from "../../hooks.ts";
import { download } from "../../text-file.ts";

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

async function importFile(file: File): Promise<Imported> {
  try {
    return await importOverrides(JSON.parse(await file.text()));
  } catch (error) {
    const text = error instanceof SyntaxError ? "This file is not JSON" : messageOf(error).replace(/\.$/, "");
    throw new UserError(`${text}. Nothing was changed.`);
  }
}

async function exportAll(): Promise<void> {
  const text = JSON.stringify(await call("GET overrides/export", {}), null, 2);
  download("inkling-overrides.json", "application/json", text);
}

export function FilesCard({ reload }: { reload: () => void }) {
  const [start, isBusy] = useAction();
  const submit = async (values: FormData, form: HTMLFormElement) => {
    const imported = await importFile(values.get("file") as File);
    const { added, changed, unchanged, expired } = imported;
    notify(
      `${added} added, ${changed} changed, ${unchanged} unchanged${expired ? `, ${expired} expired` : ""}.`,
    );
    form.reset();
    reload();
  };
  return (
    <Card title="Export and import">
      <p>
        <Button text="Export all" isBusy={isBusy} onClick={() => start(exportAll)} />
      </p>
      <Form needs="analyst" action="Import" submit={submit}>
        <Field label="Import" note="Either the whole file is imported or nothing.">
          <input type="file" name="file" accept="application/json,.json" required />
        </Field>
      </Form>
    </Card>
  );
}
