// pages.ts: turns the project's Markdown files into pages of the site.
//
// A link to any other file or folder leads to a copy of it below /source/. `[text](../packages/client/README.md)` works
// in a clone, on a forge and on the site.

import { posix } from "node:path";

interface Section {
  readonly text: string;
  readonly pages: readonly (readonly [title: string, path: string, source: string])[];
}

/** The site's pages, in the order of its menu. */
export const MENU: readonly Section[] = [
  {
    text: "Start",
    pages: [
      ["Overview", "/", "docs/overview.md"],
      ["Quick start", "/quick-start", "README.md"],
      ["Lookups only", "/lookups", "docs/lookups.md"],
      ["Install", "/install", "docs/install.md"],
      ["Compared with", "/compared", "docs/compared.md"],
      ["Compatibility", "/compatibility", "docs/compatibility.md"],
      ["Examples", "/examples/", "examples/README.md"],
    ],
  },
  {
    text: "Developers",
    pages: [
      ["Sign-up in ten minutes", "/sign-up-protection", "docs/sign-up-protection.md"],
      ["Challenge with a CAPTCHA", "/captcha", "docs/captcha.md"],
      ["CAPTCHA in Python", "/captcha-python", "docs/captcha-python.md"],
      ["Protect logins", "/login-protection", "docs/login-protection.md"],
      ["Logins in Python", "/login-python", "docs/login-python.md"],
      ["Outages", "/outages", "docs/outages.md"],
      ["The API", "/api", "docs/api.md"],
      ["Email checks", "/email", "docs/email.md"],
      ["Batches", "/batches", "docs/batches.md"],
      ["Decisions", "/decisions", "docs/decisions.md"],
      ["Errors and limits", "/errors", "docs/errors.md"],
      ["Sandbox", "/sandbox", "docs/sandbox.md"],
      ["TypeScript client", "/client", "packages/client/README.md"],
      ["TypeScript middleware", "/middleware", "packages/client/MIDDLEWARE.md"],
      ["Python client", "/python", "packages/python/README.md"],
      ["In process", "/local", "packages/local/README.md"],
      ["Auth hooks", "/auth-hooks", "docs/auth-hooks.md"],
      ["Agents", "/agents", "docs/agents.md"],
      ["Reverse proxies", "/proxies", "docs/proxies.md"],
      ["MaxMind's clients", "/maxmind", "docs/maxmind.md"],
      ["API reference", "/reference", "openapi.json"],
    ],
  },
  {
    text: "Analysts",
    pages: [
      ["Investigate in the console", "/analyst", "docs/analyst.md"],
      ["Fix a wrong answer", "/wrong-answer", "docs/wrong-answer.md"],
      ["Evidence", "/evidence", "docs/evidence.md"],
      ["How verdicts are made", "/policy", "docs/policy.md"],
      ["Overrides", "/overrides", "docs/overrides.md"],
      ["Rules and replay", "/rulesets", "docs/rulesets.md"],
      ["Console", "/console", "docs/console.md"],
      ["Accuracy", "/accuracy", "docs/accuracy.md"],
    ],
  },
  {
    text: "Operators",
    pages: [
      ["One host in production", "/one-host", "docs/one-host.md"],
      ["Several hosts", "/several-hosts", "docs/several-hosts.md"],
      ["Maintain several hosts", "/group-maintenance", "docs/group-maintenance.md"],
      ["Containers", "/container", "docs/container.md"],
      ["Kubernetes", "/kubernetes", "docs/kubernetes.md"],
      ["Data and feeds", "/data", "docs/data.md"],
      ["Your own feeds", "/own-feeds", "docs/own-feeds.md"],
      ["Backup and upgrade", "/backup", "docs/backup.md"],
      ["Monitoring", "/monitoring", "docs/monitoring.md"],
      ["Webhooks", "/webhooks", "docs/webhooks.md"],
      ["Troubleshooting", "/troubleshooting", "docs/troubleshooting.md"],
      ["Security incidents", "/security-incidents", "docs/security-incidents.md"],
    ],
  },
  {
    text: "Data teams",
    pages: [
      ["Enrich", "/enrich", "docs/enrich.md"],
      ["Warehouses", "/warehouses", "docs/warehouses.md"],
      ["Exports", "/exports", "docs/exports.md"],
    ],
  },
  {
    text: "Reference",
    pages: [
      ["Settings", "/configuration", "docs/configuration.md"],
      ["Commands", "/commands", "docs/commands.md"],
      ["Feeds", "/feeds", "docs/feeds.md"],
      ["How feeds are checked", "/feed-checks", "docs/feed-checks.md"],
      ["Facts and reasons", "/decision-reference", "docs/decision-reference.md"],
      ["Metrics", "/metrics", "docs/metrics.md"],
      ["Log events", "/log-events", "docs/log-events.md"],
      ["Audit trail", "/audit", "docs/audit.md"],
      ["Admin API", "/admin-api", "docs/admin-api.md"],
      ["Data folder", "/data-folder", "docs/data-folder.md"],
      ["What survives a fault", "/faults", "docs/faults.md"],
    ],
  },
  {
    text: "Project",
    pages: [
      ["Architecture", "/architecture", "ARCHITECTURE.md"],
      ["Threat model", "/threat-model", "packages/server/threat-model.md"],
      ["Security", "/security", "SECURITY.md"],
      ["Contributing", "/contributing", "CONTRIBUTING.md"],
      ["Changes", "/changelog", "CHANGELOG.md"],
    ],
  },
];

