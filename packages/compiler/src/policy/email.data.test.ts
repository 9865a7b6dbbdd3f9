// Tests the email policy on real lists: the mirror's lists of August 2026, and the seeds on a machine without internet
// access.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { suggestDomain, walkUp } from "@inkling/engine";
import { SHARED_ENTRIES_FILE, sharedEntries } from "../../../../scripts/shared-entries.ts";
import { MIRROR, VECTORS } from "../../../../test/harness/data-folders.ts";
import type { DomainClaims, DomainSubject } from "../catalog/claims.ts";
import { EXTENSIONS } from "../catalog/feed.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { isDomainFormat, parseDomains } from "../parse/index.ts";
import { hasDisposableName } from "./domain-weights.ts";
import { type DomainVerdicts, judgeDomains } from "./email.ts";

const REVIEWED = "disposable-email-domains";

/** Looks up a host as the engine does: finds the closest entry from the host up to its registrable domain. */
function lookup({ disposable }: DomainVerdicts, host: string): readonly string[] {
  const entry = walkUp(host).find((name) => disposable.has(name));
  return entry === undefined ? [] : disposable.get(entry)!;
}

const PACKAGE = join(import.meta.dir, "../..");
const MODULES = join(PACKAGE, "../../node_modules");
const MAIL_FEEDS = FEEDS.filter((feed) => isDomainFormat(feed.format));
function realClaims(from: "mirror" | "seeds"): DomainClaims[] {
  return MAIL_FEEDS.flatMap((feed) => {
    const mirrored = join(MIRROR, `${feed.id}.${EXTENSIONS[feed.format]}`);
    const seed =
      feed.seed && ([join(MODULES, feed.seed.package, feed.seed.files[0]!), feed.seed.format] as const);
    const own = feed.own && ([join(PACKAGE, feed.own), feed.format] as const);
    const copy =
      (from === "mirror" && existsSync(mirrored) && ([mirrored, feed.format] as const)) || own || seed;
    if (copy === undefined) return [];
    const { domains } = parseDomains(copy[1], readFileSync(copy[0]));
    return [{ feed: feed.id, subject: feed.sets as DomainSubject, domains, lineage: feed.lineage ?? [] }];
  });
}

const LEGITIMATE = ["google.com", "gmail.com", "yahoo.com", "harvard.edu", "debian.org", "sub.google.com"];
const RELAYS = [
  ...["privaterelay.appleid.com", "mozmail.com", "relay.firefox.com", "x.mozmail.com", "duck.com", "addy.io"],
  ...[
    "me.anonaddy.com",
    "anonaddy.me",
    "33mail.com",
    "me.33mail.com",
    "passmail.net",
    "simplelogin.com",
    "slmail.me",
  ],
  ...["aleeas.com", "8shield.net", "dralias.com", "erine.email", "forwardemail.net", "improvmx.com"],
];
/**
 * Companies, schools and mailbox providers that only copies of old collections name, and ordinary domains that reviewed
 * lists contain.
 */
const WRONGLY_LISTED = [
  ...[
    "24hourfitness.com",
    "foxwoods.com",
    "support.com",
    "ukmail.com",
    "dpam.com",
    "etcvenues.com",
    "gaggle.net",
  ],
  ...["poczta.pl", "kozacki.pl", "lsmu.com", "aikq.de", "dobramama.pl", "beliefnet.com", "afternic.com"],
  ...["in-ulm.de", "co.cc", "a-name-on-no-list.co.cc", "i2pmail.org", "mail.by", "sudomail.com", "gawab.com"],
];
const NAMED: Record<string, boolean> = {
  ...Object.fromEntries(WRONGLY_LISTED.map((domain) => [domain, false])),
  "hush.com": false,
  "lavabit.com": false,
  "sify.com": false,
  "emailondeck.com": true,
  "tempmail.net": true,
  "eintagsmail.de": true,
};

/**
 * Domains on disposable lists that are not disposable: domains of institutions, well-known domains, mistyped domains,
 * and domains that strangers share.
 */
