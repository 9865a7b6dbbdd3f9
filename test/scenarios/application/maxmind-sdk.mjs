// maxmind-sdk.mjs: runs MaxMind's own SDK on Node with its `host` option. maxmind-sdk.test.ts starts it.

import { WebServiceClient } from "@maxmind/geoip2-node";

const { host, key } = JSON.parse(process.argv[2]);
const sdk = new WebServiceClient("42", key, { host, timeout: 100_000 });
const stranger = new WebServiceClient("42", "abc", { host, timeout: 100_000 });

const result = (answer) => answer.catch(({ code, status }) => ({ code, status }));
const found = {
  city: await result(sdk.city("192.0.2.1")),
  country: await result(sdk.country("2001:db8::1")),
  little: await result(sdk.city("192.0.2.2")),
  unknown: await result(sdk.city("192.0.2.3")),
  reserved: await result(sdk.country("10.0.0.1")),
  quota: await result(sdk.city("203.0.113.15")),
  away: await result(sdk.city("203.0.113.17")),
  insights: await result(sdk.insights("192.0.2.1")),
  stranger: await result(stranger.city("192.0.2.1")),
};
process.stdout.write(`${JSON.stringify(found)}\n`);
