// visitor.ts: the sender of a request, for the middleware of every framework.
//
// in   a client, how the visitor's address is found, a request
// out  Visitor: the address, and its lookups, each made at most once for a request
// err  TypeError for wrong options; lookups end as the client's do, without an address with ADDRESS_UNKNOWN

import { InklingError } from "../errors.ts";
import { parseIp } from "../ip.ts";
import type { LookupResult } from "../lookups.ts";
import { wrong } from "../options.ts";
import { type OnUnavailable, settle, type Unavailable } from "../unavailable.ts";
import { callerAddress, isLoopback, type ReadTrust, readTrust, type TrustProxy } from "./caller-address.ts";

/** The sender of a request. With `onUnavailable: "throw"` no lookup returns `Unavailable`. */
export interface Visitor {
  /** In normal form; undefined when it is not known. */
  readonly address: string | undefined;
  /** Where the visitor is; undefined when the place is unknown. */
  geolocate(): Promise<LookupResult<"geolocate"> | undefined | Unavailable>;
  /** Whether the visitor's address can be trusted. */
  reputation(): Promise<LookupResult<"reputation"> | Unavailable>;
}

/** What a visitor needs of the client. */
export interface VisitorLookups {
  readonly onUnavailable: OnUnavailable;
  geolocate(ip: string): Promise<LookupResult<"geolocate"> | undefined | Unavailable>;
  reputation(ip: string): Promise<LookupResult<"reputation"> | Unavailable>;
}

/** @typeParam R the framework's request */
export interface VisitorOptions<R> {
  /**
   * The proxies in front of the application: how many, or which networks. 0, the default: none, X-Forwarded-For is
   * not read.
   */
  readonly trustProxy?: TrustProxy;
  /** Finds the visitor's address instead; for platforms with a header of their own. */
  readonly address?: (request: R) => string | undefined;
  /** On a developer's machine: the address that visitors from this machine itself count as. */
  readonly loopback?: string;
  /** Starts both lookups when the request arrives, instead of when they are used. */
  readonly eager?: boolean;
}

/** What a framework provides about a request. */
export interface RequestFacts {
  readonly peer: string | undefined;
  readonly forwardedFor: string | readonly string[] | null | undefined;
}

/** Makes the visitor of each request. */
export function visitors<R>(
  client: VisitorLookups,
  options: VisitorOptions<R>,
  factsOf: (request: R) => RequestFacts,
): (request: R) => Visitor {
  const trust = readTrust(options.trustProxy ?? 0);
  const { loopback } = options;
  if (loopback !== undefined && parseIp(loopback) === undefined)
    throw wrong("loopback", "must be an IP address");
  const { address: readAddress } = options;
  const found =
    readAddress !== undefined
      ? (request: R) => callerAddress(readAddress(request), undefined, 0)
      : (request: R) => fromFacts(factsOf(request), trust);
  return (request) => {
    const address = found(request);
    const counted =
      address !== undefined && loopback !== undefined && isLoopback(address) ? loopback : address;
    const visitor = new RequestVisitor(client, counted);
    if (options.eager === true) visitor.begin();
    return visitor;
  };
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
  #place: ReturnType<Visitor["geolocate"]> | undefined;
  #reputation: ReturnType<Visitor["reputation"]> | undefined;

  constructor(client: VisitorLookups, address: string | undefined) {
    this.#client = client;
    this.address = address;
  }

  geolocate(): ReturnType<Visitor["geolocate"]> {
    this.#place ??= this.#lookUp((address) => this.#client.geolocate(address));
    return this.#place;
  }

  reputation(): ReturnType<Visitor["reputation"]> {
    this.#reputation ??= this.#lookUp((address) => this.#client.reputation(address));
    return this.#reputation;
  }

  /** A failure is thrown when the lookup is used. */
  begin(): void {
    this.geolocate().catch(() => {});
    this.reputation().catch(() => {});
  }

  #lookUp<T>(lookUp: (address: string) => Promise<T>): Promise<T | Unavailable> {
    if (this.address !== undefined) return lookUp(this.address);
    const unknown = new InklingError("ADDRESS_UNKNOWN", "The visitor's address is not known");
    return settle(this.#client.onUnavailable, Promise.reject(unknown));
  }
}
