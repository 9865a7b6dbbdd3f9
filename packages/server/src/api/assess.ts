// assess.ts: handles requests to assess visitors, and requests that report an outcome later.
//
// Source: docs/decisions.md.

import { type Api, callOf, type Handlings, PATH_INVALID, type Route } from "./handler.ts";
import type { Exchange } from "./request-context.ts";

export const ASSESS_HANDLINGS = {
  assess: { handle: assess },
  assess_outcome: { handle: setOutcome },
} satisfies Handlings;

async function assess(exchange: Exchange, api: Api): Promise<Response> {
  const { responses } = api;
  const call = callOf(exchange, api, "assess");
  const answer = await (await api.decisionAnswers()).answer(call);
  if ("code" in answer) return responses.sendProblem(exchange, answer);
  if ("action" in answer) {
    exchange.isLookup = true;
    return responses.sendJson(exchange, 200, answer);
  }
  exchange.values = answer.values;
  exchange.rate = api.buckets.take(call.key, exchange.now, 0); // what remains of the rate at this moment
  const headers = responses.makeHeaders(exchange, answer.type);
  if (answer.isGzip) headers["Content-Encoding"] = "gzip";
  return new Response(answer.body, { headers });
}

async function setOutcome(exchange: Exchange, api: Api, route: Route): Promise<Response> {
  const { responses } = api;
  const call = callOf(exchange, api, "assess");
  const id = route.path.readValue(exchange);
  if (id === undefined) return responses.sendProblem(exchange, PATH_INVALID);
  const answer = await (await api.decisionAnswers()).setOutcome(call, id);
  return "code" in answer
    ? responses.sendProblem(exchange, answer)
    : responses.sendJson(exchange, 200, answer);
}
