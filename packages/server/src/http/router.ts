// router.ts: finds the route of a request's path.
//
// in   routes, each with its path: "/v1/status", "/v1/email/{email}", "/admin/v1/keys/{id}/rotate"
// out  the route whose path it is; a value is one segment that is not empty, as it was sent
// cost paths with a value are compared in their order, all others are found in a table

/** A path that may have one value in braces. */
export class PathTemplate {
  readonly text: string;
  /** All before the value; the whole path if it has none. */
  readonly prefix: string;
  /** All after the value; undefined if it has none. */
  readonly suffix: string | undefined;
  private readonly pattern: RegExp | undefined;

  /** @param pattern of the whole value; any segment by default */
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

  /** The value of a path that matches, as it was sent; "" without one. */
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

  /** @param path without query */
  find(path: string): R | undefined {
    for (const route of this.withValue) if (route.path.matches(path)) return route;
    return this.fixed.get(path);
  }
}