const ORDINARY = [
  ...[
    "dallas.gov",
    "californiacolleges.edu",
    "yandex.net",
    "craigslist.org",
    "reply.craigslist.org",
    "seomoz.org",
  ],
  ...["sdf.org", "royal.net", "webhook.site", "gmai.com", "hotmil.com", "mooo.com", "us.to", "jane.mooo.com"],
  ...["a.b.us.to", "x24hr.com", "someone.rf.gd"],
];
/** Mail providers by country: access providers and portals. */
const NATIONAL = `
  AE emirates.net.ae eim.ae
  AR fibertel.com.ar speedy.com.ar arnet.com.ar
  AT gmx.at aon.at a1.net chello.at
  AU bigpond.com bigpond.net.au optusnet.com.au iinet.net.au tpg.com.au
  AZ mail.az
  BA bih.net.ba
  BE skynet.be proximus.be telenet.be scarlet.be
  BG abv.bg mail.bg dir.bg
  BH batelco.com.bh
  BN brunet.bn
  BR uol.com.br bol.com.br terra.com.br ig.com.br globo.com oi.com.br r7.com
  BY mail.by tut.by
  CA bell.net sympatico.ca rogers.com shaw.ca telus.net videotron.ca sasktel.net
  CH bluewin.ch hispeed.ch sunrise.ch
  CL vtr.net
  CN qq.com 163.com 126.com sina.com sohu.com wo.cn
  CO une.net.co etb.net.co
  CR racsa.co.cr
  CU nauta.cu
  CY cytanet.com.cy
  CZ seznam.cz email.cz post.cz centrum.cz atlas.cz volny.cz
  DE freenet.de web.de gmx.de t-online.de arcor.de vodafone.de online.de
  DK mail.dk stofanet.dk
  DO codetel.net.do
  EC andinanet.net
  EE hot.ee mail.ee
  EG gawab.com masrawy.com
  ES telefonica.net movistar.es ono.com terra.es
  FI luukku.com elisanet.fi kolumbus.fi suomi24.fi
  FO olivant.fo
  FR laposte.net orange.fr free.fr sfr.fr neuf.fr bbox.fr numericable.fr club-internet.fr
  GB btinternet.com sky.com virginmedia.com ntlworld.com blueyonder.co.uk talktalk.net tiscali.co.uk
  GR otenet.gr forthnet.gr hol.gr
  HK netvigator.com
  HR net.hr t-com.hr
  HU freemail.hu citromail.hu t-online.hu indamail.hu
  ID telkom.net
  IE eircom.net
  IL walla.co.il walla.com netvision.net.il bezeqint.net 012.net.il
  IN rediffmail.com sify.com indiatimes.com
  IR chmail.ir
  IS simnet.is
  IT libero.it virgilio.it tin.it alice.it tim.it tiscali.it fastwebnet.it
  JP docomo.ne.jp ezweb.ne.jp softbank.ne.jp ocn.ne.jp nifty.com biglobe.ne.jp so-net.ne.jp plala.or.jp
  KR naver.com daum.net hanmail.net nate.com
  KZ mail.kz
  LB idm.net.lb
  LK sltnet.lk
  LT takas.lt inbox.lt
  LU pt.lu
  LV inbox.lv apollo.lv
  MA menara.ma
  MD mail.md
  ME t-com.me
  MK t-home.mk
  MT onvol.net
  MU intnet.mu
  MX prodigy.net.mx
  MY streamyx.com tm.net.my
  NC lagoon.nc
  NL ziggo.nl home.nl kpnmail.nl planet.nl hetnet.nl xs4all.nl
  NO online.no broadpark.no
  NP wlink.com.np
  NZ xtra.co.nz slingshot.co.nz
  OM omantel.net.om
  PF mail.pf
  PL wp.pl o2.pl onet.pl interia.pl gazeta.pl poczta.fm vp.pl tlen.pl go2.pl
  PT sapo.pt iol.pt netcabo.pt
  RO rdslink.ro
  RS eunet.rs mts.rs
  RU mail.ru yandex.ru rambler.ru lenta.ru autorambler.ru myrambler.ru
  SA saudi.net.sa
  SE telia.com bredband.net spray.se
  SG singnet.com.sg starhub.net.sg
  SI siol.net
  SK azet.sk centrum.sk zoznam.sk
  TH sanook.com
  TN planet.tn
  TR mynet.com ttmail.com superonline.com
  TW hinet.net pchome.com.tw
  UA ukr.net i.ua meta.ua bigmir.net
  US comcast.net verizon.net att.net charter.net rr.com earthlink.net juno.com netzero.net
  UY adinet.com.uy montevideo.com.uy
  UZ umail.uz
  VE cantv.net
  VN vnn.vn
  ZA telkomsa.net mweb.co.za webmail.co.za vodamail.co.za
`;
const POPULAR_SERVICES = ["mailinator.com", "guerrillamail.com", "yopmail.com", "temp-mail.org", "moakt.com"];

