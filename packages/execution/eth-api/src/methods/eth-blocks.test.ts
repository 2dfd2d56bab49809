import { NO_CLIENT } from "@rnode/jsonrpc";
import { bytesToHex } from "@rnode/primitives";
import { type Header, hashHeader } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { SyncFeed } from "../feeds/sync-feed.ts";
import { PROFILE_R } from "../profile/profile-r.ts";
import { storedBlock } from "../testing/blocks.ts";
import { schemaFaults } from "../testing/json-schema.ts";
import { ethBlockMethods } from "./eth-blocks.ts";
import { methodsInWriter } from "./method.ts";
import type { ReadServices, WriteServices } from "./services.ts";

const context = NO_CLIENT;

describe("uncles", () => {
  const ommers: Header[] = [7, 8].map((number) => storedBlock([], { number, extraData: Uint8Array.of(number) }).block.header);
  const stored = storedBlock([], { number: 9 });
  const withOmmers = { ...stored, block: { ...stored.block, ommers } };
  const chain = {
    bodyOf: (selector: { number?: number; hash?: Uint8Array }) =>
      selector.number === 9 || (selector.hash !== undefined && bytesToHex(selector.hash) === bytesToHex(stored.hash))
        ? withOmmers
        : undefined,
  };
  const services = {
    backend: { chain, profile: PROFILE_R, store: {} },
    startingBlock: 0,
    sync: new SyncFeed(),
  } as unknown as ReadServices;
  const inWriter = methodsInWriter(ethBlockMethods(services), {} as WriteServices);
  const call = (name: string, ...params: string[]): unknown => {
    const { params: declared, handler, result } = inWriter[name]!;
    const answer = handler(
      declared.map(({ shape }, index) => shape.parse(params[index])),
      context,
    );
    expect(schemaFaults(result!.schema, answer)).toEqual([]);
    return answer;
  };
  const hash = bytesToHex(stored.hash);

  it("are counted and shown as headers with a size, without transactions", () => {
    expect(call("eth_getUncleCountByBlockNumber", "0x9")).toBe("0x2");
    expect(call("eth_getUncleCountByBlockHash", hash)).toBe("0x2");
    for (const index of [0, 1]) {
      const shown = call("eth_getUncleByBlockNumberAndIndex", "0x9", `0x${index}`);
      expect(shown).toMatchObject({ hash: bytesToHex(hashHeader(ommers[index]!)), number: `0x${7 + index}`, uncles: [] });
      expect(shown).toHaveProperty("size");
      expect(shown).not.toHaveProperty("transactions");
      expect(call("eth_getUncleByBlockHashAndIndex", hash, `0x${index}`)).toEqual(shown);
    }
  });

  it("that are not there are null", () => {
    expect(call("eth_getUncleByBlockNumberAndIndex", "0x9", "0x2")).toBe(null);
    expect(call("eth_getUncleByBlockNumberAndIndex", "0x8", "0x0")).toBe(null);
    expect(call("eth_getUncleCountByBlockNumber", "0x8")).toBe(null);
  });
});
