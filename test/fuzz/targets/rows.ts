// Fuzzes CSV, NDJSON and lines that `inkling enrich` reads. Either no byte is lost, or a BulkError is thrown.

import { openServable } from "@inkling/data";
import { Overrides } from "@inkling/engine";
import { planFor } from "../../../packages/bulk/src/enrich/plan.ts";
import { makeEnricher } from "../../../packages/bulk/src/enrich/worker.ts";
import { BulkError } from "../../../packages/bulk/src/errors.ts";
import { smallRelease, temporaryFolder } from "../../harness/release.ts";
import type { Target } from "../target.ts";

const LOG = '81.2.69.142 - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 12 "-" "curl"\n';
const GOOD = [
  "ip,n\n81.2.69.142,1\n8.8.8.8,2\n",
  'name;email\r\n"a ""b"";c";a@disposable-1.com\r\n"two\nlines";x@gmail.com\r\n',
  "client_ip\temail\n2001:db8::1\tjane@gmail.com\n",
  '{"ip":"81.2.69.142","n":1}\n{"ip":"8.8.8.8"}\n',
  LOG.repeat(3),
  "#Fields: date c-ip x\n2026-11-22\t81.2.69.142\t-\n",
  "sep=;\nip;n\n81.2.69.142;1\n",
];
const NAMES = ["x.csv", "x.tsv", "x.ndjson", "x.log", "-"];

export default function rows(): Target {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  const release = openServable(dataDir).name;
  return {
    // The first byte selects the file name.
    corpus: GOOD.flatMap((text) =>
      [0, 2, 3, 4].map((name) => Buffer.concat([Uint8Array.of(name), Buffer.from(text)])),
    ),
    tokens: [
      '"',
      '""',
      ",",
      ";",
      "\t",
      "\n",
      "\r\n",
      "{",
      "}",
      "81.2.69.142",
      "a@b.com",
      '{"ip":',
      "\\u0038",
      "\xff",
    ],
    check: (input) => {
      const body = input.subarray(1);
      const name = NAMES[(input[0] ?? 0) % NAMES.length]!;
      try {
        const plan = planFor(Buffer.from(body).toString("utf8"), name, {});
        const start = {
          plan,
          dataDir,
          release,
          overrides: Overrides.NONE.all,
          now: 0,
          withSummary: true,
          unknown: [],
        };
        const enricher = makeEnricher(start);
        const out = enricher.block(body, true).bytes;
        const tally = enricher.tally();
        if (out.length < body.length) throw new Error(`${out.length} bytes out of ${body.length}`);
        return tally.rows > 0 ? plan.format : "no rows";
      } catch (error) {
        if (error instanceof BulkError) return "refused";
        throw error;
      }
    },
  };
}
