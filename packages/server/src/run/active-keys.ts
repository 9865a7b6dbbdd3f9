// active-keys.ts: takes care of a server's keys: creates the key in INKLING_API_KEY, refuses revoked keys, gives each
// key a cell, and logs when the server loses the database.

import { EmptyDatabaseError } from "@inkling/data";
import { adoptKey } from "@inkling/store/adopt-key";
import { StoreError } from "@inkling/store/error";
import { KeyInputError } from "@inkling/store/keys/key";
import { type KeyUpdate, recordsOf } from "@inkling/store/keys/key-table";
import type { KeyEvent, KeyHost } from "@inkling/store/keys/live-keys";
import { StartError } from "../http/start-error.ts";
import { EMPTY_HINT } from "./database-state.ts";
import type { ServerOptions, Services } from "./options.ts";

type KeyServices = Pick<Services, "log" | "serving" | "store" | "keyring" | "keys" | "usage" | "revoked">;

export class ActiveKeys implements KeyHost {
  private readonly settings: Pick<ServerOptions, "apiKey" | "maxStaleSeconds">;
  private readonly services: KeyServices;
  private refused: KeyInputError | undefined;

  constructor(settings: Pick<ServerOptions, "apiKey" | "maxStaleSeconds">, services: KeyServices) {
    this.settings = settings;
    this.services = services;
  }

  async prepare(): Promise<void> {
    const { apiKey } = this.settings;
    if (apiKey === undefined) return;
    try {
      await adoptKey(this.services.store, apiKey);
    } catch (error) {
      if (error instanceof KeyInputError) this.refused = error;
      throw error;
    }
  }

  /** @throws StartError if INKLING_API_KEY cannot be a key */
  requireChosenKey(): void {
    const { refused } = this;
    if (refused === undefined) return;
    throw new StartError("KEY", refused.message, "change or unset INKLING_API_KEY", refused);
  }

  review(): Promise<void> {
    return this.services.revoked.review();
  }

  activate(update: KeyUpdate): void {
    const { keyring, keys, usage, revoked, serving } = this.services;
    const { refused, state } = keyring;
    for (const { key } of state.loaded ? recordsOf(update.lines) : [])
      if (key.quota !== undefined && key.quota !== keyring.find(key.id)?.quota) usage.readAgain(key.id);
    keys.take(update);
    revoked.apply();
    void revoked.logAdded(refused); // not awaited: it waits for the next update
    serving.publish("keys");
  }

  report(event: KeyEvent): void {
    const { log, serving } = this.services;
    const { maxStaleSeconds: seconds } = this.settings;
    switch (event.type) {
      case "copy-failed":
        log.error("keys-copy-failed", { reason: event.reason });
        return; // the same keys are active
      case "from-copy":
        log.error("keys-from-copy", { keys: event.keys, age_seconds: event.age_seconds });
        return; // published when they became active
      case "lost":
        this.reportLoss(event.error);
        break;
      case "back":
        log.info("database-back");
        break;
      case "stale":
        log.error("keys-stale", { seconds, effect: "every key is refused" });
        break;
      case "fresh":
        log.info("keys-fresh");
        break;
    }
    serving.publish("keys");
  }

  private reportLoss(error: Error): void {
    const { store, log } = this.services;
    if (!(error instanceof EmptyDatabaseError)) {
      const hint = error instanceof StoreError ? error.hint : undefined;
      log.error("database-unreachable", { reason: error.message, hint });
      return;
    }
    const fields = { database: store.label, keys_in_copy: error.known, hint: EMPTY_HINT };
    log.error("database-empty", fields);
    if (this.settings.apiKey === undefined) return;
    const effect = "INKLING_API_KEY is accepted only if the copy has it";
    log.error("chosen-key-not-created", { effect, hint: EMPTY_HINT });
  }
}
