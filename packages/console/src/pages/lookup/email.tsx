// email.tsx: shows everything about one email address, or about a domain and all its addresses.

import type { EmailAnswer, EmailVerdict } from "../../answers.ts";
import { Card, Definitions, Notice } from "../../components/basics.tsx";
import { isProblem, suggestionOf } from "./answers.ts";
import { ApiRequest, EvidenceCard, ValueProblemCard } from "./evidence.tsx";
import { OverrideButton } from "./overrides.tsx";

function titleOf({ disposable, valid }: EmailVerdict, name: string): string {
  if (disposable) return `Disposable ${name}`;
  return valid ? "Valid, not disposable" : `Not a valid ${name}`;
}

export function EmailResult({ answer, reload }: { answer: EmailAnswer; reload: () => void }) {
  const { value, kind, email, overrides } = answer;
  if (isProblem(email)) return <ValueProblemCard value={value} problem={email} />;
  const { valid, disposable, providers } = email;
  const domain = value.slice(value.lastIndexOf("@") + 1);
  const suggestion = suggestionOf(answer);
  return (
    <div class="pair">
      <Card title={titleOf(email, kind === "email" ? "email address" : "email domain")}>
        {suggestion && <Notice kind="warn">Possible typo: did they mean {suggestion}?</Notice>}
        <Definitions
          rows={[
            [
              "Valid",
              valid ? "yes: could receive mail, judging by its text only" : "no: cannot receive mail",
            ],
            ["Disposable", disposable ? `yes, from ${providers.join(", ")}` : "no"],
          ]}
        />
        <OverrideButton
          value={domain}
          flag="disposable"
          verdict={!disposable}
          overrides={overrides}
          text={`Mark ${domain} as ${disposable ? "not " : ""}disposable`}
          onDone={reload}
        />
      </Card>
      <ApiRequest value={kind === "email" ? value : `anybody@${value}`} answer={{ email }} />
      <EvidenceCard from={email} />
    </div>
  );
}
