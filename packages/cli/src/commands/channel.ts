// channel.ts: `inkling channel init | publish | promote | rollback | status` distributes releases to many servers.

import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type Settings, settingsReadBy, variableName } from "@inkling/contract";
import {
  currentName,
  prepareOutput,
  readChannelReport,
  releaseNames,
  replaceFile,
  requireCurrentName,
} from "@inkling/release-store";
import {
  ChannelError,
  isTooFew,
  keyId,
  makeKeyPair,
  openReader,
  PublishStopped,
  publicKeyOf,
  readChannel,
  readPrivateKey,
  readTrustState,
  rolledBack,
  type Statement,
} from "@inkling/release-store/channel";
import { type Command, Option } from "commander";
import { channelOf, openPublisher, trustedKeys, withChannel } from "../runtime/channel.ts";
import { addAction, type Context, type Flags, type Result } from "../runtime/command.ts";
import { confirm } from "../runtime/confirm.ts";
import { forgetChannelReport } from "../runtime/data-folder.ts";
import { nextStep, percentOf, readRollout, requireReady, rolloutText, watched } from "../runtime/rollout.ts";
import { audited } from "../runtime/store.ts";
import { CliError, EXIT, explainFileError, Stopped } from "../terminal/errors.ts";
import { formatAge, formatBytes, warn } from "../terminal/terminal.ts";

const PUBLISH_SETTINGS = settingsReadBy("publisher");
const OWNER_ONLY = 0o600;

export function addChannel(program: Command, context: Context): void {
  const channel = program
    .command("channel")
    .description("publish, roll out and roll back releases for many servers");
  addInit(channel, context);
  addPublish(channel, context);
  addPromote(channel, context);
  addRollback(channel, context);
  addStatus(channel, context);
}

function addInit(channel: Command, context: Context): void {
  const command = channel
    .command("init")
    .description("create a channel's key pair, and print the public key for the servers")
    .argument("[file]", "file to write the private key to", "channel-key.pem")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Keep the private key on the host that publishes. Whoever has it controls the answers of every server.

Examples:
  inkling channel init /etc/inkling/channel-key.pem`,
    );
  addAction(command, context, [], (_, file = "channel-key.pem") => {
    const path = resolve(context.cwd, file);
    if (existsSync(path)) {
      throw new CliError(`${path} already exists`, `name another file${publicKeyIn(path)}`);
    }
    const { privatePem, publicKey } = makeKeyPair();
    try {
      replaceFile(prepareOutput(path) ?? path, [privatePem], { mode: OWNER_ONLY, owner: "process" });
    } catch (error) {
      throw explainFileError(error, path);
    }
    return {
      json: { private_key_file: path, public_key: publicKey, key_id: keyId(publicKey) },
      text: [
        `Wrote the private key to ${path}. Only this user can read it. Keep a copy where you keep secrets.`,
        "",
        "On the host that publishes:",
        `  ${variableName("channelSigningKey")}=${path}`,
        "On every server:",
        `  ${variableName("channelKey")}=${publicKey}`,
      ].join("\n"),
    };
  });
}

function addPublish(channel: Command, context: Context): void {
  const command = channel
    .command("publish")
    .description("publish the release in use, or another kept release, to the channel")
    .argument("[release]", "release name from `data status` (default: the release in use)")
    .addOption(
      new Option(
        "--percent <percent>",
        "share of servers that take the release; the other servers keep the previous one",
      ).default("100", "100"),
    )
    .option("--again", "upload the current release's objects again, because they were damaged in the channel")
    .option("--force", "publish a release even if it was rolled back before")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
The command uploads only segments that the channel does not have yet. Publishing the same release again renews the
channel: servers refuse a channel that has not been renewed for seven days.

Publishing a release that was rolled back needs --force, because it undoes the rollback on every server. With --again,
the channel keeps its version, release and share of servers.

Examples:
  inkling channel publish --channel s3://inkling-releases/prod
  inkling channel publish --percent 10
  inkling channel publish --again
  INKLING_CHANNEL=/srv/inkling inkling channel publish`,
    );
  addAction(command, context, PUBLISH_SETTINGS, async ({ settings, flags }, release?: string) => {
    const { dataDir } = settings;
    if (flags.again === true) {
      if (release !== undefined || command.getOptionValueSource("percent") === "cli") {
        throw new CliError(
          "--again cannot be combined with a release or --percent: it uploads the channel's current release",
          "leave them out; `inkling channel status` shows the current release",
          EXIT.usage,
        );
      }
      return done(
        await changed("nothing was sent", () =>
          publisher(settings, context, "channel-published").sendAgain(dataDir),
        ),
      );
    }
    const name = release ?? requireCurrentName(dataDir);
    const percent = percentOf(flags.percent);
    const names = releaseNames(dataDir);
    if (!names.includes(name)) {
      const hint =
        names.length === 0 ? "`inkling data update` builds one" : `the kept releases are ${names.join(", ")}`;
      throw new CliError(`there is no release ${name} in ${dataDir}`, hint);
    }
    const publishing = publisher(settings, context, "channel-published");
    forgetChannelReport(dataDir);
    const statement = await changed("nothing was published", () =>
      publishing.publish(dataDir, name, percent, flags.force === true),
    );
    if (statement.percent !== percent) {
      warn(
        context.terminal,
        `${statement.percent} % of the servers already have this release: \`promote\` changes the share`,
      );
    }
    return done(statement);
  });
}

