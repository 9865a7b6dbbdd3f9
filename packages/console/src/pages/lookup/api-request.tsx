// api-request.tsx: the same lookup by the public API: a curl command and the JSON.

import { Card, Code, CopyButton } from "../../components/basics.tsx";

interface ApiRequestProps {
  readonly value: string;
  readonly isEmail: boolean;
  readonly answer: unknown;
}

/** $URL stays a variable: this listener does not know under which name applications reach the public one. */
function curlOf(value: string, isEmail: boolean): string {
  const curl = 'curl -H "Authorization: Bearer $KEY"';
  if (!isEmail) return `${curl} "$URL/v1/ip-intel/reputation/${value}?include=evidence"`;
  const body = JSON.stringify({ values: [value] }).replaceAll("'", "'\\''");
  return `${curl} -H "Content-Type: application/json" \\\n  -d '${body}' $URL/v1/user-intel/email`;
}

export function ApiRequest({ value, isEmail, answer }: ApiRequestProps) {
  const curl = curlOf(value, isEmail);
  const json = JSON.stringify(answer, null, 2);
  return (
    <Card title="API request">
      <Code>{curl}</Code>
      <p class="actions">
        <CopyButton text={curl.replaceAll("\\\n", "")} label="Copy curl" />
        <CopyButton text={json} label="Copy JSON" />
      </p>
      <details>
        <summary>JSON answer with evidence</summary>
        <Code>{json}</Code>
      </details>
    </Card>
  );
}
