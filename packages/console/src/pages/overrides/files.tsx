// files.tsx: exports and imports all overrides as a file.

import type { Imported } from "@inkling/server/admin-answers";
import { call, UserError } from "../../api.ts";
import { Button, Card } from "../../components/basics.tsx";
import { Field, Form } from "../../components/form.tsx";
import { download } from "../../download.ts";
import { messageOf, notify, useAction } from "../../hooks.ts";
import { importOverrides } from "./import.ts";

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
