// start.mjs: `npm start` installs missing packages and then runs `inkling up` with the given arguments.
//
// Any Node that supports ES modules can parse this file, like inkling.mjs.

var major = Number(process.versions.node.split(".")[0]);
if (major < 20) {
  process.stderr.write(
    "inkling: needs Node 20 or newer, this is Node " +
      process.versions.node +
      "\n" +
      "hint: install a current Node from https://nodejs.org, then run `npm start` again\n",
  );
  process.exitCode = 1;
} else {
  import("./install.mjs")
    .then((install) => install.installIfNeeded(install.ROOT, { dev: false }))
    .then(() => import("../packages/cli/bin/launch.mjs"))
    .then((launch) => launch.launch(["up"].concat(process.argv.slice(2))));
}
