// data.ts: `inkling data update | status | verify | rollback`.

import type { FeedReport } from "@inkling/engine";
import {
  describeBroken,
  feedsOf,
  findRollback,
  hintFor,
  pin,
  pinnedName,
  releaseNames,
  requireCurrent,
  unpin,
  verifyRelease,
  verifySegments,
} from "@inkling/release-store";
import type { Command } from "commander";
import { build, dataGaps, feedTable, segmentTable } from "../runtime/build.ts";
import { findLastBuild } from "../runtime/build-process.ts";
import { action, type Context, settingsFor, withSettings } from "../runtime/context.ts";
import { CliError, EXIT, Stopped } from "../terminal/errors.ts";
import { feedCount } from "../terminal/progress.ts";
import { formatAge, formatBytes, roomyTable } from "../terminal/terminal.ts";
import { feedOf } from "./feeds.ts";

const UPDATE_SETTINGS = ["dataDir", "mirror", "offline"] as const;
const READ_SETTINGS = ["dataDir"] as const;

export function addData(program: Command, context: Context): void {
  const data = program.command("data").description("build, inspect, verify and switch releases of the data");
  addUpdate(data, context);
  addStatus(data, context);
  addVerify(data, context);
  addRollback(data, context);
  addUnpin(data, context);
}

function addUpdate(data: Command, context: Context): void {
  const command = data
    .command("update")
    .description("build a release from the newest copies of all feeds, and make it current")
    .option("--accept <feed...>", "take the copies of these feeds that wait because they changed so much")
    .option("--json", "print the result as JSON")
    .addHelpText(
      "after",
      `
A running server picks the new release up by itself. A feed that cannot be used or reached is named; its last
good copy stays in use, the release is published all the same, and the exit code is 3. A proxy is taken from
HTTPS_PROXY and NO_PROXY.

Examples:
  inkling data update
  inkling data update --mirror /srv/feeds     one file per feed, for machines without internet
  inkling data update --accept ipsum-3
  inkling data update --offline --json`,
    )
    .action(
      action(context, async (flags) => {
        const { settings } = settingsFor(context, flags, UPDATE_SETTINGS);
        const { terminal, stopper } = context;
        const accept = ((flags.accept ?? []) as string[]).map((id) => feedOf(id).id);
        const look = { fetch: true, conflicts: true, accept };
        const result = await build(settings, terminal, stopper.signal, look);
        const { done, conflicts } = result;
        if (flags.json) {
          const { type: _, ...rest } = done;
          // An older release that was found equal tells how its feeds were then.
          const feeds = feedsOf(settings.dataDir, { name: done.name, manifest: done.release });
          const told = { ...rest, release: { ...done.release, feeds } };
          terminal.out(
            JSON.stringify({ ...told, conflicts: conflicts.map(({ type: _, ...one }) => one) }, null, 2),
          );
        } else {
          const verb = done.published ? "published" : "has the same content already: nothing to publish";
          const pinned = done.pinned;
          const cost = `${done.seconds.toFixed(1)} s, ${formatBytes(done.peakBytes)} of memory`;
          terminal.out(`Release ${done.name} ${verb} (${cost}).`);
          if (pinned !== undefined)
            terminal.out(`  ${pinned} is pinned and stays in use: \`npx inkling data unpin\` goes forward`);
          for (const line of dataGaps(done.release, terminal.style)) terminal.out(`  ${line}`);
          if (done.unreached.length > 0)
            terminal.out(`Not reached, see above: ${feedCount(done.unreached.length)}`);
          if (done.refused.length > 0) terminal.out(`Refused, see above: ${done.refused.join(", ")}`);
        }
        return done.refused.length + done.unreached.length > 0 ? EXIT.withoutSome : EXIT.ok;
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
      const current = requireCurrent(settings.dataDir);
      const releases = releaseNames(settings.dataDir).reverse();
      const last = findLastBuild(settings.dataDir);
      const conflicts = last?.release === current.name ? last.conflicts : [];
      const pinned = pinnedName(settings.dataDir);
      const feeds = feedsOf(settings.dataDir, current);
      if (flags.json) {
        const status = {
          name: current.name,
          pinned: pinned ?? null,
          release: { ...current.manifest, feeds },
          releases,
          conflicts,
        };
        return terminal.out(JSON.stringify(status, null, 2));
      }
      const now = new Date();
      const age = formatAge(now.getTime() - Date.parse(current.manifest.created_at));
      const parts = [
        `Release ${current.name}, built ${current.manifest.created_at} (age: ${age})`,
        segmentTable(current.manifest),
        feedTable(feeds, now, terminal.width),
      ];
      const gaps = dataGaps(current.manifest, terminal.style);
      if (gaps.length > 0) parts.push(gaps.join("\n"));
      if (conflicts.length > 0) {
        const rows = conflicts.map(({ domain, verdict, reason }) => [domain, verdict, reason]);
        parts.push(roomyTable([["LISTS DISAGREE ON", "VERDICT", "REASON"], ...rows], [], 2, terminal.width));
      }
      const remark = (name: string) =>
        [name === current.name ? ["current"] : [], name === pinned ? ["pinned"] : []].flat().join(", ");
      const kept = releases.map((name) => (remark(name) === "" ? name : `${name} (${remark(name)})`));
      if (pinned !== undefined)
        parts.push(`${pinned} is pinned: newer releases wait until \`npx inkling data unpin\`.`);
      parts.push(...waitingLines(feeds));
      parts.push(`Releases kept: ${kept.join(", ")}`);
      terminal.out(parts.join("\n\n"));
    });
  withSettings(command, READ_SETTINGS);
}

/** What the operator is asked about, if anything. */
function waitingLines(feeds: readonly FeedReport[]): string[] {
  const waiting = feeds.filter(({ pending }) => pending !== undefined).map(({ id }) => id);
  if (waiting.length === 0) return [];
  return [
    `Waiting for you: \`npx inkling data update --accept ${waiting.join(" ")}\` takes what changed so much.`,
  ];
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
        const current = requireCurrent(settings.dataDir);
        const verdicts = verifySegments(settings.dataDir, current.manifest);
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
        throw new CliError(describeBroken(current.name, broken), hintFor(broken));
      }),
    );
  withSettings(command, READ_SETTINGS);
}

