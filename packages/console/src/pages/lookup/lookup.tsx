// lookup.tsx: one field for an IP address, an email address, or a list of them.

import type { Lookup } from "@inkling/server/admin-answers";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, api } from "../../api.ts";
import { Card } from "../../components/basics.tsx";
import { Field } from "../../components/form.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { type PageProps, useLoad } from "../../hooks.ts";
import { AddressResult } from "./address.tsx";
import { EmailResult } from "./email.tsx";
import { lacksData, ResultList } from "./results.tsx";

const MAX_VALUES = 100;
const NOTE = `Up to ${MAX_VALUES}, separated by spaces, commas or line breaks. Lookups here are not logged, not counted, and stay on this server.`;

const split = (text: string) => text.split(/[\s,;]+/).filter(Boolean);

export function LookupPage({ rest }: PageProps) {
  const [text, setText] = useState(rest);
  const [values, setValues] = useState(() => split(rest));
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (rest === "") field.current?.focus({ preventScroll: true });
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    setValues(split(text)); // a new array: the same values are looked up again
  };
  const submitOnEnter = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    field.current?.form?.requestSubmit();
  };
  return (
    <>
      <form class="ask" onSubmit={submit}>
        <Field label="IP address, email address, or a list of them" note={NOTE}>
          <textarea
            ref={field}
            rows={Math.min(8, text.split("\n").length)}
            required
            autocomplete="off"
            spellcheck={false}
            placeholder="8.8.8.8, 2001:4860:4860::8888, someone@example.com"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            onKeyDown={submitOnEnter}
          />
        </Field>
        <button type="submit">Look up</button>
      </form>
      <div aria-live="polite">
        <Outcome values={values} />
      </div>
    </>
  );
}

function Outcome({ values }: { values: readonly string[] }) {
  if (values.length === 0) return <Examples />;
  if (values.length <= MAX_VALUES) return <Results values={values} />;
  return (
    <p class="problem" role="alert">
      {values.length} values: at most {MAX_VALUES} at once. For files use <code>inkling enrich</code>.
    </p>
  );
}

const EXAMPLES = ["81.2.69.142", "2001:4860:4860::8888", "someone@mailinator.com", "jane@gmial.com 8.8.8.8"];

const Examples = () => (
  <Card title="Examples">
    <ul>
      {EXAMPLES.map((values) => (
        <li key={values}>
          <a href={`#/lookup/${encodeURIComponent(values)}`}>{values}</a>
        </li>
      ))}
    </ul>
  </Card>
);

function Results({ values }: { values: readonly string[] }) {
  const body = { values };
  const lookup = useLoad((signal) => api<Lookup>("lookup", { method: "POST", body, signal }), [values]);
  const hint = (error: unknown) =>
    error instanceof ApiError && error.code === "NO_RELEASE" ? (
      <p>
        <a href="#/data">Go to Data to start an update</a>
      </p>
    ) : null;
  return (
    <Loaded from={lookup} waiting="Looking up …" hint={hint}>
      {({ answers, missing }) => {
        const lacking = missing.filter((gap) => answers.some((answer) => lacksData(answer, gap)));
        const [answer] = answers.length === 1 ? answers : [];
        return (
          <>
            {lacking.length > 0 && <p class="problem">No data at the moment for {lacking.join(", ")}.</p>}
            {!answer && <ResultList answers={answers} missing={missing} />}
            {answer?.kind === "email" && <EmailResult answer={answer} reload={lookup.reload} />}
            {answer && answer.kind !== "email" && (
              <AddressResult answer={answer} missing={missing} reload={lookup.reload} />
            )}
          </>
        );
      }}
    </Loaded>
  );
}
