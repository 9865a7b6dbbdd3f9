// overrides.tsx: lists, searches, adds, changes, removes, exports and imports overrides.

import type { Api } from "@inkling/operations";
import { useState } from "preact/hooks";
import { call, UserError } from "../../api.ts";
import { Button, Card } from "../../components/basics.tsx";
import { Field, Form } from "../../components/form.tsx";
import { ResourceDetail, ResourceList } from "../../components/resource.tsx";
import { messageOf, notify, type PageProps, useAction } from "../../hooks.ts";
import { download } from "../../text-file.ts";
import { forgetAnswers } from "../lookup/search.ts";
import { ADDED, NEW_FIELDS, OVERRIDE_COLUMNS, overrideActions } from "./override.tsx";

const MAX_OVERRIDES = 10_000;

export const OverridesPage = ({ rest }: PageProps) =>
  rest === "" || rest.startsWith("?") ? (
    <Overview rest={rest} />
  ) : (
    <ResourceDetail
      route="GET overrides/{id}"
      id={rest}
      noun="override"
      nameOf={({ value }) => value}
      fields={["id", ...OVERRIDE_COLUMNS]}
      actions={overrideActions}
    />
  );

function Overview({ rest }: PageProps) {
  const [imports, setImports] = useState(0);
  return (
    <>
      <ResourceList
        route="GET overrides"
        caption="Overrides"
        empty="No overrides. Only feeds decide."
        columns={OVERRIDE_COLUMNS}
        actions={overrideActions}
        bulk={{
          route: "DELETE overrides/{id}",
          verb: ["Remove", "Removed"],
          ask: () => "Feeds decide about these values again within a second.",
          input: ({ id }) => ({ id }),
        }}
        first={MAX_OVERRIDES}
        filters={[rest, { ended: { label: "Also show removed and expired overrides" } }]}
        changes={imports}
        onChange={forgetAnswers}
        create={{
          route: "POST overrides",
          title: "Add an override",
          action: "Add",
          fields: NEW_FIELDS,
          message: ({ outcome }) => (outcome === "unchanged" ? "This override already exists." : ADDED),
        }}
      />
      <FilesCard
        reload={() => {
          forgetAnswers();
          setImports((n) => n + 1);
        }}
      />
    </>
  );
}

/** A parsed override file. Only the server validates it. */
type OverrideFile = Api["POST overrides/import"]["input"];

async function importFile(file: File) {
  try {
    return await call("POST overrides/import", JSON.parse(await file.text()) as OverrideFile);
  } catch (error) {
    const text = error instanceof SyntaxError ? "This file is not JSON" : messageOf(error).replace(/\.$/, "");
    throw new UserError(`${text}. Nothing was changed.`);
  }
}

async function exportAll(): Promise<void> {
  const text = JSON.stringify(await call("GET overrides/export", {}), null, 2);
  download("inkling-overrides.json", "application/json", text);
}

function FilesCard({ reload }: { reload: () => void }) {
  const [start, isBusy] = useAction();
  const submit = async (values: FormData, form: HTMLFormElement) => {
    const { added, changed, unchanged, expired } = await importFile(values.get("file") as File);
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
