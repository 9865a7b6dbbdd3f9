// visitor.ts: looks up the sender of a request, for every framework's middleware.

import { InklingError } from "../errors.ts";
import { parseIp } from "../ip.ts";
import type { LookupOptions, LookupResult } from "../lookups.ts";
import { refuseUnknown, wrong } from "../options.ts";
import { type OnUnavailable, settle, type Unavailable } from "../unavailable.ts";
import { callerAddress, isLoopback, type ReadTrust, readTrust, type TrustProxy } from "./caller-address.ts";
import type { RequestFacts } from "./request-facts.ts";

/** The sender of a request. With `onUnavailable: "throw"`, no lookup returns `Unavailable`. */
export interface Visitor {
  /** The address, normalized, or undefined if it is unknown. */
  readonly address: string | undefined;
  /** Looks up where the visitor is. Returns undefined if the location is unknown. */
  geolocate<const O extends LookupOptions>(
    options?: O,
  ): Promise<LookupResult<"geolocate", O> | undefined | Unavailable>;
  /** Looks up whether the visitor's address can be trusted. */
  reputation<const O extends LookupOptions>(
    options?: O,
  ): Promise<LookupResult<"reputation", O> | Unavailable>;
}

/** The parts of the client that a visitor needs. */
export interface VisitorLookups {
  readonly onUnavailable: OnUnavailable;
  geolocate(
    ip: string,
    options?: LookupOptions,
  ): Promise<LookupResult<"geolocate"> | undefined | Unavailable>;
  reputation(ip: string, options?: LookupOptions): Promise<LookupResult<"reputation"> | Unavailable>;
}

/**
 * How the visitor's address is found.
 * @typeParam R the framework's request
 */
export interface AddressOptions<R> {
  /**
   * The proxies in front of the application: their number or their networks. With 0, the default, there are
   * none, and X-Forwarded-For is not read.
   */
  readonly trustProxy?: TrustProxy;
  /** Returns the visitor's address instead, for platforms with their own header. */
  readonly address?: (request: R) => string | undefined;
  /** For a developer's machine: the address to use for visitors from this machine itself. */
  readonly loopback?: string;
}

/** @typeParam R the framework's request */
export interface VisitorOptions<R> extends AddressOptions<R> {
  /** Starts both lookups when the request arrives instead of on first use. */
  readonly eager?: boolean;
}

const VISITOR_OPTIONS: Readonly<Record<keyof VisitorOptions<unknown>, true>> = {
  trustProxy: true,
  address: true,
  loopback: true,
  eager: true,
};

/** Returns a function that creates the visitor of each request. */
export function visitors<R>(
  client: VisitorLookups,
  options: VisitorOptions<R>,
): (request: R, facts: RequestFacts) => Visitor {
  refuseUnknown(options, VISITOR_OPTIONS, "of visitor()");
  const addressOf = addressFinder(options);
  return (request, facts) => {
    const visitor = new RequestVisitor(client, addressOf(request, facts));
    if (options.eager === true) visitor.begin();
    return visitor;
  };
}

/**
 * Returns a function that finds the sender's address of each request; the function returns undefined if the
 * address is unknown.
 * @throws TypeError if an option is invalid
 */
export function addressFinder<R>({
  trustProxy = 0,
  address: readAddress,
  loopback,
}: AddressOptions<R>): (request: R, facts: RequestFacts) => string | undefined {
  const trust = readTrust(trustProxy);
  if (loopback !== undefined && parseIp(loopback) === undefined)
    throw wrong("loopback", "must be an IP address");
  return (request, facts) => {
    const address =
      readAddress !== undefined ? callerAddress(readAddress(request), undefined, 0) : fromFacts(facts, trust);
    return address !== undefined && loopback !== undefined && isLoopback(address) ? loopback : address;
  };
}

/** Returns a promise that rejects with ADDRESS_UNKNOWN. */
export function addressUnknown(): Promise<never> {
  return Promise.reject(new InklingError("ADDRESS_UNKNOWN", "The visitor's address is unknown"));
}

function fromFacts({ peer, forwardedFor }: RequestFacts, trust: ReadTrust): string | undefined {
  const header = Array.isArray(forwardedFor)
    ? forwardedFor.join(",")
    : (forwardedFor as string | null | undefined);
  return callerAddress(peer, header ?? undefined, trust);
}

class RequestVisitor implements Visitor {
  readonly address: string | undefined;
  readonly #client: VisitorLookups;
  /** Results by lookup and options, without the signal. */
  readonly #lookups = new Map<string, Promise<unknown>>();

  constructor(client: VisitorLookups, address: string | undefined) {
    this.#client = client;
    this.address = address;
  }

  geolocate<const O extends LookupOptions>(
    options?: O,
  ): Promise<LookupResult<"geolocate", O> | undefined | Unavailable> {
    return this.#once("geolocate", options) as ReturnType<typeof this.geolocate<O>>;
  }

  reputation<const O extends LookupOptions>(
    options?: O,
  ): Promise<LookupResult<"reputation", O> | Unavailable> {
    return this.#once("reputation", options) as ReturnType<typeof this.reputation<O>>;
  }

  /** Starts both lookups. A failure is thrown when the lookup is used. */
  begin(): void {
    this.geolocate().catch(() => {});
    this.reputation().catch(() => {});
  }

  /**
   * Runs a lookup at most once for the same options. A lookup with a signal is not shared, because aborting it must not
   * fail another part of the application.
   */
  #once(lookup: "geolocate" | "reputation", options: LookupOptions | undefined): Promise<unknown> {
    if (options?.signal !== undefined) return this.#lookUp(lookup, options);
    const key = `${lookup} ${JSON.stringify(Object.entries(options ?? {}).sort())}`;
    const earlier = this.#lookups.get(key);
    if (earlier !== undefined) return earlier;
    const answer = this.#lookUp(lookup, options);
    this.#lookups.set(key, answer);
    return answer;
  }

  #lookUp(lookup: "geolocate" | "reputation", options: LookupOptions | undefined): Promise<unknown> {
    if (this.address !== undefined) return this.#client[lookup](this.address, options);
    return settle(this.#client.onUnavailable, "deny", addressUnknown()); // never throttled, because nothing was sent
  }
}
