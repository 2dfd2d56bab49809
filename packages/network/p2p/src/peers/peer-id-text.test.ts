import { generateKeyPair, publicKeyFromRaw } from "@libp2p/crypto/keys";
import { peerIdFromPrivateKey, peerIdFromPublicKey } from "@libp2p/peer-id";
import { beforeAll, describe, expect, it } from "vitest";
import { parsePeerAddress } from "./peer-address.ts";
import { canonicalPeerId, peerIdKeyText, peerIdOfKeyText, secp256k1KeyOf } from "./peer-id-text.ts";

/** of the compressed generator point */
const KEY = Uint8Array.from(Buffer.from("0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798", "hex"));

describe("peer ids as text", () => {
  const secp256k1 = peerIdFromPublicKey(publicKeyFromRaw(KEY));
  let ed25519: string;
  let rsa: string;
  beforeAll(async () => {
    ed25519 = peerIdFromPrivateKey(await generateKeyPair("Ed25519")).toString();
    rsa = peerIdFromPrivateKey(await generateKeyPair("RSA", 2048)).toString();
  });

  it("has one form for base58 and every base of a CID", () => {
    const text = secp256k1.toString();
    expect(text).toMatch(/^16Uiu2HA/);
    const cid = secp256k1.toCID();
    for (const form of [text, cid.toString()]) expect(canonicalPeerId(form)).toBe(text);
    expect(canonicalPeerId(ed25519)).toBe(ed25519);
    expect(canonicalPeerId(rsa)).toBe(rsa);
  });

  it.each([
    "",
    "16Uiu2HA",
    "0xabc",
    "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku",
    "1".repeat(1000),
    "Qm",
    "k",
    "z",
  ])("%j is none", (text) => expect(canonicalPeerId(text)).toBeUndefined());

  it("writes keys of the peer store as op-node does, and reads them", () => {
    const key = peerIdKeyText(secp256k1.toString());
    expect(key).toMatch(/^AASQQAQSEE[A-Z2-7]+$/);
    expect(peerIdOfKeyText(key)).toBe(secp256k1.toString());
    expect(peerIdOfKeyText("AAAA")).toBeUndefined();
  });

  it("knows the public key of secp256k1 ids alone", () => {
    expect(secp256k1KeyOf(secp256k1.toString())).toEqual(KEY);
    expect(secp256k1KeyOf(ed25519)).toBeUndefined();
  });

  it.each(["/ip4/192.0.2.1/tcp/9222/p2p/ID", "/ip6/2001:db8::1/tcp/1/p2p/ID", "/dns4/example.org/tcp/9222/p2p/ID"])(
    "%s is an address",
    (text) => {
      const peerId = secp256k1.toString();
      const multiaddress = text.replace("ID", peerId);
      expect(parsePeerAddress(multiaddress)).toEqual({ peerId, multiaddress });
    },
  );

  it.each([
    "/ip4/192.0.2.1/tcp/9222",
    "/p2p/ID",
    "/ip4/192.0.2.1/udp/9222/p2p/ID",
    "/ip4/192.0.2.1/tcp/9222/p2p/nobody",
    "/ip4/192.0.2.999/tcp/9222/p2p/ID",
    "192.0.2.1:9222",
    "",
  ])("%j is no address of a peer", (text) => expect(parsePeerAddress(text.replace("ID", secp256k1.toString()))).toBeUndefined());
});
