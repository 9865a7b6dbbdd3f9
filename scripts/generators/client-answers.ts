// client-answers.ts: generates packages/client/src/generated.ts, the types of answers for the TypeScript client.

import {
  ACTIONS,
  ANSWER_FIELDS,
  DATA_OF,
  DECISION,
  DECISION_INPUT,
  DEGRADED_DATA,
  EVIDENCE_ENTRY,
  EVIDENCE_LABELS,
  type Field,
  type Fields,
  LOOKUPS,
  type Lookup,
  MX_OUTCOMES,
  NETWORK,
  type OptIn,
  OUTCOMES,
  REASON_CODES,
  REPUTATION_FLAGS,
  type Shape,
} from "@inkling/contract";
import type { GeneratedFile } from "./generated.ts";

interface Interface {
  readonly name: string;
  readonly about: string;
  readonly fields: Fields;
}

const OF_LOOKUP: Readonly<
  Record<Lookup, { readonly answer: string; readonly about: string; readonly evidence: string }>
> = {
  geolocate: {
    answer: "Place",
    about: "Where an address is. Every field is present; unknown fields inside it are omitted.",
    evidence: "PlaceEvidence",
  },
  reputation: {
    answer: "Reputation",
    about: "The flags of an address. All are false if no list contains it.",
    evidence: "ReputationEvidence",
  },
  email: { answer: "EmailVerdict", about: "The verdict on an email address.", evidence: "EmailEvidence" },
};

const OPT_INS: Readonly<
  Record<Exclude<OptIn, "evidence" | "facts" | "feeds">, { readonly name: string; readonly about: string }>
> = {
  network: {
    name: "WithNetwork",
    about: "What `network: true` adds to an answer about an address; null if the server has no such data.",
  },
  subject: { name: "WithSubject", about: "What `subject: true` adds to an answer about an address." },
  mx: { name: "WithChecks", about: 'What `checks: ["mx"]` adds to an answer about an email address.' },
};

const indented = (lines: readonly string[]) => lines.map((line) => `  ${line}`).join("\n");
const quoted = (texts: readonly string[]) => texts.map((text) => JSON.stringify(text));
const union = (values: readonly string[]) => quoted(values).join(" | ");
const open = (values: readonly string[]) => `Open<${union(values)}>`;

/** A named type for a list of values. */
interface Alias {
  readonly name: string;
  readonly about: string;
  /** Set if later servers never add values. */
  readonly isClosed?: true;
}

const ALIASES = new Map<readonly string[], Alias>([
  [
    EVIDENCE_LABELS,
    { name: "EvidenceLabel", about: "What a feed claims about the address, network or domain." },
  ],
  [EVIDENCE_ENTRY.fields.effect.values, { name: "Effect", about: "What an entry does to the answer." }],
  [
    MX_OUTCOMES,
    { name: "MxOutcome", about: "The result of the DNS check of a domain: docs/email.md of the server." },
  ],
  [ACTIONS, { name: "Action", about: "What to do with a visitor.", isClosed: true }],
  [
    REASON_CODES,
    { name: "ReasonCode", about: "A reason behind the score: docs/decision-reference.md of the server." },
  ],
  [DEGRADED_DATA, { name: "DegradedData", about: "Data that a decision lacked." }],
]);

/** Objects that have their own type. */
const NAMED: readonly (string | undefined)[] = [
  NETWORK.name,
  DECISION.fields.reasons.of.name,
  DECISION.fields.shadow.of.name,
];
/** The type of objects whose fields the caller names. */
const FACTS = "FactValues";

function typeOf(shape: Shape): string {
  switch (shape.type) {
    case "text": {
      const values = shape.values ?? shape.known;
      return values === undefined ? "string" : (ALIASES.get(values)?.name ?? open(values));
    }
    case "time":
      return "string";
    case "integer":
    case "uint32":
    case "number":
      return "number";
    case "boolean":
    case "true":
      return shape.type;
    case "list":
      return `readonly ${typeOf(shape.of)}[]`;
    case "object":
      if (shape.name !== undefined && NAMED.includes(shape.name)) return shape.name;
      if (shape.isOpen === true && Object.keys(shape.fields).length === 0) return FACTS;
      return `{ ${fieldLines(shape.fields).join(" ")} }`;
  }
}

/** Returns a field's description as a sentence, with links replaced by their texts. */
function aboutOf({ description, docs }: Field): string[] {
  const text = (description ?? docs)?.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1");
  return text === undefined
    ? []
    : [`${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?]$/.test(text) ? "" : "."}`];
}

function fieldLines(fields: Fields, isAskedFor = false): string[] {
  return Object.entries(fields).flatMap(([name, row]) => {
    const isOptional = row.optional === true && (!isAskedFor || row.type === "true");
    return [
      ...aboutOf(row).map((text) => `/** ${text} */`),
      `readonly ${name}${isOptional ? "?" : ""}: ${typeOf(row)}${row.nullable ? " | null" : ""};`,
    ];
  });
}

