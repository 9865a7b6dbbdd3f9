// sqlite-lock.ts: locks an SQLite database against writes, as another program would.

import { SQL } from "bun";
import { until } from "./until.ts";

/**
 * Takes the write lock of an SQLite file. Waits for a writer that holds the lock, without stopping this process,
 * because the writer may be a server in this process.
 * @returns releases the lock; further calls have no effect
 */
export async function lockSqlite(file: string): Promise<() => Promise<void>> {
  const sql = new SQL({ adapter: "sqlite", filename: file });
  await until(() =>
    sql.unsafe("BEGIN IMMEDIATE").then(
      () => true,
      (error: { code?: unknown }) => {
        if (String(error.code).startsWith("SQLITE_BUSY")) return false; // also SQLITE_BUSY_RECOVERY and _SNAPSHOT
        throw error;
      },
    ),
  );
  return () => sql.close(); // ends the transaction as well
}
