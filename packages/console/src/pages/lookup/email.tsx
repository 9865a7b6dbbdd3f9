// email.tsx: everything about one email address.

import { Card, Definitions } from "../../components/basics.tsx";
import type { EmailAnswer, EmailVerdict } from "../../types.ts";
import { ValueProblemCard } from "./address.tsx";
import { ApiRequest } from "./api-request.tsx";
import { EvidenceCard } from "./evidence.tsx";
import { OverrideButton } from "./override-button.tsx";
import { isProblem } from "./results.tsx";

interface EmailResultProps {
  readonly answer: EmailAnswer;
  readonly reload: () => void;
}

function titleOf({ disposable, valid }: EmailVerdict): string {
  if (disposable) return "Disposable email address";
  return valid ? "Valid, not disposable" : "Not a valid email address";
}

export function EmailResult({ answer: { value, email }, reload }: EmailResultProps) {
  if (isProblem(email)) return <ValueProblemCard value={value} problem={email} />;
  const domain = value.slice(value.lastIndexOf("@") + 1);
  const suggestion = email.evidence?.find(({ did_you_mean }) => did_you_mean)?.did_you_mean;
  return (
    <div class="pair">
      <Card title={titleOf(email)}>
        {suggestion && (
          <p class="notice warn">
            Possible typing error: did they mean <strong>{suggestion}</strong>?
          </p>
        )}
        <Definitions
          rows={[
            ["Valid", email.valid ? "yes: it can receive email" : "no: it cannot receive email"],
            ["Disposable", email.disposable ? `yes, from ${email.providers.join(", ")}` : "no"],
          ]}
        />
        <p class="actions">
          <OverrideButton value={domain} flag="disposable" verdict={!email.disposable} onDone={reload}>
            Mark {domain} as {email.disposable ? "not " : ""}disposable
          </OverrideButton>
        </p>
      </Card>
      <ApiRequest value={value} isEmail answer={{ email }} />
      <EvidenceCard from={email} />
    </div>
  );
}