const declaration = ({ name, about, fields }: Interface, isAskedFor = false) =>
  `/** ${about} */\nexport interface ${name} {\n${indented(fieldLines(fields, isAskedFor))}\n}\n`;

function only(fields: Fields, isWanted: (row: Field) => boolean): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, row]) => isWanted(row)));
}

/** Returns the fields that an opt-in adds, over all lookups. */
const addedBy = (optIn: OptIn): Fields =>
  Object.assign(
    {},
    ...LOOKUPS.map((lookup) => only(ANSWER_FIELDS[lookup].fields, (row) => row.optIn === optIn)),
  );

/** Returns the types of the visitor that a caller sends, and of the decision. */
function decisions(): readonly string[] {
  const { reasons, shadow } = DECISION.fields;
  return [
    `/** Facts by name. */\nexport type ${FACTS} = Readonly<Record<string, string | number | boolean | readonly string[]>>;\n`,
    declaration({
      name: "DecisionInput",
      about: DECISION_INPUT.about,
      fields: DECISION_INPUT.fields,
    }),
    declaration({
      name: reasons.of.name,
      about: "A reason behind the score, with its weight.",
      fields: reasons.of.fields,
    }),
    declaration({
      name: shadow.of.name,
      about: "What a shadow rule would have decided.",
      fields: shadow.of.fields,
    }),
    declaration({
      name: DECISION.name,
      about: DECISION.about,
      fields: only(DECISION.fields, (row) => row.optIn === undefined),
    }),
    declaration(
      {
        name: "WithFacts",
        about: "What `facts: true` adds to a decision.",
        fields: only(DECISION.fields, (row) => row.optIn === "facts"),
      },
      true,
    ),
  ];
}

export function clientAnswers(): readonly GeneratedFile[] {
  const answers = LOOKUPS.map((lookup) => {
    const { answer, about } = OF_LOOKUP[lookup];
    return declaration({
      name: answer,
      about,
      fields: only(ANSWER_FIELDS[lookup].fields, (row) => row.optIn === undefined),
    });
  });
  const entries = LOOKUPS.map((lookup) =>
    declaration({
      name: OF_LOOKUP[lookup].evidence,
      about: `An entry of the evidence of ${lookup}.`,
      fields: only(EVIDENCE_ENTRY.fields, ({ lookups = LOOKUPS }) => lookups.includes(lookup)),
    }),
  );
  const optIns = Object.entries(OPT_INS).map(([optIn, { name, about }]) =>
    declaration({ name, about, fields: addedBy(optIn as keyof typeof OPT_INS) }, true),
  );
  const ofLookups = LOOKUPS.flatMap((lookup) => Object.keys(ANSWER_FIELDS[lookup].fields));
  const names = [...new Set([...ofLookups, ...Object.keys(DECISION.fields)])];
  if (names.includes("data")) throw new Error("`data` is a field of the client's own");
  const content = [
    `// generated.ts: declares the API's answers, from the server's own description of them. Generated by \`npm run generate\`.
//
// Unknown leaves are omitted, so each is optional: never null, "" or 0. Later servers may add fields, labels and
// effects; programs should ignore those that they do not know.

// biome-ignore-all format: one field a line

/** The known values. Later servers may return other values. */
export type Open<Known extends string> = Known | (string & {});
`,
    ...[...ALIASES].map(
      ([values, { name, about, isClosed }]) =>
        `/** ${about} */\nexport type ${name} = ${isClosed ? union(values) : open(values)};\n`,
    ),
    ...answers,
    `/** The answer of each lookup. */\nexport interface Answers {\n${indented(LOOKUPS.map((lookup) => `readonly ${lookup}: ${OF_LOOKUP[lookup].answer};`))}\n}\n`,
    ...entries,
    `/** The evidence of each lookup. */\nexport interface EvidenceEntries {\n${indented(LOOKUPS.map((lookup) => `readonly ${lookup}: ${OF_LOOKUP[lookup].evidence};`))}\n}\n`,
    declaration({
      name: NETWORK.name,
      about: "The owner and kind of an address's network: docs/api.md of the server.",
      fields: NETWORK.fields,
    }),
    ...optIns,
    ...decisions(),
    `/** The outcomes that a decision can be labelled with. */\nexport const OUTCOMES = [${quoted(OUTCOMES).join(", ")}] as const;\nexport type DecisionOutcome = (typeof OUTCOMES)[number];\n`,
    `/** Every field that an answer can have. */\nexport const FIELDS = [${quoted(names).join(", ")}] as const;\n`,
    `/** The data that may be missing from the answers of each lookup. */\nexport const DATA_OF = {\n${indented(LOOKUPS.map((lookup) => `${lookup}: [${quoted(DATA_OF[lookup]).join(", ")}],`))}\n} as const;\n`,
    `/** The answer about an address that no list contains. */\nexport const NO_FLAGS: Reputation = { ${REPUTATION_FLAGS.map((flag) => `${flag}: false`).join(", ")} };`,
  ].join("\n");
  return [{ path: "packages/client/src/generated.ts", content: `${content}\n` }];
}
