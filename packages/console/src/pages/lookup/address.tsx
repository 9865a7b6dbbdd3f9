// address.tsx: everything about one IP address: location, reputation, evidence.

import { Badge, Card, Definitions } from "../../components/basics.tsx";
import { LazyMap } from "../../components/lazy-map.tsx";
import { countryName, FLAG_NAMES, FLAGS, formatLabel } from "../../format.ts";
import type { Evidence, Flag, Geolocation, IpAnswer, Reputation, ValueProblem } from "../../types.ts";
import { ApiRequest } from "./api-request.tsx";
import { EvidenceCard } from "./evidence.tsx";
import { OverrideButton } from "./override-button.tsx";
import { isProblem, isUnknown } from "./results.tsx";

interface AddressResultProps {
  readonly answer: IpAnswer;
  readonly missing: readonly string[];
  readonly reload: () => void;
}

export function AddressResult({ answer, missing, reload }: AddressResultProps) {
  const { value, address = value, geolocation, reputation } = answer;
  if (isProblem(reputation)) return <ValueProblemCard value={value} problem={reputation} />;
  return (
    <div class="pair">
      <LocationCard address={address} location={geolocation} />
      <div>
        <ReputationCard address={address} reputation={reputation} missing={missing} reload={reload} />
        <ApiRequest value={address} isEmail={false} answer={{ geolocation, reputation }} />
      </div>
      <EvidenceCard from={reputation} />
    </div>
  );
}

export const ValueProblemCard = ({ value, problem }: { value: string; problem: ValueProblem }) => (
  <Card title={value}>
    <p class="problem">{problem.title}</p>
    <p>{problem.detail}</p>
  </Card>
);

interface LocationCardProps {
  readonly address: string;
  readonly location: Geolocation | ValueProblem;
}

function LocationCard({ address, location: answer }: LocationCardProps) {
  if (isProblem(answer)) {
    return (
      <Card title="Location">
        <p class="empty">No feed has a location for this address.</p>
      </Card>
    );
  }
  const { latitude, longitude, accuracy_radius } = answer.location;
  return (
    <Card title={`${address} is in ${nameOf(answer)}`}>
      {latitude !== undefined && longitude !== undefined && (
        <LazyMap>
          {({ LocationMap }) => (
            <LocationMap latitude={latitude} longitude={longitude} radius={accuracy_radius} />
          )}
        </LazyMap>
      )}
      <LocationFacts location={answer} />
      <Sources evidence={answer.evidence ?? []} />
    </Card>
  );
}

function nameOf({ city, country }: Geolocation): string {
  const countryText = country.name ?? (country.iso_code && countryName(country.iso_code));
  return [city.name, countryText].filter(Boolean).join(", ") || "an unknown location";
}

function LocationFacts({ location: answer }: { location: Geolocation }) {
  const { city, country, continent, location, postal, registered_country, subdivisions } = answer;
  const zone = location.time_zone;
  const isElsewhere = registered_country.name && registered_country.iso_code !== country.iso_code;
  const clock = (timeZone: string) =>
    new Intl.DateTimeFormat("en-GB", { timeZone, weekday: "short", hour: "2-digit", minute: "2-digit" });
  return (
    <Definitions
      rows={[
        ["City", [postal.code, city.name].filter(Boolean).join(" ") || "unknown"],
        ["Region", subdivisions.map(({ name, iso_code }) => name ?? iso_code).join(", ")],
        ["Country", [country.name, continent.name].filter(Boolean).join(", ") || "unknown"],
        ["Registered in", isElsewhere && `${registered_country.name} (the address block)`],
        ["Local time", zone && `${clock(zone).format()} (${zone})`],
      ]}
    />
  );
}

/** Which feed each part of a location comes from. */
const Sources = ({ evidence }: { evidence: readonly Evidence[] }) => (
  <details>
    <summary>Sources</summary>
    <dl class="sources">
      {evidence.map(({ feed, label, network, members, why }) => (
        <>
          <dt>{feed}</dt>
          <dd>
            {formatLabel(label)} {network && <code>{network}</code>} {members?.join(", ")}
            {why && <small>{why}</small>}
          </dd>
        </>
      ))}
    </dl>
  </details>
);

interface ReputationCardProps extends Omit<AddressResultProps, "answer"> {
  readonly address: string;
  readonly reputation: Reputation;
}

function ReputationCard({ address, reputation, missing, reload }: ReputationCardProps) {
  const set = FLAG_NAMES.filter((flag) => reputation[flag]);
  const unknown = FLAG_NAMES.filter((flag) => isUnknown(reputation, flag, missing));
  const nouns = new Intl.ListFormat("en").format(set.map((flag) => FLAGS[flag][1]));
  const title = set.length > 0 ? `Flagged as ${nouns}` : unknown.length === 0 ? "No flags" : "No known flags";
  const verdict = (flag: Flag) => {
    if (unknown.includes(flag)) return <Badge kind="faint">unknown</Badge>;
    return reputation[flag] ? <Badge kind="bad">yes</Badge> : <Badge kind="good">no</Badge>;
  };
  return (
    <Card title={title}>
      <ul class="flags">
        {FLAG_NAMES.map((flag) => {
          const action = reputation[flag] ? "Clear" : "Set";
          const [name, , meaning] = FLAGS[flag];
          return (
            <li key={flag}>
              {verdict(flag)}
              <span>
                <strong>{name}</strong>
                <small>{meaning}</small>
              </span>
              <OverrideButton
                value={address}
                flag={flag}
                verdict={!reputation[flag]}
                label={`${action} ${name} for ${address}`}
                onDone={reload}
              >
                {action}
              </OverrideButton>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}
