// router.ts: extracts the path, query and value of a request from untrusted text, and finds the route for the path.
//
// An unreadable value becomes undefined. Source: RFC 3986 2.1 and 3.3.
//
// The runtime gives a request's URL in one of two forms. In an absolute URL, it has already resolved "." and "..",
// turned "\" into "/" and percent-encoded non-ASCII characters. A URL that starts with "/" is unchanged. `new URL`
// is not used, because it throws for such a URL. The runtime's own router reads every path as sent, so `pathPatterns`
// and `isAsSent` find the requests for which the two differ.
//
// Cost: templates with a value are compared with the path in order; all other paths are found in a map.

/** The path starts after "http://" and at least one character. */
const AFTER_SCHEME = 8;

/** Returns path and query as sent; "" if there is no path (as in `CONNECT host:80`). */
export function targetOf(url: string): string {
  if (url.charCodeAt(0) === 0x2f) return url;
  const slash = url.indexOf("/", AFTER_SCHEME);
  return slash < 0 ? "" : url.slice(slash);
}

/** Returns the index of the query's "?", or the target's length if there is no query. */
export function pathEnd(target: string): number {
  const question = target.indexOf("?");
  return question < 0 ? target.length : question;
}

/** Maximum number of segments in a path. No path of the server has more than 6. */
const MAX_SEGMENTS = 12;

/** Patterns of the runtime's router for all paths without empty segments, apart from an empty last one. */
export const pathPatterns: readonly string[] = [
  "/",
  ...Array.from({ length: MAX_SEGMENTS }, (_, last) =>
    Array.from({ length: last + 1 }, (_, at) => `/:s${at}`).join(""),
  ).flatMap((pattern) => [pattern, `${pattern}/`]),
];

/** Returns the runtime's pattern for a path template such as "/v1/x/{y}". */
export const patternOf = (template: string) => template.replace(/\{(\w+)\}/g, ":$1");

const BACKSLASH = /\\/g;
const ENCODED_BACKSLASH = /%5c/gi;
const ENCODED_SEPARATOR = /%(2f|5c)/i;

/**
 * Returns whether a proxy that compares paths as sent reads the same path as this server.
 * @param segments the segments as the runtime's router found them in the path as sent, decoded
 * @param path the path as the runtime normalized it
 */
export function isAsSent(segments: Readonly<Record<string, string>>, path: string): boolean {
  let backslashes = 0;
  for (const name in segments) {
    const segment = segments[name]!; // the name comes from the same object
    if (segment === "." || segment === "..") return false;
    if (segment.includes("\\")) backslashes += segment.match(BACKSLASH)!.length;
  }
  return backslashes === 0 || backslashes === path.match(ENCODED_BACKSLASH)?.length;
}

/** Returns whether a path contains an encoded "/" or "\". */
export const hasEncodedSeparator = (path: string): boolean =>
  path.includes("%") && ENCODED_SEPARATOR.test(path);

const NOT_PLAIN = /[^\x21-\x24\x26-\x7e]|#/; // "%", "#", and everything outside printable ASCII
const NOT_URI = /[^\x21-\x7e]|#/;

/**
 * Decodes one path segment strictly.
 * @returns undefined if the segment has an invalid escape, bytes that are not UTF-8, NUL, `#`, or characters outside
 *   printable ASCII
 */
export function decodeSegment(segment: string): string | undefined {
  return segment.includes("%00") ? undefined : decodeText(segment);
}

/** Like {@link decodeSegment}, for a value that may be any text, including NUL. */
export function decodeText(segment: string): string | undefined {
  if (!NOT_PLAIN.test(segment)) return segment;
  if (NOT_URI.test(segment)) return undefined;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined; // catching the error is the only way to validate escapes and UTF-8
  }
}

/** Path and query as sent, with the index at which the path ends. */
interface Target {
  readonly target: string;
  readonly pathEnd: number;
}

/** A path that may contain one value in braces. */
export class PathTemplate {
  readonly text: string;
  /** The text before the value; the whole path if there is no value. */
  readonly prefix: string;
  /** The text after the value; undefined if there is no value. */
  readonly suffix: string | undefined;
  private readonly pattern: RegExp | undefined;

  /** @param pattern pattern that the whole value must match; any segment by default */
  constructor(text: string, pattern?: string) {
    const [prefix = "", suffix] = text.split(/\{\w+\}/);
    this.text = text;
    this.prefix = prefix;
    this.suffix = suffix;
    this.pattern = pattern === undefined ? undefined : new RegExp(`^(?:${pattern})$`);
  }

  matches(path: string): boolean {
    const { prefix, suffix, pattern } = this;
    if (suffix === undefined) return path === prefix;
    if (!path.startsWith(prefix)) return false;
    const slash = path.indexOf("/", prefix.length);
    const end = slash < 0 ? path.length : slash;
    if (end === prefix.length) return false;
    if (slash < 0 ? suffix !== "" : path.slice(slash) !== suffix) return false;
    return pattern === undefined || pattern.test(path.slice(prefix.length, end));
  }

  /** Returns the value in a matching path, as sent; "" if the template has no value. */
  valueOf({ target, pathEnd }: Target): string {
    const { prefix, suffix } = this;
    return suffix === undefined ? "" : target.slice(prefix.length, pathEnd - suffix.length);
  }

  /** Returns the value in a matching path, decoded by {@link decodeSegment}. */
  readValue(target: Target): string | undefined {
    return decodeSegment(this.valueOf(target));
  }

  /** Like {@link readValue}, for a value that may be any text. */
  readText(target: Target): string | undefined {
    return decodeText(this.valueOf(target));
  }
}

export class Router<R extends { readonly path: PathTemplate; readonly alias?: string | undefined }> {
  private readonly withValue: readonly R[];
  private readonly fixed: ReadonlyMap<string, R>;

  constructor(routes: readonly R[]) {
    this.withValue = routes.filter(({ path }) => path.suffix !== undefined);
    this.fixed = new Map(
      routes.flatMap((route) => {
        const { path, alias } = route;
        const paths = [
          ...(path.suffix === undefined ? [path.text] : []),
          ...(alias === undefined ? [] : [alias]),
        ];
        return paths.map((text) => [text, route] as const);
      }),
    );
  }

  /** Finds the route for a path. @param path the path without its query */
  find(path: string): R | undefined {
    for (const route of this.withValue) if (route.path.matches(path)) return route;
    return this.fixed.get(path);
  }
}
