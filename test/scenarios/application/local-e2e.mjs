// local-e2e.mjs: runs @inkling/local as an application does, on the runtime that runs this file.
//
// local.test.ts copies this file beside installed packages.

import { createInterface } from "node:readline";
import { createLocal, InklingError } from "@inkling/local";

const { scenario, ...input } = JSON.parse(process.argv[2]);
const print = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const text = (bytes) => bytes && Buffer.from(bytes).toString();
const failure = (error) => {
  if (!(error instanceof InklingError)) throw error;
  const { code, httpStatus, message, hint } = error;
  return { code, status: httpStatus, message, hint };
};

/** Returns what ends a batch whose source waits forever. */
async function untilStopped(local) {
  const stopper = new AbortController();
  async function* waiting() {
    yield "192.0.2.1";
    await new Promise(() => {});
  }
  let count = 0;
  try {
    for await (const _ of local.batch("reputation", waiting(), { signal: stopper.signal })) {
      count++;
      setTimeout(() => stopper.abort(new Error("enough")));
    }
  } catch (error) {
    return `${error.message} after ${count}`;
  }
}

const SCENARIOS = {
  /**
   * Makes every request in every available way. Does not close the instance, because nothing keeps the
   * process alive.
   */
  async answers({ options, requests }) {
    const local = await createLocal(options);
    const bytes = requests.map(({ lookup, value, extras }) => {
      try {
        return text(local[`${lookup}Bytes`](value, extras)) ?? null;
      } catch (error) {
        return failure(error);
      }
    });
    const objects = [];
    for (const { lookup, value, extras } of requests) {
      const found = await local[lookup](value, extras).catch(failure);
      objects.push(found === undefined ? null : found);
    }
    const plain = (lookup) =>
      requests.filter((it) => it.lookup === lookup && Object.keys(it.extras).length === 0);
    const many = {};
    const batch = {};
    for (const lookup of ["geolocate", "reputation", "email"]) {
      const values = plain(lookup).map(({ value }) => value);
      many[lookup] = local
        .lookupMany(lookup, values)
        .map((it) => (it instanceof InklingError ? failure(it) : (text(it) ?? null)));
      batch[lookup] = [];
      for await (const { ok, answer, error, data } of local.batch(lookup, values))
        batch[lookup].push(ok ? { answer: answer ?? null, data } : failure(error));
    }
    const { data } = await local.email("jane@example.com");
    const stopped = await untilStopped(local);
    print({ bytes, objects, many, batch, data, release: local.release, stopped });
  },

  /** Looks up until standard input ends. Reports each new city and each refused release. */
  async swaps({ options, ip }) {
    const counts = { lookups: 0, mixed: 0, failed: 0 };
    const local = await createLocal({
      ...options,
      onError: (error) => print({ refused: failure(error) }),
      onRelease: (name) => print({ release: name }),
    });
    let isEnded = false;
    createInterface({ input: process.stdin }).on("close", () => {
      isEnded = true;
    });
    let before;
    const values = new Array(200).fill(ip);
    while (!isEnded) {
      try {
        const many = new Set(local.lookupMany("geolocate", values).map(text));
        if (many.size !== 1) counts.mixed++;
        const { city } = await local.geolocate(ip);
        await local.reputation(ip);
        counts.lookups += values.length + 2;
        if (city.name !== before) print({ city: city.name });
        before = city.name;
      } catch (error) {
        counts.failed++;
        print({ failed: String(error) });
        if (counts.failed > 3) break;
      }
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
    await local.close();
    await local.close(); // may be called repeatedly
    let afterwards;
    try {
      local.geolocateBytes(ip);
    } catch (error) {
      afterwards = `${error.name} ${error.code}`;
    }
    print({ ...counts, afterwards });
  },

  /** Decides about each visitor on standard input. Reports each refused ruleset. */
  async decides({ options }) {
    const local = await createLocal({ ...options, onError: ({ message }) => print({ refused: message }) });
    print({ ready: true });
    for await (const line of createInterface({ input: process.stdin })) {
      const { visitor, options } = JSON.parse(line);
      print(await local.assess(visitor, options).catch(failure));
    }
    await local.close();
  },

  /** Throws its own error whenever a new release is used. */
  async throws({ options }) {
    process.on("uncaughtException", (error) => print({ uncaught: error.message }));
    const local = await createLocal({
      ...options,
      onError: (error) => print({ refused: failure(error) }),
      onRelease: (release) => {
        throw new Error(`its own: ${release}`);
      },
    });
    for await (const _ of process.stdin);
    print({ release: local.release });
    await local.close();
  },

  /** On Bun only: mapping the second release succeeds at the third attempt. */
  async mapsLater({ options }) {
    const tries = [];
    const { mmap } = Bun;
    const local = await createLocal({
      ...options,
      onError: (error) => print({ refused: failure(error) }),
      onRelease: (release) => print({ release, tries: [...tries, performance.now()] }),
    });
    Bun.mmap = (...args) => {
      if (tries.length === 2) return mmap(...args);
      tries.push(performance.now());
      throw new Error("EMFILE: too many open files");
    };
    for await (const _ of process.stdin);
    await local.close();
  },

  /** Reports why each of these options cannot be used. */
  async fails({ all }) {
    const found = [];
    for (const options of all) {
      await createLocal(options).then(
        (local) => found.push({ release: local.release }),
        (error) => found.push(error instanceof TypeError ? { message: error.message } : failure(error)),
      );
    }
    print(found);
  },
};

await SCENARIOS[scenario](input);
