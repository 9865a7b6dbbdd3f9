// reference.ts: creates the page with the API reference from the server's OpenAPI document.

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
}

interface Response_ {
  readonly description: string;
  readonly content?: Readonly<Record<string, { readonly examples?: Readonly<Record<string, Example>> }>>;
}

interface Example {
  readonly summary?: string;
  readonly value: unknown;
}

interface Operation {
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly responses: Readonly<Record<string, Response_>>;
}

export interface OpenApi {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

const cell = (text = "") => text.replaceAll("|", "\\|").replaceAll("\n", " ");

const row = (...cells: readonly string[]) => `| ${cells.join(" | ")} |`;

function operationText(
  method: string,
  path: string,
  { summary, description, parameters = [], responses }: Operation,
): string {
  const examples = Object.entries(responses["200"]?.content ?? {}).flatMap(([, { examples = {} }]) =>
    Object.values(examples),
  );
  const first = examples[0]?.value;
  return [
    `### ${summary}`,
    `\`${method.toUpperCase()} ${path}\``,
    description ?? "",
    parameters.length === 0
      ? ""
      : [
          row("parameter", "in", ""),
          row("---", "---", "---"),
          ...parameters.map((parameter) =>
            row(`\`${parameter.name}\``, parameter.in, cell(parameter.description)),
          ),
        ].join("\n"),
    [
      row("status", ""),
      row("---", "---"),
      ...Object.entries(responses).map(([status, response]) => row(status, cell(response.description))),
    ].join("\n"),
    first === undefined ? "" : `\`\`\`json\n${JSON.stringify(first, null, 2)}\n\`\`\``,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

export function referencePage({ tags, paths }: OpenApi): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  const groups = tags.map(({ name, description }) =>
    [
      `## ${name}`,
      description,
      ...operations
        .filter(({ operation }) => operation.tags.includes(name))
        .map(({ method, path, operation }) => operationText(method, path, operation)),
    ].join("\n\n"),
  );
  return `# API reference\n\nMade from the [OpenAPI document](/openapi.json){target="_self"}; your server has it at \`/openapi.json\`, and a page to try requests at \`/docs\`.\n\n${groups.join("\n\n")}\n`;
}
