// about.ts: publishes information about the server itself: status, liveness, readiness, /openapi.json and the pages
// under /docs. For browsers, "/" redirects to the documentation.

import { problem } from "../http/problems.ts";
import { WANTS } from "../lookup/pipeline.ts";
import { isStarting, publicStatus, readiness, warnings } from "../lookup/status.ts";
import type { OpenDocument } from "./documents.ts";
import type { Api, Handling, Handlings } from "./handler.ts";
import type { Exchange } from "./request-context.ts";
import { JSON_TYPE } from "./responses.ts";

const PATH_NOT_FOUND = problem("PATH_NOT_FOUND");
const START_PAGE = "/docs";

const PAGE: Handling = {
  handle: async (exchange, api, route) => {
    const { docsPage } = await import("./documents.ts");
    return sendDocument(exchange, api, docsPage(route.path.valueOf(exchange)));
  },
};

export const ABOUT_HANDLINGS = {
  status: {
    handle: (exchange, api) => {
      const withFeeds = (exchange.wants & WANTS.feeds) !== 0;
      return api.responses.sendJson(exchange, 200, publicStatus(api, exchange.now, withFeeds));
    },
  },
  healthz: { handle: (exchange, { responses }) => responses.sendJson(exchange, 200, { status: "alive" }) },
  readyz: { handle: sendReadiness },
  openapi: {
    handle: async (exchange, api) => {
      const { openApi } = await import("./documents.ts");
      return sendDocument(exchange, api, openApi(api.version));
    },
  },
  docs: PAGE,
  docs_file: PAGE,
  root: { handle: leadToReference },
} satisfies Handlings;

function sendReadiness(exchange: Exchange, api: Api): Response {
  const reasons = readiness(api, api.isDraining);
  if (reasons.length > 0) return api.responses.sendJson(exchange, 503, { status: "not ready", reasons });
  const known = warnings(api);
  const document = {
    status: isStarting(api) ? "starting" : "ready",
    ...(known.length > 0 && { warnings: known }),
  };
  return api.responses.sendJson(exchange, 200, document);
}

function sendDocument(exchange: Exchange, { responses }: Api, document: OpenDocument | undefined): Response {
  if (document === undefined) return responses.sendProblem(exchange, PATH_NOT_FOUND);
  const headers = {
    ...responses.makeHeaders(exchange, JSON_TYPE, "no-cache"),
    ...document.headers,
    ETag: document.etag,
  };
  return responses.sendConditional(exchange, document.body, headers);
}

/** Redirects browsers from "/" to the documentation. For programs, "/" returns 404. */
function leadToReference(exchange: Exchange, { responses }: Api): Response {
  const { method, headers } = exchange.request;
  const isRead = method === "GET" || method === "HEAD";
  if (!isRead || !acceptsHtml(headers.get("accept"))) {
    return responses.sendProblem(exchange, PATH_NOT_FOUND);
  }
  const { "Content-Type": _, ...kept } = responses.makeHeaders(exchange, JSON_TYPE);
  return new Response(null, { status: 302, headers: { ...kept, Location: START_PAGE } });
}

/** True for browsers, which list HTML explicitly. Other programs accept any type, ask for JSON, or send no header. */
function acceptsHtml(accept: string | null): boolean {
  return accept !== null && /(?:^|,)\s*text\/html\s*(?:[;,]|$)/i.test(accept);
}
