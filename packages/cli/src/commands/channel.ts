// channel.ts: `inkling channel init | publish | rollback | status` distributes releases to many servers.

import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type Settings, settingsReadBy, variableName } from "@inkling/contract";
import {
  currentName,
  parseChannel,
  prepareOutput,
  readChannelReport,
  releaseNames,
  replaceFile,
  requireCurrentName,
} from "@inkling/data";
import {
  findStatement,
  keyId,
  makeKeyPair,
  openReader,
  type Publisher,
  publicKeyOf,
  readPrivateKey,
  readTrustState,
  rolledBack,
  type Statement,
} from "@inkling/data/channel";
import { listHosts } from "@inkling/operations/hosts";
import { StoreError } from "@inkling/store";
import { isSharedDatabase } from "@inkling/store/store";
import type { Command } from "commander";
import { cliAuthor } from "../config/environment.ts";
import { maskUrl } from "../config/setting-types.ts";
import { channelOf, openPublisher, trustedKeys, withChannel } from "../runtime/channel.ts";
import { addResultAction, type Context, type Result } from "../runtime/command.ts";
import { forgetChannelReport } from "../runtime/data-folder.ts";
import { audited, withExistingStore } from "../runtime/store.ts";
import { CliError, EXIT, explainFileError, Stopped, usage } from "../terminal/errors.ts";
import { type ErrorOutput, formatAge, formatBytes, warn } from "../terminal/terminal.ts";

const PUBLISH_SETTINGS = settingsReadBy("publisher");
const OWNER_ONLY = 0o600;

export function addChannel(program: Command, context: Context): void {
  const channel = program.command("channel").description("publish and roll back releases for many servers");
  addInit(channel, context);
  addPublish(channel, context);
  addRollback(channel, context);
  addStatus(channel, context);
}

