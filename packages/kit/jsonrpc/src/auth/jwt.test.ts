import { chmodSync, existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex } from "@rnode/primitives";
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { checkJwt, createJwt } from "./jwt.ts";
import { readOrCreateJwtSecret } from "./jwt-secret-file.ts";

const secret = new Uint8Array(32).fill(1);
const NOW = 1_700_000_000;
const bearer = (token: string): string => `Bearer ${token}`;
const signed = (claims: Record<string, unknown>, alg = "HS256", key = secret): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg }).sign(key);

describe("checkJwt", () => {
  it("accepts its own tokens and those of jose, up to a minute off", async () => {
    for (const iat of [NOW, NOW - 60, NOW + 60]) {
      expect(checkJwt(secret, bearer(createJwt(secret, iat)), NOW)).toEqual({ kind: "valid" });
      expect(checkJwt(secret, bearer(await signed({ iat, sub: "x", exp: NOW + 1 })), NOW)).toEqual({ kind: "valid" });
      expect(checkJwt(secret, bearer(await signed({ iat, exp: null })), NOW)).toEqual({ kind: "valid" });
    }
  });

  it.each<[string, () => Promise<string | undefined> | string | undefined, string]>([
    ["nothing", () => undefined, "missing token"],
    ["another scheme", () => "Basic abc", "missing token"],
    ["an empty token", () => "Bearer ", "missing token"],
    ["two segments", () => "Bearer a.b", "token contains an invalid number of segments"],
    ["four segments", () => bearer(`${createJwt(secret, NOW)}.x`), "token contains an invalid number of segments"],
    ["nonsense", () => "Bearer a.b.c", "token is malformed"],
    ["another key", async () => bearer(await signed({ iat: NOW }, "HS256", new Uint8Array(32).fill(2))), "signature is invalid"],
    [
      "another algorithm",
      async () => bearer(await signed({ iat: NOW }, "HS512", new Uint8Array(64))),
      "signing method HS512 is invalid",
    ],
    ["no algorithm", () => bearer(`${Buffer.from('{"alg":"none"}').toString("base64url")}.e30.`), "signing method none is invalid"],
    ["no signature", () => bearer(createJwt(secret, NOW).replace(/[^.]*$/, "")), "signature is invalid"],
    ["no iat", async () => bearer(await signed({})), "missing issued-at"],
    ["an iat that is a text", () => bearer(textIat()), "missing issued-at"],
    ["an old iat", () => bearer(createJwt(secret, NOW - 61)), "stale token"],
    ["a future iat", () => bearer(createJwt(secret, NOW + 61)), "future token"],
    ["an expired token", async () => bearer(await signed({ iat: NOW, exp: NOW - 1 })), "token is expired"],
  ])("refuses %s", async (_, authorization, reason) => {
    expect(checkJwt(secret, await authorization(), NOW)).toEqual({ kind: "refused", reason });
  });

  function textIat(): string {
    // createJwt writes the number without conversion, so any text can be a claim.
    return createJwt(secret, '"1700000000"' as unknown as number);
  }
});

describe("readOrCreateJwtSecret", () => {
  const folder = mkdtempSync(join(tmpdir(), "jwt-"));
  it("creates a secret only its owner can read, and reads it again", () => {
    const path = join(folder, "jwt.hex");
    const first = readOrCreateJwtSecret(path);
    expect(first.isNew).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, "utf8")).toBe(bytesToHex(first.secret));
    expect(readOrCreateJwtSecret(path)).toEqual({ secret: first.secret, isNew: false });
  });

  it.each([
    ["0x", `0x${"ab".repeat(32)}\n`],
    ["none", `  ${"AB".repeat(32)}  `],
  ])("reads a file with prefix %s", (_, text) => {
    const path = join(folder, "given");
    writeFileSync(path, text);
    expect(bytesToHex(readOrCreateJwtSecret(path).secret)).toBe(`0x${"ab".repeat(32)}`);
  });

  it("makes no folders for a mistyped path", () => {
    const path = join(folder, "typo", "deep", "jwt.hex");
    expect(() => readOrCreateJwtSecret(path)).toThrow(
      `there is no ${path}, and no folder ${join(folder, "typo", "deep")} to make a new secret in: correct the path, or make the folder`,
    );
    expect(existsSync(join(folder, "typo"))).toBe(false);
  });

  it.each(["", "0x1234", "zz".repeat(32)])("refuses %j and keeps the file", (text) => {
    const path = join(folder, "bad");
    writeFileSync(path, text);
    chmodSync(path, 0o600);
    expect(() => readOrCreateJwtSecret(path)).toThrow(`invalid jwt secret in path ${path}, not 32 hex-formatted bytes`);
    expect(readFileSync(path, "utf8")).toBe(text);
  });
});
