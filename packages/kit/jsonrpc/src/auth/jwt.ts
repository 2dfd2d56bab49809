import { createHmac, timingSafeEqual } from "node:crypto";

/** Maximum difference of `iat` from the server's clock in either direction. Spec: execution-apis src/engine/authentication.md */
export const JWT_MAX_SKEW_SEC = 60;

/** Default clock for the time and age of tokens. */
export const MACHINE_TIME = { unixMs: (): number => Date.now() };

const HEADER = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString("base64url");

const sign = (secret: Uint8Array, signed: string): Buffer => createHmac("sha256", secret).update(signed).digest();

/** A token for one request. */
export function createJwt(secret: Uint8Array, issuedAtSec: number): string {
  const signed = `${HEADER}.${Buffer.from(`{"iat":${issuedAtSec}}`).toString("base64url")}`;
  return `${signed}.${sign(secret, signed).toString("base64url")}`;
}

/** Checks an `Authorization` header against the server's secret and time. */
export type CheckToken = (authorization: string | undefined) => JwtVerdict;

export type JwtVerdict = { readonly kind: "valid" } | { readonly kind: "refused"; readonly reason: string };

const refused = (reason: string): JwtVerdict => ({ kind: "refused", reason });

function jsonPart(part: string): Record<string, unknown> | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(part)) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * Checks an `Authorization` header. The reasons are those of the reference client, for a plain-text HTTP 401.
 *
 * @param authorization `undefined` without the header
 */
export function checkJwt(secret: Uint8Array, authorization: string | undefined, nowSec: number): JwtVerdict {
  const token = authorization === undefined ? undefined : /^Bearer +(\S+) *$/.exec(authorization)?.[1];
  if (token === undefined) return refused("missing token");
  const parts = token.split(".");
  const [headerPart, claimsPart, signaturePart] = parts;
  if (parts.length !== 3 || headerPart === undefined || claimsPart === undefined || signaturePart === undefined) {
    return refused("token contains an invalid number of segments");
  }
  const header = jsonPart(headerPart);
  const claims = jsonPart(claimsPart);
  if (header === undefined || claims === undefined) return refused("token is malformed");
  if (header.alg !== "HS256") return refused(`signing method ${String(header.alg).slice(0, 20)} is invalid`);
  const expected = sign(secret, `${headerPart}.${claimsPart}`);
  const given = Buffer.from(signaturePart, "base64url");
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return refused("signature is invalid");
  const { exp, iat } = claims;
  // Clients in Rust that set no time send null, which the reference client reads as none.
  if (exp !== undefined && exp !== null && (typeof exp !== "number" || exp <= nowSec)) return refused("token is expired");
  if (typeof iat !== "number") return refused("missing issued-at");
  if (nowSec - iat > JWT_MAX_SKEW_SEC) return refused("stale token");
  if (iat - nowSec > JWT_MAX_SKEW_SEC) return refused("future token");
  return { kind: "valid" };
}
