// crawlers.ts: the crawlers that an assessment can check, by what their user agents say.

/** Outcomes of comparing the crawler that a user agent claims to be with the ranges that its operator publishes. */
export const CRAWLER_CHECKS = ["verified", "forged", "unverifiable"] as const;
export type CrawlerCheck = (typeof CRAWLER_CHECKS)[number];

interface CrawlerRow {
  /** What the user agent has, in lower case. */
  readonly token: string;
  readonly operator: string;
  /** The feed with the ranges that its operator publishes; undefined: none does, and no claim can be verified. */
  readonly feed?: string;
}

/** Crawlers, by what their user agents say. */
export const CRAWLERS: readonly CrawlerRow[] = [
  { token: "googlebot", operator: "google", feed: "googlebot" },
  { token: "bingbot", operator: "microsoft", feed: "bingbot" },
  { token: "applebot", operator: "apple", feed: "applebot" },
  { token: "duckduckbot", operator: "duckduckgo", feed: "duckduckbot" },
  { token: "gptbot", operator: "openai", feed: "openai-gptbot" },
  { token: "oai-searchbot", operator: "openai", feed: "openai-searchbot" },
  { token: "chatgpt-user", operator: "openai", feed: "openai-user" },
  { token: "ahrefsbot", operator: "ahrefs", feed: "ahrefsbot" },
  { token: "ccbot", operator: "commoncrawl", feed: "ccbot" },
  { token: "perplexitybot", operator: "perplexity", feed: "perplexitybot" },
  { token: "perplexity-user", operator: "perplexity", feed: "perplexity-user" },
  { token: "yandexbot", operator: "yandex" },
  { token: "baiduspider", operator: "baidu" },
  { token: "facebookexternalhit", operator: "meta" },
  { token: "meta-externalagent", operator: "meta" },
  { token: "twitterbot", operator: "x" },
  { token: "semrushbot", operator: "semrush" },
  { token: "claudebot", operator: "anthropic" },
  { token: "bytespider", operator: "bytedance" },
];
