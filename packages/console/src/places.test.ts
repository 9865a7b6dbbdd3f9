import { expect, test } from "bun:test";
import { placeOfId } from "./places.ts";

test.each([
  ["asm_Vc2DpBzWSDLw2uAa", "decisions/asm_Vc2DpBzWSDLw2uAa"],
  ["ruleset 7", "rules/7"],
  ["b2ef15394b3e", "data?release=b2ef15394b3e"],
  ["ink_live_3fK9aa", "keys"],
  ["Bearer ink_admin_3fK9aa", "tokens"],
  ["whsec_3fK9aa", "webhooks"],
  ["mailinator.com", undefined],
])("%s is found at %p", (text, place) => expect(placeOfId(text)).toBe(place));
