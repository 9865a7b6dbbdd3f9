import { describe, expect, test } from "bun:test";
import { freshToken } from "../../../../test/harness/tokens.ts";
import { hashToken, isWellFormedToken, KEY_MODES, newKeyToken, tokenHint, tokenMode } from "./token.ts";

// Created with Python's zlib.crc32 and hashlib.sha256.
const VECTORS = [
  {
    name: "zeros",
    token: "ink_live_00000000000000000000000000000000_18ZYUo",
    sha256: "16fe3f38c2cd1f27e6515e7b01abed74224e9ff264a4d84aef35b97caf1cf98a",
  },
  {
    name: "last digits",
    token: "ink_test_zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz_3xV73h",
    sha256: "6708878b031548c263faa00993a5c865dfa1c2d62c8928726ef28d0d3d7356a0",
  },
  {
    name: "first half of the alphabet",
    token: "ink_live_0123456789ABCDEFGHIJKLMNOPQRSTUV_3ZIqBR",
    sha256: "ea37fb34281ed9ffcc760cfe023deb9b92c68e67f934644ad4496dc2abfdfc7c",
  },
  {
    name: "second half of the alphabet",
    token: "ink_test_WXYZabcdefghijklmnopqrstuvwxyz01_4PT2lj",
    sha256: "f49b34dbc2509afef391fcb4e5ef5963483a74a2c97cc78ba72f0ccf8f808ad9",
  },
  {
    name: "checksum padded with two zeros",
    token: "ink_live_ptQ1tGc3IGKW18Y3DKl6AJlQXnz95XVw_00l6JF",
    sha256: "6ae9459da1b0e09e7402163d23aaaa1d646d8c6747797ce01bfe8e0244cdbdbd",
  },
];
const GOOD = VECTORS[2]!.token;

describe("key format", () => {
  for (const { name, token, sha256 } of VECTORS) {
    test(`vector: ${name}`, () => {
      expect(isWellFormedToken(token)).toBe(true);
      expect(hashToken(token)).toBe(sha256);
    });
  }

  const refused: [string, string][] = [
    ["empty", ""],
    ["last digit of the checksum changed", `${GOOD.slice(0, -1)}S`],
    ["a random character changed", GOOD.replace("0123", "0124")],
    ["the other mode with the same checksum", GOOD.replace("live", "test")],
    ["unknown mode", GOOD.replace("live", "prod")],
    ["upper-case prefix", GOOD.replace("ink", "INK")],
    ["cut short", GOOD.slice(0, -1)],
    ["too long", `${GOOD}0`],
    ["white space in front", ` ${GOOD.slice(0, -1)}`],
    ["new line behind", `${GOOD}\n`],
    ["no checksum", GOOD.slice(0, -7)],
    ["other digits", GOOD.replace("0", "٠")],
    ["hyphen in the random part", GOOD.replace("0123", "01-3")],
  ];
  for (const [name, token] of refused) {
    test(`refused: ${name}`, () => {
      expect(isWellFormedToken(token)).toBe(false);
    });
  }

  for (const mode of KEY_MODES) {
    test(`new ${mode} keys are well formed, different, and have their mode in the text`, () => {
      const tokens = new Set(Array.from({ length: 200 }, () => freshToken(mode)));
      expect(tokens.size).toBe(200);
      for (const token of tokens) {
        expect(isWellFormedToken(token)).toBe(true);
        expect(tokenMode(token)).toBe(mode);
      }
    });
  }

  test("a single changed character never passes", () => {
    let tried = 0;
    for (let at = 0; at < GOOD.length; at++) {
      for (const c of "0Az_-") {
        const changed = GOOD.slice(0, at) + c + GOOD.slice(at + 1);
        if (changed === GOOD) continue;
        tried++;
        expect(isWellFormedToken(changed)).toBe(false);
      }
    }
    expect(tried).toBeGreaterThan(200);
  });

  test("every character is equally likely: bytes from 248 on are thrown away", () => {
    let next = 0;
    const counting = (n: number) => Uint8Array.from({ length: n }, () => next++ & 255);
    const counts = new Map<string, number>();
    // 31 tokens of 32 characters are 992 = 4 * 248: each of the 62 characters 16 times
    for (let i = 0; i < 31; i++) {
      for (const c of newKeyToken("live", counting).slice(9, 41)) counts.set(c, (counts.get(c) ?? 0) + 1);
    }
    expect(counts.size).toBe(62);
    expect(new Set(counts.values())).toEqual(new Set([16]));
  });

  test("the hint shows four random characters", () => {
    expect(tokenHint(GOOD)).toBe("ink_live_0123…");
  });
});
