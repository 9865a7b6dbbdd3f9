// lookup.tsx: one field for text of any kind, in which addresses, networks, email addresses and domains are found; or one AS number.

import type { Answer } from "@inkling/server/admin-answers";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../../api.ts";
import { Card } from "../../components/basics.tsx";
import { Field } from "../../components/form.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { formatAges } from "../../format.ts";
import { messageOf, notify, type PageProps, useLoad } from "../../hooks.ts";
import { AddressResult } from "./address.tsx";
import { lacksData, readsData } from "./answers.ts";
import { EmailResult } from "./email.tsx";
import { describeFound, type Found, findTyped, findValues, MAX_TEXT, MAX_VALUES } from "./find-values.ts";
import { NetworkResult } from "./network.tsx";
import { lookUp } from "./requests.ts";
import { ResultList } from "./results.tsx";
import { SystemResult } from "./system.tsx";

const NOTE = `Or paste any text, such as a log or an email: up to ${MAX_VALUES.toLocaleString("en-US")} values in it are looked up. An AS number is looked up on its own. Lookups here are not logged, not counted, and stay on this server.`;

interface Search {
  readonly found: Found;
  /** The text, unless it is that of a file. */
  readonly typed?: string;
  /** Name of the file. */
  readonly source?: string;
}

const searchText = (text: string): Search => ({ found: findTyped(text), typed: text.trim() });

export function LookupPage({ rest }: PageProps) {
  const [text, setText] = useState(rest);
  const [search, setSearch] = useState(() => searchText(rest));
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (rest === "") field.current?.focus({ preventScroll: true });
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    setSearch(searchText(text)); // a new object: the same values are looked up again
  };
  const submitOnEnter = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    field.current?.form?.requestSubmit();
  };
  const openFile = async (input: HTMLInputElement) => {
    const [file] = input.files ?? [];
    if (file === undefined) return;
    try {
      const found = findValues(await readText(file));
      setText(found.values.join("\n"));
      setSearch({ found, source: file.name });
    } catch (error) {
      notify(messageOf(error), "bad");
    }
    input.value = ""; // the same file can be chosen again
  };
  return (
    <>
      <form class="ask" onSubmit={submit}>
        <Field label="IP addresses, networks, AS numbers, email addresses or domains" note={NOTE}>
          <textarea
            ref={field}
            rows={Math.min(8, text.split("\n", 8).length)}
            required
            autocomplete="off"
            spellcheck={false}
            placeholder="8.8.8.8, 2001:4860::/32, someone@example.com, example.com"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            onKeyDown={submitOnEnter}
          />
        </Field>
        <div class="submit">
          <button type="submit">Look up</button>
          <label class="file">
            Open a file
            <input
              type="file"
              accept=".csv,.tsv,.txt,.log,.json,.ndjson,.jsonl,.eml,text/*"
              onChange={(event) => openFile(event.currentTarget)}
            />
          </label>
        </div>
      </form>
      <div aria-live="polite">
        {search.typed === "" ? <Examples /> : <FoundText {...search} />}
        {search.found.values.length > 0 && <Results {...search.found} />}
      </div>
    </>
  );
}

/** UTF-8, or what the first bytes announce: spreadsheets write UTF-16. */
async function readText(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.slice(0, 4 * MAX_TEXT).arrayBuffer());
  const [a, b] = bytes;
  const isUtf16 = (a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff);
  return new TextDecoder(isUtf16 ? (a === 0xff ? "utf-16le" : "utf-16be") : "utf-8").decode(bytes);
}

/** How many values of which kind were found, unless one alone was typed. */
function FoundText({ found, typed, source }: Search) {
  if (found.values.length === 1 && found.values[0] === typed) return null;
  return (
    <p class={found.total === 0 ? "problem" : "found"}>
      {describeFound(found)}
      {source && ` in ${source}`}.
    </p>
  );
}

const EXAMPLES = [
  "81.2.69.142",
  "2001:4860:4860::8888",
  "someone@mailinator.com",
  "mailinator.com",
  "185.220.0.0/16",
  "AS60729",
  "jane@gmial.com 8.8.8.8",
];

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

function Results({ values }: Found) {
  const lookup = useLoad((signal) => lookUp(values, signal), [values]);
  const { reload } = lookup;
  const hint = (error: unknown) =>
    error instanceof ApiError && error.code === "NO_RELEASE" ? (
      <p>
        <a href="#/data">Go to Data to start an update</a>
      </p>
    ) : null;
  return (
    <Loaded from={lookup} waiting="Looking up …" hint={hint}>
      {({ answers, missing, ages }) => {
        const behind = ages.filter(({ answer: name }) => answers.some((answer) => readsData(answer, name)));
        const lacking = missing.filter((gap) => answers.some((answer) => lacksData(answer, gap)));
        const [answer] = answers.length === 1 ? answers : [];
        return (
          <>
            {lacking.length > 0 && <p class="problem">No data at the moment for {lacking.join(", ")}.</p>}
            {answer ? (
              <Result answer={answer} missing={missing} reload={reload} />
            ) : (
              <ResultList answers={answers} missing={missing} reload={reload} />
            )}
            {behind.length > 0 && <p class="faint">Age of this data: {formatAges(behind)}.</p>}
          </>
        );
      }}
    </Loaded>
  );
}

interface ResultProps {
  readonly answer: Answer;
  readonly missing: readonly string[];
  readonly reload: () => void;
}

function Result({ answer, ...props }: ResultProps) {
  if ("email" in answer) return <EmailResult answer={answer} {...props} />;
  if (answer.kind === "network") return <NetworkResult answer={answer} {...props} />;
  if (answer.kind === "as") return <SystemResult answer={answer} {...props} />;
  return <AddressResult answer={answer} {...props} />;
}
