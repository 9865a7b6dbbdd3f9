// peers.ts: finds the large packages in test/peers, which only some tests use. Without them, these tests are skipped.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./project-files.ts";

export const PEERS = join(ROOT, "test/peers/node_modules");
export const HOW_TO_INSTALL = "`npm install --prefix test/peers`";

/** Is the package installed in test/peers? */
export const hasPeer = (name: string): boolean => existsSync(join(PEERS, name));
/** The package's path from node_modules, as `tried` takes it. */
export const peerPath = (name: string): string => join("../test/peers/node_modules", name);
