// start.mjs: `npm start` installs missing packages and then runs `inkling up` with the given arguments.

import { isNodeNew } from "../packages/cli/bin/node-version.mjs";

if (isNodeNew("`npm start`")) {
  import("./install.mjs")
    .then((install) => install.installIfNeeded(install.ROOT, { dev: false }))
    .then(() => import("../packages/cli/bin/launch.mjs"))
    .then((launch) => launch.launch(["up"].concat(process.argv.slice(2))));
}
