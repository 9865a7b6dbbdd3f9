// Fuzzes texts of email addresses. Both parsers agree, and an answer has the right fields.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { answerEmail, EmailSegment } from "@inkling/engine";
import { parseEmail, parseEmailInFull } from "../../../packages/engine/src/email/email.ts";
import type { Target } from "../target.ts";

const GOOD = [
  "jane.doe+news@gmail.com",
  '"jane doe"@mail.cs.ox.ac.uk',
  "用户@例子.广告",
  "a@xn--fiqs8s.com",
  "j@a.mailinator.com.",
  `${"a".repeat(64)}@${"d".repeat(63)}.${"d".repeat(63)}.com`,
  "someone@throw-away.tk",
];
const ANSWER = /^\{"valid":(true|false),"disposable":(true|false),"providers":\[.*\]\}$/;

export default function email(): Target {
  const file = join(import.meta.dir, "../../../packages/engine/fixtures/email.seg");
  const segment = EmailSegment.open(Uint8Array.from(readFileSync(file)));
  return {
    corpus: GOOD.map((text) => Buffer.from(text)),
    tokens: [
      "@",
      ".",
      '"',
      "\\",
      "xn--",
      " ",
      "\0",
      "..",
      ".com",
      "github.io",
      "\xe3\x80\x82",
      "\xc3\xa9",
      "[1.2.3.4]",
    ],
    check: (input) => {
      const text = Buffer.from(input).toString("utf8");
      const [short, full] = [parseEmail(text), parseEmailInFull(text)];
      if (JSON.stringify(short) !== JSON.stringify(full))
        throw new Error(`two results: ${JSON.stringify(text)}`);
      const answer = Buffer.from(answerEmail(text, segment)).toString("latin1");
      if (!ANSWER.test(answer) || JSON.parse(answer).valid !== short.valid)
        throw new Error(`answer ${answer}`);
      if (answer.includes('"disposable":true')) return "disposable";
      return short.valid ? "valid" : short.host === undefined ? "no host" : "not valid";
    },
  };
}