function addInit(channel: Command, context: Context): void {
  const command = channel
    .command("init")
    .description("create a channel's key pair, and print the public key for the servers")
    .argument("[file]", "file to write the private key to", "channel-key.pem")
    .addHelpText(
      "after",
      `
Keep the private key on the host that publishes. Whoever has it controls the answers of every server.

Examples:
  inkling channel init /etc/inkling/channel-key.pem`,
    );
  addResultAction(command, context, [], (_, file = "channel-key.pem") => {
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
    .description("publish the release in use, or another stored release, to the channel")
    .argument("[release]", "release name from `data status` (default: the release in use)")
    .option("--to <name>", "publish to this channel what the channel in the settings has")
    .option("--again", "upload the current release's objects again, because they were damaged in the channel")
    .option("--force", "publish a release even if it was rolled back before")
    .addHelpText(
      "after",
      `
The command uploads only segments that the channel does not have yet. Publishing the same release again renews the
channel: servers refuse a channel that has not been renewed for seven days.

With --to, the channel NAME gets the release and the ruleset of the channel in the settings. Nothing is uploaded, so
this works on every host that has the private key.

Publishing a release that was rolled back needs --force, because it undoes the rollback on every server. With --again,
the channel keeps its version and its release.

If another publisher changes the channel at the same time, the command changes nothing and exits with 1.

Examples:
  inkling channel publish --channel s3://inkling-releases/prod
  inkling channel publish --channel s3://inkling-releases/prod#canary --to stable
  inkling channel publish --again
  INKLING_CHANNEL=/srv/inkling inkling channel publish`,
    );
  addResultAction(command, context, PUBLISH_SETTINGS, async ({ settings, flags }, release?: string) => {
    const { dataDir } = settings;
    const isForced = flags.force === true;
    if (flags.again === true) {
      const others = { "a release": release, "--to": flags.to, "--force": flags.force };
      requireAlone("--again", others, "it uploads the channel's current release");
      return publish(settings, context, "nothing was sent", (publisher) => publisher.sendAgain(dataDir));
    }
    if (flags.to !== undefined) {
      requireAlone("--to", { "a release": release }, "it publishes what another channel has");
      const { channel: source } = channelOf(settings);
      const target = otherChannel(settings, String(flags.to));
      return publish(target, context, "nothing was published", (publisher) =>
        publisher.publishFrom(source, isForced),
      );
    }
    const name = release ?? requireCurrentName(dataDir);
    const names = releaseNames(dataDir);
    if (!names.includes(name)) {
      const hint =
        names.length === 0
          ? "`inkling data update` builds one"
          : `the stored releases are ${names.join(", ")}`;
      throw new CliError(`there is no release ${name} in ${dataDir}`, hint);
    }
    return publish(settings, context, "nothing was published", (publisher) => {
      forgetChannelReport(dataDir);
      return publisher.publish(dataDir, name, isForced);
    });
  });
}

/** @throws CliError if one of the other arguments is given */
function requireAlone(option: string, others: Readonly<Record<string, unknown>>, why: string): void {
  const given = Object.keys(others).filter((name) => others[name] !== undefined);
  if (given.length === 0) return;
  throw usage(
    `${option} cannot be combined with ${given.join(" and ")}: ${why}`,
    "leave out one of them; run `inkling channel status` to see the channel's release",
  );
}

/** Returns the settings with another channel in the same store. @throws CliError */
function otherChannel(settings: Settings, name: string): Settings {
  const { base, channel } = channelOf(settings);
  const target = `${base}#${name}`;
  if (parseChannel(target) === undefined) {
    throw usage(
      `--to must be a channel name: it is "${name}"`,
      "a name has at most 63 lower-case letters, digits, dots, hyphens and underscores, for example stable",
    );
  }
  if (name === channel) {
    throw usage(
      `--to must not be ${channel}, the channel in the settings`,
      `for example \`--channel ${maskUrl(base)}#canary --to ${name}\``,
    );
  }
  return { ...settings, channel: target };
}

/**
 * Changes a channel, and records the change in the audit trail.
 * @param remains text about what remains in place if the change is stopped
 * @returns the channel's new statement
 */
async function publish(
  settings: Settings,
  context: Context,
  remains: string,
  act: (publisher: Publisher) => Promise<Statement>,
  action: "channel-published" | "channel-rolled-back" = "channel-published",
): Promise<Result> {
  const { terminal, stopper } = context;
  const publisher = openPublisher(settings, context, {
    audited: (before, after, change) => {
      const entry = { ...cliAuthor(), action, subject: after.channel, before: before && named(before) };
      return audited(settings, terminal, { ...entry, after: named(after) }, change, { isBuild: true });
    },
    onUpload: (path, bytes) => terminal.err(`  sending ${path} (${formatBytes(bytes)})\n`),
    onWarning: (message) => warn(terminal, message),
  });
  try {
    const statement = await withChannel(() => act(publisher));
    return { json: statement, text: statementText(statement) };
  } catch (error) {
    throw stopper.signal.aborted && !publisher.isStated ? new Stopped(remains) : error;
  }
}

/** Describes a statement for the audit trail. */
const named = ({ version, release }: Statement) => ({ version, release: release.name });

function addRollback(channel: Command, context: Context): void {
  const command = channel
    .command("rollback")
    .description("return to the previous release, or to another release that the channel keeps")
    .argument("[release]", "release name from `channel status`")
    .addHelpText(
      "after",
      "\nServers follow within seconds. The channel gets a higher version that has the older release.\n\nExamples:\n  inkling channel rollback\n  inkling channel rollback 20260601T043000000Z-0123456789ab",
    );
  addResultAction(command, context, PUBLISH_SETTINGS, ({ settings }, release?: string) =>
    publish(
      settings,
      context,
      "nothing was rolled back",
      (publisher) => publisher.rollback(release),
      "channel-rolled-back",
    ),
  );
}

function addStatus(channel: Command, context: Context): void {
  const command = channel
    .command("status")
    .description("show the channel's release, and which servers use it")
    .addHelpText(
      "after",
      `
The servers are those that share this command's PostgreSQL database. Servers with another database are not shown.

Examples:
  inkling channel status --channel https://releases.example/inkling`,
    );
  addResultAction(command, context, settingsReadBy("follower", "publisher"), async ({ settings }) => {
    const { base, channel: name } = channelOf(settings);
    const { stopper, env } = context;
    const store = openReader(base, env);
    const found = await withChannel(() => findStatement(store, name, trustedKeys(settings), stopper.signal));
    if (found === undefined) {
      throw new CliError(
        `there is no channel ${name} in ${store.location}`,
        "`inkling channel publish` creates it",
      );
    }
    const { statement } = found;
    const { dataDir } = settings;
    const here = {
      release: currentName(dataDir) ?? null,
      taken: (await withChannel(async () => readTrustState(dataDir))) ?? null,
      report: readChannelReport(dataDir) ?? null,
    };
    const servers = await serversOf(settings, context.terminal, statement).catch((error) => {
      if (!(error instanceof StoreError)) throw error;
      warn(context.terminal, `cannot read the servers: ${error.message}`);
      return null;
    });
    const isExpired = Date.parse(statement.expires_at) <= Date.now();
    const fault = here.report?.fault;
    const lines = [
      statementText(statement),
      servers !== null && serversText(servers),
      isExpired &&
        `  expired at ${statement.expires_at}: servers refuse the channel until it is published again`,
      here.taken && `This host follows version ${here.taken.version}: ${here.taken.release}`,
      fault && `  and has not followed the channel since ${fault.since}: ${fault.reason} (${fault.kind})`,
    ];
    return {
      json: { ...statement, expired: isExpired, servers: servers ?? null, here },
      text: lines.filter(Boolean).join("\n"),
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
 * Returns the servers of this database that follow the channel; undefined if the database is SQLite, which no other
 * host can use.
 */
async function serversOf(settings: Settings, terminal: ErrorOutput, statement: Statement) {
  if (!isSharedDatabase(settings.databaseUrl)) return undefined;
  const hosts = await withExistingStore(settings, terminal, (store) => listHosts(store.database));
  return hosts.flatMap(({ name, state, release, channel }) => {
    if (channel?.name !== statement.channel) return [];
    return {
      name,
      state,
      release: release?.name ?? null,
      pinned: release?.pinned ?? false,
      /** Does the server use the channel's release? */
      current: release?.name === statement.release.name,
      /** Why the server cannot follow the channel. */
      fault: channel.fault,
    };
  });
}

function serversText(servers: Awaited<ReturnType<typeof serversOf>>): string {
  if (servers === undefined)
    return "  servers: not shown, because only servers that share a PostgreSQL database report to it";
  const current = servers.filter((server) => server.current && server.state === "ready");
  const others = servers.filter((server) => !current.includes(server));
  return [
    `  servers: ${current.length} of ${servers.length} in this database use it and are ready; servers with another database are not shown`,
    ...others.map(({ name, state, release, pinned, fault }) => {
      const why = fault === null ? "" : `; cannot follow the channel: ${fault}`;
      return `    ${name}: ${state.replace("-", " ")}, ${release ?? "no release"}${pinned ? " (pinned)" : ""}${why}`;
    }),
  ].join("\n");
}

function statementText(statement: Statement): string {
  const { channel, version, release, kept, published_at, expires_at, ruleset } = statement;
  const age = formatAge(Date.now() - Date.parse(published_at));
  const left = [...rolledBack(statement)];
  return [
    `Channel ${channel}, version ${version}, published ${published_at} (age: ${age}): ${release.name}`,
    `  kept for a rollback: ${kept.map(({ name }) => name).join(", ")}`,
    ...(left.length === 0 ? [] : [`  rolled back: ${left.join(", ")}`]),
    ...(ruleset === undefined ? [] : [`  ruleset ${ruleset.number}, for @inkling/local`]),
    `  valid until ${expires_at}`,
  ].join("\n");
}
