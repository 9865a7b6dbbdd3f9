// evidence-examples.ts: generates the examples in docs/evidence.md from the sandbox's answers.

import { INCLUDE, parseIp } from "@inkling/engine";
import { sandboxAddress, sandboxEmail } from "../../packages/server/src/lookup/sandbox.ts";
import type { GeneratedSection } from "./generated.ts";

const EXAMPLES = [
  { lookup: "reputation", path: "/v1/ip-intel/reputation/192.0.2.8" },
  { lookup: "geolocate", path: "/v1/ip-intel/geolocate/2001:db8::1" },
  { lookup: "email", path: "/v1/user-intel/email/jane@relay.example" },
] as const;

const LINE = 110;

/** Formats JSON with each list of texts on one line, and each innermost object on one line if it fits. */
const print = (value: unknown) =>
  JSON.stringify(value, null, 2)
    .replace(/\[\s+("[^{}[\]]*")\s+\]/g, (_, texts: string) => `[${texts.replace(/\s+/g, " ")}]`)
    .replace(/\{\s+([^{}[\]]*?)\s+\}/g, (whole, fields: string) => {
      const line = `{ ${fields.replace(/\s+/g, " ")} }`;
      return line.length <= LINE ? line : whole;
    });

export function evidenceExamples(): readonly GeneratedSection[] {
  return EXAMPLES.map(({ lookup, path }) => {
    const value = path.split("/").at(-1)!;
    const address = parseIp(value);
    const answer =
      lookup === "email" ? sandboxEmail(value, true) : sandboxAddress(lookup, address!, INCLUDE.evidence);
    if (!(answer instanceof Uint8Array)) throw new Error(`the sandbox answers ${path} with ${answer.code}`);
    const json = print(JSON.parse(new TextDecoder().decode(answer)));
    const content = `\`\`\`\nGET ${path}?include=evidence\n\`\`\`\n\n\`\`\`json\n${json}\n\`\`\``;
    return { path: "docs/evidence.md", section: `${lookup} example`, content };
  });
}
