// find-values.ts: finds addresses, networks, email addresses and domains in text of any kind: logs, mails, tables, JSON.
//
// in   text; of a very long one only the start is read
// out  the values in the order of their first occurrence, each once, and how many there are of each kind
// note It only finds what may be a value: the server reads each and says what is wrong with it.
// cost linear: no alternative begins inside a word, and repetitions are bounded

export const KINDS = ["address", "network", "email", "domain"] as const;
export type Kind = (typeof KINDS)[number];

export interface Found {
  /** At most {@link MAX_VALUES}. */
  readonly values: readonly string[];
  readonly counts: Readonly<Record<Kind, number>>;
  readonly total: number;
  /** Occurrences of values that were found before. */
  readonly repeated: number;
  /** Only the start of the text was read. */
  readonly isCut: boolean;
}

/** Looked up. */
export const MAX_VALUES = 1_000;
/** Characters that are read. */
export const MAX_TEXT = 2_000_000;

const LABEL = "[\\p{L}\\p{N}](?:[\\p{L}\\p{N}\\p{M}-]{0,61}[\\p{L}\\p{N}\\p{M}])?";
const DOMAIN = `(?:${LABEL}\\.){1,20}(?=\\p{L}[\\p{L}\\p{N}\\p{M}-])${LABEL}`;
const LOCAL = "[^\\s@<>()\\[\\],;:\"'`|=?&/\\\\{}]{1,64}";
const BITS = "(?:\\/\\d{1,3}(?!\\d))?";
const IPV4 = `(?:\\d{1,3}\\.){3}\\d{1,3}${BITS}`;
const IPV6 = `(?:[0-9a-f]{0,4}:){2,8}(?:(?:\\d{1,3}\\.){3}\\d{1,3}|[0-9a-f]{0,4})${BITS}`;
/** Where a value may begin: not inside a word, nor in a version ("Chrome/120.0.0.0"). */
const START = "(?<![\\p{L}\\p{N}\\p{M}_.@-])(?<![\\p{L}\\p{N}]\\/(?=\\d+\\.))";
const END = "(?![\\p{L}\\p{N}_@]|\\.\\d)";
const VALUES = new RegExp(
  `(?<![\\p{L}\\p{N}])(?<email>${LOCAL}@${DOMAIN})|(?<![\\p{L}\\p{N}_.:])(?<ipv6>${IPV6})(?![\\p{L}\\p{N}_:])|${START}(?:(?<ipv4>${IPV4})|(?<domain>${DOMAIN}))${END}`,
  "giu",
);

/** Endings of file names that are no top-level domains. */
const FILES = new Set(
  "html htm xhtml php phtml asp aspx jsp js mjs cjs ts tsx jsx css scss json jsonl ndjson xml yaml yml toml ini conf cfg env lock log txt md5 csv tsv sql db bak tmp old gz tgz bz2 xz zst tar rar iso exe dll sys bin msi deb rpm jar war class java go rb swift cpp hpp cs vb jpg jpeg png gif svg webp ico bmp tiff woff woff2 ttf eot pdf doc docx xls xlsx ppt pptx odt mp3 mp4 avi mkv wav ogg map wasm service socket local localdomain lan internal".split(
    " ",
  ),
);

export function findValues(text: string): Found {
  const seen = new Map<string, readonly [text: string, kind: Kind]>();
  let repeated = 0;
  for (const { groups = {} } of text.slice(0, MAX_TEXT).matchAll(VALUES)) {
    const found = read(groups);
    if (found === undefined) continue;
    const key = found[0].toLowerCase();
    if (seen.has(key)) repeated++;
    else seen.set(key, found);
  }
  const counts = { address: 0, network: 0, email: 0, domain: 0 };
  for (const [, kind] of seen.values()) counts[kind]++;
  const values = Array.from(seen.values(), ([value]) => value);
  return finish(values, counts, repeated, text.length > MAX_TEXT);
}

function finish(values: string[], counts: Found["counts"], repeated: number, isCut: boolean): Found {
  return { values: values.slice(0, MAX_VALUES), counts, total: values.length, repeated, isCut };
}

/** What is typed as one word is looked up as it is: the answer says what is wrong with it. */
export function findTyped(text: string): Found {
  const found = findValues(text);
  const word = text.trim();
  if (found.total > 0 || word === "" || /\s/.test(word) || word.length > MAX_WORD) return found;
  return finish([word], found.counts, 0, false);
}
const MAX_WORD = 400;

type Groups = Readonly<Record<string, string | undefined>>;

function read({ email, ipv4, ipv6, domain }: Groups): readonly [text: string, kind: Kind] | undefined {
  if (email !== undefined) return [email, "email"];
  if (domain !== undefined) {
    const ending = domain.slice(domain.lastIndexOf(".") + 1);
    return FILES.has(ending.toLowerCase()) ? undefined : [domain, "domain"];
  }
  const text = ipv4 ?? ipv6 ?? "";
  const [host = "", bits] = text.split("/");
  const isAddress =
    ipv4 === undefined
      ? URL.canParse(`http://[${host}]`)
      : host.split(".").every((part) => Number(part) < 256);
  if (!isAddress) return undefined;
  const isNetwork = bits !== undefined && Number(bits) <= (ipv4 === undefined ? 128 : 32);
  return isNetwork ? [text, "network"] : [host, "address"];
}

const PLURALS: Readonly<Record<Kind, string>> = {
  address: "addresses",
  network: "networks",
  email: "email addresses",
  domain: "domains",
};
const SINGULARS: Readonly<Record<Kind, string>> = {
  ...PLURALS,
  address: "address",
  network: "network",
  email: "email address",
  domain: "domain",
};

/** "Found 3 values: 2 addresses and 1 domain; 4 repetitions." */
export function describeFound({ values, counts, total, repeated, isCut }: Found): string {
  const kinds = KINDS.filter((kind) => counts[kind] > 0).map(
    (kind) => `${counts[kind].toLocaleString("en-US")} ${(counts[kind] === 1 ? SINGULARS : PLURALS)[kind]}`,
  );
  const n = (count: number, one: string) =>
    `${count.toLocaleString("en-US")} ${one}${count === 1 ? "" : "s"}`;
  return [
    `Found ${n(total, "value")}${kinds.length > 0 ? `: ${new Intl.ListFormat("en").format(kinds)}` : ""}`,
    repeated > 0 && n(repeated, "repetition"),
    total > values.length && `the first ${values.length.toLocaleString("en-US")} are looked up`,
    isCut && `only the first ${MAX_TEXT.toLocaleString("en-US")} characters were read`,
  ]
    .filter(Boolean)
    .join("; ");
}
