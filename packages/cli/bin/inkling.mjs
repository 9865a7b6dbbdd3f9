#!/usr/bin/env node
// inkling.mjs: the entry point if the `inkling` script beside it does not find Bun.

import { isNodeNew } from "./node-version.mjs";

if (isNodeNew("the same command")) {
  import("./launch.mjs").then((launch) => launch.launch(process.argv.slice(2)));
}
