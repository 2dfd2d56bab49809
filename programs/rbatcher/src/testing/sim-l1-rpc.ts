import { blockToJson, PROFILE_G, receiptsToJson } from "@rnode/eth-api";
import { RpcError, type RpcOutcome, RpcTransportError } from "@rnode/jsonrpc";
import type { L1Rpc, SendVerdict } from "@rnode/l1";
import {
  bytesToHex,
  EMPTY_OMMERS_HASH,
  EMPTY_REQUESTS_HASH,
  EMPTY_TRIE_ROOT,
  type Hex,
  hexToBytes,
  keccak256,
  parseQuantityNumber,
  toQuantity,
  uint64ToBytes,
} from "@rnode/primitives";
import {
  EVM_FORKS,
  encodeReceipt,
  encodeTransaction,
  type FeeMarketTransaction,
  forkRules,
  type Header,
  hashHeader,
  hashTransaction,
  L1_DATA_PRICINGS,
  type Log,
  l1DataGas,
  logsBloom,
  type Receipt,
  recoverSender,
  signTransaction,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { SimL1, type SimL1Draft, type SimTransaction } from "@rnode/tx-manager/testing";

export const SIM_L1_CHAIN_ID = 900n;

/** Geth's texts. */
const REFUSALS: Readonly<Record<Exclude<SendVerdict, "accepted">, string>> = {
  "nonce-too-low": "nonce too low: next nonce 7, tx nonce 6",
  underpriced: "replacement transaction underpriced",
  "insufficient-funds": "insufficient funds for gas * price + value: balance 0, tx cost 1, overshot 1",
  "address-reserved": "address already reserved",
  "wrong-sidecar": "unexpected sidecar version, want: 1, got: 0",
  "too-little-gas": "insufficient gas for floor data gas cost: gas 1, minimum needed 2",
  refused: "transaction type not supported",
};

/** The payment of another account that is the first transaction of each block since Amsterdam; its receipt has a transfer log (EIP-7708). */
const PAYMENT = signTransaction<FeeMarketTransaction>(
  {
    type: 0x02,
    chainId: SIM_L1_CHAIN_ID,
    nonce: 0n,
    maxPriorityFeePerGas: 10n ** 9n,
    maxFeePerGas: 10n ** 12n,
    gasLimit: 21_000n,
    to: new Uint8Array(20).fill(0x77),
    value: 10n ** 18n,
    data: new Uint8Array(),
    accessList: [],
  },
  new Uint8Array(32).fill(0x33),
);
const PAYER = recoverSender(PAYMENT);
const word = (bytes: Uint8Array): Uint8Array => hexToBytes(`0x${bytesToHex(bytes).slice(2).padStart(64, "0")}`);
const TRANSFER: Log = {
  address: hexToBytes("0xfffffffffffffffffffffffffffffffffffffffe"),
  topics: [keccak256(new TextEncoder().encode("Transfer(address,address,uint256)")), word(PAYER), word(PAYMENT.to!)],
  data: word(hexToBytes(`0x${PAYMENT.value.toString(16).padStart(32, "0")}`)),
};

const RULES = { ...forkRules(EVM_FORKS.at(-1)!), chainId: SIM_L1_CHAIN_ID, blobParams: undefined, isDaoForkBlock: false };
/** newest blocks that are given */
const MAX_BLOCKS = 1000;

interface Sealed {
  readonly hash: Uint8Array;
  readonly block: {
    readonly header: Header;
    readonly transactions: readonly SimTransaction[];
    readonly ommers: [];
    readonly withdrawals: [];
  };
  readonly receipts: readonly Receipt[];
  readonly senders: readonly Uint8Array[];
  readonly blobBaseFee: bigint;
}

/** The JSON-RPC endpoint of a `SimL1` whose blocks have real headers: with 23 fields, and another account's payment, from Amsterdam on. */
export class SimL1Rpc implements L1Rpc {
  readonly connectionsLost = 0;
  /** by hash; the first block is sealed as soon as there is an L1 */
  readonly #sealed = new Map<string, Sealed>();
  readonly l1 = new SimL1((draft) => this.#seal(draft));

  async call(method: string, params: readonly unknown[]): Promise<unknown> {
    if (this.l1.isDown) throw new RpcTransportError("rpc/unreachable", { endpoint: "l1", method, reason: "it is away" });
    return this.#answer(method, params);
  }

  batch(calls: readonly { readonly method: string; readonly params: readonly unknown[] }[]): Promise<readonly RpcOutcome[]> {
    return Promise.all(
      calls.map(async ({ method, params }): Promise<RpcOutcome> => {
        try {
          return { kind: "result", result: await this.call(method, params) };
        } catch (error) {
          if (error instanceof RpcError) return { kind: "error", error };
          throw error;
        }
      }),
    );
  }

  async #answer(method: string, [first, second]: readonly unknown[]): Promise<unknown> {
    const { l1 } = this;
    const account = new Uint8Array(20); // it has only one
    switch (method) {
      case "eth_chainId":
        return toQuantity(SIM_L1_CHAIN_ID);
      case "eth_getBlockByNumber": {
        const block = first === "latest" ? l1.blocks.at(-1) : l1.blocks[parseQuantityNumber(String(first))];
        return this.#blockJson(block?.ref.hash, second === true);
      }
      case "eth_getBlockByHash":
        return this.#blockJson(String(first), second === true);
      case "eth_getTransactionReceipt": {
        const included = await l1.inclusion(first as Hex);
        return included === undefined ? null : this.#receiptJson(included.blockHash, first as Hex);
      }
      case "eth_getTransactionCount": {
        if (second === "latest" || second === "pending") return toQuantity(await l1.nonce(account, second));
        return known(await l1.nonceAt(account, parseQuantityNumber(String(second))));
      }
      case "eth_getBalance":
        if (second === "latest") return toQuantity(await l1.balance());
        return known((await l1.accountAfter(account, parseQuantityNumber(String(second))))?.balanceWei);
      case "eth_maxPriorityFeePerGas":
        return toQuantity(l1.tip);
      case "eth_blobBaseFee":
        return toQuantity(l1.blobBaseFee);
      case "eth_estimateGas":
        return toQuantity(await l1.estimateGas());
      case "eth_sendRawTransaction": {
        const raw = hexToBytes(String(first));
        const { verdict } = await l1.send(raw).catch((error: Error) => {
          throw new RpcTransportError("rpc/unreachable", { endpoint: "l1", method, reason: error.message });
        });
        if (verdict !== "accepted") throw new RpcError(-32_000, REFUSALS[verdict]);
        return bytesToHex(keccak256(raw));
      }
      default:
        throw new RpcError(-32_601, `the method ${method} does not exist/is not available`);
    }
  }

  #blockJson(hash: string | undefined, isFull: boolean): unknown {
    const sealed = this.#sealed.get(hash ?? "");
    return sealed === undefined ? null : blockToJson(PROFILE_G, sealed, { full: isFull, totalDifficulty: undefined });
  }

  #receiptJson(blockHash: Hex, hash: Hex): unknown {
    const sealed = this.#sealed.get(blockHash);
    if (sealed === undefined) return null;
    const index = sealed.block.transactions.findIndex((tx) => bytesToHex(hashTransaction(tx)) === hash);
    const [receipt] = receiptsToJson(PROFILE_G, RULES, sealed, index);
    return { ...receipt, ...(receipt?.blobGasUsed !== undefined && { blobGasPrice: toQuantity(sealed.blobBaseFee) }) };
  }

  #seal(draft: SimL1Draft): Hex {
    const { number, parentHash, timestamp } = draft.ref;
    const { dataPricing, blobBaseFee } = draft;
    const isAmsterdam = dataPricing === L1_DATA_PRICINGS[2];
    const transactions = isAmsterdam ? [PAYMENT, ...draft.transactions] : draft.transactions;
    let gas = 0n;
    const receipts = transactions.map((tx): Receipt => {
      gas += l1DataGas(dataPricing, tx.data, tx.value > 0n);
      const logs = tx === PAYMENT ? [TRANSFER] : [];
      return { type: tx.type, status: 1, cumulativeGasUsed: gas, bloom: logsBloom(logs), logs };
    });
    const seed = keccak256(uint64ToBytes(number), uint64ToBytes(draft.salt));
    const header: Header = {
      parentHash: hexToBytes(parentHash),
      ommersHash: EMPTY_OMMERS_HASH,
      beneficiary: new Uint8Array(20),
      stateRoot: seed,
      transactionsRoot: orderedTrieRoot(transactions.map((tx) => encodeTransaction(tx))),
      receiptsRoot: orderedTrieRoot(receipts.map((receipt) => encodeReceipt(receipt))),
      logsBloom: logsBloom(receipts.flatMap(({ logs }) => logs)),
      difficulty: 0n,
      number,
      gasLimit: 200_000_000n,
      // with Amsterdam, a block counts gas that no receipt adds up to (EIP-7778, EIP-8037)
      gasUsed: isAmsterdam ? (gas * 3n) / 4n : gas,
      timestamp,
      extraData: new Uint8Array(),
      mixHash: seed,
      nonce: new Uint8Array(8),
      baseFeePerGas: draft.baseFee,
      withdrawalsRoot: EMPTY_TRIE_ROOT,
      blobGasUsed: 0n,
      excessBlobGas: 0n,
      parentBeaconBlockRoot: seed,
      requestsHash: EMPTY_REQUESTS_HASH,
      ...(isAmsterdam && { blockAccessListHash: keccak256(seed), slotNumber: BigInt(number) }),
    };
    const hash = hashHeader(header);
    const senders = transactions.map((tx) => recoverSender(tx));
    this.#sealed.set(bytesToHex(hash), {
      hash,
      block: { header, transactions, ommers: [], withdrawals: [] },
      receipts,
      senders,
      blobBaseFee,
    });
    const [oldest] = this.#sealed.keys();
    if (this.#sealed.size > MAX_BLOCKS && oldest !== undefined) this.#sealed.delete(oldest);
    return bytesToHex(hash);
  }
}

function known(amount: bigint | undefined): string {
  if (amount === undefined) throw new RpcError(-32_000, "missing trie node");
  return toQuantity(amount);
}
