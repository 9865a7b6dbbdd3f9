// publish.tsx: shows what a draft changes, and publishes it after showing its effect.

import type { Ruleset } from "@inkling/server/admin-answers";
import { useState } from "preact/hooks";
import { ApiError, call, UserError } from "../../api.ts";
import { Card, Notice } from "../../components/basics.tsx";
import { Form, TextField, textOf } from "../../components/form.tsx";
import { notify } from "../../hooks.ts";
import { Changes } from "./changes.tsx";
import { type Draft, unixText } from "./draft.ts";
import { effectOf, PublishDialog, type Question } from "./effect.tsx";

interface PublishProps {
  readonly draft: Draft;
  readonly newest: Ruleset | undefined;
  /** Reloads the rulesets. */
  readonly reload: () => void;
}

export function Publish({ draft, newest, reload }: PublishProps) {
  const number = newest?.number ?? 0;
  const [question, setQuestion] = useState<Question>();
  const submit = async (values: FormData, form: HTMLFormElement) => {
    const effect = await effectOf(draft.text);
    const isConfirmed = await new Promise<boolean>((answer) => setQuestion({ effect, answer }));
    setQuestion(undefined);
    if (!isConfirmed) return;
    const input = { text: draft.text, note: textOf(values, "note"), current: number };
    const published = await call("POST rulesets", input).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.code !== "RULESET_CONFLICT") throw error;
      reload();
      throw new UserError(
        "Nothing was published, because someone else published a ruleset in the meantime. Your text is kept.",
      );
    });
    notify(`Ruleset ${published.number} is active. All servers apply it within a second.`);
    form.reset();
    draft.publishedAs(published.number);
    reload();
  };
  const name = newest === undefined ? "no ruleset" : `ruleset ${number}`;
  return (
    <Card title={newest === undefined ? "Publish" : `Changes since ruleset ${number}`}>
      {draft.isChanged ? (
        <>
          {draft.base < number && (
            <Notice kind="warn">
              {`${newest?.author} published ruleset ${number} after you started this draft. Check the changes: they now include the edits that publishing would undo.`}
            </Notice>
          )}
          <Changes label={`Changes since ${name}`} before={unixText(newest?.text ?? "")} after={draft.text} />
          <Form needs="analyst" action="Publish" submit={submit}>
            <TextField
              label="Note"
              name="note"
              maxLength={500}
              note="What changed and why, for the history."
            />
          </Form>
          {question && <PublishDialog of={question} />}
        </>
      ) : (
        <p class="faint">The draft is identical to {name}. There is nothing to publish.</p>
      )}
    </Card>
  );
}
