import { type ApiMethods, type CallService, callRequestShape, method, UNLIMITED_WORK } from "@rnode/eth-api";
import { addressShape, param } from "@rnode/jsonrpc";
import { asciiToBytes, bigintToBytes, bytesToHex, concatBytes, equalBytes, keccak256, padBytesLeft } from "@rnode/primitives";
import type { DevChain } from "../dev-chain.ts";
import { DevError } from "../dev-error.ts";
import { amountShape, NOTHING } from "./shapes.ts";

export interface TokenMethodsDeps {
  readonly dev: Pick<DevChain, "edit">;
  readonly calls: Pick<CallService, "call" | "createAccessList">;
}

const LATEST = { kind: "tag", tag: "latest" } as const;
/** Written into a slot to see whether a getter returns it. Small, because some tokens keep flags in the upper bits of a balance. */
const PROBES = [0x5a17_c0de_1234n, 0x0bad_5eed_4321n];

/** Sets what an ERC-20 token keeps for an account, in whichever slot it keeps it. */
export function tokenMethods({ dev, calls }: TokenMethodsDeps): ApiMethods {
  function set(token: Uint8Array, getter: string, args: readonly Uint8Array[], amount: bigint): void {
    const data = concatBytes(keccak256(asciiToBytes(getter)).subarray(0, 4), ...args.map((each) => padBytesLeft(each, 32)));
    const request = callRequestShape.parse({ to: bytesToHex(token), data: bytesToHex(data) });
    const word = bigintToBytes(amount, 32);
    const shows = (address: Uint8Array, slot: Uint8Array, value: Uint8Array): boolean => {
      const none = { balance: undefined, nonce: undefined, code: undefined, state: undefined, movePrecompileToAddress: undefined };
      const state = [{ ...none, address, stateDiff: new Map([[bytesToHex(slot), value]]) }];
      try {
        return equalBytes(calls.call(UNLIMITED_WORK, request, LATEST, { state }), value);
      } catch {
        return false; // the token refuses to work with such a value: it is another slot
      }
    };
    const { accessList } = calls.createAccessList(UNLIMITED_WORK, request, LATEST);
    for (const { address, storageKeys } of accessList) {
      for (const slot of storageKeys) {
        const isIt = PROBES.every((probe) => shows(address, slot, bigintToBytes(probe, 32)));
        if (!isIt || !shows(address, slot, word)) continue;
        dev.edit(address, { storage: new Map([[bytesToHex(slot), word]]) });
        return;
      }
    }
    const reason = `no storage slot of token ${bytesToHex(token)} is what ${getter} returns; find the slot and use anvil_setStorageAt`;
    throw new DevError("dev/bad-request", { reason });
  }

  return {
    anvil_dealERC20: method({
      runs: "writer",
      result: NOTHING,
      params: [param("address", addressShape), param("token", addressShape), param("balance", amountShape)],
      summary: "Sets an account's balance of an ERC-20 token.",
      handler: ([address, token, balance]) => set(token, "balanceOf(address)", [address], balance),
    }),
    anvil_setERC20Allowance: method({
      runs: "writer",
      result: NOTHING,
      params: [
        param("owner", addressShape),
        param("spender", addressShape),
        param("token", addressShape),
        param("amount", amountShape),
      ],
      summary: "Sets how much of an ERC-20 token a spender may take from its owner.",
      handler: ([owner, spender, token, amount]) => set(token, "allowance(address,address)", [owner, spender], amount),
    }),
  };
}
