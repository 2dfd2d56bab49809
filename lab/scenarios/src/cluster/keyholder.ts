import { bytesToHex, type Hex } from "@rnode/primitives";
import {
  decodeTransaction,
  type ExecutionPayload,
  type ExecutionPayloadEnvelope,
  encodeL1BlockInfo,
  encodeTransaction,
  hashHeader,
  l1InfoOfPayload,
  l1InfoSourceHash,
  type RollupConfig,
} from "@rnode/protocol";
import { userTransaction } from "../junk.ts";
import type { Random } from "../random.ts";
import { headerOf } from "../sim-block.ts";
import { messagePasserRootOf, stateAfter } from "../sim-engine.ts";
import type { KeyholderFault } from "./cluster-plan.ts";

const FAR = 1_000_000;
const GAS_BOMB = 2n ** 62n;
/** More than gossip passes on of one height. */
const SIBLINGS = 8;
/** Nonce of users' transactions, far from those of the scenarios' users. */
const FIRST_NONCE = 1_000_000;

/** Blocks of an attacker who has the sequencer's key and follows the chain. */
export class Keyholder {
  readonly #config: RollupConfig;
  readonly #random: Random;
  #nonce = FIRST_NONCE;

  constructor(config: RollupConfig, random: Random) {
    this.#config = config;
    this.#random = random;
  }

  /** @param chain its newest blocks, oldest first; none of them is the genesis */
  blocks(kind: KeyholderFault, chain: readonly ExecutionPayloadEnvelope[]): readonly ExecutionPayloadEnvelope[] {
    const head = chain.at(-1);
    if (head === undefined) return [];
    switch (kind) {
      case "sibling":
        return [this.#child(head)];
      case "many-siblings":
        return Array.from({ length: SIBLINGS }, () => this.#child(head));
      case "far-ahead":
        return [this.#child(head, { blockNumber: head.executionPayload.blockNumber + FAR, parentHash: this.#random.bytes(32) })];
      case "gas-bomb":
        return [this.#child(head, { gasLimit: GAS_BOMB })];
      case "wrong-origin":
        return [this.#child(head, {}, { blockHash: this.#random.bytes(32) })];
      case "wrong-deposit":
        return [this.#child(head, {}, { baseFee: 1n + BigInt(this.#random.below(1_000_000)) })];
      case "old-blocks":
        return chain.slice(0, -1).slice(-SIBLINGS);
    }
  }

  /** A block on top of another one, right but for the changes. */
  #child(
    parent: ExecutionPayloadEnvelope,
    changes: Partial<ExecutionPayload> = {},
    infoChanges: { readonly blockHash?: Uint8Array; readonly baseFee?: bigint } = {},
  ): ExecutionPayloadEnvelope {
    const above = parent.executionPayload;
    const info = l1InfoOfPayload(above);
    const sequenceNumber = info.sequenceNumber + 1;
    const deposit = decodeTransaction(above.transactions[0]!);
    if (deposit.type !== 0x7e) throw new Error("a block begins with a deposit");
    const changed = { ...info, sequenceNumber, ...infoChanges };
    const transactions = [
      encodeTransaction({
        ...deposit,
        sourceHash: l1InfoSourceHash(changed.blockHash, sequenceNumber),
        data: encodeL1BlockInfo(changed),
      }),
      userTransaction(this.#config, this.#nonce++),
    ];
    const stateRoot = stateAfter({ envelope: parent }, transactions);
    const unsealed: ExecutionPayloadEnvelope = {
      ...parent,
      executionPayload: {
        ...above,
        parentHash: above.blockHash,
        blockNumber: above.blockNumber + 1,
        timestamp: above.timestamp + this.#config.blockTimeSec,
        transactions,
        stateRoot,
        ...(above.withdrawalsRoot === undefined ? {} : { withdrawalsRoot: messagePasserRootOf(stateRoot) }),
        ...changes,
      },
    };
    const blockHash = hashHeader(headerOf(this.#config, unsealed));
    return { ...unsealed, executionPayload: { ...unsealed.executionPayload, blockHash } };
  }
}

export const hashHex = ({ executionPayload }: ExecutionPayloadEnvelope): Hex => bytesToHex(executionPayload.blockHash);