function addPromote(channel: Command, context: Context): void {
  const command = channel
    .command("promote")
    .description("give the channel's release to more servers")
    .argument("[name]", "channel name (default: the name in the `channel` setting)")
    .addOption(
      new Option(
        "--percent <percent>",
        "share of servers that take the release; the other servers keep the previous one",
      ).default("100", "100"),
    )
    .option(
      "--watch [seconds]",
      `wait for reports before and after (${WATCH_SECONDS} s each); restore the previous share if too few servers are ready afterwards`,
    )
    .option("--force", "continue even if too few servers are ready, and lower the share without asking")
    .option("--yes", "lower the share without asking")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Servers report through PostgreSQL, or through the channel's folder or bucket if they may write there. If fewer than 90 %
of the servers that should have the release report it ready, the share does not change, and the exit code is 1. The same
happens if the present share reaches none of the servers that report, and the new one more than the first of them.
Without reports, the check is skipped. Lowering the share takes the release away from some servers, so the command asks
first.

Examples:
  inkling channel promote --percent 50 --watch
  inkling channel promote`,
    );
  addAction(command, context, PUBLISH_SETTINGS, ({ settings, flags }, name?: string) =>
    withChannel(() => promote(named(settings, name), context, flags)),
  );
}

const WATCH_SECONDS = 120;

async function promote(settings: Settings, context: Context, flags: Flags): Promise<Result> {
  const percent = percentOf(flags.percent);
  const seconds = flags.watch === undefined ? undefined : secondsOf(flags.watch);
  const publishing = publisher(settings, context, "channel-promoted", flags.force === true, seconds);
  const [before, statement] = await changed("nothing was promoted", async () => {
    const found = await publishing.read();
    if (found !== undefined) await agreeToLess(found, percent, flags, context);
    return [found, await publishing.promote(percent)];
  });
  if (before !== undefined && before.percent > percent)
    context.terminal.err(
      `The share was ${before.percent} %: servers outside the new share return to the previous release.\n`,
    );
  if (seconds === undefined) return done(statement);
  const rollout = await watched(settings, context, statement, seconds);
  const remains = `${statement.release.name} is at ${statement.percent} %`;
  if (rollout === undefined) throw new Stopped(remains);
  const text = `${statementText(statement)}\n  ${rolloutText(rollout)}`;
  if (!isTooFew(rollout)) return { json: { ...statement, servers: rollout }, text };
  if (before?.previous === undefined || before.percent >= percent) {
    throw new CliError(
      `too few servers are ready: ${rolloutText(rollout)}`,
      nextStep(rollout, "`inkling channel rollback` returns all servers to the previous release"),
    );
  }
  const { version } = await changed(remains, () => publishing.promote(before.percent));
  throw new CliError(
    `went back to ${before.percent} % (version ${version}): ${rolloutText(rollout)}`,
    nextStep(rollout, "`inkling channel rollback` removes the release from the remaining servers"),
  );
}

/** @throws CliError if some servers would lose the release and the user does not confirm that */
async function agreeToLess(
  { release, percent: before }: Statement,
  percent: number,
  flags: Flags,
  context: Context,
): Promise<void> {
  if (percent >= before || flags.yes === true || flags.force === true) return;
  const question = `${release.name} is at ${before} %: at ${percent} %, some servers return to the previous release`;
  await confirm(context, `${question}. Lower the share?`, {
    unasked: question,
    declined: `the share remains at ${before} %`,
    hint: `\`inkling channel promote --percent ${percent} --yes\` lowers the share`,
  });
}

/**
 * Changes a channel.
 * @param remains text about what remains in place if the change is stopped
 */
async function changed<T>(remains: string, act: () => Promise<T>): Promise<T> {
  try {
    return await withChannel(act);
  } catch (error) {
    throw error instanceof PublishStopped ? new Stopped(remains) : error;
  }
}

function secondsOf(value: true | string): number {
  if (value === true) return WATCH_SECONDS;
  if (/^[1-9]\d{0,4}$/.test(value)) return Number(value);
  throw new CliError(
    `--watch must be a number of seconds: it is "${value}"`,
    "for example --watch 120",
    EXIT.usage,
  );
}

function addRollback(channel: Command, context: Context): void {
  const command = channel
    .command("rollback")
    .description("give all servers the previous release, or another release that the channel keeps")
    .argument("[release]", "release name from `channel status`")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  inkling channel rollback\n  inkling channel rollback 20260601T043000000Z-0123456789ab",
    );
  addAction(command, context, PUBLISH_SETTINGS, async ({ settings }, release?: string) =>
    done(
      await changed("nothing was rolled back", () =>
        publisher(settings, context, "channel-rolled-back").rollback(release),
      ),
    ),
  );
}

