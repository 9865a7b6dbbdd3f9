// publish.tsx: shows what a draft changes, and publishes it after showing its effect.

import type { Ruleset } from "../../answers.ts";
import { ApiError } from "../../api.ts";
import { Card, Notice } from "../../components/basics.tsx";
import { Action } from "../../components/operation.tsx";
import { notify } from "../../hooks.ts";
import { useRefusal } from "../../session.ts";
import { Changes, Effect } from "./changes.tsx";
import { type Draft, unixText } from "./draft.ts";

interface PublishProps {
  readonly draft: Pick<Draft, "text" | "base" | "isChanged" | "publishedAs">;
  readonly newest: Ruleset | undefined;
  /** Reloads the rulesets. */
  readonly reload: () => void;
}

export function Publish({ draft, newest, reload }: PublishProps) {
  const number = newest?.number ?? 0;
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
          <Action
            key={number} // closes the dialog when somebody else has published
            route="POST rulesets"
            input={{ text: draft.text, current: number }}
            text="Publish"
            of="this ruleset"
            class=""
            ask={<Question text={draft.text} />}
            isDanger
            fields={{ note: { note: "What changed and why, for the history." } }}
            done={(published) => {
              notify(`Ruleset ${published.number} is active. All servers apply it within a second.`);
              draft.publishedAs(published.number);
              reload();
            }}
            failed={(error) => {
              if (!(error instanceof ApiError) || error.code !== "RULESET_CONFLICT") return;
              notify(
                "Nothing was published, because someone else published a ruleset in the meantime. Your text is kept.",
                "bad",
              );
              reload();
            }}
          />
        </>
      ) : (
        <p class="faint">The draft is identical to {name}. There is nothing to publish.</p>
      )}
    </Card>
  );
}

function Question({ text }: { text: string }) {
  const isLimited = useRefusal("admin") !== undefined;
  return (
    <>
      {isLimited && (
        <Notice kind="warn">
          The role analyst may change only shadow rules, rules that are off, and examples. If the draft
          changes anything else, the server refuses it; copy the text and ask an admin to publish it.
        </Notice>
      )}
      <Effect text={text} />
    </>
  );
}
