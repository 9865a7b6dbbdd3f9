// pgbouncer.ts: PgBouncer in transaction mode in front of the tests' PostgreSQL, if it is installed.

import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./ports.ts";
import { POSTGRES_PASSWORD, serverOwner } from "./postgres.ts";
import { until } from "./until.ts";

// Debian installs it in a folder that is only in root's PATH.
const PROGRAM = Bun.which("pgbouncer", { PATH: `${process.env.PATH}:/usr/sbin` });
export const HAS_PGBOUNCER = PROGRAM !== null;
export const PGBOUNCER_VERSION = [PROGRAM ?? "", "--version"];

/**
 * @param port PostgreSQL's port
 * @param poolSize connections shared by all clients
 */
export async function startPgBouncer(port: number, poolSize: number) {
  const folder = mkdtempSync(join(tmpdir(), "inkling-pgbouncer-"));
  const own = freePort();
  const users = join(folder, "users.txt");
  const settings = join(folder, "pgbouncer.ini");
  writeFileSync(users, `"inkling" "${POSTGRES_PASSWORD.replaceAll('"', '""')}"\n`);
  writeFileSync(
    settings,
    `[databases]
* = host=127.0.0.1 port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 100
; After a PostgreSQL that was unreachable: 15 s otherwise, which no test learns from.
server_login_retry = 1
`,
  );
  const { uid, gid } = serverOwner();
  const owner = uid === undefined || gid === undefined ? {} : { uid, gid };
  if (uid !== undefined && gid !== undefined)
    for (const path of [folder, users, settings]) chownSync(path, uid, gid);
  const child = Bun.spawn([PROGRAM!, settings], {
    ...owner,
    stdin: "ignore",
    stdout: "ignore",
    stderr: Bun.file(join(folder, "log")),
  });
  const stop = async () => {
    child.kill("SIGINT");
    await child.exited;
    rmSync(folder, { recursive: true, force: true });
  };
  const isThere = () =>
    Bun.connect({ hostname: "127.0.0.1", port: own, socket: { data() {} } }).then(
      (socket) => {
        socket.end();
        return true;
      },
      () => false,
    );
  await until(async () => {
    if (child.exitCode !== null)
      throw new Error(`pgbouncer ended: ${await Bun.file(join(folder, "log")).text()}`);
    return isThere();
  });
  return { port: own, log: () => Bun.file(join(folder, "log")).text(), stop };
}