function addStatus(channel: Command, context: Context): void {
  const command = channel
    .command("status")
    .description("show the channel's release, and what this host has taken from it")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  inkling channel status --channel https://releases.example/inkling");
  addAction(command, context, settingsReadBy("follower", "publisher"), async ({ settings }) => {
    const { base, channel: name } = channelOf(settings);
    const { stopper, env } = context;
    const store = openReader(base, env);
    const statement = await withChannel(() =>
      readChannel(store, name, trustedKeys(settings), stopper.signal),
    );
    if (statement === undefined) {
      throw new CliError(
        `there is no channel ${name} in ${store.location}`,
        "`inkling channel publish` creates it",
      );
    }
    const { dataDir } = settings;
    const here = {
      release: currentName(dataDir) ?? null,
      taken: (await withChannel(async () => readTrustState(dataDir))) ?? null,
      report: readChannelReport(dataDir) ?? null,
    };
    const rollout = await readRollout(settings, context, statement).catch((error: Error) => {
      warn(context.terminal, `cannot read the servers' reports: ${error.message}`);
      return null; // a server's credentials may not allow listing the reports
    });
    const isExpired = Date.parse(statement.expires_at) <= Date.now();
    const fault = here.report?.fault;
    return {
      json: { ...statement, expired: isExpired, servers: rollout, here },
      text: [
        statementText(statement),
        rollout === null ? "" : `  ${rolloutText(rollout)}`,
        isExpired
          ? `  expired at ${statement.expires_at}: servers refuse the channel until it is published again`
          : "",
        here.taken === null ? "" : `This host follows version ${here.taken.version}: ${here.taken.release}`,
        fault
          ? `  and has not followed the channel since ${fault.since}: ${fault.reason} (${fault.kind})`
          : "",
      ]
        .filter((line) => line !== "")
        .join("\n"),
      exitCode: isExpired || fault ? EXIT.error : EXIT.ok,
    };
  });
}

/**
 * Returns a phrase with the public key of a private key file, for operators who have lost it; empty for any other file.
 */
function publicKeyIn(path: string): string {
  try {
    return `; the public key for this file is ${publicKeyOf(readPrivateKey(readFileSync(path, "utf8")))}`;
  } catch {
    return ""; // not a private key
  }
}

/**
 * @param isForced true to ignore the servers' reports
 * @param seconds how many seconds to wait for the servers' reports before the percentage is raised
 */
function publisher(
  settings: Settings,
  context: Context,
  action: "channel-published" | "channel-promoted" | "channel-rolled-back",
  isForced = false,
  seconds = 0,
) {
  const { terminal } = context;
  const onRaise = async (before: Statement, percent: number) => {
    const rollout = await watched(settings, context, before, seconds).catch(async (error) => {
      const { StoreError } = await import("@inkling/store"); // only publishers need this
      if (!(error instanceof StoreError) && !(error instanceof ChannelError)) throw error;
      throw new CliError(
        `cannot read the servers' reports: ${error.message}`,
        `${error instanceof StoreError ? "make the database reachable" : "make the reports beside the channel readable"}, or promote without checking reports: \`inkling channel promote --force\``,
      );
    });
    if (rollout === undefined) return; // the publisher then stops as well
    requireReady(before, rollout, percent);
    terminal.err(`At ${before.percent} %: ${rolloutText(rollout)}.\n`);
  };
  return openPublisher(settings, context, {
    ...(!isForced && { onRaise }),
    audited: (before, after, change) => {
      const entry = { action, subject: after.channel, before: before && rolledOut(before) };
      return audited(settings, terminal, { ...entry, after: rolledOut(after) }, change);
    },
    onUpload: (path, bytes) => terminal.err(`  sending ${path} (${formatBytes(bytes)})\n`),
    onWarning: (message) => warn(terminal, message),
  });
}

/** Describes a statement for the audit trail. */
const rolledOut = ({ version, release, percent }: Statement) => ({ version, release: release.name, percent });

function named(settings: Settings, name: string | undefined): Settings {
  if (name === undefined) return settings;
  return { ...settings, channel: `${channelOf(settings).base}#${name}` };
}

const done = (statement: Statement) => ({ json: statement, text: statementText(statement) });

function statementText(statement: Statement): string {
  const { channel, version, release, percent, previous, kept, published_at, expires_at, ruleset } = statement;
  const age = formatAge(Date.now() - Date.parse(published_at));
  const others = percent < 100 && previous !== undefined ? `; the other servers have ${previous.name}` : "";
  const left = [...rolledBack(statement)];
  return [
    `Channel ${channel}, version ${version}, published ${published_at} (age: ${age}): ${release.name} for ${percent} % of the servers${others}`,
    `  kept for a rollback: ${kept.map(({ name }) => name).join(", ")}`,
    ...(left.length === 0 ? [] : [`  rolled back: ${left.join(", ")}`]),
    ...(ruleset === undefined ? [] : [`  ruleset ${ruleset.number}, for @inkling/local`]),
    `  valid until ${expires_at}`,
  ].join("\n");
}
