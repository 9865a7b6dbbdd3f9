// test.mjs: `npm test` installs missing packages and then runs every check. `npm test -- PATH…` runs the Bun tests
// whose path contains one of these texts.
//
// opt  --unit runs only the quick tests beside the code; --data runs only the checks over real data (npm run
//      test:data), with INKLING_MIRROR and INKLING_VECTORS; --full runs everything at full size; --fuzz=MINUTES sets
//      the duration of each fuzzer; --jobs=N sets the number of processes; --timings writes test/timings.json, which
//      lets the slowest files begin first
//
// exit 1 on any failure, if a check could not run, or if no test ran; 2 for an unknown option, or if --data lacks a
//      folder

import { isNodeNew } from "../packages/cli/bin/node-version.mjs";

if (isNodeNew("`npm test`")) {
  import("./install.mjs")
    .then((install) => install.installIfNeeded(install.ROOT, { dev: true }))
    .then(() => import("./run-tests.mjs"))
    .then((tests) => tests.runTests(process.argv.slice(2)))
    .then((code) => {
      process.exitCode = code;
    });
}