function addRollback(data: Command, context: Context): void {
  const command = data
    .command("rollback")
    .description("go back to the release before the one in use, or to any that is kept, and stay there")
    .argument("[release]", "its name, as `data status` lists them (default: the one before the one in use)")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
A running server reads the release through, which takes some seconds, then switches to it by itself. What is built from then on is kept, but not used, until \`npx inkling data unpin\`.

Examples:
  inkling data rollback
  inkling data rollback 20260601T043000000Z-0123456789ab`,
    )
    .action(async (name: string | undefined, flags) => {
      const { settings } = settingsFor(context, flags, READ_SETTINGS);
      const { from, to, passedOver } = await findRollback(settings.dataDir, name, verifyRelease);
      // Reading it took a while, in which a signal could not be heard.
      await new Promise((resolve) => setImmediate(resolve));
      if (context.stopper.signal.aborted) throw new Stopped(`${from} stays in use`);
      for (const problem of passedOver) {
        context.terminal.err(`${context.terminal.style.yellow("warning")}: passed over: ${problem}\n`);
      }
      pin(settings.dataDir, to);
      context.terminal.out(
        flags.json ? JSON.stringify({ from, to, pinned: true }, null, 2) : rolledBack(to, from),
      );
    });
  withSettings(command, READ_SETTINGS);
}

function rolledBack(name: string, from: string): string {
  const until = "until `npx inkling data unpin`";
  if (name === from) return `Release ${name} is in use, and stays so ${until}.`;
  return `Release ${name} is in use again (it was ${from}), and stays so ${until}. A running server follows within seconds.`;
}

function addUnpin(data: Command, context: Context): void {
  const command = data
    .command("unpin")
    .description("use the newest release again, after `data rollback`")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nA running server reads the release through, which takes some seconds, then switches to it by itself.\n\nExamples:\n  inkling data unpin",
    )
    .action(async (flags) => {
      const { settings } = settingsFor(context, flags, READ_SETTINGS);
      const { from, to, wasPinned } = await unpin(settings.dataDir, verifyRelease);
      const { terminal } = context;
      if (flags.json) return terminal.out(JSON.stringify({ from, to, unpinned: wasPinned }, null, 2));
      if (!wasPinned) return terminal.out(`No release is pinned; ${from} is in use.`);
      terminal.out(
        to === from ? `${from} is no longer pinned.` : `Release ${to} is in use (it was ${from}).`,
      );
    });
  withSettings(command, READ_SETTINGS);
}
