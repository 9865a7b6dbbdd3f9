#!/usr/bin/env node
// inkling.mjs: the entry point if the `inkling` script beside it does not find Bun. Refuses to run on Node 19 or older;
// otherwise loads launch.mjs.
//
// Any Node that supports ES modules must be able to parse this file, so it has no static import and no new syntax.

var major = Number(process.versions.node.split(".")[0]);
if (major < 20) {
  process.stderr.write(
    "inkling: needs Node 20 or newer, this is Node " +
      process.versions.node +
      "\n" +
      "hint: install a current Node from https://nodejs.org, then run the same command again\n",
  );
  process.exitCode = 1;
} else {
  import("./launch.mjs").then((launch) => launch.launch(process.argv.slice(2)));
}
