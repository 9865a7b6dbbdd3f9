// starter-ruleset.ts: the ruleset that `inkling rules init` writes and the console offers. Every rule is in shadow, so
// publishing the ruleset changes no action.

export const STARTER_RULESET = `# A ruleset for Inkling. docs/rulesets.md describes every part of it.
#
#   inkling rules check rules.toml      lists mistakes, with line and column, and runs the examples
#   inkling rules publish rules.toml    active on every server within a second
#
# Every rule here is in shadow: it never changes an action. Answers list what it would have decided in \`shadow\`. Set
# mode = "live" when you like what you see.

on_missing = "challenge"   # the mildest action if required data is missing: allow, challenge or deny

[thresholds]               # the scores from which a visitor is challenged or denied
challenge = 0.5
deny = 0.85

[weights]                  # from 0 to 1, instead of the weights in docs/decision-reference.md
# free_mail = 0.1

[facts]                    # what you send in \`facts\`, with its type: text, number, boolean or list
# plan = "text"

# Sign-ups from a data centre, except those of people behind a privacy relay or a corporate gateway, such as Zscaler's.
# People also come from data centres, so this rule challenges. The score may still deny the sign-up.
[[rule]]
name = "no-hosting-sign-ups"
when = 'event == "sign_up" && ip.kind == "hosting" && !("relay" in ip.services) && !("gateway" in ip.services)'
then = "challenge"
at_least = true
mode = "shadow"

# A Tor exit may read, but registers only after a challenge. The score may still deny the sign-up.
[[rule]]
name = "tor-sign-ups"
when = 'event == "sign_up" && ip.is_tor_exit'
then = "challenge"
at_least = true
mode = "shadow"

# A person should review payments from a country other than the card's. Send the event checkout with the card's country as
# \`expected_country\`.
[[rule]]
name = "card-from-elsewhere"
when = 'event == "checkout" && has(expected_country) && has(ip.country) && ip.country != expected_country'
then = "challenge"
at_least = true
review = true
mode = "shadow"

# Search engines and link previews, proven by the ranges that their operators publish. Send \`user_agent\`.
[[rule]]
name = "verified-crawlers"
when = 'ip.crawler_check == "verified"'
then = "allow"
mode = "shadow"

# Credential stuffing: logins to many accounts fail from one network, and hardly any succeed. Send the events login and
# login_failed with \`account\`. The server must store decisions (docs/login-protection.md).
[[rule]]
name = "credential-stuffing"
when = 'event in ["login", "login_failed"] && history.network_failed_accounts_1h >= 5 && history.network_failures_1h > 3 * history.network_logins_1h'
then = "challenge"
at_least = true
mode = "shadow"

[[example]]
name = "a login from a network where 20 others failed"
given = { event = "login", history.network_failed_accounts_1h = 20, history.network_failures_1h = 20 }
action = "allow"
rules = ["credential-stuffing"]

[[example]]
name = "a login from a school where few of many logins failed"
given = { event = "login", history.network_failed_accounts_1h = 20, history.network_failures_1h = 25, history.network_logins_1h = 300 }
action = "allow"

[[example]]
name = "a sign-up from a data centre"
given = { event = "sign_up", ip.kind = "hosting" }
action = "allow"
rules = ["no-hosting-sign-ups"]

[[example]]
name = "a sign-up through a privacy relay"
given = { event = "sign_up", ip.kind = "hosting", ip.services = ["relay"] }
action = "allow"

[[example]]
name = "a sign-up through a corporate gateway"
given = { event = "sign_up", ip.kind = "hosting", ip.services = ["gateway"] }
action = "allow"
`;
