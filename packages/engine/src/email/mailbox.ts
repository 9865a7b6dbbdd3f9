// mailbox.ts: gives the addresses of one mailbox the same text, so that overrides, counts and memory recognize the
// mailbox.
//
// src  the providers' help pages: Gmail ignores dots, Proton also hyphens and underscores; Yandex treats dots and
//      hyphens alike; Yahoo's disposable addresses are "name-word@yahoo.com", and its mailboxes have no hyphen
// note The texts are only for comparison, never for sending mail. Overrides use the normal form, which does not depend
//      on PROVIDERS, because their hashes are stored permanently.

interface MailProvider {
  /** Domains in which a local part stands for the same mailbox. The first is the canonical one. */
  readonly domains: readonly string[];
  /** Characters of the local part that the provider ignores. */
  readonly ignores?: RegExp;
  /** Characters that the provider treats as a dot. */
  readonly dots?: RegExp;
  /** What begins a tag, in addition to "+". */
  readonly tag?: string;
}

const PROVIDERS: readonly MailProvider[] = [
  { domains: ["gmail.com", "googlemail.com"], ignores: /\./g },
  { domains: ["icloud.com", "me.com", "mac.com"] },
  { domains: ["proton.me", "protonmail.com", "protonmail.ch", "pm.me"], ignores: /[._-]/g },
  {
    domains: ["yandex.ru", "ya.ru", "yandex.com", "yandex.by", "yandex.kz", "yandex.ua", "narod.ru"],
    dots: /-/g,
  },
  ...[
    "yahoo.com",
    "ymail.com",
    "rocketmail.com",
    "yahoo.co.uk",
    "yahoo.de",
    "yahoo.fr",
    "yahoo.it",
    "yahoo.es",
  ].map((domain) => ({ domains: [domain], tag: "-" })),
];

const PROVIDER_OF: ReadonlyMap<string, MailProvider> = new Map(
  PROVIDERS.flatMap((provider) => provider.domains.map((domain) => [domain, provider])),
);

/**
 * Returns the normal form of an email address: the local part, "@" and the host. The local part is in Unicode's NFC and
 * lower case, and ends before its first "+" unless it is quoted or begins with "+". Only the SHA-256 of the normal form
 * is stored.
 * @param host the host of the address, as lower-case A-labels
 */
export function normalMailbox(text: string, host: string): string {
  const local = text.slice(0, text.lastIndexOf("@")).normalize("NFC").toLowerCase();
  const plus = local.startsWith('"') ? -1 : local.indexOf("+");
  return `${plus > 0 ? local.slice(0, plus) : local}@${host}`;
}

/**
 * Returns the mailbox that an email address reaches. Unknown providers are treated as if they ignored only tags.
 * @param host the host of the address, as lower-case A-labels
 */
export function canonicalMailbox(text: string, host: string): string {
  const normal = normalMailbox(text, host);
  const provider = PROVIDER_OF.get(host);
  if (provider === undefined) return normal;
  const { domains, ignores, dots, tag } = provider;
  const at = normal.lastIndexOf("@");
  let local = normal.slice(0, at);
  const end = tag === undefined ? -1 : local.indexOf(tag);
  if (end > 0) local = local.slice(0, end);
  if (ignores !== undefined) local = local.replaceAll(ignores, "");
  if (dots !== undefined) local = local.replaceAll(dots, ".");
  return `${local}@${domains[0]}`;
}
