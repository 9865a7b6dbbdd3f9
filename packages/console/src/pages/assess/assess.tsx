// assess.tsx: shows a form for one visitor, and what a ruleset decides about that visitor: on its own page the newest
// ruleset, and on the page of rules a draft.

import type { FactType } from "@inkling/contract";
import { useState } from "preact/hooks";
import type { DeclaredFacts } from "../../answers.ts";
import { call } from "../../api.ts";
import { Card } from "../../components/basics.tsx";
import { Field, Form, Select, TextField } from "../../components/form.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { useLoad } from "../../hooks.ts";
import { DecisionResult } from "./decision.tsx";
import {
  DEFAULT_EVENT,
  type Filled,
  fieldOf,
  filledIn,
  isVisitor,
  takeHandedOver,
  visitorOf,
} from "./visitor.ts";

const BOOLEANS = [
  ["", "unknown"],
  ["true", "true"],
  ["false", "false"],
] as const;

/** Loads the facts that the newest ruleset declares. Without a ruleset, there are none. */
async function loadDeclared(signal: AbortSignal) {
  const { rulesets } = await call("GET rulesets", { limit: 1 }, signal);
  const [newest] = rulesets;
  if (newest === undefined) return {};
  const { text } = await call("GET rulesets/{id}", { id: String(newest.number) }, signal);
  return (await call("POST rulesets/check", { text }, signal)).facts;
}

/** A visitor that another page has handed over is assessed immediately. */
export function AssessPage() {
  const loading = useLoad(loadDeclared, []);
  const [given] = useState(takeHandedOver);
  return <Loaded from={loading}>{(declared) => <AssessVisitor given={given} declared={declared} />}</Loaded>;
}

interface AssessVisitorProps {
  readonly title?: string;
  /** Initial fields. If they describe a visitor, the form immediately assesses that visitor. */
  readonly given?: Filled;
  /** The facts that the ruleset allows in `facts`. */
  readonly declared: DeclaredFacts;
  /** A draft that decides instead of the newest ruleset. */
  readonly text?: string;
}

export function AssessVisitor({ title, given, declared, text }: AssessVisitorProps) {
  const [asked, setAsked] = useState({ filled: given ?? {}, text });
  const { filled } = asked;
  const entered = (name: string) => ({ name, defaultValue: filled[name] ?? "" });
  // a new object, so that the same visitor is assessed again
  const submit = async (values: FormData) => setAsked({ filled: filledIn(values), text });
  return (
    <>
      <Card title={title}>
        <Form class="grid" needs="read" action="Assess" submit={submit}>
          <TextField label="Event" name="event" defaultValue={filled.event ?? DEFAULT_EVENT} required />
          <TextField label="IP address" placeholder="81.2.69.142" {...entered("ip")} />
          <TextField label="Email address" placeholder="jane@example.com" {...entered("email")} />
          <TextField label="User agent" placeholder="Mozilla/5.0 …" {...entered("user_agent")} />
          <TextField label="Expected country" placeholder="DE" {...entered("expected_country")} />
          {Object.entries(declared).map(([name, type]) => (
            <FactField key={name} type={type} label={`Fact ${name}`} {...entered(fieldOf(name))} />
          ))}
          <p class="faint">
            Enter an address, an email address, or both. Nothing is stored, logged or counted. Facts that
            begin with <code>count.</code> or <code>history.</code> are unknown here.
          </p>
        </Form>
      </Card>
      <div aria-live="polite">
        {isVisitor(filled) && (
          <>
            {asked.text !== text && <p class="faint">This result is from an earlier draft.</p>}
            <Result asked={asked} declared={declared} />
          </>
        )}
      </div>
    </>
  );
}

interface FactFieldProps {
  readonly type: FactType;
  readonly label: string;
  readonly name: string;
  readonly defaultValue: string;
}

function FactField({ type, label, ...field }: FactFieldProps) {
  if (type === "boolean")
    return (
      <Field label={label}>
        <Select options={BOOLEANS} {...field} />
      </Field>
    );
  if (type === "number") return <TextField label={label} type="number" step="any" {...field} />;
  return <TextField label={label} placeholder={type === "list" ? "a, b, c" : ""} {...field} />;
}

interface ResultProps {
  readonly asked: { readonly filled: Filled; readonly text: string | undefined };
  readonly declared: DeclaredFacts;
}

function Result({ asked, declared }: ResultProps) {
  const { filled, text } = asked;
  const body = { visitor: visitorOf(filled, declared), ...(text !== undefined && { text }) };
  const loading = useLoad((signal) => call("POST assess", body, signal), [asked]);
  return (
    <Loaded from={loading} waiting="Assessing …">
      {(found) => <DecisionResult of={found} visitor={body.visitor} isDraft={text !== undefined} />}
    </Loaded>
  );
}
