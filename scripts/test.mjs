// test.mjs: `npm test`: installs what is missing, then every check. `npm test -- PATH…` runs the Bun tests whose path
// contains one of the parts.
//
// opt  --unit only the quick tests beside the code; --data only the checks over real data (npm run test:data), with
//      INKLING_MIRROR and INKLING_VECTORS; --full everything in full size; --fuzz=MINUTES each fuzzer for so
//      long; --jobs=N processes at a time; --timings writes test/timings.json, by which the slowest files begin first
// out  progress, failures, what was skipped, and as the last line "N passed, N failed" or "N passed, N failed, N skipped"
// exit 1 on any failure, on a check that could not run, and when there was no test at all; 2 for an unknown option, and
//      when --data lacks a folder
//
// Written so that any Node that knows ES modules can parse it, like inkling.mjs.

var major = Number(process.versions.node.split(".")[0]);
if (major < 20) {
  process.stderr.write(
    "inkling: needs Node 20 or newer, this is Node " +
      process.versions.node +
      "\n" +
      "hint: install a current Node from https://nodejs.org, then run `npm test` again\n",
  );
  process.exitCode = 1;
} else {
  import("./install.mjs")
    .then((install) => install.installIfNeeded(install.ROOT, { dev: true }))
    .then(() => import("./run-tests.mjs"))
    .then((tests) => tests.runTests(process.argv.slice(2)))
    .then((code) => {
      process.exitCode = code;
    });
}
