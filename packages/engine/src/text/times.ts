// times.ts: reads the times and dates that people and feeds write. A day that does not exist, such as 2026-02-31, is no
// time: `Date.parse` makes it the 3rd of March, and reads a time without a zone in the machine's own zone.
//
// Source: ISO 8601 and RFC 3339, also with a space instead of "T" and without seconds.

const TIME =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)? ?(?:[Zz]|UTC|GMT|([+-])(\d\d):?(\d\d))?)?$/;
const MINUTE_MS = 60_000;

/**
 * @param text a date, which means its first moment, or a time; without a zone, it is UTC
 * @returns epoch ms, from 1970 to 9999; undefined if the text is anything else
 */
export function parseTime(text: string): number | undefined {
  const parts = TIME.exec(text);
  if (parts === null) return undefined;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map((part) => Number(part ?? 0));
  const fraction = Math.floor(Number(`0.${parts[7] ?? 0}`) * 1_000);
  const at = Date.UTC(year!, month! - 1, day, hour, minute, second, fraction);
  const isMonth = month! >= 1 && month! <= 12;
  const isReal = isMonth && day! >= 1 && Date.UTC(year!, month! - 1, day) < Date.UTC(year!, month!, 1);
  const [sign, offsetHours, offsetMinutes] = [parts[8], Number(parts[9] ?? 0), Number(parts[10] ?? 0)];
  const isClock = hour! < 24 && minute! < 60 && second! < 60 && offsetHours < 24 && offsetMinutes < 60;
  if (!isReal || !isClock) return undefined;
  const offset = (sign === "-" ? -1 : 1) * (offsetHours * 60 + offsetMinutes) * MINUTE_MS;
  return at - offset >= 0 ? at - offset : undefined;
}
