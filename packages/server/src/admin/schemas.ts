// schemas.ts: parts that the operations' schemas share.

import { z } from "zod";
import { MAX_PAGE } from "../store/tables.ts";

export const text = z.string().min(1);
export const time = z.iso.datetime();
export const count = z.int().nonnegative();

export const nextCursor = {
  next_cursor: text.nullable().meta({ description: "`cursor` of the next page; null after the last" }),
};

const DEFAULT_PAGE = 100;
const LIMIT = `must be a whole number from 1 to ${MAX_PAGE}`;

/** Query parameters of a list in pages. */
export function pageQuery(isCursor: (text: string) => boolean) {
  return {
    limit: z
      .string()
      .regex(/^[1-9]\d{0,3}$/, LIMIT)
      .transform(Number)
      .pipe(z.int(LIMIT).min(1, LIMIT).max(MAX_PAGE, LIMIT))
      .default(DEFAULT_PAGE)
      .meta({ description: "Rows of a page" }),
    cursor: z
      .string()
      .refine(isCursor, "must be the `next_cursor` of the previous page")
      .optional()
      .meta({ description: "`next_cursor` of the previous page" }),
  };
}

export function booleanQuery(description: string) {
  return z
    .stringbool({ truthy: ["true"], falsy: ["false"], case: "sensitive", error: "must be true or false" })
    .default(false)
    .meta({ description });
}
