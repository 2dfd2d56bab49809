import { parseEnode } from "@rnode/devp2p";
import { expect, it } from "vitest";
import { bootnodesOf } from "./start-network.ts";

it("a named network has the boot nodes of its L1, each with an address; a genesis file has none", () => {
  const idsOf = (chain: string): string[] => bootnodesOf(chain).map((text) => parseEnode(text).id);
  expect(["op-mainnet", "bob-mainnet", "op-sepolia", "genesis.json"].map((chain) => new Set(idsOf(chain)).size)).toEqual([
    11, 11, 8, 0,
  ]);
  expect(idsOf("op-mainnet").filter((id) => idsOf("op-sepolia").includes(id))).toEqual([]);
});
