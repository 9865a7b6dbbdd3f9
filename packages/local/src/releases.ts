// releases.ts: holds the release in use, and replaces it while lookups continue.
//
// After the first release, neither the thread nor a timer keeps the process alive.

import { Worker } from "node:worker_threads";
import { InklingError } from "@inkling/client";
import { explained, loadRelease, MAPS_FILES, mapSegment, segmentsOf } from "@inkling/data";
import type { ChannelRuleset } from "@inkling/data/channel";
import type { LoadedRelease } from "@inkling/engine";
import type { SourceOptions } from "./read-options.ts";
import type { Prepared, Refused, Taken, WatcherMessage } from "./release-watcher.ts";

export interface ReleaseEvents {
  readonly onRelease: (release: LoadedRelease) => void;
  readonly onRuleset: (ruleset: ChannelRuleset) => void;
  readonly onError: (error: Error) => void;
}

/** The thread's module, which is next to this file both in the sources and in the package. */
const THREAD = new URL(import.meta.url.endsWith(".ts") ? "./thread.ts" : "./thread.js", import.meta.url);

export class Releases {
  current: LoadedRelease | undefined;
  private readonly options: SourceOptions;
  private readonly events: ReleaseEvents;
  private readonly thread: Worker;
  private readonly ended: Promise<void>;
  private isClosing = false;
  /** The segment bytes of the release that was last handed over, keyed by SHA-256. */
  private bytes = new Map<string, Uint8Array>();
  private opened: ((error?: Error) => void) | undefined;

  private constructor(options: SourceOptions, events: ReleaseEvents) {
    this.options = options;
    this.events = events;
    this.thread = new Worker(THREAD, { workerData: options });
    this.ended = new Promise((resolve) => this.thread.once("exit", () => resolve()));
    this.thread.on("message", (message: WatcherMessage) => {
      if (this.isClosing) return;
      switch (message.type) {
        case "release":
          return this.take(message);
        case "ruleset":
          return this.events.onRuleset(message);
        case "ruleset-refused":
          return this.events.onError(new Error(message.reason));
        case "refused":
          return this.refuse(message);
      }
    });
    this.thread.on("error", (error: Error) => this.fail(notLoaded(error.message, undefined, error)));
  }

  /** @throws InklingError if there is no sound release */
  static async open(options: SourceOptions, events: ReleaseEvents): Promise<Releases> {
    const releases = new Releases(options, events);
    const failure = await new Promise<Error | undefined>((resolve) => {
      releases.opened = resolve;
    });
    releases.opened = undefined;
    if (failure !== undefined) {
      await releases.close();
      throw failure;
    }
    releases.thread.unref();
    return releases;
  }

  /** Resolves when the thread has ended. An interrupted download resumes the next time. */
  async close(): Promise<void> {
    this.isClosing = true;
    this.current = undefined;
    this.bytes.clear();
    this.thread.ref();
    this.thread.postMessage("stop");
    await this.ended;
  }

  private take(prepared: Prepared): void {
    try {
      this.current = this.load(prepared);
    } catch (error) {
      const { message, hint } = error as Error & { readonly hint?: string };
      this.settle({ name: prepared.name, reason: message, hint });
      return;
    }
    this.settle({ name: prepared.name });
    this.opened?.();
    this.events.onRelease(this.current); // not caught: an error of the application is not the release's fault
  }

  private settle(taken: Taken): void {
    this.thread.postMessage(taken);
  }

  private load({ name, manifest, segments }: Prepared): LoadedRelease {
    const { dataDir } = this.options;
    const before = this.bytes;
    if (!MAPS_FILES) {
      // The bytes are kept even if the release cannot be opened, because the thread does not send them again.
      this.bytes = new Map(segments);
      for (const { sha256 } of segmentsOf(manifest)) {
        const kept = before.get(sha256);
        if (kept !== undefined) this.bytes.set(sha256, kept);
      }
    }
    return explained(dataDir, name, () =>
      loadRelease(name, manifest, (report) => this.bytes.get(report.sha256) ?? mapSegment(dataDir, report)),
    );
  }

  private refuse({ reason, hint }: Refused): void {
    this.fail(notLoaded(reason, hint));
  }

  private fail(error: InklingError): void {
    if (this.current === undefined) this.opened?.(error);
    else this.events.onError(error);
  }
}

/** Creates the error of a server that has no release. A retry may succeed. */
function notLoaded(reason: string, hint: string | undefined, cause?: unknown): InklingError {
  return new InklingError("DATA_NOT_LOADED", reason, {
    status: 503,
    hint: hint ?? "`inkling data status` and `inkling doctor` show the state of the data folder",
    ...(cause !== undefined && { cause }),
  });
}