function readVectors(): { legitimate: string[]; universities: string[] } {
  const guards = join(VECTORS, "guards");
  const legitimate = readFileSync(join(guards, "whitelist.txt"), "utf8")
    .split("\n")
    .map((line) => line.replace(/#.*/, "").trim())
    .filter((line) => line !== "");
  return {
    legitimate,
    universities: JSON.parse(readFileSync(join(guards, "university_domains.json"), "utf8")).list,
  };
}

for (const from of ["mirror", "seeds"] as const)
  describe(`judgeDomains on the lists of the ${from}`, () => {
    const claims = realClaims(from);
    const verdicts = judgeDomains(claims);
    const lists = claims.filter((c) => c.subject === "disposable");
    /**
     * Returns the hosts that a list names directly or through a parent. A service without a policy would flag these
     * hosts.
     */
    const rawlyFlagged = (hosts: readonly string[]) =>
      hosts.filter((host) => {
        const parents = host.split(".").map((_, i, labels) => labels.slice(i).join("."));
        return parents.some((name) => lists.some(({ domains }) => domains.has(name)));
      });

    for (const [domain, isDisposable] of Object.entries(NAMED))
      test(`${domain} is ${isDisposable ? "" : "not "}disposable`, () => {
        expect(lookup(verdicts, domain).length > 0).toBe(isDisposable);
      });

    test("no legitimate domain, university or relay; without the rules there would be some", () => {
      const { legitimate, universities } = readVectors();
      const hosts = [...legitimate, ...universities, ...LEGITIMATE, ...RELAYS];
      const relays = claims.flatMap((c) => (c.subject === "relay" ? [...c.domains.keys()] : []));
      const all = [...hosts, ...relays, ...relays.map((domain) => `someone.${domain}`)];
      expect(all.filter((host) => lookup(verdicts, host).length > 0)).toEqual([]);
      expect(rawlyFlagged(all).length).toBeGreaterThan(5);
    });

    test("no public suffix; no university has a disposable name", () => {
      const { universities } = readVectors();
      for (const domain of verdicts.disposable.keys()) expect(walkUp(domain)[0]).toBe(domain);
      expect(universities.filter((domain) => hasDisposableName([domain]))).toEqual([]);
    });

    test("no institution's, mistyped or well-known name on copied lists alone; names below shared domains are free", () => {
      for (const domain of ORDINARY) expect([domain, lookup(verdicts, domain)]).toEqual([domain, []]);
      const copied = lists.filter(({ feed }) => feed.endsWith("-domains") && feed !== REVIEWED);
      const own = lists.filter((list) => !copied.includes(list));
      const rest = [...verdicts.disposable.keys()].filter(
        (domain) => !own.some(({ domains }) => walkUp(domain).some((name) => domains.has(name))),
      );
      expect(rest.length).toBeGreaterThan(5_000);
      expect(rest.filter((domain) => suggestDomain(domain) !== undefined)).toEqual([]);
      expect(rest.filter((domain) => /\.(gov|edu|mil|int)$/.test(domain))).toEqual([]);
    });

    test("no mail provider of any country, and not the relay sudomail.com, even if a reviewed list and a service's page had it", () => {
      const countries = NATIONAL.trim().split("\n");
      const national = [...countries.flatMap((line) => line.trim().split(" ").slice(1)), "sudomail.com"];
      expect(countries.length).toBeGreaterThan(80);
      const listing = ["disposable-email-domains", "fakefilter"].map(
        (feed): DomainClaims => ({
          feed,
          subject: "disposable",
          domains: new Map(national.map((domain) => [domain, ""])),
        }),
      );
      const worse = judgeDomains([...claims, ...listing]);
      for (const domain of national) {
        expect([domain, lookup(verdicts, domain)]).toEqual([domain, []]);
        expect([domain, lookup(worse, `mail.${domain}`)]).toEqual([domain, []]);
      }
      const unguarded = claims.filter(({ feed }) => feed !== "ordinary-mail" && feed !== "relay-domains");
      const without = judgeDomains([...unguarded, ...listing]);
      const flagged = national.filter((domain) => lookup(without, domain).length > 0);
      expect(flagged.length).toBeGreaterThan(150);
      expect(flagged).toContain("sudomail.com");
    });

    test("services that are popular, too, are disposable", () => {
      for (const domain of POPULAR_SERVICES) expect(lookup(verdicts, domain).length).toBeGreaterThan(0);
    });

    test("nearly all listed domains are disposable, or on a list that no other confirms", () => {
      const names = new Set(lists.flatMap(({ domains }) => [...domains.keys()]));
      expect(verdicts.disposable.size + verdicts.listed.size).toBeGreaterThan(names.size * 0.99);
      expect(verdicts.disposable.size).toBeGreaterThan(20_000);
      for (const domain of ["mailinator.com", "yopmail.com", "guerrillamail.com", "me.mailinator.com"])
        expect(lookup(verdicts, domain).length).toBeGreaterThan(0);
    });
  });

test("the counts of shared entries are those of the mirror", () => {
  expect(sharedEntries(MIRROR)).toBe(readFileSync(SHARED_ENTRIES_FILE, "utf8"));
});

test("lists that share more than half of the smaller list have a source in common, apart from two old collections", () => {
  const lists = realClaims("mirror").filter(
    ({ subject }) => subject === "disposable" || subject === "copied",
  );
  const large = lists.filter(({ domains }) => domains.size > 1_000);
  const undeclared = large.flatMap((a, i) =>
    large.slice(i + 1).flatMap((b) => {
      const shared = [...a.domains.keys()].filter((name) => b.domains.has(name)).length;
      const related = [a.feed, ...(a.lineage ?? [])].some((id) => id === b.feed || b.lineage?.includes(id));
      return shared > Math.min(a.domains.size, b.domains.size) / 2 && !related ? [[a.feed, b.feed]] : [];
    }),
  );
  expect(large.length).toBeGreaterThan(6);
  expect(undeclared).toEqual([["ivolo-domains", "mailchecker-domains"]]); // docs/accuracy.md shows why
});

describe("domains that the mirror's free-mail list shares with its disposable lists", () => {
  const claims = realClaims("mirror");
  const { conflicts } = judgeDomains(claims);
  const free = claims.find((c) => c.feed === "free-mail")!;
  const lists = claims.filter((c) => c.subject === "disposable" && c.feed !== "disposable-services");
  const both = [...free.domains.keys()].filter((domain) => lists.some(({ domains }) => domains.has(domain)));

  test("each is reported as a conflict", () => {
    expect(both.length).toBeGreaterThan(60);
    expect(both.filter((domain) => !conflicts.some((conflict) => conflict.domain === domain))).toEqual([]);
  });
  test("domain-lists.md lists those that are disposable, and counts the others", () => {
    const docs = readFileSync(join(PACKAGE, "domain-lists.md"), "utf8");
    const of = (verdict: string) => conflicts.filter((conflict) => conflict.verdict === verdict);
    const row = docs.split("\n").find((line) => line.startsWith("| disposable |"));
    expect(row).toBe(
      `| disposable | ${of("disposable")
        .map((conflict) => conflict.domain)
        .join(", ")} |`,
    );
    expect(docs).toContain(`| not disposable | ${of("not disposable").length}, such as `);
  });
  test("our own lists are needed for what reviewed lists contain, and for two services on a free-mail list", () => {
    const without = judgeDomains(
      claims.filter((c) => c.feed !== "ordinary-mail" && c.feed !== "disposable-services"),
    );
    const wrong = Object.entries(NAMED).filter(([domain, is]) => lookup(without, domain).length > 0 !== is);
    expect(wrong.map(([domain]) => domain)).toEqual([
      ...["in-ulm.de", "i2pmail.org", "mail.by", "gawab.com", "emailondeck.com", "eintagsmail.de"],
    ]);
  });
});
