// envelope.ts: signs texts and checks their signatures: DSSE (Dead Simple Signing Envelope, v1.0.2) with Ed25519.

import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { z } from "zod";
import { sha256Hex } from "../fingerprints.ts";
import { ChannelError } from "./channel-error.ts";

const TYPE = "application/vnd.inkling.channel+json";

const envelope = z.object({
  payloadType: z.literal(TYPE),
  payload: z.base64(),
  signatures: z.array(z.object({ keyid: z.string().optional(), sig: z.base64() })),
});

/** @returns the private key as PKCS #8 PEM, and the public key in the form that servers use */
export function makeKeyPair(): { readonly privatePem: string; readonly publicKey: string } {
  const { privateKey } = generateKeyPairSync("ed25519");
  return {
    privatePem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    publicKey: publicKeyOf(privateKey),
  };
}

/** Returns the public key as 43 characters, the `x` of its JWK (RFC 8037). */
export function publicKeyOf(privateKey: KeyObject): string {
  return String(createPublicKey(privateKey).export({ format: "jwk" }).x);
}

/** @throws Error if the text is not an Ed25519 key in PEM */
export function readPrivateKey(pem: string): KeyObject {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch (cause) {
    throw new Error("it is not PEM", { cause }); // OpenSSL's own message contains its source files and lines
  }
  if (key.asymmetricKeyType !== "ed25519") throw new Error(`it is a key for ${key.asymmetricKeyType}`);
  return key;
}

/** @throws Error if the text is not 32 bytes in base64url */
export function readPublicKey(text: string): KeyObject {
  if (!/^[A-Za-z0-9_-]{43}$/.test(text)) throw new Error("is not 43 characters of base64url");
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: text }, format: "jwk" });
}

/** Returns a short name for a key, used in messages and envelopes. */
export const keyId = (publicKey: string) => sha256Hex(Buffer.from(publicKey)).slice(0, 12);

export function seal(text: string, privateKey: KeyObject): string {
  const payload = Buffer.from(text);
  const sig = sign(null, encoded(payload), privateKey).toString("base64");
  const signatures = [{ keyid: keyId(publicKeyOf(privateKey)), sig }];
  return `${JSON.stringify({ payloadType: TYPE, payload: payload.toString("base64"), signatures }, null, 2)}\n`;
}

/**
 * Checks the signature and returns the signed text.
 * @param trusted public keys in the form of {@link publicKeyOf}
 * @throws ChannelError if no trusted key signed the envelope, or if it cannot be read
 */
export function unseal(text: string, trusted: readonly string[]): string {
  const { payload, signatures } = readEnvelope(text);
  if (signatures.length === 0) throw new ChannelError("unsigned", "the channel is not signed");
  const bytes = Buffer.from(payload, "base64");
  const message = encoded(bytes);
  const isTrusted = trusted.some((key) =>
    signatures.some(({ sig }) => verify(null, message, readPublicKey(key), Buffer.from(sig, "base64"))),
  );
  if (isTrusted) return bytes.toString();
  const ids = signatures.map(({ keyid = "unnamed" }) => keyid.slice(0, 12)).join(", ");
  const own = trusted.map(keyId);
  if (signatures.some(({ keyid }) => keyid !== undefined && own.includes(keyid))) {
    throw new ChannelError("other-key", "the channel was changed after it was signed");
  }
  throw new ChannelError(
    "other-key",
    `the channel is signed with another key (${ids}), not ${own.join(" or ")}`,
    "use a matching pair from `inkling channel init`: the public key in INKLING_CHANNEL_KEY on servers, and the private key in INKLING_CHANNEL_SIGNING_KEY on the publisher",
  );
}

/** Returns an envelope's text without checking the signature. @throws ChannelError if the envelope cannot be read */
export const unverified = (text: string) => Buffer.from(readEnvelope(text).payload, "base64").toString();

function readEnvelope(text: string): z.infer<typeof envelope> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ChannelError("unreadable", "the channel is not JSON", undefined, { cause: error });
  }
  const parsed = envelope.safeParse(value);
  if (parsed.success) return parsed.data;
  const isBare = typeof value === "object" && value !== null && !("signatures" in value);
  throw isBare
    ? new ChannelError("unsigned", "the channel is not signed")
    : new ChannelError("unreadable", "the channel is not a signed envelope");
}

/** Returns DSSE's pre-authentication encoding of the payload, which is what the signature covers. */
function encoded(payload: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`DSSEv1 ${TYPE.length} ${TYPE} ${payload.length} `), payload]);
}
