// inkling.mjs: our engine in process, as asked.mjs asks it; on Bun from its source, on Node as it is built.
//
// run  bun|node inkling.mjs geo|reputation|email SEGMENT VALUES
// The work is that of the server for a look-up: parse, unwrap, special use, find, and the answer's bytes. Those are a view of
// the segment, as the server hands them to the socket, of which the last byte is read; "copy" copies all to a buffer, as batches do.

import { readFileSync } from "node:fs";
import {
  answerEmail,
  EmailSegment,
  IpAddress,
  IpSegment,
  parseIpInto,
  specialUse,
  unwrapIpv4,
} from "@inkling/engine";
import { answerQuestions, readValues } from "./asked.mjs";

const [kind, path, valuesPath] = process.argv.slice(2);
const isBun = typeof Bun !== "undefined";
const bytes = isBun ? Bun.mmap(path, { shared: false }) : readWhole(path);
const out = new Uint8Array(4096);
const CLOSING_BRACE = 0x7d;

/** Node cannot map a file: it reads it once. */
function readWhole(path) {
  const read = readFileSync(path);
  return new Uint8Array(read.buffer, read.byteOffset, read.length);
}

function addresses() {
  const segment = IpSegment.open(bytes, kind);
  const address = new IpAddress();
  const isPublic = (text) => {
    if (!parseIpInto(text, address)) throw new Error(`not an address: ${text}`);
    unwrapIpv4(address);
    return specialUse(address) === undefined;
  };
  return {
    answer: (text) => {
      const answer = isPublic(text) ? segment.lookup(address) : undefined;
      return answer !== undefined && answer[answer.length - 1] === CLOSING_BRACE;
    },
    copy: (text) => isPublic(text) && segment.lookupInto(address, out, 0) > 0,
    parse: (text) => isPublic(text),
  };
}

function emails() {
  const segment = EmailSegment.open(bytes);
  return { answer: (text) => answerEmail(text, segment).length > 0 };
}

answerQuestions(
  isBun ? `Bun ${Bun.version}` : `Node ${process.versions.node}`,
  readValues(valuesPath),
  kind === "email" ? emails() : addresses(),
);
