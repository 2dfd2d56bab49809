import { bigintToBytes, bytesToHex, concatBytes, type Hex, privateKeyToAddress } from "@rnode/primitives";
import {
  type FeeMarketTransaction,
  type Log,
  type RollupConfig,
  signTransaction,
  TRANSACTION_DEPOSITED_TOPIC,
  userDepositSourceHash,
} from "@rnode/protocol";
import { logsOf } from "./l1-logs.ts";
import { GENESIS_TIME_SEC, type L1Forks, type LogKind } from "./plan.ts";
import type { Random } from "./random.ts";
import type { L1Block, SimL1 } from "./sim-l1.ts";

const KEY = new Uint8Array(32).fill(0x7a);
const SENDER = privateKeyToAddress(KEY);
const PAYEE = new Uint8Array(20).fill(0x99);
const word = (bytes: Uint8Array): Uint8Array => concatBytes(new Uint8Array(32 - bytes.length), bytes);
const FEES = { maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 9n };
/** Shares of the blocks with a payment in front of everything else, with a deposit, and, if L1 has come so far, with an unknown transaction. */
const PAYMENTS = 0.4;
const DEPOSITS = 0.4;
const UNKNOWN = 0.3;
/** EIP-7732: shares of the slots without a payload, and of those whose block replaces the previous one. */
const EMPTY_SLOTS = 0.05;
const REPLACED_HEADS = 0.05;

/** The features of L1 that nodes have processed. */
export interface L1Passed {
  /** blocks before and since Amsterdam */
  readonly before: number;
  readonly since: number;
  /** deposits since then, whose logs come after logs of transfers */
  readonly depositsSince: number;
  readonly emptySlots: number;
  readonly replacedHeads: number;
  readonly unknownTransactions: number;
  /** blocks whose header has an unknown field */
  readonly unknownFields: number;
}

/** Other users' L1 activity: on an L1 with Amsterdam, or before it, payments, deposits, and transactions of an unknown type. */
export class L1Traffic {
  readonly #random: Random;
  readonly #l1: SimL1;
  readonly #config: RollupConfig;
  readonly #forks: L1Forks;
  readonly #logRandom: Random;
  readonly #deposits = new Set<Log>();
  /** by the logs that set them */
  readonly #gasLimits = new Map<Log, bigint>();
  #nonce = 0n;
  readonly #slots = { empty: 0, replaced: 0 };

  constructor(
    forks: L1Forks,
    {
      random,
      logRandom,
      l1,
      config,
    }: { readonly random: Random; readonly logRandom: Random; readonly l1: SimL1; readonly config: RollupConfig },
  ) {
    this.#forks = forks;
    this.#random = random;
    this.#logRandom = logRandom;
    this.#l1 = l1;
    this.#config = config;
  }

  /** @returns undefined if the slot is empty */
  mine(nowMs: number): L1Block | undefined {
    const { amsterdamSec, next } = this.#forks;
    if (amsterdamSec === undefined) return this.#l1.mine(nowMs);
    const random = this.#random;
    const sinceGenesisSec = nowMs / 1000 - GENESIS_TIME_SEC;
    if (random.chance(PAYMENTS)) this.#send(PAYEE, 1n, []);
    if (random.chance(DEPOSITS)) this.#deposit();
    if (next !== undefined && sinceGenesisSec >= next.atSec && random.chance(UNKNOWN)) this.#sendUnknown(next);
    const fate = random.fraction();
    if (sinceGenesisSec < amsterdamSec) return this.#l1.mine(nowMs);
    if (fate < EMPTY_SLOTS) {
      this.#slots.empty++;
      return undefined;
    }
    const sibling = fate < EMPTY_SLOTS + REPLACED_HEADS ? this.#l1.replaceHead(nowMs) : undefined;
    if (sibling !== undefined) this.#slots.replaced++;
    return sibling ?? this.#l1.mine(nowMs);
  }

