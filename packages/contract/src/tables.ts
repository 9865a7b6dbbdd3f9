// tables.ts: functions that read and create tables, and preserve the type of their keys.

export const keysOf = <Name extends string>(table: Readonly<Record<Name, unknown>>): readonly Name[] =>
  Object.keys(table) as Name[];

export const recordOf = <Name extends string, Value>(
  names: readonly Name[],
  make: (name: Name, index: number) => Value,
): Record<Name, Value> =>
  Object.fromEntries(names.map((name, index) => [name, make(name, index)])) as Record<Name, Value>;
