import { randomBytes } from "node:crypto";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { hexToBytes } from "@rnode/primitives";
import { afterEach, describe, expect, it } from "vitest";
import { RlpxConnection } from "./connection.ts";
import { decryptWith, encryptTo, keyPairOf, newKeyPair, publicKeyOf } from "./ecies.ts";
import { answerHandshake } from "./handshake.ts";

const capabilities = [{ name: "eth", version: 68 }];
const own = { capabilities, clientId: "test", port: 30303 };
const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

async function pair(): Promise<[Socket, Socket]> {
  const server = createServer();
  const accepted = new Promise<Socket>((resolve) => server.once("connection", resolve));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const dialled = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const other = await accepted;
  open.push(() => {
    for (const socket of [dialled, other]) socket.destroy();
    server.close();
  });
  return [dialled, other];
}

async function connected(): Promise<[RlpxConnection, RlpxConnection]> {
  const [a, b] = [newKeyPair(), newKeyPair()];
  const [dialled, accepted] = await pair();
  return Promise.all([
    RlpxConnection.open(dialled, { ...own, own: a, remoteKey: publicKeyOf(b) }),
    RlpxConnection.open(accepted, { ...own, own: b }),
  ]);
}

const anySize = (): number => 1 << 24;

describe("RLPx", () => {
  it("carries messages of all sizes both ways", async () => {
    const [a, b] = await connected();
    expect(a.hello).toMatchObject({ clientId: "test", capabilities });
    for (const size of [0, 1, 15, 16, 17, 300, 70_000, 3_000_000]) {
      const data = new Uint8Array(randomBytes(size));
      a.send(0x10, data);
      b.send(0x7f, data.subarray(size >> 1));
      const [toB, toA] = [await b.next(anySize), await a.next(anySize)];
      expect([toB.code, Buffer.compare(toB.data, data)]).toEqual([0x10, 0]);
      expect([toA.code, Buffer.compare(toA.data, data.subarray(size >> 1))]).toEqual([0x7f, 0]);
    }
  });

  it("refuses what is larger than allowed before it is received", async () => {
    const [a, b] = await connected();
    a.send(0x10, new Uint8Array(randomBytes(200_000)));
    await expect(b.next(() => 100_000)).rejects.toMatchObject({ code: "devp2p/too-large" });
  });

  it("refuses what inflates beyond what is allowed", async () => {
    const [a, b] = await connected();
    a.send(0x10, new Uint8Array(1 << 23));
    await expect(b.next(() => 1 << 20)).rejects.toMatchObject({ code: "devp2p/too-large" });
  });

  it("tells why it disconnects", async () => {
    const [a, b] = await connected();
    a.disconnect("too-many-peers");
    await expect(b.next(anySize)).rejects.toMatchObject({ code: "devp2p/disconnected", data: { reason: "too-many-peers" } });
  });

  it("notices a frame that was altered", async () => {
    const [a, b] = [newKeyPair(), newKeyPair()];
    const [dialled, accepted] = await pair();
    const [x, y] = await Promise.all([
      RlpxConnection.open(dialled, { ...own, own: a, remoteKey: publicKeyOf(b) }),
      RlpxConnection.open(accepted, { ...own, own: b }),
    ]);
    const write = dialled.write.bind(dialled);
    dialled.write = ((frame: Uint8Array) => write(frame.map((byte, index) => (index === 40 ? byte ^ 1 : byte)))) as typeof write;
    x.send(0x10, new Uint8Array(100));
    await expect(y.next(anySize)).rejects.toMatchObject({ code: "devp2p/bad-frame" });
  });

  it("does not talk to another key than the one it dialled, nor to somebody who is silent about everything", async () => {
    const [dialled, accepted] = await pair();
    const wrong = RlpxConnection.open(dialled, { ...own, own: newKeyPair(), remoteKey: publicKeyOf(newKeyPair()) });
    const answers = RlpxConnection.open(accepted, { ...own, own: newKeyPair() });
    await expect(answers).rejects.toMatchObject({ code: "devp2p/bad-handshake" });
    await expect(wrong).rejects.toMatchObject({ code: "devp2p/disconnected" });
  });

  it.each([
    ["text", Buffer.from("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(200))],
    ["zeros", Buffer.alloc(4_000)],
    ["random bytes", Buffer.concat([Buffer.from([2, 0]), randomBytes(600)])],
  ])("closes on %s", async (_, bytes) => {
    const [dialled, accepted] = await pair();
    dialled.write(bytes);
    await expect(RlpxConnection.open(accepted, { ...own, own: newKeyPair() })).rejects.toMatchObject({
      code: "devp2p/bad-handshake",
    });
    expect(accepted.destroyed).toBe(true);
  });
});

describe("ECIES", () => {
  it("gives back what was encrypted to a key, and nothing that was altered", () => {
    const key = newKeyPair();
    const encrypted = encryptTo(publicKeyOf(key), Buffer.from("hello"), Buffer.from("mac"));
    expect(Buffer.from(decryptWith(key, encrypted, Buffer.from("mac"))).toString()).toBe("hello");
    for (let at = 0; at < encrypted.length; at++) {
      const altered = encrypted.map((byte, index) => (index === at ? byte ^ 1 : byte));
      expect(() => decryptWith(key, altered, Buffer.from("mac"))).toThrow(
        expect.objectContaining({ code: "devp2p/bad-handshake" }),
      );
    }
  });
});

// EIP-8, "RLPx handshake", test vectors: an auth of the extended form with version 4, and one with version 56 and additional elements
const STATIC_B = hexToBytes("b71c71a67e1177ad4e901695e1b4b9ee17ae16c6668d313eac2f96dbcda3f291");
const PUBLIC_A =
  "fda1cff674c90c9a197539fe3dfb53086ace64f83ed7c6eabec741f7f381cc803e52ab2cd55d5569bce4347107a310dfd5f88a010cd2ffd1005ca406f1842877";
const AUTH_2 =
  "01b304ab7578555167be8154d5cc456f567d5ba302662433674222360f08d5f1534499d3678b513b0fca474f3a514b18e75683032eb63fccb16c156dc6eb2c0b1593f0d84ac74f6e475f1b8d56116b849634a8c458705bf83a626ea0384d4d7341aae591fae42ce6bd5c850bfe0b999a694a49bbbaf3ef6cda61110601d3b4c02ab6c30437257a6e0117792631a4b47c1d52fc0f8f89caadeb7d02770bf999cc147d2df3b62e1ffb2c9d8c125a3984865356266bca11ce7d3a688663a51d82defaa8aad69da39ab6d5470e81ec5f2a7a47fb865ff7cca21516f9299a07b1bc63ba56c7a1a892112841ca44b6e0034dee70c9adabc15d76a54f443593fafdc3b27af8059703f88928e199cb122362a4b35f62386da7caad09c001edaeb5f8a06d2b26fb6cb93c52a9fca51853b68193916982358fe1e5369e249875bb8d0d0ec36f917bc5e1eafd5896d46bd61ff23f1a863a8a8dcd54c7b109b771c8e61ec9c8908c733c0263440e2aa067241aaa433f0bb053c7b31a838504b148f570c0ad62837129e547678c5190341e4f1693956c3bf7678318e2d5b5340c9e488eefea198576344afbdf66db5f51204a6961a63ce072c8926c";

describe("EIP-8 vectors", () => {
  it("reads the published auth of another implementation", () => {
    const { secrets } = answerHandshake(keyPairOf(STATIC_B), hexToBytes(AUTH_2));
    expect(Buffer.from(secrets.remoteKey).toString("hex")).toBe(PUBLIC_A);
  });
});
