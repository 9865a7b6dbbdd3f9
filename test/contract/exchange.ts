// exchange.ts: defines a request of the contract test, its bytes, and the recorded form of its response.
//
// The record leaves out what may differ between two runs or two wordings: request ids, dates, ids of releases
// and overrides, the version, sizes and checksums of segments, problem texts, titles and descriptions in
// /openapi.json, and the content of the pages under /docs. ETags are numbered in order of appearance, so that
// equal ETags remain equal.

import { gunzipSync } from "node:zlib";
import manifest from "../../packages/cli/package.json" with { type: "json" };
import type { RawResponse } from "./connection.ts";
import type { ServerName } from "./server.ts";

export interface Request {
  readonly server: ServerName;
  readonly method: string;
  /** The target as sent. It may contain "$etag3", which stands for the ETag with that number. */
  readonly target: string;
  /** Name of the key that goes into Authorization. */
  readonly key?: string;
  /** Lines of the form "Name: value". Values may contain "$etag3" and "$token:live". */
  readonly headers?: readonly string[];
  readonly body?: string;
  /** A base64 body, for bodies that are not UTF-8. */
  readonly body64?: string;
  /** The request's bytes in Latin-1. They replace all the fields above except `server`. */
  readonly raw?: string;
}

export interface Response {
  readonly status: string;
  /** Lines of the form "Name: value", sorted. */
  readonly headers: readonly string[];
  readonly body: string;
}

/** This run's ETags and their numbers. */
export class Etags {
  private readonly names = new Map<string, string>();

  /** @param etag the ETag with its quotation marks */
  nameOf(etag: string): string {
    const known = this.names.get(etag);
    if (known !== undefined) return known;
    const name = `$etag${this.names.size}`;
    this.names.set(etag, name);
    return name;
  }

  /** Replaces the names by this run's ETags. */
  fillIn(text: string): string {
    return text.replace(/\$etag\d+/g, (name) => {
      for (const [etag, its] of this.names) if (its === name) return etag;
      return '"not-seen"';
    });
  }
}

export function requestBytes(
  request: Request,
  tokens: Readonly<Record<string, string>>,
  etags: Etags,
): Uint8Array {
  if (request.raw !== undefined) return Buffer.from(request.raw, "latin1");
  const { method, target, key, headers = [], body, body64 } = request;
  const bytes = body64 === undefined ? Buffer.from(body ?? "") : Buffer.from(body64, "base64");
  const hasFraming = headers.some((line) => /^(content-length|transfer-encoding):/i.test(line));
  const lines = [
    `${method} ${target} HTTP/1.1`,
    "Host: inkling.test",
    ...(key === undefined ? [] : [`Authorization: Bearer ${tokens[key] ?? key}`]),
    ...headers.map((line) =>
      etags.fillIn(line).replace(/\$token:(\w+)/g, (_, name: string) => tokens[name] ?? ""),
    ),
    ...((body === undefined && body64 === undefined) || hasFraming
      ? []
      : [`Content-Length: ${bytes.length}`]),
  ];
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "utf8"), bytes]);
}

const VERSION = `"version":"${manifest.version}"`;

export function normalised(request: Request, response: RawResponse, etags: Etags): Response {
  const headerOf = (name: string) => response.headers.find(([key]) => key.toLowerCase() === name)?.[1];
  const sent = headerOf("content-encoding") === "gzip" ? gunzipSync(response.body) : response.body;
  const id = headerOf("x-request-id") ?? "no id";
  const isPage = /^\/docs\b/.test(request.target) && response.status.startsWith("200");
  const text = sent.toString("utf8").replaceAll(VERSION, '"version":"0.0.0"');
  const body = isPage ? "" : bodyText(request, text, id);
  const isExact = request.method === "HEAD" ? !hasMovingSize(request, response) : body === text;
  const headers = response.headers.map(
    ([name, value]) => `${name}: ${headerText(name, value, etags, isExact)}`,
  );
  return { status: response.status, headers: headers.sort(), body };
}

/** May the size of the body that HEAD leaves out change? It does for texts, and for segment sizes. */
function hasMovingSize({ target }: Request, { headers }: RawResponse): boolean {
  const isText = headers.some(([name, value]) => /^content-type$/i.test(name) && /problem\+json/.test(value));
  return isText || /^\/(v1\/status|docs|openapi\.json)/.test(target);
}

function headerText(name: string, value: string, etags: Etags, isExact: boolean): string {
  switch (name.toLowerCase()) {
    case "date":
      return Number.isNaN(Date.parse(value)) ? value : "<date>";
    case "x-request-id":
      return /^[0-9a-z]{8,}$/.test(value) ? "<id>" : value;
    case "inkling-data-version":
      return /^[0-9a-f]{8,}$/.test(value) ? "<release>" : value;
    case "etag":
      return value === '"sandbox-1"' ? value : etags.nameOf(value);
    case "content-length":
      return isExact ? value : "<length>";
    default:
      return value.replace(/'sha256-[^']+'/g, "'sha256-…'");
  }
}

const TEXTS = /"(title|detail)":"(?:[^"\\]|\\.)*"/g;

function bodyText({ target }: Request, text: string, id: string): string {
  if (target.startsWith("/openapi.json") && text.startsWith('{"openapi"'))
    return JSON.stringify(JSON.parse(text, withoutTexts));
  const plain = text
    .replaceAll(`"request_id":"${id}"`, '"request_id":"<id>"')
    .replace(/\bovr_[0-9A-Za-z]{16}\b/g, "ovr_<id>")
    .replace(/\basm_(?!0{16})[0-9A-Za-z]{16}\b/g, "asm_<id>")
    .replace(/"data_version":"[0-9a-f]{12}"/g, '"data_version":"<release>"');
  if (target.startsWith("/v1/status")) return statusText(plain);
  if (plain.startsWith('{"code":')) return plain.replace(/"error":"(?:[^"\\]|\\.)*"/, '"error":"…"');
  return plain.includes('"type":"/docs/errors#') ? plain.replace(TEXTS, '"$1":"…"') : plain;
}

/** Leaves out texts only, because schema fields may have the same names. */
function withoutTexts(key: string, value: unknown): unknown {
  const isText = ["description", "summary", "title", "detail"].includes(key) && typeof value === "string";
  return isText ? undefined : value;
}

/** Removes the segments and the release id, which depend on the compiler's own files. */
function statusText(text: string): string {
  const release = /"release":\{"id":"(\w+)"/.exec(text)?.[1] ?? "<release>";
  return text
    .replaceAll(release, "<release>")
    .replace(TEXTS, '"$1":"…"')
    .replace(
      /"sha256":"[0-9a-f]{64}","bytes":\d+,"inputs":"[0-9a-f]{64}"/g,
      '"sha256":"…","bytes":0,"inputs":"…"',
    );
}
