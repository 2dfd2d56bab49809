import type { StoredBlock } from "@rnode/chain";
import { blockToJson, type JsonObject, PROFILE_G } from "@rnode/eth-api";
import { bytesToHex, EMPTY_REQUESTS_HASH, type Hex, isCodedError, toQuantity } from "@rnode/primitives";
import {
  decodeTransaction,
  type ExecutionPayloadEnvelope,
  type ExecutionPayloadJson,
  type Header,
  type L2BlockRef,
  type Log,
  logsBloom,
  payloadToHeader,
  payloadToJson,
  type Receipt,
  type RollupConfig,
  rollupRulesAt,
  type Transaction,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { logOfTransaction } from "./sim-logs.ts";

/** A user transaction with this value cannot be executed. */
export const INVALID_VALUE = 666n;

const zeros = (length: number): Uint8Array => new Uint8Array(length);

/** A block of simulated execution clients. Its JSON is created once. */
export class SimBlock {
  readonly ref: L2BlockRef;
  readonly envelope: ExecutionPayloadEnvelope;
  readonly stored: StoredBlock;
  #payloadJson: ExecutionPayloadJson | undefined;
  readonly #json = new Map<boolean, JsonObject>();

  constructor(config: RollupConfig, envelope: ExecutionPayloadEnvelope, ref: L2BlockRef) {
    this.ref = ref;
    this.envelope = envelope;
    const { transactions: encoded, blockHash, withdrawals } = envelope.executionPayload;
    const transactions = encoded.map(decodeTransaction);
    this.stored = {
      hash: blockHash,
      block: { header: headerOf(config, envelope), transactions, ommers: [], withdrawals },
      receipts: transactions.map((tx): Receipt => {
        const log = logOfTransaction(tx);
        const logs = log === undefined ? [] : [log];
        return { type: tx.type, status: 1, cumulativeGasUsed: 0n, bloom: logsBloom(logs), logs };
      }),
      senders: transactions.map((tx) => (tx.type === 0x7e ? tx.from : zeros(20))),
    };
  }

  get payloadJson(): ExecutionPayloadJson {
    this.#payloadJson ??= payloadToJson(this.envelope.executionPayload);
    return this.#payloadJson;
  }

  get logs(): readonly Log[] {
    return this.stored.receipts.flatMap(({ logs }) => logs);
  }

  /** As `eth_getLogs` answers for this block. */
  logsJson(): readonly JsonObject[] {
    const place = { blockHash: this.ref.hash, blockNumber: toQuantity(this.ref.number), transactionHash: this.ref.hash };
    return this.logs.map(({ address, topics, data }, index) => ({
      ...place,
      transactionIndex: toQuantity(index),
      logIndex: toQuantity(index),
      address: bytesToHex(address),
      topics: topics.map((topic) => bytesToHex(topic)),
      data: bytesToHex(data),
      removed: false,
    }));
  }

  get parentBeaconRootJson(): Hex | undefined {
    const { parentBeaconBlockRoot } = this.envelope;
    return parentBeaconBlockRoot && bytesToHex(parentBeaconBlockRoot);
  }

  json(full: boolean): JsonObject {
    let json = this.#json.get(full);
    if (json === undefined) {
      json = blockToJson(PROFILE_G, this.stored, { full, totalDifficulty: undefined });
      this.#json.set(full, json);
    }
    return json;
  }
}

/**
 * Blocks that an execution client of the network has built or checked, so the others need not decode and hash the same JSON
 * again.
 */
export class KnownBlocks {
  readonly #blocks = new Map<Hex, SimBlock>();

  add(block: SimBlock): void {
    this.#blocks.set(block.ref.hash, block);
  }

  get(hash: Hex): SimBlock | undefined {
    return this.#blocks.get(hash);
  }

  /** The block with exactly this payload. */
  find(payload: unknown, parentBeaconRoot: unknown): SimBlock | undefined {
    const given = payload as ExecutionPayloadJson;
    const block = this.#blocks.get(given.blockHash);
    if (block === undefined || (block.parentBeaconRootJson ?? undefined) !== (parentBeaconRoot ?? undefined)) return undefined;
    return isSame(given, block.payloadJson) ? block : undefined;
  }
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => isSame((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]));
}

export function headerOf({ forkTimes }: RollupConfig, envelope: ExecutionPayloadEnvelope): Header {
  const { hasExecutionRequests } = rollupRulesAt(forkTimes, envelope.executionPayload.timestamp);
  return payloadToHeader(envelope, hasExecutionRequests ? EMPTY_REQUESTS_HASH : undefined, orderedTrieRoot);
}

/** Why a simulated execution client cannot execute transactions; `undefined`: it can. */
export function whyInvalid(transactions: readonly Uint8Array[]): string | undefined {
  for (const encoded of transactions) {
    let tx: Transaction;
    try {
      tx = decodeTransaction(encoded);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      return error.message;
    }
    if (tx.type !== 0x7e && tx.value === INVALID_VALUE) return "a transaction cannot be executed";
  }
  return undefined;
}
