import { concatBytes, encodeRlp, keccak256, privateKeyToPublicKey, rlpUint, signHash } from "@rnode/primitives";
import { systemClock } from "@rnode/program";
import { describe, expect, it } from "vitest";
import { DiscV4 } from "./discv4.ts";
import { decodeV4, encodeV4, isV4Packet, type V4Message, type V4Node } from "./v4-packets.ts";

const NOW_SEC = 1_800_000_000;
const keyOf = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const nodeOf = (byte: number, ip = `10.0.${byte}.1`): V4Node => ({
  ip,
  udpPort: 30_303,
  tcpPort: 30_303,
  publicKey: privateKeyToPublicKey(keyOf(byte)),
});
const clock = { ...systemClock, unixMs: () => NOW_SEC * 1000 };

const MESSAGES: readonly V4Message[] = [
  { kind: "ping", from: nodeOf(1), to: nodeOf(2, "2001:db8::1"), recordSequence: 7n },
  { kind: "pong", to: nodeOf(1), pingHash: new Uint8Array(32).fill(3), recordSequence: undefined },
  { kind: "find-node", target: nodeOf(4).publicKey },
  { kind: "neighbours", nodes: Array.from({ length: 12 }, (_, index) => nodeOf(index + 1)) },
  { kind: "record-request" },
];

describe("packets of discv4", () => {
  it.each(MESSAGES.map((message) => [message.kind, message] as const))("%s is read as it was written", (_, message) => {
    const { packet, hash } = encodeV4(message, keyOf(9), NOW_SEC);
    expect(packet.length).toBeLessThanOrEqual(1_280);
    expect(isV4Packet(packet)).toBe(true);
    const decoded = decodeV4(packet, NOW_SEC);
    const { ip, udpPort, tcpPort } = nodeOf(1);
    const plain = message.kind === "ping" || message.kind === "pong" ? { to: { ip: message.to.ip, udpPort, tcpPort } } : {};
    const from = message.kind === "ping" ? { from: { ip, udpPort, tcpPort } } : {};
    expect(decoded).toEqual({ message: { ...message, ...plain, ...from }, hash, publicKey: nodeOf(9).publicKey });
    expect(decodeV4(packet, NOW_SEC + 21)).toBeUndefined();
  });

  it.each([2n ** 63n, 2n ** 64n - 1n, BigInt(NOW_SEC - 1), 0n])("are late with the expiry %d", (expiry) => {
    const body = concatBytes(Uint8Array.of(5), encodeRlp([rlpUint(expiry)]));
    const { r, s, yParity } = signHash(keccak256(body), keyOf(9));
    const signed = concatBytes(r, s, Uint8Array.of(yParity), body);
    const exact = concatBytes(keccak256(signed), signed);
    expect(isV4Packet(exact)).toBe(true);
    expect(decodeV4(exact, NOW_SEC)).toBeUndefined();
  });

  it("are nothing else than what was signed", () => {
    const { packet } = encodeV4(MESSAGES[0]!, keyOf(9), NOW_SEC);
    for (let at = 0; at < packet.length; at++)
      expect(isV4Packet(packet.map((byte, index) => (index === at ? byte ^ 1 : byte)))).toBe(false);
    expect(isV4Packet(packet.subarray(0, 97))).toBe(false);
  });

  // of EIP-8: a ping of version 4 with additional list elements, and one of version 555
  it.each([
    "e9614ccfd9fc3e74360018522d30e1419a143407ffcce748de3e22116b7e8dc92ff74788c0b6663aaa3d67d641936511c8f8d6ad8698b820a7cf9e1be7155e9a241f556658c55428ec0563514365799a4be2be5a685a80971ddcfa80cb422cdd0101ec04cb847f000001820cfa8215a8d790000000000000000000000000000000018208ae820d058443b9a3550102",
  ])("of other versions are read", (hex) => {
    const packet = Buffer.from(hex, "hex");
    expect(isV4Packet(packet)).toBe(true);
    expect(decodeV4(packet, 1_000_000_000)?.message).toMatchObject({
      kind: "ping",
      from: { ip: "127.0.0.1", udpPort: 3322, tcpPort: 5544 },
    });
  });
});

