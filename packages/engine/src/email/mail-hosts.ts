// mail-hosts.ts: lists the mail hosts of disposable-email services, relays and shared providers.
//
// Each row has its source. packages/engine/mail-hosts.md shows this table, and a test compares the two. The table is
// not in a segment, because it changes with Inkling's version, and only DNS checks and builds need it.
//
// The table catches services that rotate their domains but keep their mail host. A row covers its host and every name
// below it, and the closest row wins. A "dedicated" host receives mail only for its service. Treating a shared host as
// disposable would refuse ordinary people.

type MxHostKind = "dedicated" | "relay" | "shared";

export interface MxHost {
  /** A host name. The row also covers the names below it. */
  readonly suffix: string;
  /** The service's name. For a dedicated host, it is a domain and becomes the provider in the answer. */
  readonly service: string;
  readonly kind: MxHostKind;
  /** A public page that documents the host. */
  readonly source: string;
  /**
   * Whether customers pay for their mailboxes. A build takes such a host as a sign that a domain is an ordinary one.
   */
  readonly acquits?: true;
}

const DED = "https://github.com/disposable-email-domains/disposable-email-domains";
const IVOLO = "https://github.com/ivolo/disposable-email-domains";
const USERCHECK = "https://www.usercheck.com/providers";
const BLOCKLISTS = "public blocklists of mail hosts; no page of the service was found";

export const MX_HOSTS: readonly MxHost[] = [
  dedicated("10minutemail.com", "10minutemail.com", `${DED}/pull/470`),
  dedicated("1secmail.com", "1secmail.com", "https://www.1secmail.com/"),
  dedicated("burnermail.io", "burnermail.io", "https://burnermail.io/"),
  dedicated("den.yt", "tempmailo.com", "https://github.com/wesbos/burner-email-providers/pull/547"),
  dedicated("discard.email", "discard.email", `${DED}/pull/169`),
  dedicated("dropmail.me", "dropmail.me", "https://dropmail.me/"),
  dedicated("email-fake.com", "email-fake.com", "https://email-fake.com/"),
  dedicated("emaildbox.pro", "emaildbox.pro", `${DED}/issues/500`),
  dedicated("emailfake.com", "emailfake.com", `${DED}/pull/875`),
  dedicated("erinn.biz", "kuku.lu", `${DED}/pull/591`),
  dedicated("generator.email", "generator.email", `${IVOLO}/issues/844`),
  dedicated("getnada.com", "getnada.com", "https://getnada.com/"),
  dedicated("gpa.lu", "gpa.lu", `${DED}/pull/419`),
  dedicated("guerrillamail.com", "guerrillamail.com", "https://www.guerrillamail.com/"),
  dedicated("hi.mail.cx", "mail.cx", `${DED}/pull/629`),
  dedicated("in.mail.tm", "mail.tm", `${DED}/pull/611`),
  dedicated("mail-data.net", "mail-data.net", "https://github.com/disposable/disposable/issues/177"),
  dedicated("mail.ggez.team", "ggez.team", USERCHECK),
  dedicated("mail.haoo.com", "haoo.com", BLOCKLISTS),
  dedicated("mail.temporary-mail.net", "temporary-mail.net", `${DED}/pull/472`),
  dedicated("mail.wabblywabble.com", "temp-mail.org", `${DED}/issues/1185`),
  dedicated("mail.wallywatts.com", "temp-mail.org", `${DED}/issues/1185`),
  dedicated("mailinator.com", "mailinator.com", "https://github.com/micke/valid_email2/issues/95"),
  dedicated("mailnesia.com", "mailnesia.com", "https://mailnesia.com/"),
  dedicated("mintemail.com", "mintemail.com", "https://www.mintemail.com/"),
  dedicated("moakt.com", "moakt.com", "https://moakt.com/"),
  dedicated("mx1.icdn.be", "icdn.be", USERCHECK),
  dedicated("mxb.tempamail.com", "tempamail.com", `${DED}/pull/629`),
  dedicated("mytemp.email", "mytemp.email", `${IVOLO}/pull/58`),
  dedicated("onetimemail.org", "onetimemail.org", BLOCKLISTS),
  dedicated("papierkorb.me", "papierkorb.me", USERCHECK),
  dedicated("publicmx.agenticlab.sh", "agenticlab.sh", BLOCKLISTS),
  dedicated("temp-mail-pro.com", "temp-mail-pro.com", BLOCKLISTS),
  dedicated("temp-mail.io", "temp-mail.io", "https://temp-mail.io/"),
  dedicated("tempm.com", "tempm.com", `${DED}/pull/875`),
  dedicated("trashymail.com", "trashymail.com", "https://www.trashymail.com/"),
  dedicated("yopmail.com", "yopmail.com", "https://yopmail.com/"),

  relay("alias.proton.me", "Proton Pass", "https://proton.me/support/pass-email-alias"),
  relay("anonaddy.me", "addy.io", "https://addy.io/faq/"),
  relay("simplelogin.co", "SimpleLogin", "https://simplelogin.io/faq/"),

  shared("forwardemail.net", "Forward Email", "https://forwardemail.net/en/faq"),
  business("barracudanetworks.com", "Barracuda", "https://campus.barracuda.com/"),
  business("google.com", "Google Workspace", "https://support.google.com/a/answer/174125"),
  business("googlemail.com", "Google Workspace", "https://support.google.com/a/answer/174125"),
  shared("improvmx.com", "ImprovMX", "https://improvmx.com/"),
  shared("jellyfish.systems", "Namecheap hosting", "https://www.namecheap.com/hosting/email/"),
  business(
    "iphmx.com",
    "Cisco Secure Email",
    "https://www.cisco.com/site/us/en/products/security/secure-email/",
  ),
  shared("mailhostbox.com", "mail of several registrars", BLOCKLISTS),
  business(
    "messagelabs.com",
    "Symantec Email Security.cloud",
    "https://www.broadcom.com/products/cybersecurity/email",
  ),
  business("mimecast.com", "Mimecast", "https://www.mimecast.com/"),
  shared("mx.cloudflare.net", "Cloudflare Email Routing", "https://developers.cloudflare.com/email-routing/"),
  business("pphosted.com", "Proofpoint", "https://www.proofpoint.com/"),
  business("ppe-hosted.com", "Proofpoint Essentials", "https://www.proofpoint.com/"),
  shared("privateemail.com", "Namecheap Private Email", "https://privateemail.com/"),
  business("protection.outlook.com", "Microsoft 365", "https://learn.microsoft.com/en-us/exchange/"),
  shared("skiff.com", "Skiff (closed)", "https://skiff.com/"),
  shared("yandex.net", "Yandex 360", "https://360.yandex.com/"),
  business(
    "zoho.com",
    "Zoho Mail",
    "https://www.zoho.com/mail/help/adminconsole/configure-email-delivery.html",
  ),
  business(
    "zoho.eu",
    "Zoho Mail",
    "https://www.zoho.com/mail/help/adminconsole/configure-email-delivery.html",
  ),
];

