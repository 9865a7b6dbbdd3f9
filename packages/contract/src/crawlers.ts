// crawlers.ts: the crawlers that an assessment can check, identified by their user agents.

/**
 * Results of a crawler check, which compares the address with the ranges that the claimed crawler's operator publishes.
 */
export const CRAWLER_CHECKS = ["verified", "forged", "unverifiable"] as const;
export type CrawlerCheck = (typeof CRAWLER_CHECKS)[number];

interface CrawlerRow {
  /** A part of the user agent, in lower case. */
  readonly token: string;
  readonly operator: string;
  /**
   * The feed with the operator's ranges; undefined if the operator publishes none, so that no claim can be verified.
   */
  readonly feed?: string;
}

/** The known crawlers. */
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
