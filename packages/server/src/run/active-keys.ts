// active-keys.ts: takes care of a server's keys: creates the key in INKLING_API_KEY, refuses revoked keys, and gives
// each key a cell.

import { adoptKey } from "@inkling/store/adopt-key";
import { KeyInputError } from "@inkling/store/keys/key";
import { type KeyUpdate, recordsOf } from "@inkling/store/keys/key-table";
import type { KeyHost } from "@inkling/store/keys/live-keys";
import { StartError } from "../http/start-error.ts";
import type { Services } from "./options.ts";

type KeyServices = Pick<Services, "serving" | "store" | "keyring" | "keys" | "usage" | "revoked">;

export class ActiveKeys implements KeyHost {
  private readonly apiKey: string | undefined;
  private readonly services: KeyServices;
  private refused: KeyInputError | undefined;

  constructor(apiKey: string | undefined, services: KeyServices) {
    this.apiKey = apiKey;
    this.services = services;
  }

  async prepare(): Promise<void> {
    if (this.apiKey === undefined) return;
    try {
      await adoptKey(this.services.store, this.apiKey);
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

  publish(): void {
    this.services.serving.publish("keys");
  }
}
