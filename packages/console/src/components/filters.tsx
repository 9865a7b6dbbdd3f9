// filters.tsx: filters of a list. They are the query of the page's address, so the Back button and copied links keep
// them.

import { useMemo } from "preact/hooks";
import { timeIn } from "../format.ts";
import { isPhone } from "../hooks.ts";
import { Field, type Options, Select, TextField } from "./form.tsx";
import { type FieldTexts, labelOf, type Route, schemaOf } from "./operation.tsx";

const PERIODS: Options = [
  ["", "any time"],
  ["1", "last day"],
  ["7", "last week"],
  ["30", "last 30 days"],
  ["365", "last year"],
];

interface Filters {
  /** The admin API's query. */
  readonly query: string;
  /** A filter's value; "" if it is not set. */
  readonly valueOf: (name: string) => string;
  readonly set: (name: string, value: string) => void;
}

/** @param rest the address after the page's name, such as `?subject=ovr_…` */
export function useFilters(rest: string): Filters {
  const given = new URLSearchParams(rest);
  return {
    query: useMemo(() => apiQuery(rest), [rest]), // the start of the period is fixed until a filter changes
    valueOf: (name) => given.get(name) ?? "",
    set: (name, value) => {
      const [path = "", query] = location.hash.split("?");
      const next = new URLSearchParams(query);
      next.set(name, value.trim());
      location.hash = `${path}?${withoutEmpty(next)}`.replace(/\?$/, "");
    },
  };
}

const withoutEmpty = (query: URLSearchParams) =>
  new URLSearchParams([...query].filter(([, value]) => value !== ""));

/** Replaces the page's filter `days` with the API's filter `since`. */
function apiQuery(rest: string): string {
  const query = withoutEmpty(new URLSearchParams(rest));
  const days = query.get("days");
  query.delete("days");
  if (PERIODS.some(([value]) => value === days)) query.set("since", timeIn(-Number(days)));
  return query.toString();
}

interface FilterBarProps<R extends Route> {
  readonly route: R;
  readonly of: Filters;
  readonly texts: FieldTexts<R>;
}

/** Shows a filter for each field of a list's input. */
export function FilterBar<R extends Route>({ route, of, texts }: FilterBarProps<R>) {
  const filters = Object.entries(schemaOf(route).fields).map(([name, { type, enum: values }]) => {
    const { label = labelOf(name), note, placeholder, options } = texts[name as keyof typeof texts] ?? {};
    const choices = options ?? values?.map((value) => [value, value] as const);
    if (name === "since") return { name: "days", label: "Time", choices: PERIODS };
    if (type === "boolean") return { name, label, isBoolean: true };
    return { name, label, note, placeholder, choices: choices && [["", "all"] as const, ...choices] };
  });
  const bar = (
    <div class="filters">
      {filters
        .filter(({ name }) => !["limit", "cursor", "until"].includes(name))
        .map(({ name, label, choices, isBoolean, ...text }) => {
          const value = of.valueOf(name);
          const set = (chosen: string) => of.set(name, chosen);
          if (isBoolean)
            return (
              <label key={name} class="inline">
                <input
                  type="checkbox"
                  checked={value === "true"}
                  onChange={(event) => set(event.currentTarget.checked ? "true" : "")}
                />
                {label}
              </label>
            );
          if (choices)
            return (
              <Field key={name} label={label}>
                <Select options={choices} value={value} onChoose={set} />
              </Field>
            );
          return (
            <TextField
              key={name}
              type="search"
              label={label}
              value={value}
              onChange={(event) => set(event.currentTarget.value)}
              {...text}
            />
          );
        })}
    </div>
  );
  if (!isPhone()) return bar;
  const set = filters.filter(({ name }) => of.valueOf(name) !== "").length;
  return (
    <details>
      <summary>{set > 0 ? `Filters (${set} set)` : "Filters"}</summary>
      {bar}
    </details>
  );
}