/** Pages that others link to, and that need no line in the menu. */
const UNLISTED: readonly (readonly [source: string, path: string])[] = [
  ...["fastify", "nightly-enrich", "protected-sign-up", "sign-up-form"].map(
    (name) => [`examples/${name}/README.md`, `/examples/${name}`] as const,
  ),
  ["bench/README.md", "/bench/"],
  ["bench/RESULTS.md", "/bench/results"],
  ["bench/TRUTH.md", "/bench/truth"],
  ["packages/compiler/accuracy-radius.md", "/accuracy-radius"],
  ["packages/compiler/domain-lists.md", "/domain-lists"],
  ["packages/compiler/misbehaving-publishers.md", "/misbehaving-publishers"],
  ["packages/compiler/network-kinds.md", "/network-kinds"],
  ["packages/compiler/own-lists.md", "/own-lists"],
  ["packages/engine/mail-hosts.md", "/mail-hosts"],
  ["packages/engine/segment-format.md", "/segment-format"],
  ["test/promises.md", "/promises"],
];

const PATHS: ReadonlyMap<string, string> = new Map([
  ...MENU.flatMap(({ pages }) => pages.map(([, path, source]) => [source, path] as const)),
  ...UNLISTED,
]);

/** Files of the project that are pages as they are. */
export const SOURCES = [...PATHS.keys()].filter((source) => source.endsWith(".md"));

/** Returns the path of the page for a file. */
export function pageFile(source: string): string {
  const path = PATHS.get(source);
  if (path === undefined) throw new Error(`${source} is no page`);
  return `${path.slice(1)}${path.endsWith("/") ? "index" : ""}.md`;
}

/** Returns the file of the project that a page of the site comes from. */
export const sourceOf = (page: string): string => SOURCES.find((source) => pageFile(source) === page) ?? page;

/**
 * Returns `llms.txt`: an index of the pages for programs that read documentation (llmstxt.org). Each link leads to the
 * page's Markdown.
 */
export function llmsText(summary: string): string {
  const list = ({ text, pages }: Section) =>
    `## ${text}\n\n${pages.map(([title, , source]) => `- [${title}](/${source === "openapi.json" ? source : pageFile(source)})\n`).join("")}`;
  return `# Inkling\n\n> ${summary}\n\n${MENU.map(list).join("\n")}`;
}

const FENCED = /^(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1[^\n]*$/gm;
/** A label may continue in the next line. */
const LINK = /(!?)\[((?:[^\][]|\[[^\]]*\])*)\]\(([^()\s]+)\)/g;

/** Markers around sections that a script writes. */
const COMMENT = /^<!--[\s\S]*?-->\n/gm;

/**
 * Returns the text of a page, with links of the site.
 * @param isFolder whether a path of the project is a folder
 */
export function pageText(source: string, text: string, isFolder: (path: string) => boolean): string {
  const convert = (prose: string) => withSiteLinks(source, prose.replace(COMMENT, ""), isFolder);
  let page = "";
  let at = 0;
  for (const { index, 0: block } of text.matchAll(FENCED)) {
    page += convert(text.slice(at, index)) + block;
    at = index + block.length;
  }
  return page + convert(text.slice(at));
}

/** Where the site has its copies of the project's files and the lists of its folders. */
const COPIES = /\]\((?:\/source\/([^()\s]+?)(\/|\.txt)|\/images\/([^()\s]+))\)/g;

/** Returns the files and folders of the project that a page needs a copy of. */
export function copiesOf(page: string): { files: string[]; folders: string[]; images: string[] } {
  const found = [...page.matchAll(COPIES)];
  return {
    files: found.flatMap(([, path, end]) => (end === ".txt" ? [path!] : [])),
    folders: found.flatMap(([, path, end]) => (end === "/" ? [path!] : [])),
    images: found.flatMap(([, , , image]) => (image === undefined ? [] : [image])),
  };
}

/** Returns the page that lists a folder's files. */
export const folderPage = (folder: string, files: readonly string[]) =>
  `# ${folder}\n\n${files.map((file) => `- ${copyLink(`\`${posix.relative(folder, file)}\``, file)}\n`).join("")}`;

/** Browsers show text files only if their name ends in .txt. The site's router must not open them as pages. */
const copyLink = (label: string, file: string) => `[${label}](/source/${file}.txt){target="_self"}`;

/** Returns a heading's anchor, as code hosts create it and as links in the files name it. */
export const slugOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");

/** `<a id="name"></a>**Text**` is the only HTML there is. */
const ANCHOR = /<a id="([^"]+)"><\/a>(\*\*[^*]+\*\*)/g;

function withSiteLinks(source: string, prose: string, isFolder: (path: string) => boolean): string {
  return prose
    .replace(ANCHOR, "$2{#$1}")
    .replace(LINK, (whole, image: string, label: string, target: string) => {
      if (/^([a-z]+:|#)/.test(target)) return whole;
      const [file = "", hash] = target.split("#");
      const path = posix.join(posix.dirname(source), file).replace(/\/$/, "");
      if (image !== "") return `![${label}](/images/${path})`;
      const page = PATHS.get(path) ?? PATHS.get(`${path}/README.md`);
      if (page !== undefined) return `[${label}](${page}${hash === undefined ? "" : `#${hash}`})`;
      return isFolder(path) ? `[${label}](/source/${path}/)` : copyLink(label, path);
    });
}
