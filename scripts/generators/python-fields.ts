// python-fields.ts: generates packages/python/inkling/_generated.py: error codes, and the answers as dataclasses.

import { ACTIONS, CLIENT_PROBLEMS, DATA_OF, DECISION_INPUT, OUTCOMES, PROBLEMS } from "@inkling/contract";
import { openApiJson } from "../../packages/server/src/api/openapi.ts";
import type { Generated } from "./generated.ts";

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

const ANSWERS = { geolocate: "Geolocation", reputation: "Reputation", email: "EmailVerdict" } as const;
const DECISION = "Decision";
interface ClientProblem {
  readonly status?: number;
  readonly hint: string;
  readonly pythonHint?: string;
  readonly isPython?: boolean;
}

const SCALARS: Readonly<Record<string, string>> = {
  string: "str",
  boolean: "bool",
  integer: "int",
  number: "float",
};

const quoted = (texts: readonly string[]) => texts.map((text) => JSON.stringify(text)).join(", ");
const className = (field: string) => field[0]!.toUpperCase() + field.slice(1);

class Classes {
  readonly texts = new Map<string, string>();
  private readonly schemas: Readonly<Record<string, Schema>>;

  constructor(schemas: Readonly<Record<string, Schema>>) {
    this.schemas = schemas;
  }

  /** Writes a class after the classes that it uses. */
  add(name: string, schema: Schema): void {
    if (this.texts.has(name)) return;
    const { properties = {}, required = [], description } = schema;
    const isAnswer = Object.values<string>(ANSWERS).includes(name);
    const rows = Object.entries(properties)
      .map(([field, it]) => ({ field, it, type: this.typeOf(field, it), isThere: required.includes(field) }))
      .sort((a, b) => Number(b.isThere) - Number(a.isThere));
    const fields = rows.flatMap(({ field, it, type, isThere }) => {
      const known = it.enum ?? it.items?.enum;
      const comments = [it.description, known && `Known: ${known.join(", ")}.`].filter(Boolean);
      const optional = type.startsWith("Optional") ? type : `Optional[${type}]`;
      return [
        ...comments.map((comment) => `    # ${comment}`),
        `    ${field}: ${isThere ? type : `${optional} = None`}`,
      ];
    });
    const json = [
      "    # As the server sent it.",
      "    json: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)",
    ];
    const data = [
      "    # How complete the data behind it is.",
      "    data: DataState = field(default=DataState(), compare=False, repr=False)",
    ];
    const text = [
      "@dataclass(frozen=True)",
      `class ${name}(Answer):`,
      ...(description === undefined ? [] : [`    """${description}"""`, ""]),
      ...fields,
      ...(isAnswer || name === DECISION ? json : []),
      ...(isAnswer ? data : []),
    ].join("\n");
    if (this.texts.has(name)) throw new Error(`two classes would be ${name}`);
    this.texts.set(name, text);
  }

  private typeOf(field: string, schema: Schema): string {
    const { $ref, type, items, anyOf } = schema;
    if ($ref !== undefined) {
      const name = $ref.split("/").at(-1)!;
      this.add(name, this.schemas[name]!);
      return name;
    }
    const other = anyOf?.filter((one) => one.type !== "null");
    if (other?.length === 1) return `Optional[${this.typeOf(field, other[0]!)}]`;
    if (type === "array" && items !== undefined)
      return `Tuple[${this.typeOf(field.replace(/s$/, ""), items)}, ...]`;
    if (type === "object" && Object.keys(schema.properties ?? {}).length === 0) return "Mapping[str, Any]";
    if (type === "object") {
      const name = className(field);
      this.add(name, schema);
      return name;
    }
    const scalar = SCALARS[type ?? ""];
    if (scalar === undefined) throw new Error(`${field}: no Python type for ${JSON.stringify(schema)}`);
    return scalar;
  }
}

export function pythonFields(): Generated[] {
  const schemas: Readonly<Record<string, Schema>> = JSON.parse(openApiJson("")).components.schemas;
  const classes = new Classes(schemas);
  const answers: readonly string[] = [...Object.values(ANSWERS), DECISION];
  for (const name of answers) classes.add(name, schemas[name]!);
  return [{ path: "packages/python/inkling/_generated.py", content: moduleText(schemas, classes) }];
}

function moduleText(schemas: Readonly<Record<string, Schema>>, classes: Classes): string {
  const clientProblems = Object.entries<ClientProblem>(CLIENT_PROBLEMS).filter(
    ([, row]) => row.isPython !== false,
  );
  const fields = [...Object.values(ANSWERS), DECISION].flatMap((name) =>
    Object.keys(schemas[name]?.properties ?? {}),
  );
  const errors = [...Object.entries<ClientProblem>(PROBLEMS), ...clientProblems].map(
    ([code, { status = "None", hint, pythonHint = hint }]) =>
      `    ${JSON.stringify(code)}: (${status}, ${JSON.stringify(pythonHint)}),`,
  );
  return [
    "# Written by `npm run generate` from the OpenAPI document. Do not edit.",
    "from __future__ import annotations",
    "",
    "from dataclasses import dataclass, field",
    "from typing import Any, Dict, Mapping, Optional, Tuple",
    "",
    "from ._answer import Answer",
    "from ._data import DataState",
    "",
    "# The status of each code, and what to do about it. Codes without a status are the client's own.",
    "ERRORS: Dict[str, Tuple[Optional[int], str]] = {",
    ...errors,
    "}",
    "SERVER_CODES: Tuple[str, ...] = tuple(code for code, (status, _) in ERRORS.items() if status)",
    "CLIENT_CODES: Tuple[str, ...] = tuple(code for code, (status, _) in ERRORS.items() if not status)",
    "# The data that may be missing from the answers of each lookup.",
    "DATA_OF: Dict[str, Tuple[str, ...]] = {",
    ...Object.entries(DATA_OF).map(([lookup, names]) => `    "${lookup}": (${quoted(names)},),`),
    "}",
    `ACTIONS: Tuple[str, ...] = (${quoted(ACTIONS)})`,
    `OUTCOMES: Tuple[str, ...] = (${quoted(OUTCOMES)})`,
    "# The fields that describe a visitor.",
    `VISITOR_FIELDS: Tuple[str, ...] = (${quoted(Object.keys(DECISION_INPUT.fields))})`,
    "# Every field that an answer can have.",
    `FIELDS = frozenset((${quoted([...new Set([...fields, "json", "data"])].sort())}))`,
    "",
    "",
    [...classes.texts.values()].join("\n\n\n"),
    "",
    "",
    `ANSWERS: Dict[str, Any] = {${Object.entries(ANSWERS)
      .map(([lookup, name]) => `"${lookup}": ${name}`)
      .join(", ")}}`,
    "",
  ].join("\n");
}
