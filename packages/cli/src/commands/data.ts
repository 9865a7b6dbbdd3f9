// data.ts: `inkling data update | status | verify | rollback`.

import type { Command } from "commander";
import { build, dataGaps, feedTable, segmentTable } from "../build.ts";
import { findLastBuild } from "../build-process.ts";
import { action, type Context, settingsFor, withSettings } from "../context.ts";
import { CliError, EXIT } from "../errors.ts";
import { openCurrent, previousRelease, releaseNames, switchTo, verifySegments } from "../releases.ts";
import { formatAge, formatBytes, table } from "../terminal.ts";

const UPDATE_SETTINGS = ["dataDir", "mirror", "offline"] as const;
const READ_SETTINGS = ["dataDir"] as const;

export function addData(program: Command, context: Context): void {
  const data = program.command("data").description("build, inspect, verify and switch releases of the data");
  addUpdate(data, context);
  addStatus(data, context);
  addVerify(data, context);
  addRollback(data, context);
}

function addUpdate(data: Command, context: Context): void {
  const command = data
    .command("update")
    .description("build a release from the newest copies of all feeds, and make it current")
    .option("--json", "print the result as JSON")
    .addHelpText(
      "after",
      `
A running server picks the new release up by itself. A feed that cannot be used is named; its last good
copy stays in use, the release is published all the same, and the exit code is 3.

Examples:
  inkling data update
  inkling data update --mirror /srv/feeds     one file per feed, for machines without internet
  inkling data update --offline --json`,
    )
    .action(
      action(context, async (flags) => {
        const { settings } = settingsFor(context, flags, UPDATE_SETTINGS);
        const { terminal, stopper } = context;
        const result = await build(settings, terminal, stopper.signal, { fetch: true, conflicts: true });
        const { done, conflicts } = result;
        if (flags.json) {
          const { type: _, ...rest } = done;
          terminal.out(
            JSON.stringify({ ...rest, conflicts: conflicts.map(({ type: _, ...one }) => one) }, null, 2),
          );
        } else {
          const verb = done.published ? "published" : "has the same content already: nothing to publish";
          const cost = `${done.seconds.toFixed(1)} s, ${formatBytes(done.peakBytes)} of memory`;
          terminal.out(`Release ${done.name} ${verb} (${cost}).`);
          for (const line of dataGaps(done.release, terminal.style)) terminal.out(`  ${line}`);
          if (done.refused.length > 0) terminal.out(`Refused, see above: ${done.refused.join(", ")}`);
        }
        return done.refused.length > 0 ? EXIT.refusedFeeds : EXIT.ok;
      }),
    );
  withSettings(command, UPDATE_SETTINGS);
}

function addStatus(data: Command, context: Context): void {
  const command = data
    .command("status")
    .description("show the release in use: age, segments, feeds, what is missing")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  inkling data status\n  inkling data status --json")
    .action((flags) => {
      const { settings } = settingsFor(context, flags, READ_SETTINGS);
      const { terminal } = context;
      const current = openCurrent(settings.dataDir);
      const releases = releaseNames(settings.dataDir);
      const last = findLastBuild(settings.dataDir);
      const conflicts = last?.release === current.name ? last.conflicts : [];
      if (flags.json) {
        const status = { name: current.name, release: current.manifest, releases, conflicts };
        return terminal.out(JSON.stringify(status, null, 2));
      }
      const now = new Date();
      const age = formatAge(now.getTime() - Date.parse(current.manifest.created_at));
      const parts = [
        `Release ${current.name}, built ${current.manifest.created_at} (age: ${age})`,
        segmentTable(current.manifest),
        feedTable(current.manifest, now),
      ];
      const gaps = dataGaps(current.manifest, terminal.style);
      if (gaps.length > 0) parts.push(gaps.join("\n"));
      if (conflicts.length > 0) {
        const rows = conflicts.map(({ domain, verdict, reason }) => [domain, verdict, reason]);
        parts.push(table([["LISTS DISAGREE ON", "VERDICT", "REASON"], ...rows]));
      }
      const kept = releases.map((name) => (name === current.name ? `${name} (current)` : name));
      parts.push(`Releases kept: ${kept.join(", ")}`);
      terminal.out(parts.join("\n\n"));
    });
  withSettings(command, READ_SETTINGS);
}

function addVerify(data: Command, context: Context): void {
  const command = data
    .command("verify")
    .description("read every byte of the release in use: checksums, order, every pointer")
    .option("--json", "print JSON")
    .addHelpText("after", "\nThe exit code is 1 when anything is wrong.\n\nExamples:\n  inkling data verify")
    .action(
      action(context, (flags) => {
        const { settings } = settingsFor(context, flags, READ_SETTINGS);
        const { terminal } = context;
        const current = openCurrent(settings.dataDir);
        const verdicts = verifySegments(settings.dataDir, current);
        const broken = verdicts.filter(({ problem }) => problem !== undefined);
        if (flags.json) {
          terminal.out(
            JSON.stringify({ name: current.name, ok: broken.length === 0, segments: verdicts }, null, 2),
          );
          return broken.length === 0 ? EXIT.ok : EXIT.error;
        }
        for (const { kind, file, bytes, problem } of verdicts) {
          const verdict = problem ?? `ok, ${formatBytes(bytes)}`;
          terminal.out(`${kind} (${file}): ${verdict}`);
        }
        if (broken.length === 0) return EXIT.ok;
        throw new CliError(
          `release ${current.name} is corrupt: ${broken.map(({ kind }) => kind).join(", ")}`,
          "go back with `npx inkling data rollback`, or delete the segment named above and run `npx inkling data update`",
        );
      }),
    );
  withSettings(command, READ_SETTINGS);
}

function addRollback(data: Command, context: Context): void {
  const command = data
    .command("rollback")
    .description("go back to the release before the one in use")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
A running server switches by itself. The next \`npx inkling data update\` goes forward again.

Examples:
  inkling data rollback`,
    )
    .action((flags) => {
      const { settings } = settingsFor(context, flags, READ_SETTINGS);
      const { from, previous } = previousRelease(settings.dataDir);
      const broken = verifySegments(settings.dataDir, previous).find(({ problem }) => problem !== undefined);
      if (broken !== undefined) {
        throw new CliError(
          `release ${previous.name} is corrupt as well: ${broken.kind}: ${broken.problem}`,
          "make a new one with `npx inkling data update`; nothing was switched",
        );
      }
      switchTo(settings.dataDir, previous.name);
      context.terminal.out(
        flags.json
          ? JSON.stringify({ from, to: previous.name }, null, 2)
          : `Release ${previous.name} is in use again (it was ${from}).`,
      );
    });
  withSettings(command, READ_SETTINGS);
}
