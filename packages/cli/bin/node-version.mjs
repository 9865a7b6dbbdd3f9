// node-version.mjs: refuses to run on Node 19 or older.
//
// Any Node that supports ES modules must be able to parse this file and the files that import it, so they have no new
// syntax.

/**
 * Returns whether this Node is new enough. If not, prints what to do and sets the exit code.
 * @param command what to run again with a newer Node
 */
export function isNodeNew(command) {
  var version = process.versions.node;
  if (Number(version.split(".")[0]) >= 20) return true;
  process.stderr.write(
    "inkling: needs Node 20 or newer, this is Node " +
      version +
      "\nhint: install a current Node from https://nodejs.org, then run " +
      command +
      " again\n",
  );
  process.exitCode = 1;
  return false;
}
