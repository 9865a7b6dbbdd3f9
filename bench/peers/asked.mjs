// asked.mjs: a program that looks things up when it is told to, so that rounds of several programs can alternate.
//
// in   on standard input, a line "WAY COUNT BLOCK": ask the first COUNT values in this way, and take the time of each
//      BLOCK of them
// out  "ready VERSION" once; then for each line a JSON array: nanoseconds for each value, one figure a block, and last how
//      many values were found
//
// Plain JavaScript, because peers run on Node as well as on Bun.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

/** Values of a file, one a line, each a string of its own and not a slice of the file. */
export function readValues(path) {
  const lines = readFileSync(path, "latin1").trimEnd().split("\n");
  return lines.map((text) => Buffer.from(text, "latin1").toString("latin1"));
}

/**
 * @param {string} version
 * @param {string[]} values
 * @param {Record<string, (value: string) => boolean>} ways each asks one value and tells whether it was found
 */
export function answerQuestions(version, values, ways) {
  process.stdout.write(`ready ${version}\n`);
  createInterface({ input: process.stdin }).on("line", (line) => {
    const [name, count, block] = line.split(" ");
    process.stdout.write(`${JSON.stringify(pass(ways[name], values, Number(count), Number(block)))}\n`);
  });
}

function pass(ask, values, count, block) {
  const times = [];
  let found = 0;
  for (let i = 0; i + block <= count; i += block) {
    const from = performance.now();
    for (let k = i; k < i + block; k++) if (ask(values[k])) found++;
    times.push(Math.round(((performance.now() - from) * 1e7) / block) / 10);
  }
  times.push(found);
  return times;
}
