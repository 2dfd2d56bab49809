import { defaultBootnodes } from "@rnode/peering";
import { describe, expect, it } from "vitest";
import { parseBootnode } from "./bootnodes.ts";
import { chainOf } from "./node-record.ts";

const KEY =
  "869d07b5932f17e8490990f75a3f94195e9504ddb6b85f7189e5a9c0a8fff8b00aecf6f3ac450ecba6cdabdb5858788a94bde2b613e0f2d82e9b395355f76d1a";

describe("bootnodes", () => {
  it("of the public networks can all be used, and those with a record of Base say so", () => {
    expect([1n, 11_155_111n, 900n].map((l1) => defaultBootnodes(l1, "rollup").map(parseBootnode).length)).toEqual([22, 8, 0]);
    const chains = defaultBootnodes(1n, "rollup").map((text) => chainOf(parseBootnode(text).record));
    expect(chains.filter((chain) => chain === 8453n)).toHaveLength(5);
  });

  it("are taken as enode with one port, with two, without a TCP port, and over IPv6", () => {
    const ports = (text: string) => {
      const { record, isUnsigned } = parseBootnode(text);
      return [isUnsigned, record.ip ?? record.ip6, record.tcp ?? record.tcp6, record.udp ?? record.udp6];
    };
    expect(ports(` enode://${KEY}@34.65.67.101:30305 `)).toEqual([true, "34.65.67.101", 30_305, 30_305]);
    expect(ports(`enode://${KEY}@34.65.67.101:1?discport=2`)).toEqual([true, "34.65.67.101", 1, 2]);
    expect(ports(`enode://${KEY}@34.65.67.101:0?discport=2`)).toEqual([true, "34.65.67.101", undefined, 2]);
    expect(ports(`enode://${KEY}@[2001:db8::1]:3`)).toEqual([true, "2001:db8::1", 3, 3]);
  });

  it.each([
    ["nothing known", "boot.example.org", /is neither/],
    ["a record cut short", "enr:-J24QNz9lbrKbN4iSmmjtnr7SjUMk4zB", /is not a valid record/],
    ["a short key", `enode://${KEY.slice(2)}@1.2.3.4:5`, /is not such a text/],
    ["a key off the curve", `enode://${KEY.slice(0, -2)}00@1.2.3.4:5`, /not on the curve/],
    ["a name", `enode://${KEY}@example.org:5`, /is not such a text/],
    ["an address that is none", `enode://${KEY}@1.2.3.400:5`, /has no IP address/],
    ["no port", `enode://${KEY}@1.2.3.4:0`, /has no UDP port/],
  ])("are refused: %s", (_, text, message) => {
    expect(() => parseBootnode(text)).toThrow(message);
    expect(() => parseBootnode(text)).toThrow(/expected a record \(enr:…\) or enode:/);
  });
});
