import { L1Store } from "@rnode/conformance";
import { blockToJson, PROFILE_R, receiptsToJson } from "@rnode/eth-api";
import { hexToBytes } from "@rnode/primitives";
import { EVM_FORKS, forkRules, recoverSender } from "@rnode/protocol";
import type { L1Block } from "./catchup-chain.ts";

/** The blocks as an endpoint shows them. They are converted once: what is measured is who asks. */
export function l1StoreOf(blocks: readonly L1Block[], chainId: bigint): L1Store {
  const rules = { ...forkRules(EVM_FORKS.at(-1)!), chainId, blobParams: undefined, isDaoForkBlock: false };
  const recorded = blocks.map(({ hash, header, transactions, receipts }) => {
    const block = { header, transactions, ommers: [], withdrawals: [] };
    const stored = {
      hash: hexToBytes(hash),
      block,
      receipts,
      senders: transactions.map((transaction) => recoverSender(transaction)),
    };
    return {
      block: blockToJson(PROFILE_R, stored, { full: true, totalDifficulty: undefined }),
      receipts: receiptsToJson(PROFILE_R, rules, stored),
    };
  });
  return L1Store.inMemory({ chainId, beacon: undefined }, recorded);
}
