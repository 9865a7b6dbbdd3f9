// seed.mjs: the same random values in every run, as CONTRIBUTING.md says, in Bun and in Node.

import { configureGlobal } from "fast-check";

configureGlobal({ seed: 20_261_122 });
