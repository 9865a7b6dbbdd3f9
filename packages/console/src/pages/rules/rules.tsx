// rules.tsx: shows the history of rulesets, and a draft that is checked while the user writes it, as text or with the
// rule builder. The user can try and publish the draft.

import type { EditorView } from "@codemirror/view";
import { STARTER_RULESET } from "@inkling/contract";
import { useMemo, useRef } from "preact/hooks";
import type { Calibration, Ruleset, RulesetCheck } from "../../answers.ts";
import { call } from "../../api.ts";
import { Button, Card } from "../../components/basics.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { formatCount, timeIn } from "../../format.ts";
import { notify, type PageProps, useLoad } from "../../hooks.ts";
import { AssessVisitor } from "../assess/assess.tsx";
import { Builder } from "./builder.tsx";
import { CheckResult } from "./check.tsx";
import { type Draft, useDraft } from "./draft.ts";
import { Editor, goTo, type LineNote, scrollTo } from "./editor.tsx";
import { History, RulesetDetail } from "./history.tsx";
import { Publish } from "./publish.tsx";
import { ReplayCard } from "./replay.tsx";
import type { Beyond } from "./rule-condition.ts";
import { type RulesText, readRules, withExpected } from "./rule-text.ts";

async function loadNewest(signal: AbortSignal) {
  const [first] = (await call("GET rulesets", { limit: 1 }, signal)).rulesets;
  return { newest: first && (await call("GET rulesets/{id}", { id: String(first.number) }, signal)) };
}

export const RulesPage = ({ rest }: PageProps) =>
  rest === "" ? <Overview /> : <RulesetDetail key={rest} id={rest} />;

function Overview() {
  const loading = useLoad(loadNewest, []);
  return <Loaded from={loading}>{({ newest }) => <Rules newest={newest} reload={loading.reload} />}</Loaded>;
}

interface RulesProps {
  readonly newest: Ruleset | undefined;
  readonly reload: () => void;
}

function titleOf({ base, isWritten }: Draft, newest: Ruleset | undefined): string {
  if (newest === undefined) return "Your first ruleset";
  return isWritten ? `Draft, based on ruleset ${base}` : `Ruleset ${newest.number}, which is active`;
}

/** Milliseconds to wait after the last change before the text is checked. */
const PAUSE_MS = 300;

async function checkText(text: string, signal: AbortSignal): Promise<RulesetCheck> {
  await new Promise((done) => setTimeout(done, PAUSE_MS));
  signal.throwIfAborted();
  return call("POST rulesets/check", { text }, signal);
}

function Rules({ newest, reload }: RulesProps) {
  const draft = useDraft(newest);
  const check = useLoad((signal) => checkText(draft.text, signal), [draft.text]);
  const view = useRef<EditorView>(null);
  const rules = useMemo(() => readRules(draft.text), [draft.text]);
  const hits = useLoad(loadHits, [newest?.number]);
  const notes = useMemo(() => notesOf(rules, hits.data), [rules, hits.data]);
  const replace = (change: () => void) => {
    if (draft.isWritten) notify("Your changes are gone. Ctrl+Z in the editor brings them back.");
    change();
  };
  const rolledBack = () => {
    if (!draft.isChanged) draft.discard(); // the editor shows what is active
    reload();
  };
  return (
    <>
      <Card title={titleOf(draft, newest)}>
        <div class="beside">
          <div>
            <Editor text={draft.text} check={check.data} notes={notes} view={view} onText={draft.write} />
            <Loaded from={check} waiting="Checking …">
              {(found) => (
                <CheckResult
                  of={found}
                  onMistake={(place) => view.current && goTo(view.current, place)}
                  onExpect={(i) => draft.write(withExpected(draft.text, i, found.examples[i]!))}
                />
              )}
            </Loaded>
          </div>
          <Builder
            text={draft.text}
            rules={rules}
            onText={draft.write}
            onShow={(line) => view.current && scrollTo(view.current, line)}
          />
        </div>
        <p class="actions">
          {draft.isWritten && <Button text="Discard changes" onClick={() => replace(draft.discard)} />}
          {newest !== undefined && (
            <Button
              text="Use the starter ruleset"
              onClick={() => replace(() => draft.write(STARTER_RULESET))}
            />
          )}
        </p>
      </Card>
      <ReplayCard text={draft.text} />
      <Publish draft={draft} newest={newest} reload={reload} />
      <History newest={newest?.number ?? 0} onRollback={rolledBack} />
      <AssessVisitor
        title="Try the draft on a visitor"
        declared={check.data?.facts ?? {}}
        text={draft.text}
      />
    </>
  );
}

/** How often each rule of the newest ruleset matched in the last 24 hours. */
const loadHits = (signal: AbortSignal) => call("GET decisions/calibration", { since: timeIn(-1) }, signal);

/** Each rule's hits beside its first line. None if no decision was stored: zeros would say nothing about the rules. */
function notesOf(rules: RulesText | Beyond, hits: Calibration | undefined): LineNote[] | undefined {
  if ("beyond" in rules || hits === undefined) return undefined;
  if (hits.decisions === 0) return [];
  return rules.rules.flatMap(({ name, header }) => {
    const found = hits.rules.find(({ rule }) => rule === name);
    if (found === undefined) return [];
    const { live, shadow } = found;
    return [[header + 1, `24 h: ${formatCount(live)} live, ${formatCount(shadow)} in shadow`]];
  });
}
