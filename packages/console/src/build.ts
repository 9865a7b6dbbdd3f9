// build.ts: bundles the console for browsers.
//
// out  path on the listener -> content; "/" is the page, every other name contains a hash of the content
// err  AggregateError when a source file does not compile or a package is missing
// cost about 60 ms; nothing is written to disk

import { fileURLToPath } from "node:url";

const HTML = fileURLToPath(new URL("index.html", import.meta.url));
const PREFIX = "/console/";

export interface ConsoleFile {
  readonly content: Uint8Array<ArrayBuffer>;
  /** Media type with its charset. */
  readonly type: string;
}

export async function buildConsole(): Promise<ReadonlyMap<string, ConsoleFile>> {
  const { outputs } = await Bun.build({
    entrypoints: [HTML],
    publicPath: PREFIX,
    target: "browser",
    minify: true,
    splitting: true,
    naming: { chunk: "[name]-[hash].[ext]", asset: "[name]-[hash].[ext]" },
    jsx: { runtime: "automatic", importSource: "preact", development: false },
  });
  const files = outputs.map(async (output): Promise<[string, ConsoleFile]> => {
    const name = output.path.replace(/^\.\//, "");
    const content = new Uint8Array(await output.arrayBuffer());
    const type = output.type.replace(/;\s*charset=utf-8$/i, "; charset=utf-8");
    return [name === "index.html" ? "/" : `${PREFIX}${name}`, { content, type }];
  });
  return new Map(await Promise.all(files));
}
