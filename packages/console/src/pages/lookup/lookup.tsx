// lookup.tsx: one field for an IP address, an email address, or a list of them.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, api } from "../../api.ts";
import { Card } from "../../components/basics.tsx";
import { Field } from "../../components/form.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { type PageProps, useLoad } from "../../hooks.ts";
import type { Lookup } from "../../types.ts";
import { AddressResult } from "./address.tsx";
import { EmailResult } from "./email.tsx";
import { lacksData, ResultList } from "./results.tsx";

const MAX_VALUES = 100;

const split = (text: string) => text.split(/[\s,;]+/).filter(Boolean);

export function LookupPage({ rest }: PageProps) {
  const [text, setText] = useState(rest);
  const [values, setValues] = useState(() => split(rest));
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (rest === "") field.current?.focus({ preventScroll: true });
  }, [rest]);
  return (
    <>
      <form
        class="ask"
        onSubmit={(event) => {
          event.preventDefault();
          setValues(split(text)); // a new array: the same values are looked up again
        }}
      >
        <Field
          label="IP address, email address, or a list of them"
          note={`Up to ${MAX_VALUES}, separated by spaces, commas or line breaks. Lookups here are not logged, not counted, and stay on this server.`}
        >
          <textarea
            ref={field}
            rows={Math.min(8, text.split("\n").length)}
            required
            autocomplete="off"
            spellcheck={false}
            placeholder="8.8.8.8, 2001:4860:4860::8888, someone@example.com"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || event.shiftKey) return;
              event.preventDefault();
              event.currentTarget.form?.requestSubmit();
            }}
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

const Examples = () => (
  <Card title="Examples">
    <ul class="plain-list">
      <Example values="81.2.69.142" />
      <Example values="2001:4860:4860::8888" />
      <Example values="someone@mailinator.com" />
      <Example values="jane@gmial.com 8.8.8.8 185.220.101.1">several at once</Example>
    </ul>
  </Card>
);

const Example = ({ values, children = values }: { values: string; children?: ComponentChildren }) => (
  <li>
    <a href={`#/lookup/${encodeURIComponent(values)}`}>{children}</a>
  </li>
);

function Results({ values }: { values: readonly string[] }) {
  const lookup = useLoad(
    (signal) => api<Lookup>("lookup", { method: "POST", body: { values }, signal }),
    [values],
  );
  const hint = (error: unknown) =>
    error instanceof ApiError &&
    error.code === "NO_RELEASE" && (
      <p>
        <a href="#/data">Go to Data to start an update</a>
      </p>
    );
  return (
    <Loaded from={lookup} waiting="Looking up …" hint={hint}>
      {({ answers, missing }) => {
        const lacking = missing.filter((gap) => answers.some((answer) => lacksData(answer, gap)));
        const [first] = answers;
        return (
          <>
            {lacking.length > 0 && <p class="problem">No data at the moment for {lacking.join(", ")}.</p>}
            {answers.length > 1 && <ResultList answers={answers} missing={missing} />}
            {answers.length === 1 &&
              first &&
              (first.kind === "email" ? (
                <EmailResult answer={first} reload={lookup.reload} />
              ) : (
                <AddressResult answer={first} missing={missing} reload={lookup.reload} />
              ))}
          </>
        );
      }}
    </Loaded>
  );
}
