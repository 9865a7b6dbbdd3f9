// channel.ts: `inkling channel init | publish | promote | rollback | status`: releases for many servers.

import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type Settings, settingsReadBy, variableName } from "@inkling/contract";
import {
  currentName,
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
import { percentOf, readRollout, requireReady, rolloutText, watched } from "../runtime/rollout.ts";
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
    .description("create the key pair of a channel, and print the public key for the servers")
    .argument("[file]", "where the private key is written", "channel-key.pem")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
The private key stays on the host that publishes; whoever has it decides what all servers answer.

Examples:
  inkling channel init /etc/inkling/channel-key.pem`,
    );
  addAction(command, context, [], (_, file = "channel-key.pem") => {
    const path = resolve(context.cwd, file);
    if (existsSync(path)) {
      throw new CliError(`${path} exists already`, `name another file${publicKeyIn(path)}`);
    }
    const { privatePem, publicKey } = makeKeyPair();
    try {
      replaceFile(path, [privatePem], { mode: OWNER_ONLY });
    } catch (error) {
      throw explainFileError(error, path);
    }
    return {
      json: { private_key_file: path, public_key: publicKey, key_id: keyId(publicKey) },
      text: [
        `Wrote the private key to ${path}, for this user alone. Keep a copy where you keep secrets.`,
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
    .argument("[release]", "its name, as `data status` lists them (default: the one in use)")
    .addOption(
      new Option(
        "--percent <percent>",
        "share of the servers that take it; the others keep the one before",
      ).default("100", "100"),
    )
    .option("--again", "send the objects of what the channel names now once more: they were damaged there")
    .option("--force", "publish also a release that the channel went back from")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Only segments that are not there yet are sent. Publishing the same release again renews it: servers refuse a channel
that nobody has renewed for seven days.

A release that the channel went back from needs --force: publishing it would undo the rollback on every server.
--again leaves the channel as it is: the same version, release and share of the servers.

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
          "--again sends what the channel names now: it takes no release and no --percent",
          "leave them out; `npx @inkling/cli channel status` shows what the channel names",
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
        names.length === 0 ? "`npx @inkling/cli data update` makes one" : `kept are ${names.join(", ")}`;
      throw new CliError(`there is no release ${name} in ${dataDir}`, hint);
    }
    const statement = await changed("nothing was published", () =>
      publisher(settings, context, "channel-published").publish(dataDir, name, percent, flags.force === true),
    );
    if (statement.percent !== percent) {
      warn(
        context.terminal,
        `${statement.percent} % of the servers have it already: \`promote\` changes that`,
      );
    }
    return done(statement);
  });
}

function addPromote(channel: Command, context: Context): void {
  const command = channel
    .command("promote")
    .description("give the channel's release to more servers")
    .argument("[name]", "of the channel (default: that of the setting)")
    .addOption(
      new Option(
        "--percent <percent>",
        "share of the servers; the others go on with the release before",
      ).default("100", "100"),
    )
    .option(
      "--watch [seconds]",
      `wait for reports before and after (${WATCH_SECONDS} s each); go back if too few are ready then`,
    )
    .option(
      "--force",
      "go on although too few servers report the release ready; also lowers the share unasked",
    )
    .option("--yes", "lower the share without a question")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Servers report in PostgreSQL, or in the folder or bucket of the channel where they may write there. Where fewer than
nine of ten that should have the release report it ready, the share stays as it is, and the exit code is 1. Where none
reports, nothing is checked. A share below the one of now takes the release from servers that have it, so it asks first.

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
    context.terminal.err(`It was at ${before.percent} %: the servers in between go back.\n`);
  if (seconds === undefined) return done(statement);
  const rollout = await watched(settings, context, statement, seconds);
  const remains = `${statement.release.name} is at ${statement.percent} %`;
  if (rollout === undefined) throw new Stopped(remains);
  const text = `${statementText(statement)}\n  ${rolloutText(rollout)}`;
  if (!isTooFew(rollout)) return { json: { ...statement, servers: rollout }, text };
  if (before?.previous === undefined || before.percent >= percent) {
    throw new CliError(
      `too few are ready: ${rolloutText(rollout)}`,
      "`npx @inkling/cli channel rollback` goes back",
    );
  }
  const { version } = await changed(remains, () => publishing.promote(before.percent));
  throw new CliError(
    `went back to ${before.percent} % (version ${version}): ${rolloutText(rollout)}`,
    "`npx @inkling/cli channel rollback` takes the release from the others too",
  );
}

