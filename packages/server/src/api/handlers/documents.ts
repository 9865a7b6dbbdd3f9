// documents.ts: /openapi.json, the pages under /docs, and "/", which leads browsers there.

import { problem } from "../../http/problems.ts";
import { JSON_TYPE, NO_STORE } from "../answer-headers.ts";
import type { Exchange } from "../exchange.ts";
import type { OpenDocument, OpenDocuments } from "../options.ts";
import { type ApiContext, type ApiRoute, type Handler, pathValue } from "../route.ts";

const PATH_NOT_FOUND = problem("PATH_NOT_FOUND");
const START_PAGE = "/docs";

const page: Handler = (exchange, api, route) =>
  respond(exchange, api, (documents) => documents.docsPage(pathValue(exchange, route)));

export const DOCUMENT_ROUTES: readonly ApiRoute[] = [
  {
    template: "/openapi.json",
    operation: "openapi",
    method: "GET",
    isOpen: true,
    handle: (exchange, api) => respond(exchange, api, (documents) => documents.openApi()),
  },
  {
    template: "/docs",
    operation: "docs",
    alias: "/docs/",
    method: "GET",
    isOpen: true,
    handle: page,
  },
  {
    template: "/docs/{file}",
    operation: "docs",
    prefix: "/docs/",
    method: "GET",
    isOpen: true,
    handle: page,
  },
  { template: "/", operation: "root", method: undefined, isOpen: true, handle: root },
];

async function respond(
  exchange: Exchange,
  { documents, responses }: ApiContext,
  find: (documents: OpenDocuments) => OpenDocument | undefined,
): Promise<Response> {
  const document = find(await documents());
  if (document === undefined) return responses.sendProblem(exchange, PATH_NOT_FOUND);
  const headers = {
    ...responses.makeHeaders(exchange, JSON_TYPE, "no-cache"),
    ...document.headers,
    ETag: document.etag,
  };
  return responses.sendConditional(exchange, document.body, headers);
}

/** For programs there is nothing at "/". */
function root(exchange: Exchange, { responses }: ApiContext): Response {
  const { method, headers } = exchange.request;
  const isRead = method === "GET" || method === "HEAD";
  if (!isRead || !acceptsHtml(headers.get("accept"))) {
    return responses.sendProblem(exchange, PATH_NOT_FOUND);
  }
  const { "Content-Type": _, ...kept } = responses.makeHeaders(exchange, JSON_TYPE, NO_STORE);
  return new Response(null, { status: 302, headers: { ...kept, Location: START_PAGE } });
}

/** A browser names HTML itself; programs send any type, JSON or nothing. */
function acceptsHtml(accept: string | null): boolean {
  return accept !== null && /(?:^|,)\s*text\/html\s*(?:[;,]|$)/i.test(accept);
}
