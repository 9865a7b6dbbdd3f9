// python-fields.ts: generates packages/python/inkling/_generated.py: error codes, and the answers as dataclasses.

import {
  ACTIONS,
  CLIENT_PROBLEMS,
  DATA_OF,
  DECISION_INPUT,
  OUTCOMES,
  PROBLEM_CODES,
  PROBLEMS,
} from "@inkling/contract";
import { openApiJson } from "../../packages/server/src/api/openapi.ts";
import type { GeneratedFile } from "./generated.ts";

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

/**
 * A field's type, and the Python expression that reads it. The expression raises an error if a flag is not a boolean;
 * it does not check texts and numbers.
 */
interface Kind {
  readonly type: string;
  readonly read: (value: string) => string;
}

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
      .map(([field, it]) => ({
        field,
        it,
        kind: this.kindOf(field, it),
        isThere: required.includes(field),
      }))
      .sort((a, b) => Number(b.isThere) - Number(a.isThere));
    const fields = rows.flatMap(({ field, it, kind, isThere }) => {
      const known = it.enum ?? it.items?.enum;
      const comments = [it.description, known && `Known: ${known.join(", ")}.`].filter(Boolean);
      const type = isThere || kind.type.startsWith("Optional") ? kind.type : `Optional[${kind.type}]`;
      return [
        ...comments.map((comment) => `    # ${comment}`),
        `    ${field}: ${type}${isThere ? "" : " = None"}`,
      ];
    });
    const reads = rows.map(({ field, kind, isThere }) => {
      const value = isThere ? `it["${field}"]` : `it.get("${field}")`;
      const read = kind.read("value");
      if (read === "value") return `            ${field}=${value},`;
      return `            ${field}=${isThere ? kind.read(value) : `_if_there(${value}, lambda value: ${read})`},`;
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
      `class ${name}:`,
      ...(description === undefined ? [] : [`    """${description}"""`, ""]),
      ...fields,
      ...(isAnswer || name === DECISION ? json : []),
      ...(isAnswer ? data : []),
      "",
      "    @classmethod",
      `    def read(cls, it: Any${isAnswer ? ", data: DataState = DataState()" : ""}) -> "${name}":`,
      "        return cls(",
      ...reads,
      ...(isAnswer || name === DECISION ? ["            json=it,"] : []),
      ...(isAnswer ? ["            data=data,"] : []),
      "        )",
    ].join("\n");
    if (this.texts.has(name)) throw new Error(`two classes would be ${name}`);
    this.texts.set(name, text);
  }

  private kindOf(field: string, schema: Schema): Kind {
    const { $ref, type, items, anyOf } = schema;
    if ($ref !== undefined) {
      const name = $ref.split("/").at(-1)!;
      this.add(name, this.schemas[name]!);
      return { type: name, read: (value) => `${name}.read(${value})` };
    }
    const other = anyOf?.filter((one) => one.type !== "null");
    if (other?.length === 1) {
      const kind = this.kindOf(field, other[0]!);
      return { ...kind, type: `Optional[${kind.type}]` };
    }
    if (type === "array" && items !== undefined) {
      const kind = this.kindOf(field.replace(/s$/, ""), items);
      const read = (value: string) =>
        kind.read("item") === "item" ? `tuple(${value})` : `tuple(${kind.read("item")} for item in ${value})`;
      return { type: `Tuple[${kind.type}, ...]`, read };
    }
    if (type === "object" && Object.keys(schema.properties ?? {}).length === 0)
      return { type: "Mapping[str, Any]", read: (value) => value };
    if (type === "object") {
      const name = className(field);
      this.add(name, schema);
      return { type: name, read: (value) => `${name}.read(${value})` };
    }
    const scalar = SCALARS[type ?? ""];
    if (scalar === undefined) throw new Error(`${field}: no Python type for ${JSON.stringify(schema)}`);
    return { type: scalar, read: (value) => (scalar === "bool" ? `_flag(${value})` : value) };
  }
}

export const pythonFields = (): GeneratedFile[] => [
  { path: "packages/python/inkling/_generated.py", content: moduleText() },
];

function moduleText(): string {
  const schemas: Readonly<Record<string, Schema>> = JSON.parse(openApiJson("")).components.schemas;
  const classes = new Classes(schemas);
  for (const name of Object.values(ANSWERS)) classes.add(name, schemas[name]!);
  classes.add(DECISION, schemas[DECISION]!);
  const clientProblems = Object.entries<ClientProblem>(CLIENT_PROBLEMS).filter(
    ([, row]) => row.isPython !== false,
  );
  const fields = [...Object.values(ANSWERS), DECISION].flatMap((name) =>
    Object.keys(schemas[name]?.properties ?? {}),
  );
  const hints = [...Object.entries<ClientProblem>(PROBLEMS), ...clientProblems].map(
    ([code, { hint, pythonHint = hint }]) => `    ${JSON.stringify(code)}: ${JSON.stringify(pythonHint)},`,
  );
  return [
    "# Written by `npm run generate` from the OpenAPI document. Do not edit.",
    "from __future__ import annotations",
    "",
    "from dataclasses import dataclass, field",
    "from typing import Any, Callable, Dict, Mapping, Optional, Tuple, TypeVar",
    "",
    "from ._data import DataState",
    "",
    '_T = TypeVar("_T")',
    "",
    "",
    "def _if_there(value: Any, read: Callable[[Any], _T]) -> Optional[_T]:",
    "    return None if value is None else read(value)",
    "",
    "",
    "def _flag(value: Any) -> bool:",
    "    if not isinstance(value, bool):",
    '        raise TypeError("a flag must be true or false")',
    "    return value",
    "",
    "",
    `SERVER_CODES: Tuple[str, ...] = (${quoted(PROBLEM_CODES)})`,
    `CLIENT_CODES: Tuple[str, ...] = (${quoted(clientProblems.map(([code]) => code))})`,
    "STATUSES: Dict[str, int] = {",
    ...Object.entries(PROBLEMS).map(([code, { status }]) => `    "${code}": ${status},`),
    "}",
    "HINTS: Dict[str, str] = {",
    ...hints,
    "}",
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