  /** The next L1 block has these logs of the rollup's contracts. Their transactions move ether, or do not. */
  emit(kinds: readonly LogKind[]): void {
    for (const kind of kinds) {
      const { logs, gasLimit } = logsOf(kind, this.#config, this.#logRandom);
      for (const log of logs) {
        if (kind === "deposit") this.#deposits.add(log);
        if (gasLimit !== undefined) this.#gasLimits.set(log, gasLimit);
      }
      this.#send(this.#config.depositContractAddress, BigInt(this.#logRandom.below(2)), logs);
    }
  }

  /** The gas limit of L2 blocks, by the number of their L1 origin. */
  gasLimits(): readonly bigint[] {
    let gasLimit = this.#config.genesis.systemConfig.gasLimit;
    return this.#l1.blocks.map(({ entries }) => {
      for (const log of entries.flatMap(({ logs }) => logs)) gasLimit = this.#gasLimits.get(log) ?? gasLimit;
      return gasLimit;
    });
  }

  /** Source hashes of the deposits of a block, by the index of their logs among all logs of the block. */
  depositsOf({ stored }: L1Block): readonly Hex[] {
    const logs = stored.receipts.flatMap((receipt) => receipt.logs);
    return logs.flatMap((log, index) => (this.#deposits.has(log) ? [bytesToHex(userDepositSourceHash(stored.hash, index))] : []));
  }

  /** The content of the canonical blocks up to a number. */
  passed(upTo: number): L1Passed {
    const blocks = this.#l1.blocks.slice(1, upTo + 1);
    const since = blocks.filter(({ ref }) => this.#l1.isAmsterdam(ref.timestamp));
    return {
      before: blocks.length - since.length,
      since: since.length,
      depositsSince: since.reduce((sum, block) => sum + this.depositsOf(block).length, 0),
      emptySlots: this.#slots.empty,
      replacedHeads: this.#slots.replaced,
      unknownTransactions: since.reduce(
        (sum, { entries }) => sum + entries.filter(({ unknown }) => unknown !== undefined).length,
        0,
      ),
      unknownFields: since.filter(({ hasUnknownField }) => hasUnknownField).length,
    };
  }

  #deposit(): void {
    const mint = BigInt(this.#random.between(1, 1_000));
    this.#send(this.#config.depositContractAddress, mint, [this.#depositLog(mint)]);
  }

  /** It can pay, and a contract that it calls can accept a deposit; its data for the inbox is not read. */
  #sendUnknown({ receipts }: NonNullable<L1Forks["next"]>): void {
    const random = this.#random;
    const to = random.pick([this.#config.batchInboxAddress, PAYEE]);
    this.#l1.force(this.#signed(to, BigInt(random.below(2))), random.chance(0.5) ? [this.#depositLog(7n)] : [], {
      unknown: receipts,
    });
  }

  #depositLog(mint: bigint): Log {
    const topics = [TRANSACTION_DEPOSITED_TOPIC, word(SENDER), word(PAYEE), word(Uint8Array.of(0))];
    // mint ‖ value ‖ gas ‖ is no creation; no calldata
    const opaque = concatBytes(bigintToBytes(mint, 32), bigintToBytes(mint, 32), bigintToBytes(100_000n, 8), Uint8Array.of(0));
    const data = concatBytes(bigintToBytes(32n, 32), bigintToBytes(BigInt(opaque.length), 32), opaque, new Uint8Array(23));
    const log = { address: this.#config.depositContractAddress, topics, data };
    this.#deposits.add(log);
    return log;
  }

  #send(to: Uint8Array, value: bigint, logs: readonly Log[]): void {
    this.#l1.force(this.#signed(to, value), logs);
  }

  #signed(to: Uint8Array, value: bigint): FeeMarketTransaction {
    const fields = { type: 2 as const, chainId: this.#config.l1ChainId, nonce: this.#nonce++, ...FEES, gasLimit: 100_000n };
    return signTransaction({ ...fields, to, value, data: new Uint8Array(0), accessList: [] }, KEY);
  }
}
