// batch.ts: many values in one request; batch/batch.ts does the work.

import { LOOKUPS, type Lookup } from "@inkling/engine";
import { NO_STORE } from "../answer-headers.ts";
import type { Exchange } from "../exchange.ts";
import { ADDRESS_PARAMETERS, EMAIL_PARAMETERS } from "../parameters.ts";
import type { ApiContext, ApiRoute } from "../route.ts";

function batchRoute(lookup: Lookup): ApiRoute {
  const isEmail = lookup === "email";
  return {
    template: isEmail ? "/v1/user-intel/email" : `/v1/ip-intel/${lookup}`,
    operation: "batch",
    method: "POST",
    parameters: isEmail ? EMAIL_PARAMETERS : ADDRESS_PARAMETERS,
    lookup,
    handle: (exchange, api) => answerValues(exchange, api, lookup),
  };
}

export const BATCH_ROUTES = LOOKUPS.map(batchRoute);

async function answerValues(exchange: Exchange, api: ApiContext, lookup: Lookup): Promise<Response> {
  const { admission, buckets, log, responses } = api;
  const { admittedKey: key, id, isSandbox, mode, now, overrides, peers, release, request, wants } = exchange;
  const caller = exchange.findCaller(); // while the connection is there
  const { answerBatch } = await import("../../batch/batch.ts"); // 10 ms: the first batch waits for it, not the start
  const answer = await answerBatch(api, {
    request,
    lookup,
    key,
    rate: exchange.admittedRate,
    question: { key, release, overrides, now, mode, isSandbox, wants, findCaller: () => caller },
    readmit: () => admission.readmit(request, lookup, caller),
    setIdleSeconds: (seconds) => peers.timeout?.(request, seconds),
    onCrash: (error, value) => {
      const route = exchange.target.slice(0, exchange.pathEnd);
      log.crash("request-failed", error, [value], { route, request_id: id });
    },
  });
  if ("code" in answer) return responses.sendProblem(exchange, answer);
  exchange.values = answer.values;
  exchange.rate = buckets.take(key, now, 0); // what the other values left
  const headers = responses.makeHeaders(exchange, answer.type, NO_STORE);
  responses.setDataState(exchange, lookup, headers);
  if (answer.isGzip) headers["Content-Encoding"] = "gzip";
  return new Response(answer.body, { headers });
}
