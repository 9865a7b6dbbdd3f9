// record.ts: writes texts.md: `npx bun test/texts/record.ts`. Use it only for an intended change of a text.

import { writeFileSync } from "node:fs";
import { allTexts, RECORDED } from "./texts.ts";

writeFileSync(RECORDED, await allTexts());
