// members-of.ts: members of JSON objects by path, and the one that holds the client.
//
// in   objects of NDJSON; names of columns
// out  a path such as request.client_ip
//
// What a request may set (X-Forwarded-For and its like) is never chosen: whoever wants it names it.

/** A line of NDJSON; {} when it is none. */
export function objectOf(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {}; // a broken row is counted when it is met
  }
}

/** A member by its name, or by a path of names with dots between them. */
export function memberAt(members: Readonly<Record<string, unknown>>, path: string): unknown {
  if (Object.hasOwn(members, path)) return members[path];
  let value: unknown = members;
  for (const name of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

const MAX_DEPTH = 3;

/** Paths of all members that are text. */
export function pathsOf(members: Readonly<Record<string, unknown>>, before = "", depth = 1): string[] {
  return Object.entries(members).flatMap(([name, value]) => {
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return depth < MAX_DEPTH
        ? pathsOf(value as Record<string, unknown>, `${before}${name}.`, depth + 1)
        : [];
    return [before + name];
  });
}

/** Names that mean the client, the surest first. */
const IP_NAMES = [
  /^(client|c)[-_ ]?(ip|ip[-_ ]?addr(ess)?|addr(ess)?|host)$/i,
  /^((remote|source|src|visitor|user|peer|caller)?[-_ ]?(ip|ip[-_ ]?addr(ess)?|addr)|(downstream[-_ ])?(remote|source|peer)[-_ ]?(address|host))$/i,
];
/** Of these names, those that mean no postal address: such a column may be empty in all rows that were looked at. */
const SURE = /ip|addr$/i;
/** What a request may say of itself. */
const FORWARDED = /forwarded|x[-_ ]?real|xff|true[-_ ]?client|connecting[-_ ]?ip|header/i;
/** Members that hold addresses of others, or what only looks like an address. */
const OTHERS =
  /(^|[._ -])(server|dst|dest|destination|upstream|local|target|backend|listener)|(^|\.)(host|observer|node|agent)\.|version|build|release/i;

const lastName = (path: string) => path.slice(path.lastIndexOf(".") + 1).trim();

/**
 * The column or member that holds the client.
 * @param names of columns, or paths
 * @param share of its values that are addresses
 */
export function clientAmong<Key>(
  keys: readonly Key[],
  nameOf: (key: Key) => string,
  share: (key: Key) => number,
): Key | undefined {
  const able = keys.filter((key) => !FORWARDED.test(nameOf(key)));
  const others = able.filter((key) => OTHERS.test(nameOf(key)));
  const likely = able.filter((key) => !others.includes(key));
  const named = IP_NAMES.flatMap((pattern) => likely.filter((key) => pattern.test(lastName(nameOf(key)))));
  const ranked = [...named, ...likely, ...others];
  return ranked.find((key) => share(key) > 0.5) ?? named.find((key) => SURE.test(lastName(nameOf(key))));
}

/** Where in these objects the client is. */
export function clientPath(
  rows: readonly Record<string, unknown>[],
  fits: (value: string) => boolean,
): string | undefined {
  const paths = [...new Set(rows.flatMap((row) => pathsOf(row)))];
  return clientAmong(
    paths,
    (path) => path,
    (path) =>
      shareOf(
        rows.map((row) => memberAt(row, path)),
        fits,
      ),
  );
}

/** The share of texts that fit, empty ones left out. */
export function shareOf(values: readonly unknown[], fits: (value: string) => boolean): number {
  const texts = values.filter((value): value is string => typeof value === "string" && value !== "");
  return texts.filter(fits).length / Math.max(1, texts.length);
}
