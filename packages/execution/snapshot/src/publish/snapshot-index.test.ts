import { generateKeyPairSync } from "node:crypto";
import type { Hex } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { decodeIndex, encodeIndex, type IndexEntry, isSnapshotName, publicKeyOf, snapshotName } from "./snapshot-index.ts";

const key = generateKeyPairSync("ed25519").privateKey;
const other = generateKeyPairSync("ed25519").privateKey;
const word = (digit: string): Hex => `0x${digit.repeat(64)}`;
const ENTRY: IndexEntry = {
  name: snapshotName(10n, 7, word("a")),
  bytes: 123,
  sha256: word("b"),
  number: 7,
  hash: word("a"),
  stateRoot: word("c"),
  created: "2026-11-29T12:00:00.000Z",
};
const INDEX = { chainId: 10n, genesisHash: word("d"), snapshots: [ENTRY] };

type Outer = Record<string, string>;
const edited = (edit: (outer: Outer) => void, signer = key): Uint8Array => {
  const outer = JSON.parse(Buffer.from(encodeIndex(INDEX, signer)).toString()) as Outer;
  edit(outer);
  return Buffer.from(JSON.stringify(outer));
};
const withContent = (edit: (content: Record<string, unknown>) => void): Uint8Array =>
  edited((outer) => {
    const content = JSON.parse(outer.signed!) as Record<string, unknown>;
    edit(content);
    outer.signed = JSON.stringify(content);
    delete outer.publicKey;
    delete outer.signature;
  });
const withEntry = (fields: object): Uint8Array =>
  withContent((content) => {
    content.snapshots = [{ ...ENTRY, ...fields }];
  });

describe("an index of snapshots", () => {
  it("is read by those who trust its signer, and by those who trust nobody", () => {
    const signed = encodeIndex(INDEX, key);
    expect(decodeIndex(signed, "here", publicKeyOf(key))).toEqual({ ...INDEX, publicKey: publicKeyOf(key) });
    expect(decodeIndex(signed, "here")).toEqual({ ...INDEX, publicKey: publicKeyOf(key) });
    expect(decodeIndex(encodeIndex(INDEX, undefined), "here")).toEqual({ ...INDEX, publicKey: undefined });
  });

  it.each<[string, Uint8Array, RegExp]>([
    ["without a signature", encodeIndex(INDEX, undefined), /is not signed$/],
    ["signed with another key", encodeIndex(INDEX, other), /signed with the key 0x[0-9a-f]{64}, expected 0x/],
    [
      "signed with another key under the trusted name",
      edited((outer) => void (outer.publicKey = JSON.parse(Buffer.from(encodeIndex(INDEX, key)).toString()).publicKey), other),
      /signature is not of its content/,
    ],
    [
      "with another content",
      edited((outer) => void (outer.signed = outer.signed!.replace(":123", ":124"))),
      /signature is not of its content/,
    ],
    [
      "with half a signature",
      edited((outer) => void (outer.signature = outer.signature!.slice(0, -2))),
      /signature is not of its content/,
    ],
  ])("%s is refused by those who name a key", (_, bytes, reason) => {
    expect(() => decodeIndex(bytes, "here", publicKeyOf(key))).toThrow(reason);
  });

  it.each<[string, Uint8Array, RegExp]>([
    ["no JSON", Buffer.from("<html>"), /not JSON/],
    ["null", Buffer.from("null"), /not JSON of this form/],
    ["another document", Buffer.from("{}"), /has no index/],
    ["content that is no JSON", Buffer.from('{"signed":"x"}'), /content is not JSON/],
    ["a later format", withContent((content) => void (content.format = 2)), /has format 2, and this version reads format 1/],
    ["no chain", withContent((content) => delete content.chainId), /not an index/],
    ["a path in place of a name", withEntry({ name: "../../etc/passwd" }), /not an index/],
    ["a hidden file", withEntry({ name: ".bashrc" }), /not an index/],
    ["a negative size", withEntry({ bytes: -1 }), /not an index/],
    ["half a hash", withEntry({ hash: "0x1234" }), /not an index/],
  ])("with %s is refused", (_, bytes, reason) => {
    expect(() => decodeIndex(bytes, "here")).toThrow(reason);
  });

  it("names files by chain and block, and knows them from others", () => {
    expect(ENTRY.name).toBe("10-7-aaaaaaaa.snap");
    const known = ["10-7-aaaaaaaa.snap", "1-7-aaaaaaaa.snap", "10-7-aaaaaaaa.snap.partial", "10-7.snap", "index.json"];
    expect(known.filter((name) => isSnapshotName(name, 10n))).toEqual(["10-7-aaaaaaaa.snap"]);
  });
});
