import { type ApiMethods, method, slotShape } from "@rnode/eth-api";
import { addressShape, dataShape, hashShape, param } from "@rnode/jsonrpc";
import { bytesToHex } from "@rnode/primitives";
import type { DevChainAccess } from "../block-maker.ts";
import type { DevChain } from "../dev-chain.ts";
import { amountShape, DONE, NOTHING } from "./shapes.ts";

/** Methods that edit the state after the latest block. */
export function stateMethods(dev: DevChain, chain: DevChainAccess): ApiMethods {
  const balanceOf = (address: Uint8Array): bigint => chain.stateAt(chain.head())?.readAccount(address)?.balance ?? 0n;
  return {
    anvil_setBalance: method({
      runs: "writer",
      result: NOTHING,
      params: [param("address", addressShape), param("wei", amountShape)],
      summary: "Sets an account's balance.",
      handler: ([address, balance]) => dev.edit(address, { balance }),
    }),
    anvil_addBalance: method({
      runs: "writer",
      result: NOTHING,
      params: [param("address", addressShape), param("wei", amountShape)],
      summary: "Adds to an account's balance.",
      handler: ([address, wei]) => dev.edit(address, { balance: balanceOf(address) + wei }),
    }),
    anvil_setNonce: method({
      runs: "writer",
      result: NOTHING,
      params: [param("address", addressShape), param("nonce", amountShape)],
      summary: "Sets an account's nonce.",
      handler: ([address, nonce]) => dev.edit(address, { nonce }),
    }),
    anvil_setCode: method({
      runs: "writer",
      result: NOTHING,
      params: [param("address", addressShape), param("code", dataShape)],
      summary: "Sets an account's code.",
      handler: ([address, code]) => dev.edit(address, { code }),
    }),
    anvil_setStorageAt: method({
      runs: "writer",
      result: DONE,
      params: [param("address", addressShape), param("slot", slotShape), param("value", hashShape)],
      summary: "Sets a storage slot.",
      handler: ([address, slot, value]) => {
        dev.edit(address, { storage: new Map([[bytesToHex(slot), value]]) });
        return true;
      },
    }),
  };
}