describe("a node of discv4", () => {
  it("gives nothing large to an address that has not answered a ping", () => {
    const sent: { readonly data: Uint8Array; readonly ip: string }[] = [];
    const node = new DiscV4({
      privateKey: keyOf(1),
      publicKey: nodeOf(1).publicKey,
      clock,
      endpoint: () => nodeOf(1),
      record: () => ({ encoded: Uint8Array.of(0xc0), sequence: 1n }),
      send: (data, ip) => sent.push({ data, ip }),
      onRecord: () => {},
    });
    for (const message of [{ kind: "find-node", target: nodeOf(3).publicKey }, { kind: "record-request" }] as const)
      expect(node.receive(encodeV4(message, keyOf(2), NOW_SEC).packet, { ip: "1.2.3.4", port: 5 })).toBe(true);
    expect(sent).toEqual([]);
    const ping = encodeV4({ kind: "ping", from: nodeOf(2), to: nodeOf(1) }, keyOf(2), NOW_SEC).packet;
    node.receive(ping, { ip: "1.2.3.4", port: 5 });
    expect(sent.map(({ data }) => decodeV4(data, NOW_SEC)?.message.kind)).toEqual(["pong", "ping"]);
    expect(node.receive(Buffer.from("something else"), { ip: "1.2.3.4", port: 5 })).toBe(false);
  });

  it("lets a node that pings it ask first, before it asks for its record", async () => {
    const sent: { readonly kind: string; readonly hash: Uint8Array }[] = [];
    let wake: () => void = () => {};
    const node = new DiscV4({
      privateKey: keyOf(1),
      publicKey: nodeOf(1).publicKey,
      clock: { ...clock, sleep: () => new Promise((resolve) => (wake = resolve)) },
      endpoint: () => nodeOf(1),
      record: () => ({ encoded: Uint8Array.of(0xc0), sequence: 1n }),
      send: (data) => {
        const { message, hash } = decodeV4(data, NOW_SEC)!;
        sent.push({ kind: message.kind, hash });
      },
      onRecord: () => {},
    });
    const say = (message: V4Message) => node.receive(encodeV4(message, keyOf(2), NOW_SEC).packet, { ip: "8.8.8.8", port: 30_303 });
    say({ kind: "ping", from: nodeOf(2), to: nodeOf(1) });
    say({ kind: "pong", to: nodeOf(1), pingHash: sent[1]!.hash, recordSequence: 1n });
    await new Promise(setImmediate);
    say({ kind: "find-node", target: nodeOf(3).publicKey });
    expect(sent.map(({ kind }) => kind)).toEqual(["pong", "ping", "neighbours"]);
    wake();
    await new Promise(setImmediate);
    expect(sent.at(-1)!.kind).toBe("record-request");
  });

  it("does not let an attacker grow its memory or its table", () => {
    const node = new DiscV4({
      privateKey: keyOf(1),
      publicKey: nodeOf(1).publicKey,
      clock,
      endpoint: () => nodeOf(1),
      record: () => ({ encoded: Uint8Array.of(0xc0), sequence: 1n }),
      send: () => {},
      onRecord: () => {},
    });
    for (let i = 2; i < 200; i++)
      node.receive(encodeV4({ kind: "ping", from: nodeOf(i), to: nodeOf(1) }, keyOf(i), NOW_SEC).packet, {
        ip: "1.2.3.4",
        port: i,
      });
    expect(node.table.size).toBe(0); // no node has proved its address
  });

  it("asks one address for few records, whatever number of keys it has", () => {
    const sent: string[] = [];
    const node = new DiscV4({
      privateKey: keyOf(1),
      publicKey: nodeOf(1).publicKey,
      clock,
      endpoint: () => nodeOf(1),
      record: () => ({ encoded: Uint8Array.of(0xc0), sequence: 1n }),
      send: (data) => sent.push(decodeV4(data, NOW_SEC)!.message.kind),
      onRecord: () => {},
    });
    for (let i = 2; i < 200; i++)
      node.receive(encodeV4({ kind: "ping", from: nodeOf(i), to: nodeOf(1) }, keyOf(i), NOW_SEC).packet, {
        ip: "8.8.8.8",
        port: 30_303,
      });
    expect(sent.filter((kind) => kind === "ping")).toHaveLength(16);
  });

  it("sends nothing to addresses of its own network that a stranger names", async () => {
    const stranger = nodeOf(2, "8.8.8.8");
    const named = ["127.0.0.1", "10.0.0.1", "169.254.169.254", "224.0.0.1", "::1", "1.1.1.1"].map((ip, at) => nodeOf(20 + at, ip));
    const asked = new Set<string>();
    const node: DiscV4 = new DiscV4({
      privateKey: keyOf(1),
      publicKey: nodeOf(1).publicKey,
      clock: { ...clock, sleep: () => Promise.resolve() },
      endpoint: () => nodeOf(1),
      record: () => ({ encoded: Uint8Array.of(0xc0), sequence: 1n }),
      send: (data, ip) => {
        asked.add(ip);
        const { message, hash } = decodeV4(data, NOW_SEC)!;
        const answer = (reply: V4Message): void => {
          const { packet } = encodeV4(reply, keyOf(2), NOW_SEC);
          setImmediate(() => node.receive(packet, { ip: stranger.ip, port: stranger.udpPort }));
        };
        if (ip !== stranger.ip) return;
        if (message.kind === "ping") answer({ kind: "pong", to: nodeOf(1), pingHash: hash, recordSequence: 1n });
        if (message.kind === "find-node") answer({ kind: "neighbours", nodes: named });
      },
      onRecord: () => {},
    });
    await node.walk([stranger], AbortSignal.timeout(5_000));
    expect([...asked].sort()).toEqual(["1.1.1.1", "8.8.8.8"]);
  });
});
