// lookup.tsx: shows a field for any text, and finds addresses, networks, AS numbers, email addresses and domains in the
// text.

import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Answer, Lookup } from "../../answers.ts";
import { Button, Card } from "../../components/basics.tsx";
import { Field } from "../../components/form.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { formatAges, formatCount } from "../../format.ts";
import { messageOf, notify, type PageProps, useLoad } from "../../hooks.ts";
import { SessionContext } from "../../session.ts";
import { readText } from "../../text-file.ts";
import { AddressResult } from "./address.tsx";
import { lacksData, readsData, verdictOf } from "./answers.ts";
import { EmailResult } from "./email.tsx";
import { describeFound, findValues, MAX_TEXT, MAX_VALUES } from "./find-values.ts";
import { HistoryCard } from "./history.tsx";
import { Known } from "./known.tsx";
import { LookupLink } from "./links.tsx";
import { NetworkResult, SystemResult } from "./network.tsx";
import { OverrideCard } from "./overrides.tsx";
import { ResultList } from "./results.tsx";
import {
  answersTo,
  forgetAnswers,
  isOneValue,
  keepList,
  LIST,
  placeOf,
  type Search,
  searchAt,
  searchOf,
} from "./search.ts";

const NOTE = `Or paste any text, such as a log or an email: up to ${MAX_VALUES.toLocaleString("en-US")} values in the text are looked up. Lookups here are not logged or counted, and do not leave this server.`;

export function LookupPage({ rest }: PageProps) {
  const session = useContext(SessionContext);
  const [round, setRound] = useState(0);
  const search = useMemo(() => searchAt(rest, session), [rest, round]);
  const [edited, setEdited] = useState({ search, text: search.text });
  const text = edited.search === search ? edited.text : search.text;
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (rest === "") field.current?.focus({ preventScroll: true });
  }, [rest]);
  const open = (next: Search) => {
    const place = placeOf(next);
    if (place === LIST) keepList(next, session);
    if (place === rest) return setRound((n) => n + 1); // looks the same value up again
    location.hash = `#/lookup${place === LIST ? LIST : `/${encodeURIComponent(place)}`}`;
  };
  const submit = (event: Event) => {
    event.preventDefault();
    open(searchOf(text));
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
      const found = findValues(await readText(file.slice(0, 4 * MAX_TEXT)));
      open({ text: found.values.join("\n"), found, source: file.name });
    } catch (error) {
      notify(messageOf(error), "bad");
    }
    input.value = ""; // lets the user choose the same file again
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
            placeholder="8.8.8.8, 2001:4860::/32, AS15169, someone@example.com, example.com"
            value={text}
            onInput={(event) => setEdited({ search, text: event.currentTarget.value })}
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
        {placeOf(search) === "" ? <Examples isListGone={rest === LIST} /> : <FoundText {...search} />}
        {search.found.values.length > 0 && <Results key={search} search={search} />}
      </div>
    </>
  );
}

/** How many values of each kind were found. Shows nothing if the text was a single value. */
function FoundText(search: Search) {
  const { found, source } = search;
  if (isOneValue(search)) return null;
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

/** `isListGone` is true if the page's address refers to a list that is no longer in memory. */
const Examples = ({ isListGone }: { isListGone: boolean }) => (
  <>
    {isListGone && (
      <p class="found">This page keeps a pasted list only until it is reloaded. Paste the list again.</p>
    )}
    <Card title="Examples">
      <ul>
        {EXAMPLES.map((values) => (
          <li key={values}>
            <LookupLink value={values} />
          </li>
        ))}
      </ul>
    </Card>
  </>
);

function Results({ search }: { search: Search }) {
  const { values } = search.found;
  const lookup = useLoad<Lookup>((signal, show) => answersTo(search, signal, show), []);
  const reload = () => {
    forgetAnswers();
    lookup.reload();
  };
  const what = values.length === 1 ? values[0] : `${formatCount(values.length)} values`;
  return (
    <Loaded from={lookup} waiting={`Looking up ${what} …`} isLong>
      {({ answers, missing, ages }) => {
        const behind = ages.filter(({ answer: name }) => answers.some((answer) => readsData(answer, name)));
        const lacking = missing.filter((gap) => answers.some((answer) => lacksData(answer, gap)));
        const [answer] = values.length === 1 ? answers : [];
        const isPart = answers.length < values.length && lookup.error === undefined;
        return (
          <>
            {isPart && (
              <p role="status">
                {`Looked up ${formatCount(answers.length)} of ${what} … `}
                <Button text="Cancel" onClick={lookup.cancel} />
              </p>
            )}
            {lacking.length > 0 && (
              <p class="problem">The server currently has no data for {lacking.join(", ")}.</p>
            )}
            {answer ? (
              <>
                {answer.kind === "unknown" && <Known key={answer} answer={answer} />} {/* such as a ref */}
                <Result answer={answer} missing={missing} reload={reload} />
                <OverrideCard overrides={answer.overrides} reload={reload} />
                {verdictOf(answer, missing).kind !== "problem" && <HistoryCard value={answer.value} />}
                {answer.kind !== "unknown" && <Known key={answer} answer={answer} />}
              </>
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
