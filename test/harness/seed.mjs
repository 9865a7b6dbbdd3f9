// seed.mjs: makes fast-check use the same random values in every run, in Bun and in Node (CONTRIBUTING.md).

import { configureGlobal } from "fast-check";

configureGlobal({ seed: 20_261_122 });
