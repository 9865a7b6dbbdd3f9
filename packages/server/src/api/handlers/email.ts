// email.ts: the verdict on one email address.

import { type Answer, isLookup } from "../../lookup/pipeline.ts";
import { JSON_TYPE, NO_STORE } from "../answer-headers.ts";
import type { Exchange } from "../exchange.ts";
import { EMAIL_PARAMETERS } from "../parameters.ts";
import { type ApiContext, type ApiRoute, readPathText } from "../route.ts";

export const EMAIL_ROUTE: ApiRoute = {
  template: "/v1/user-intel/email/{email_address}",
  operation: "email",
  prefix: "/v1/user-intel/email/",
  method: "GET",
  parameters: EMAIL_PARAMETERS,
  lookup: "email",
  handle: (exchange, api, route) => {
    const text = readPathText(exchange, route);
    if (typeof text !== "string") return api.responses.sendProblem(exchange, text);
    const answer = api.pipeline.answerEmail(text, exchange);
    return answer instanceof Promise
      ? answer.then((late) => {
          exchange.rate = api.buckets.take(exchange.admittedKey, api.now(), 0); // what is left by now
          return respond(exchange, api, late);
        })
      : respond(exchange, api, answer);
  },
};

function respond(exchange: Exchange, { responses }: ApiContext, body: Answer): Response {
  exchange.isLookup = isLookup(body);
  if (!(body instanceof Uint8Array)) return responses.sendProblem(exchange, body);
  const { isSandbox, release } = exchange;
  if (!isSandbox && release !== undefined) return responses.sendAnswer(exchange, release, "email", body);
  const headers = responses.makeHeaders(exchange, JSON_TYPE, NO_STORE);
  return new Response(body as Uint8Array<ArrayBuffer>, { headers });
}