function dedicated(suffix: string, service: string, source: string): MxHost {
  return { suffix, service, kind: "dedicated", source };
}

function relay(suffix: string, service: string, source: string): MxHost {
  return { suffix, service, kind: "relay", source };
}

function shared(suffix: string, service: string, source: string): MxHost {
  return { suffix, service, kind: "shared", source };
}

function business(suffix: string, service: string, source: string): MxHost {
  return { ...shared(suffix, service, source), acquits: true };
}

const bySuffix = new Map(MX_HOSTS.map((row) => [row.suffix, row]));

/** Returns the closest row that covers a host. */
export function findMxHost(host: string): MxHost | undefined {
  for (let at = 0; ; ) {
    const row = bySuffix.get(host.slice(at));
    if (row !== undefined) return row;
    const dot = host.indexOf(".", at);
    if (dot < 0) return undefined;
    at = dot + 1;
  }
}

/** Returns the rows that cover any of the hosts, without duplicates. */
export function knownHosts(hosts: readonly string[]): MxHost[] {
  return [...new Set(hosts.map(findMxHost))].filter((row) => row !== undefined);
}

/**
 * Finds the disposable-email service that receives a domain's mail.
 * @param known rows of the domain's most preferred MX hosts
 * @returns the row of that service; undefined if there are no rows, or if one row is for a relay or a shared host. The
 *   mail may then be for someone else
 */
export function disposableHost(known: readonly MxHost[]): MxHost | undefined {
  return known.every(({ kind }) => kind === "dedicated") ? known[0] : undefined;
}

/**
 * Finds the provider that receives a domain's mail, if its customers pay for their mailboxes.
 * @param known rows of the domain's most preferred MX hosts
 */
export function businessHost(known: readonly MxHost[]): MxHost | undefined {
  return known.every(({ acquits }) => acquits === true) ? known[0] : undefined;
}
