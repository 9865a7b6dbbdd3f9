// Fuzzes lines of files with outcomes, as CSV and as JSON. A line is skipped, refused with a reason, or read; what is
// read is the same when it is written as JSON.

import { OUTCOMES } from "@inkling/contract";
import { readOutcomeLine } from "../../../packages/operations/src/outcome-file.ts";
import type { Target } from "../target.ts";

const NOW = Date.parse("2026-06-01T12:00:00Z");
const GOOD = [
  "ref,outcome,at",
  "user-81,fraud,2026-05-01T00:00:00Z",
  "user-81,legitimate",
  '"user ""81""","fraud",""',
  '{"ref":"user-81","outcome":"fraud","at":"2026-05-01"}',
  '{"ref":"user-81","outcome":"legitimate","at":null}',
  "",
];

export default function outcomes(): Target {
  return {
    corpus: GOOD.map((text) => Buffer.from(text)),
    tokens: [
      '"',
      '""',
      ",",
      " ,",
      "{",
      "}",
      '"at":',
      "fraud",
      "abuse",
      "\ufeff",
      "\\u0000",
      "2026-13-01",
      "1e9",
      "\t",
    ],
    check: (input) => {
      const read = readOutcomeLine(Buffer.from(input).toString("utf8"), NOW);
      if (read === undefined) return "skipped";
      if (typeof read === "string") {
        if (read === "") throw new Error("refused without a reason");
        return "refused";
      }
      const { ref, outcome, at } = read;
      if (ref === "" || ref.length > 128 || !OUTCOMES.some((one) => one === outcome))
        throw new Error(`read: ${JSON.stringify(read)}`);
      const written = { ref, outcome, ...(at !== undefined && { at: new Date(at).toISOString() }) };
      const again = readOutcomeLine(JSON.stringify(written), NOW);
      // A reference in JSON may take more characters than a line may have.
      if (JSON.stringify(written).length <= 1_024 && JSON.stringify(again) !== JSON.stringify(read))
        throw new Error(`not read as written: ${JSON.stringify([read, again])}`);
      return "read";
    },
  };
}
