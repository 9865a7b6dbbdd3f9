// email.ts: the verdict on one email address.

import { problem } from "../../http/problems.ts";
import { decodeSegment } from "../../http/request-target.ts";
import { type Answer, isLookup } from "../../lookup/pipeline.ts";
import { JSON_TYPE, NO_STORE } from "../answer-headers.ts";
import type { Exchange } from "../exchange.ts";
import { EMAIL_PARAMETERS } from "../parameters.ts";
import { type ApiContext, type ApiRoute, pathValue } from "../route.ts";

const PATH_INVALID = problem("PATH_INVALID");

export const EMAIL_ROUTE: ApiRoute = {
  template: "/v1/user-intel/email/{email_address}",
  operation: "email",
  prefix: "/v1/user-intel/email/",
  method: "GET",
  parameters: EMAIL_PARAMETERS,
  lookup: "email",
  handle: (exchange, api, route) => {
    const text = decodeSegment(pathValue(exchange, route));
    if (text === undefined) return api.responses.problem(exchange, PATH_INVALID);
    const answer = api.pipeline.answerEmail(text, exchange);
    return answer instanceof Promise
      ? answer.then((late) => respond(exchange, api, late))
      : respond(exchange, api, answer);
  },
};

function respond(exchange: Exchange, { responses }: ApiContext, body: Answer): Response {
  exchange.isLookup = isLookup(body);
  if (!(body instanceof Uint8Array)) return responses.problem(exchange, body);
  const { isSandbox, release } = exchange;
  if (!isSandbox && release !== undefined) return responses.answer(exchange, release, "email", body);
  const headers = responses.headers(exchange, JSON_TYPE, NO_STORE);
  return new Response(body as Uint8Array<ArrayBuffer>, { headers });
}
