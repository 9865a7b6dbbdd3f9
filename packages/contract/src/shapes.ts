// shapes.ts: how members.ts describes values, and the TypeScript types that follow from a description.

/** The three lookups. */
export const LOOKUPS = ["geolocate", "reputation", "email"] as const;
export type Lookup = (typeof LOOKUPS)[number];

/** What a key may be allowed, and what usage is counted by: the lookups, and assessments. */
export const SCOPES = [...LOOKUPS, "assess"] as const;
export type Scope = (typeof SCOPES)[number];

/** What a request has to ask for. */
export type OptIn = "evidence" | "network" | "subject" | "mx" | "facts";

interface Described {
  /** In the OpenAPI document and the SDKs. */
  readonly description?: string;
  /** In the tables of docs, if it says more than the description. */
  readonly docs?: string;
  /** Left out when unknown. */
  readonly optional?: true;
  /** Null when the release has no data for it. */
  readonly nullable?: true;
  readonly optIn?: OptIn;
  /** Of evidence: the lookups whose entries can have it, by default all; and the same for docs. */
  readonly lookups?: readonly Lookup[];
  readonly where?: string;
}

/** The type of a value. Texts are never empty, whole numbers are positive. */
export type Shape =
  | {
      readonly type: "text";
      readonly pattern?: RegExp;
      /** The only values. */
      readonly values?: readonly string[];
      /** Values that the SDKs name; others may come. */
      readonly known?: readonly string[];
    }
  | { readonly type: "time" | "integer" | "uint32" | "boolean" | "true" }
  | { readonly type: "number"; readonly minimum?: number; readonly maximum?: number }
  | {
      readonly type: "list";
      readonly of: Shape;
      readonly limit?: number;
      /** So many of the objects have their own columns in files. */
      readonly columns?: number;
    }
  | {
      readonly type: "object";
      /** Of its schema, where several places share it. */
      readonly name?: string;
      /** Of the schema; a member's own description says what it is there. */
      readonly about?: string;
      /** May have members that are not listed. */
      readonly isOpen?: true;
      readonly members: Members;
    };
export type Member = Shape & Described;
export type Members = Readonly<Record<string, Member>>;

/** The type of a value. */
export type ValueOf<S> = S extends { readonly values: readonly (infer V)[] }
  ? V
  : S extends { readonly type: "text" | "time" }
    ? string
    : S extends { readonly type: "number" | "integer" | "uint32" }
      ? number
      : S extends { readonly type: "boolean" }
        ? boolean
        : S extends { readonly type: "true" }
          ? true
          : S extends { readonly type: "list"; readonly of: infer Item }
            ? readonly ValueOf<Item>[]
            : S extends { readonly type: "object"; readonly members: infer M }
              ? ObjectOf<M>
              : never;
type OrNull<S> = S extends { readonly nullable: true } ? ValueOf<S> | null : ValueOf<S>;
type Optional<M> = { [K in keyof M]: M[K] extends { readonly optional: true } ? K : never }[keyof M];
type ObjectOf<M> = { readonly [K in Exclude<keyof M, Optional<M>>]: OrNull<M[K]> } & {
  readonly [K in Optional<M>]?: OrNull<M[K]> | undefined;
};
