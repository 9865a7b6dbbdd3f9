// slow-rulesets.ts: creates rulesets that are as slow as their limits allow: 100 rules of 1,024 characters each, cut to
// what parseRuleset accepts.
//
// All conditions are false, so that each is evaluated to its end. The facts are the longest that a caller may send.

import { FACT_INDEX, type Facts, parseRuleset, type Ruleset, RulesetError } from "@inkling/engine/assess";
import { randomBelow } from "../../test/harness/random.ts";

const RULES = 100;
const CONDITION = 1_024;
const TEXT = 256;
const USER_AGENT = 2_048;
const LIST = 32;

const DECLARED = '[facts]\na = "text"\nb = "text"\nl = "list"\nn = "number"\n';
/** Texts in which a search compares many characters before it fails. The last one has two bytes per character. */
const AGENTS = [
  "a".repeat(USER_AGENT),
  "ab".repeat(USER_AGENT / 2),
  "aaab".repeat(USER_AGENT / 4),
  `${"a".repeat(USER_AGENT - 1)}\u0100`,
];

/** Terms that are false for at least one of the agents. Each is the shortest way to cause one kind of work. */
const TERMS: readonly string[] = [
  'user_agent.contains("z")',
  'user_agent.contains("aa")',
  'user_agent.contains("aba")',
  'user_agent.contains("abba")',
  `user_agent.contains("${"a".repeat(16)}c${"a".repeat(15)}")`,
  `user_agent.contains("${"ab".repeat(8)}ba")`,
  `user_agent.contains("${"ab".repeat(16)}ba")`,
  `user_agent.contains("${"ab".repeat(200)}ba")`,
  'user_agent.endsWith("a")',
  "size(user_agent)<1",
  "size(facts.a)<1",
  "facts.a in facts.l",
  "facts.a==facts.b",
  "facts.b<facts.a",
  'facts.a in ["b","c","d","e"]',
  "1<0",
  "facts.n%7==9",
  "-facts.n>0",
  "!true",
  "!has(user_agent)",
  "(facts.n<0?true:false)",
];

function textOf(terms: Iterator<string>, most: number): { readonly text: string; readonly used: number } {
  let used = 0;
  const condition = () => {
    let text = "false";
    while (used < most) {
      const longer = `${text}||${terms.next().value}`;
      if (longer.length > CONDITION) break;
      text = longer;
      used++;
    }
    return text;
  };
  const rules = Array.from(
    { length: RULES },
    (_, i) =>
      `[[rule]]\nname = "r${i}"\nwhen = '${condition()}'\nthen = "deny"\nmode = "${i % 2 === 0 ? "live" : "shadow"}"\n`,
  );
  return { text: DECLARED + rules.join(""), used };
}

/**
 * Returns the longest ruleset of these terms that is accepted, within 2%.
 * @param termsOf returns the same terms each time
 */
function longest(termsOf: () => Iterator<string>): Ruleset {
  const whole = textOf(termsOf(), Number.POSITIVE_INFINITY);
  let [accepted, refused] = [0, whole.used + 1];
  let found: Ruleset | undefined;
  for (let most = whole.used; refused - accepted > 1 + accepted / 50; most = (accepted + refused) >> 1) {
    try {
      found = parseRuleset(textOf(termsOf(), most).text);
      accepted = most;
    } catch (error) {
      if (!(error instanceof RulesetError)) throw error;
      refused = most;
    }
  }
  if (found === undefined) throw new Error("no ruleset of these terms is accepted");
  return found;
}

/** Yields one ruleset for each kind of work, and then random mixtures of a few kinds. */
export function* slowRulesets(count: number): Generator<Ruleset> {
  for (let i = 0; i < count; i++) {
    const term = TERMS[i];
    yield longest(() => (term === undefined ? mixture(i) : repeat(term)));
  }
}

function* repeat(term: string): Generator<string, string> {
  for (;;) yield term;
}

function* mixture(seed: number): Generator<string, string> {
  const random = randomBelow(seed);
  const kinds = Array.from({ length: 1 + random(5) }, () => TERMS[random(TERMS.length)]!);
  for (;;) yield kinds[random(kinds.length)]!;
}

export const longestFacts = (ruleset: Ruleset): Facts[] => AGENTS.map((agent) => factsWith(ruleset, agent));

function factsWith({ schema }: Ruleset, agent: string): Facts {
  const facts = schema.empty();
  const text = (last: string) => "a".repeat(TEXT - 1) + last;
  facts[FACT_INDEX.event] = "sign_up";
  facts[FACT_INDEX.user_agent] = agent;
  const sent = { a: text("a"), b: text("b"), n: 5.5 };
  for (const [name, value] of Object.entries(sent)) facts[schema.find(`facts.${name}`)!.index] = value;
  const list = Array.from({ length: LIST }, (_, i) => text(String.fromCharCode("c".charCodeAt(0) + i)));
  facts[schema.find("facts.l")!.index] = list;
  return facts;
}
