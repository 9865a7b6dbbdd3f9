// address.tsx: shows everything about one IP address: location, reputation and evidence.

import { FLAG_ROWS, REPUTATION_FLAGS } from "@inkling/contract";
import type { Flag, Geolocation, IpAnswer, Override, Reputation, ValueProblem } from "../../answers.ts";
import { Badge, Card, Definitions } from "../../components/basics.tsx";
import { LazyMap } from "../../components/loaded.tsx";
import { countryName } from "../../format.ts";
import { isProblem, isUnknown } from "./answers.ts";
import { ApiRequest, EvidenceCard, Flags, ValueProblemCard } from "./evidence.tsx";
import { LookupLink } from "./links.tsx";
import { OverrideButton, OverrideNetwork } from "./overrides.tsx";

interface AddressResultProps {
  readonly answer: IpAnswer;
  readonly missing: readonly string[];
  readonly reload: () => void;
}

export function AddressResult({ answer, missing, reload }: AddressResultProps) {
  const { value, address = value, geolocation, reputation, overrides } = answer;
  if (isProblem(reputation)) return <ValueProblemCard value={value} problem={reputation} />;
  const unknown = REPUTATION_FLAGS.filter((flag) => isUnknown(reputation, flag, missing));
  return (
    <div class="pair">
      <div>
        <ReputationCard
          address={address}
          reputation={reputation}
          unknown={unknown}
          overrides={overrides}
          reload={reload}
        />
        <ApiRequest value={address} answer={{ geolocation, reputation }} />
      </div>
      <LocationCard address={address} answer={geolocation} />
      <EvidenceCard
        title="Evidence for the reputation"
        from={reputation}
        action={(entry) => <OverrideNetwork of={entry} onDone={reload} />}
      />
      {!isProblem(geolocation) && <EvidenceCard title="Evidence for the location" from={geolocation} />}
    </div>
  );
}

function LocationCard({ address, answer }: { address: string; answer: Geolocation | ValueProblem }) {
  if (isProblem(answer)) return <Card title="Location">No feed has a location for this address.</Card>;
  const { city, country, location } = answer;
  const { latitude, longitude, accuracy_radius: radius } = location;
  const names = [city.name, country.name ?? (country.iso_code && countryName(country.iso_code))];
  return (
    <Card title={`${address}: ${names.filter(Boolean).join(", ") || "unknown location"}`}>
      {latitude !== undefined && longitude !== undefined && (
        <LazyMap>
          {({ LocationMap }) => <LocationMap latitude={latitude} longitude={longitude} radius={radius} />}
        </LazyMap>
      )}
      <Definitions rows={factsOf(answer)} />
    </Card>
  );
}

/**
 * Maximum accuracy radius, in kilometres, at which the page shows a time zone. A less precise location may be in
 * another time zone.
 */
const MAX_ZONE_KM = 500;

function factsOf(answer: Geolocation) {
  const { city, country, continent, location, network, postal, registered_country, subdivisions } = answer;
  const zone = location.time_zone;
  const isFar = (location.accuracy_radius ?? 0) > MAX_ZONE_KM;
  const isElsewhere = registered_country.name && registered_country.iso_code !== country.iso_code;
  const format = { timeZone: zone, weekday: "short", hour: "2-digit", minute: "2-digit" } as const;
  return [
    ["City", [postal.code, city.name].filter(Boolean).join(" ") || "unknown"],
    ["Region", subdivisions.map(({ name, iso_code }) => name ?? iso_code).join(", ")],
    ["Country", [country.name, continent.name].filter(Boolean).join(", ") || "unknown"],
    ["Registered in", isElsewhere && `${registered_country.name} (the address block)`],
    ["Network", network && networkFact(network)],
    [
      "Local time",
      zone && (
        <>
          {`${new Date().toLocaleString("en-GB", format)} (${zone})`}
          {isFar && <small>Uncertain: the location may be in another time zone.</small>}
        </>
      ),
    ],
  ] as const;
}

/** The network, such as "AS13335 Cloudflare, Inc., 1.1.0.0/16: hosting, cdn". The AS and the network are links. */
function networkFact({
  asn,
  organization,
  prefix,
  kind,
  shared,
  services,
  operator,
}: NonNullable<Geolocation["network"]>) {
  const facts = [kind !== "unknown" && kind, shared && "shared", ...services, operator && `of ${operator}`]
    .filter(Boolean)
    .join(", ");
  return (
    <>
      {asn && <LookupLink value={`AS${asn}`} />} {organization}
      {(asn || organization) && ", "}
      <LookupLink value={prefix} />
      {facts && `: ${facts}`}
    </>
  );
}

interface ReputationCardProps {
  readonly address: string;
  readonly reputation: Reputation;
  readonly unknown: readonly Flag[];
  readonly overrides: readonly Override[];
  readonly reload: () => void;
}

function ReputationCard({ address, reputation, unknown, overrides, reload }: ReputationCardProps) {
  const set = REPUTATION_FLAGS.filter((flag) => reputation[flag]);
  const nouns = new Intl.ListFormat("en").format(set.map((flag) => FLAG_ROWS[flag].noun));
  const none = unknown.length === 0 ? "No flags" : "No known flags";
  const badgeOf = (flag: Flag) => {
    if (unknown.includes(flag)) return <Badge kind="faint">unknown</Badge>;
    return reputation[flag] ? <Badge kind="bad">yes</Badge> : <Badge kind="good">no</Badge>;
  };
  return (
    <Card title={set.length > 0 ? `Flagged as ${nouns}` : none}>
      <Flags
        badge={badgeOf}
        action={(flag) => (
          <OverrideButton
            value={address}
            flag={flag}
            verdict={!reputation[flag]}
            overrides={overrides}
            onDone={reload}
          />
        )}
      />
    </Card>
  );
}
