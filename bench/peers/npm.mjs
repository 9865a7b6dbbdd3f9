// npm.mjs: readers from npm in process, as asked.mjs asks them.
//
// run  bun|node npm.mjs maxmind|mmdb-lib|geoip-lite DATABASE VALUES
// Ways: "fields" gives the record as an object, as each of them does; "json" prints that object.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { answerQuestions, readValues } from "./asked.mjs";

const [name, database, valuesPath] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const runtime = typeof Bun === "undefined" ? `Node ${process.versions.node}` : `Bun ${Bun.version}`;

/** Each: a text of an address -> a record, or nothing. */
const READERS = {
  maxmind: async () => {
    const { open } = await import("maxmind");
    const reader = await open(database);
    return (text) => reader.get(text);
  },
  "mmdb-lib": async () => {
    const { Reader } = await import("mmdb-lib");
    const reader = new Reader(readFileSync(database));
    return (text) => reader.get(text);
  },
  "geoip-lite": async () => {
    const { default: geoip } = await import("geoip-lite"); // with data of its own
    return (text) => geoip.lookup(text);
  },
};

const find = await READERS[name]();
answerQuestions(`${require(`${name}/package.json`).version}, ${runtime}`, readValues(valuesPath), {
  fields: (text) => find(text) != null,
  json: (text) => JSON.stringify(find(text))?.length > 4,
});
