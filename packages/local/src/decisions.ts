// decisions.ts: decisions about visitors in this process: the engine's, by a ruleset.
//
// in   a visitor, as POST /v1/assess takes one; one release
// out  the same decision as a server's of the same release, ruleset and no overrides
// err  InklingError BODY_INVALID with what is wrong, and those of a lookup
// note the parser of conditions takes tens of milliseconds to load: the first decision waits for it, not the start

import type { AssessmentInput, AssessOptions } from "@inkling/client";
import { problemError } from "@inkling/client/support";
import { Answerer, type AnswerSource } from "@inkling/engine";
import type { Ruleset } from "@inkling/engine/assess";
import { messageOf } from "@inkling/release-store";
import { errorOf } from "./failures.ts";
import { wrong } from "./read-options.ts";

const ID_LENGTH = 16;
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** The largest multiple of 62 that a byte has: bytes from there on would prefer some digits. */
const EVEN = 248;

const decoder = new TextDecoder();
const parse = (bytes: Uint8Array): unknown => JSON.parse(decoder.decode(bytes));
const load = () => import("@inkling/engine/assess");

export class Decisions {
  private readonly answerer = new Answerer();
  private ruleset: Ruleset | undefined;
  /** Of the channel, parsed with the first decision after it arrived. */
  private followed: { readonly text: string; readonly number: number } | undefined;

  /** @throws TypeError for a text that is no ruleset */
  async use(text: string, number: number): Promise<void> {
    const { parseRuleset } = await load();
    try {
      this.ruleset = parseRuleset(text, number);
    } catch (error) {
      throw wrong("ruleset", `is none: ${messageOf(error)}`);
    }
  }

  /** The thread that keeps up with the channel has parsed it before. */
  follow(text: string, number: number): void {
    this.followed = { text, number };
  }

  async decide(
    input: AssessmentInput,
    { evidence = false, facts = false }: AssessOptions = {},
    source: AnswerSource,
  ): Promise<object> {
    const engine = await load();
    if (this.followed !== undefined) {
      this.ruleset = engine.parseRuleset(this.followed.text, this.followed.number);
      this.followed = undefined;
    }
    const ruleset = this.ruleset ?? engine.DEFAULT_RULESET;
    // As JSON has it: a member that is undefined is not there.
    const visitor = engine.readAssessmentInput(JSON.parse(JSON.stringify(input)), ruleset.schema);
    if (!("event" in visitor)) throw bodyInvalid(visitor);
    const failure = visitor.ip === undefined ? undefined : this.answerer.readAddress(visitor.ip);
    if (failure !== undefined) throw errorOf(failure);
    const subject = {
      address: visitor.ip === undefined ? undefined : this.answerer.address,
      email: visitor.email,
    };
    const answers = engine.lookUpVisitor(this.answerer, subject, source, evidence, parse);
    if ("reason" in answers) throw errorOf(answers);
    const values = engine.visitorFacts(visitor, answers, ruleset.schema, Date.now());
    const decision = engine.assess(values, ruleset, answers.degraded);
    return engine.assessmentAnswer(newId(), decision, source.release!.manifest.id, {
      facts: facts ? { values, ruleset } : undefined,
      evidence: evidence ? answers : undefined,
    });
  }
}

function bodyInvalid(lines: readonly string[]) {
  const detail = lines.join("; ");
  return problemError({ code: "BODY_INVALID", status: 400, title: "The body cannot be read", detail });
}

function newId(): string {
  let digits = "";
  while (digits.length < ID_LENGTH)
    for (const byte of crypto.getRandomValues(new Uint8Array(ID_LENGTH)))
      if (byte < EVEN && digits.length < ID_LENGTH) digits += BASE62[byte % BASE62.length];
  return `asm_${digits}`;
}
