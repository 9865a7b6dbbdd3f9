// lookup.ts: `inkling lookup geolocate | reputation | email VALUE`: the API's answers without a server.

import { Overrides } from "@inkling/engine";
import { openServable } from "@inkling/release-store";
import { SCOPES, type Scope } from "@inkling/server";
import type { Command } from "commander";
import { answer, Refused } from "../runtime/answer.ts";
import { attributions } from "../runtime/build.ts";
import { type Context, settingsFor, withSettings } from "../runtime/context.ts";
import { overridesNow } from "../runtime/overrides.ts";
import { wordsFor } from "../terminal/lookup-text.ts";

const SETTINGS = ["dataDir"] as const;

interface Row {
  readonly value: string;
  readonly title: string;
  readonly example: string;
  /** What feeds of its data set: their publishers ask to be named where it is shown. */
  readonly sets: readonly string[];
}

const ROWS: Readonly<Record<Scope, Row>> = {
  geolocate: {
    value: "ip",
    title: "where an IP address is",
    example: "81.2.69.142",
    sets: ["geolocation", "registered_country"],
  },
  reputation: {
    value: "ip",
    title: "whether an IP address is a known abuser, proxy or Tor exit",
    example: "185.220.101.1",
    sets: ["is_abuser", "is_proxy", "is_tor_exit"],
  },
  email: {
    value: "email",
    title: "whether an e-mail address is valid, and whether it is a throw-away",
    example: "someone@mailinator.com",
    sets: ["disposable"],
  },
};

const OVERRIDES = `
Your overrides apply when the database can be read (INKLING_DATABASE_URL), otherwise those of the data folder's copy.
`;
const OVERRIDES_HELP: Readonly<Record<Scope, string>> = {
  geolocate: "",
  reputation: OVERRIDES,
  email: OVERRIDES,
};
const NO_OVERRIDES = { overrides: Overrides.NONE, remark: undefined };

export function addLookup(program: Command, context: Context): void {
  const { terminal } = context;
  const lookups = program
    .command("lookup")
    .description("answer from the release in use, in this process: no server, no key; overrides count");
  for (const lookup of SCOPES) {
    const { value, title, example, sets } = ROWS[lookup];
    const command = lookups
      .command(`${lookup} <${value}>`)
      .description(title)
      .option("--json", "print exactly what the API answers")
      .option("--evidence", "say which feed says what, of which network or domain, and since when")
      .addHelpText(
        "after",
        `${OVERRIDES_HELP[lookup]}\nExamples:\n  inkling lookup ${lookup} ${example}\n  inkling lookup ${lookup} ${example} --evidence\n  inkling lookup ${lookup} ${example} --json`,
      )
      .action(async (value: string, flags) => {
        const { settings } = settingsFor(context, flags, SETTINGS);
        const release = openServable(settings.dataDir);
        const { overrides, remark } = lookup === "geolocate" ? NO_OVERRIDES : await overridesNow(settings);
        const now = Date.now();
        const withEvidence = flags.evidence === true;
        const answerNow = () => answer(release, lookup, value, overrides, now, withEvidence || !flags.json);
        const body = flags.json ? orDocument(answerNow, context) : answerNow();
        if (remark !== undefined) terminal.err(`${terminal.style.yellow("warning")}: ${remark}\n`);
        const { missing } = release.states[lookup];
        for (const gap of missing) {
          terminal.err(`${terminal.style.yellow("warning")}: ${gap} is unknown: no feed with it is loaded\n`);
        }
        if (flags.json) return terminal.out(body);
        const { style } = terminal;
        terminal.out(
          wordsFor(lookup, { value, answer: JSON.parse(body), missing, withEvidence, now, style }),
        );
        for (const text of attributions(release.manifest, sets))
          terminal.err(`${terminal.style.dim(text)}\n`);
      });
    withSettings(command, SETTINGS);
  }
}

/** A refusal as the API words it, which ends the command as one does. */
function orDocument(answerNow: () => string, { ending }: Context): string {
  try {
    return answerNow();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    ending.exitCode = error.exitCode;
    return error.document;
  }
}
