// seeded.ts: the same random values in every run of the tests, as CONTRIBUTING.md says; loaded before each file.

import { configureGlobal } from "fast-check";

configureGlobal({ seed: 20_261_122 });