/** @throws CliError when servers would lose the release, and nobody agrees to that */
async function agreeToLess(
  { release, percent: before }: Statement,
  percent: number,
  flags: Flags,
  { terminal }: Context,
): Promise<void> {
  if (percent >= before || flags.yes === true || flags.force === true) return;
  const question = `${release.name} is at ${before} %: at ${percent} % the servers in between go back`;
  const again = `\`npx @inkling/cli channel promote --percent ${percent} --yes\` lowers the share`;
  if (terminal.prompt === undefined) throw new CliError(question, again);
  const answer = await terminal.prompt(`${question}. Lower it? [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError(`the share stays at ${before} %`, again);
}

/** Changes a channel. @param remains what a stop before that leaves */
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
    .argument("[release]", "its name, as `channel status` lists them")
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
        "`npx @inkling/cli channel publish` makes it",
      );
    }
    const { dataDir } = settings;
    const here = {
      release: currentName(dataDir) ?? null,
      taken: (await withChannel(async () => readTrustState(dataDir))) ?? null,
      report: readChannelReport(dataDir) ?? null,
    };
    const rollout = await readRollout(settings, context, statement).catch((error: Error) => {
      warn(context.terminal, `reports of servers could not be read: ${error.message}`);
      return null; // credentials of a server may not list them
    });
    const isExpired = Date.parse(statement.expires_at) <= Date.now();
    const fault = here.report?.fault;
    return {
      json: { ...statement, expired: isExpired, servers: rollout, here },
      text: [
        statementText(statement),
        rollout === null ? "" : `  ${rolloutText(rollout)}`,
        isExpired
          ? `  expired at ${statement.expires_at}: servers refuse it until it is published again`
          : "",
        here.taken === null ? "" : `This host has taken version ${here.taken.version}: ${here.taken.release}`,
        fault
          ? `  and does not follow the channel since ${fault.since}: ${fault.reason} (${fault.kind})`
          : "",
      ]
        .filter((line) => line !== "")
        .join("\n"),
      exitCode: isExpired || fault ? EXIT.error : EXIT.ok,
    };
  });
}

/** For who has lost it. */
function publicKeyIn(path: string): string {
  try {
    return `; the public key of this one is ${publicKeyOf(readPrivateKey(readFileSync(path, "utf8")))}`;
  } catch {
    return ""; // another file
  }
}

/**
 * @param isForced whatever servers report
 * @param seconds how long to wait for their reports before the share is raised
 */
function publisher(
  settings: Settings,
  context: Context,
  action: "channel-published" | "channel-promoted" | "channel-rolled-back",
  isForced = false,
  seconds = 0,
) {
  const { terminal } = context;
  const onRaise = async (before: Statement) => {
    const rollout = await watched(settings, context, before, seconds).catch(async (error) => {
      const { StoreError } = await import("@inkling/server"); // of publishers alone
      if (!(error instanceof StoreError) && !(error instanceof ChannelError)) throw error;
      throw new CliError(
        `no reports of servers: ${error.message}`,
        `${error instanceof StoreError ? "bring the database back" : "see that the reports beside the channel can be read"}, or promote without looking at reports: \`npx @inkling/cli channel promote --force\``,
      );
    });
    if (rollout === undefined) return; // the publisher stops as well
    requireReady(before, rollout);
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

/** For the audit trail. */
const rolledOut = ({ version, release, percent }: Statement) => ({ version, release: release.name, percent });

function named(settings: Settings, name: string | undefined): Settings {
  if (name === undefined) return settings;
  return { ...settings, channel: `${channelOf(settings).base}#${name}` };
}

const done = (statement: Statement) => ({ json: statement, text: statementText(statement) });

function statementText(statement: Statement): string {
  const { channel, version, release, percent, previous, kept, published_at, expires_at, ruleset } = statement;
  const age = formatAge(Date.now() - Date.parse(published_at));
  const others = percent < 100 && previous !== undefined ? `; the others have ${previous.name}` : "";
  const left = [...rolledBack(statement)];
  return [
    `Channel ${channel}, version ${version}, published ${published_at} (age: ${age}): ${release.name} for ${percent} % of the servers${others}`,
    `  kept for a rollback: ${kept.map(({ name }) => name).join(", ")}`,
    ...(left.length === 0 ? [] : [`  went back from: ${left.join(", ")}`]),
    ...(ruleset === undefined ? [] : [`  ruleset ${ruleset.number}, for @inkling/local`]),
    `  valid until ${expires_at}`,
  ].join("\n");
}
