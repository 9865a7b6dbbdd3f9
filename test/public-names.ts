// public-names.ts: the names that docs/api.md#stability promises, read from the code. `npx bun
// test/public-names.ts` records them in public-names.txt. Use it only for an intended change, with a line in
// CHANGELOG.md.

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Inkling, InklingError } from "@inkling/client";
import {
  ADMIN_PROBLEMS,
  CLIENT_PROBLEMS,
  LOG_EVENTS,
  METRICS,
  OPERATIONS,
  PROBLEMS,
  SETTING_NAMES,
  variableName,
} from "@inkling/contract";
import type { Command } from "commander";
import { ADMIN_ROUTES } from "../packages/server/src/admin/routes.ts";
import { commandTree } from "./harness/command-tree.ts";
import { ROOT } from "./harness/project-files.ts";

export const RECORDED = join(ROOT, "test/public-names.txt");

/**
 * Returns the names in one section for each kind, sorted, so that a difference shows which names were added, removed or
 * renamed.
 */
export async function publicNames(): Promise<string> {
  const statuses = (rows: Readonly<Record<string, { readonly status: number }>>) =>
    Object.entries(rows).map(([code, { status }]) => `${code} ${status}`);
  const paths = (rows: Readonly<Record<string, { readonly method: string; readonly path: string }>>) =>
    Object.entries(rows).map(([id, { method, path }]) => `${method} ${path} ${id}`);
  const sections: Readonly<Record<string, readonly string[]>> = {
    "codes of the API": statuses(PROBLEMS),
    "codes of the admin API": statuses(ADMIN_PROBLEMS),
    "codes of the clients": Object.keys(CLIENT_PROBLEMS),
    "paths of the API": paths(OPERATIONS),
    "paths of the admin API": paths(Object.fromEntries([...ADMIN_ROUTES].map(([id, { row }]) => [id, row]))),
    metrics: Object.keys(METRICS),
    "log events": Object.values(LOG_EVENTS).flatMap((levels) => Object.values(levels).flatMap(Object.keys)),
    settings: SETTING_NAMES.map(variableName),
    commands: flagsOf(await commandTree("0.0.0")),
    "exports of @inkling/client": exportsOf(join(ROOT, "packages/client/src/index.ts")),
    "fields of Inkling": fieldsOf(Inkling),
    "fields of InklingError": [...fieldsOf(InklingError), ...Object.keys(new InklingError("INTERNAL", ""))],
    "exports of @inkling/local": exportsOf(join(ROOT, "packages/local/src/index.ts")),
    "exports of the Python package": pythonNames(),
  };
  return Object.entries(sections)
    .map(([title, names]) => `# ${title}\n${[...new Set(names)].sort().join("\n")}\n`)
    .join("\n");
}

function flagsOf(command: Command, path = ""): string[] {
  const flags = command.createHelp().visibleOptions(command);
  const names = flags.flatMap(({ short, long }) => [short, long]).filter((name) => name !== undefined);
  const arity = command.registeredArguments.map((one) =>
    one.required ? `<${one.name()}>` : `[${one.name()}]`,
  );
  const own = [[path || "inkling", ...arity, ...names.sort()].join(" ")];
  return [...own, ...command.commands.flatMap((inner) => flagsOf(inner, `${path} ${inner.name()}`.trim()))];
}

/**
 * Returns every name that a module exports, including types. Names from another package are listed only as re-exports.
 * @param ofTypes lists only types
 */
function exportsOf(path: string, ofTypes = false): string[] {
  const text = readFileSync(path, "utf8");
  const listed = [...text.matchAll(/^export (?:type )?\{([^}]+)\}/gm)].flatMap(([, list]) =>
    list!
      .split(",")
      .map((name) =>
        name
          .trim()
          .replace(/^type /, "")
          .replace(/^.* as /, ""),
      )
      .filter(Boolean),
  );
  const declared = [
    ...text.matchAll(/^export (?:abstract |async )?(class|const|function|interface|type|enum) (\w+)/gm),
  ].flatMap(([, kind, name]) => (ofTypes && /const|function/.test(kind!) ? [] : [name!]));
  const passedOn = [...text.matchAll(/^export (type )?\* from "([^"]+)"/gm)].flatMap(([, type, from]) =>
    from!.startsWith(".") ? exportsOf(join(dirname(path), from!), type !== undefined) : [`* of ${from}`],
  );
  return [...listed, ...declared, ...passedOn];
}

const fieldsOf = ({ prototype }: { readonly prototype: object }): string[] =>
  Object.getOwnPropertyNames(prototype).filter((name) => name !== "constructor");

function pythonNames(): string[] {
  const text = readFileSync(join(ROOT, "packages/python/inkling/__init__.py"), "utf8");
  const list = /^__all__ = \[([^\]]+)\]/m.exec(text)?.[1] ?? "";
  return [...list.matchAll(/"(\w+)"/g)].map(([, name]) => name!);
}

if (import.meta.main) writeFileSync(RECORDED, await publicNames());
