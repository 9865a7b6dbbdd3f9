// shapes.ts: defines how fields.ts describes values, and the TypeScript types that follow from the descriptions.

/** The three lookups. */
export const LOOKUPS = ["geolocate", "reputation", "email"] as const;
export type Lookup = (typeof LOOKUPS)[number];

/** The scopes that a key may have: the lookups and decisions. Usage is also counted by scope. */
export const SCOPES = [...LOOKUPS, "assess"] as const;
export type Scope = (typeof SCOPES)[number];

/** The parts of an answer that a request must ask for. */
export type OptIn = "evidence" | "network" | "subject" | "mx" | "facts" | "feeds";

interface Described {
  /** The text in the OpenAPI document and the SDKs. */
  readonly description?: string;
  /** The text for the tables in docs/, if the tables have more than the description. */
  readonly docs?: string;
  /** The field is omitted if its value is unknown. */
  readonly optional?: true;
  /** The field is null if the release has no data for it. */
  readonly nullable?: true;
  readonly optIn?: OptIn;
  /**
   * For evidence: the lookups whose entries can contain the field; by default all lookups. `where` is more precise, for
   * the documentation.
   */
  readonly lookups?: readonly Lookup[];
  readonly where?: string;
}

/** The type of a value. Texts are never empty, and whole numbers are positive unless they have another minimum. */
export type Shape =
  | {
      readonly type: "text";
      readonly pattern?: RegExp;
      /** The only possible values. */
      readonly values?: readonly string[];
      /** Values that the SDKs' types list. Later versions may add more. */
      readonly known?: readonly string[];
    }
  | { readonly type: "time" | "uint32" | "boolean" | "true" }
  | { readonly type: "integer"; readonly minimum?: number }
  | { readonly type: "number"; readonly minimum?: number; readonly maximum?: number }
  | {
      readonly type: "list";
      readonly of: Shape;
      readonly limit?: number;
      /** Number of objects in the list that get separate columns in files. */
      readonly columns?: number;
    }
  | {
      readonly type: "object";
      /** Name of the schema, if several places share it. */
      readonly name?: string;
      /** Description of the schema. A field that uses it also has a description. */
      readonly about?: string;
      /** The object may have fields that are not listed. */
      readonly isOpen?: true;
      readonly fields: Fields;
    };
export type Field = Shape & Described;
export type Fields = Readonly<Record<string, Field>>;

/** The TypeScript type of a value with this shape. */
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
            : S extends { readonly type: "object"; readonly fields: infer M }
              ? ObjectOf<M>
              : never;
type OrNull<S> = S extends { readonly nullable: true } ? ValueOf<S> | null : ValueOf<S>;
type Optional<M> = { [K in keyof M]: M[K] extends { readonly optional: true } ? K : never }[keyof M];
type ObjectOf<M> = { readonly [K in Exclude<keyof M, Optional<M>>]: OrNull<M[K]> } & {
  readonly [K in Optional<M>]?: OrNull<M[K]> | undefined;
};
