// router.ts: finds the route for a request's path.
//
// Cost: templates with a value are compared with the path in order; all other paths are found in a map.

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

  /** Returns the value in a matching path, as sent; "" if the path contains no value. */
  valueOf(path: string): string {
    const { prefix, suffix } = this;
    return suffix === undefined ? "" : path.slice(prefix.length, path.length - suffix.length);
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
