// decisions.ts: decides about visitors in this process, with the engine and a ruleset.
//
// The condition parser takes tens of milliseconds to load, so it is loaded by the first decision, not at startup.

import type { AssessOptions, DecisionInput } from "@inkling/client";
import { problemError } from "@inkling/client/support";
import { messageOf } from "@inkling/data";
import { Answerer, type AnswerSource, randomBase62 } from "@inkling/engine";
import type { Ruleset } from "@inkling/engine/assess";
import { errorOf } from "./failures.ts";
import { wrong } from "./read-options.ts";

const ID_LENGTH = 16;
const decoder = new TextDecoder();
const parse = (bytes: Uint8Array): unknown => JSON.parse(decoder.decode(bytes));
const load = () => import("@inkling/engine/assess");

export class Decisions {
  private readonly answerer = new Answerer();
  private ruleset: Ruleset | undefined;
  /** A ruleset from the channel. The first decision after its arrival parses it. */
  private followed: { readonly text: string; readonly number: number } | undefined;

  /** Uses the ruleset from the options. @throws TypeError if the text is not a ruleset */
  async use(text: string, number: number): Promise<void> {
    const { parseRuleset } = await load();
    try {
      this.ruleset = parseRuleset(text, number);
    } catch (error) {
      throw wrong("ruleset", `is not a valid ruleset: ${messageOf(error)}`);
    }
  }

  /** Uses a ruleset from the channel. The thread that follows the channel has already parsed it once. */
  follow(text: string, number: number): void {
    this.followed = { text, number };
  }

  async decide(
    input: DecisionInput,
    { evidence = false, facts = false }: AssessOptions = {},
    source: AnswerSource,
  ): Promise<object> {
    const engine = await load();
    if (this.followed !== undefined) {
      this.ruleset = engine.parseRuleset(this.followed.text, this.followed.number);
      this.followed = undefined;
    }
    const ruleset = this.ruleset ?? engine.DEFAULT_RULESET;
    // As in JSON, an undefined field counts as absent.
    const found = engine.decideVisitor(JSON.parse(JSON.stringify(input)), ruleset, {
      answerer: this.answerer,
      source,
      now: Date.now(),
      parse,
      id: newId(),
      include: { facts, evidence },
    });
    if ("mistakes" in found) throw bodyInvalid(found.mistakes);
    if ("failure" in found) throw errorOf(found.failure);
    return found.answer;
  }
}

function bodyInvalid(lines: readonly string[]) {
  const detail = lines.join("; ");
  return problemError({ code: "BODY_INVALID", status: 400, title: "The body cannot be read", detail });
}

const newId = () => `asm_${randomBase62(ID_LENGTH, (n) => crypto.getRandomValues(new Uint8Array(n)))}`;
