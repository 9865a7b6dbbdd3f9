// bundle.ts: turns the console's sources into the files that a browser loads.

import { fileURLToPath } from "node:url";
import type { FormSchemas } from "@inkling/operations/form-schemas";

const HTML = fileURLToPath(new URL("index.html", import.meta.url));
/** Bundled as a classic script, because modules run only after the first frame. */
const THEME = fileURLToPath(new URL("theme.ts", import.meta.url));
/** The path under which the files are served. */
export const PREFIX = "/console/";

export type BundledFile = readonly [name: string, bytes: Uint8Array<ArrayBuffer>];

interface Bundle {
  readonly files: readonly BundledFile[];
  /** Paths of the source files. */
  readonly inputs: readonly string[];
}

/**
 * Creates index.html, and files whose names contain a hash of their content. Writes nothing to disk.
 * @param schemas the operations' schemas, which the pages' forms are made from
 * @throws AggregateError if a source file does not compile or a package is missing
 */
export async function bundleConsole(schemas: FormSchemas): Promise<Bundle> {
  const shared = {
    publicPath: PREFIX,
    target: "browser",
    conditions: ["bun"], // loads @inkling/contract from its source
    minify: true,
    define: { FORM_SCHEMAS: JSON.stringify(schemas) },
    metafile: true,
  } satisfies Partial<Bun.BuildConfig>;
  const name = "[name]-[hash].[ext]";
  const [theme, page] = await Promise.all([
    Bun.build({ ...shared, entrypoints: [THEME], format: "iife", naming: name }),
    Bun.build({
      ...shared,
      entrypoints: [HTML],
      splitting: true,
      naming: { chunk: name, asset: name },
      jsx: { runtime: "automatic", importSource: "preact", development: false },
    }),
  ]);
  const nameOf = ({ path }: Bun.BuildArtifact) => path.replace(/^\.\//, "");
  const script = `<script src="${PREFIX}${nameOf(theme.outputs[0]!)}"></script>`; // one entry point yields one file
  const files = await Promise.all(
    [...theme.outputs, ...page.outputs].map(async (output) => {
      const text = await output.text();
      const isPage = nameOf(output) === "index.html";
      const whole = isPage ? text.replace("<head>", `<head>${script}`) : text;
      return [nameOf(output), new TextEncoder().encode(whole)] as const;
    }),
  );
  return { files, inputs: Object.keys({ ...theme.metafile!.inputs, ...page.metafile!.inputs }) };
}
