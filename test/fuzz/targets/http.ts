// Fuzzes bytes from a client over a raw socket. The server returns only complete responses, and no more of them than
// there were requests. It returns no 5xx, and no data without a key.

import { FRAMING } from "../../attack/framing-cases.ts";
import { converse, responsesIn } from "../../attack/raw-http.ts";
import { smallCity, smallFlag } from "../../harness/release.ts";
import { startSmallServer } from "../../harness/server.ts";
import type { Target } from "../target.ts";

/** The parser's status for a first line that names no HTTP/1 version. */
const OTHER_VERSION = 505;

export default async function http(): Promise<Target> {
  const { server, keys } = await startSmallServer();
  const data = [smallCity(1), `"${smallFlag(1)}":true`, '"disposable":true'];
  return {
    corpus: FRAMING.map(({ bytes }) => Buffer.from(bytes(keys.live), "latin1")),
    tokens: [
      "\r\n",
      "\n",
      "\r\n\r\n",
      "0\r\n\r\n",
      "Content-Length: 5\r\n",
      "Transfer-Encoding: chunked\r\n",
      "Transfer-Encoding: identity\r\n",
      "Host: test\r\n",
      "Expect: 100-continue\r\n",
      "Connection: close\r\n",
      "Upgrade: h2c\r\n",
      " HTTP/1.0",
      "GET / HTTP/1.1\r\nHost: t\r\n\r\n",
      "%2f..%2f",
      "\t",
      "\0",
    ],
    check: async (input) => {
      const received = await converse(server.port, input);
      const responses = responsesIn(received);
      const sent = Buffer.from(input).toString("latin1");
      const requests = sent.split(/HTTP\/\d/i).length; // one more, because invalid bytes also get a response
      if (responses.length > requests)
        throw new Error(`${responses.length} responses to ${requests - 1} requests`);
      for (const { status, body } of responses) {
        if (status >= 500 && status !== OTHER_VERSION) throw new Error(`status ${status}: ${body}`);
        if (!sent.includes(keys.live) && data.some((text) => body.includes(text)))
          throw new Error(`data without a key: ${body}`);
      }
      return String(responses[0]?.status ?? "closed");
    },
    close: () => server.stop(),
  };
}
