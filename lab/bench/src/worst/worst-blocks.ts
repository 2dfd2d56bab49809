import { rpcCall } from "@rnode/devnet";
import { bytesToHex, type Hex } from "@rnode/primitives";
import { encodeTransaction, type FeeMarketTransaction, signTransaction } from "@rnode/protocol";
import { makeSenders, type Sender } from "../common/load-generator.ts";
import { forkchoiceState, newPayloadParams, type OpChain, sequencerAttributes } from "../common/op-chain.ts";
import { type Rengine, startRengine } from "../common/rengine.ts";
import type { WorstCase } from "./worst-code.ts";
import { startWord } from "./worst-state.ts";

const CHAIN_ID = 901;
const BLOCK_GAS = 60_000_000n;
/** EIP-7825 */
const TRANSACTION_GAS = 2n ** 24n;
const GENESIS_TIME_SEC = 1_700_000_000;
/** transactions for each block, more than fit */
const WAITING = 4;

export interface WorstBlock {
  readonly name: string;
  readonly transactions: number;
  readonly gas: number;
  /** `engine_forkchoiceUpdated` with attributes and `engine_getPayload`: the sequencer builds */
  readonly build: Times;
  /** `engine_newPayload` and `engine_forkchoiceUpdated` of a program that sees the block for the first time */
  readonly follow: Times;
}

interface Times {
  readonly ms: number;
  /** of the process that keeps the chain, with its threads */
  readonly cpuMs: number;
}

interface Payload {
  readonly blockHash: Hex;
  readonly gasUsed: Hex;
  readonly transactions: readonly Hex[];
}

/**
 * Blocks of the built program, from a pool that holds nothing but one case's transactions, each with all the gas that a transaction may have;
 * a second program executes them. Only cases with one contract and no other state.
 */
export async function measureBlocks(cases: readonly WorstCase[], rounds: number): Promise<WorstBlock[]> {
  const senders = makeSenders(WAITING * cases.length * rounds);
  const contracts = cases.map(({ contracts: [first] }, i) => ({ address: addressOf(i), code: first!.code }));
  const rich = senders.map(({ address }) => bytesToHex(address));
  const chain: OpChain = { chainId: CHAIN_ID, gasLimit: BLOCK_GAS, timestampSec: GENESIS_TIME_SEC, rich, fork: "karst", contracts };
  const sequencer = await startRengine({ chain, args: ["--rpc.workers=1"] });
  try {
    const verifier = await startRengine({ chain, args: ["--rpc.workers=1"] });
    try {
      const blocks = new Blocks(sequencer, verifier, senders);
      await blocks.begin();
      const all: WorstBlock[] = [];
      for (const [i, { name }] of cases.entries()) {
        const measured: WorstBlock[] = [];
        for (let round = 0; round < rounds; round++) measured.push(await blocks.next(name, addressOf(i)));
        // the first one also compiles
        const counted = measured.slice(Math.min(1, rounds - 1)).sort((a, b) => a.build.cpuMs - b.build.cpuMs);
        all.push(counted[counted.length >> 1]!);
      }
      return all;
    } finally {
      await verifier.stop();
    }
  } finally {
    await sequencer.stop();
  }
}

function addressOf(index: number): Uint8Array {
  const address = new Uint8Array(20).fill(0xca);
  address[19] = index;
  return address;
}

class Blocks {
  readonly #sequencer: Rengine;
  readonly #verifier: Rengine;
  readonly #senders: Sender[];
  #head: { readonly hash: Hex; readonly number: number; readonly timestampSec: number } | undefined;
  #runs = 0;

  constructor(sequencer: Rengine, verifier: Rengine, senders: Sender[]) {
    this.#sequencer = sequencer;
    this.#verifier = verifier;
    this.#senders = senders;
  }

  async begin(): Promise<void> {
    const { hash } = await this.#sequencer.engine.call<{ hash: Hex }>("eth_getBlockByNumber", ["0x0", false]);
    this.#head = { hash, number: 0, timestampSec: GENESIS_TIME_SEC };
  }

  async next(name: string, to: Uint8Array): Promise<WorstBlock> {
    const head = this.#head!;
    for (const sender of this.#senders.splice(0, WAITING)) await this.#send(sender, to);
    const attributes = sequencerAttributes(head, BLOCK_GAS);
    const cpuBefore = await this.#sequencer.cpuMs();
    const started = await this.#sequencer.engine.timed<{ payloadId: Hex }>("engine_forkchoiceUpdatedV3", [
      forkchoiceState(head.hash),
      attributes,
    ]);
    const built = await this.#sequencer.engine.timed<{ executionPayload: Payload }>("engine_getPayloadV5", [
      started.result.payloadId,
    ]);
    const build = { ms: started.ms + built.ms, cpuMs: (await this.#sequencer.cpuMs()) - cpuBefore };
    const payload = built.result.executionPayload;
    await this.#import(this.#sequencer, payload);
    const follow = await this.#import(this.#verifier, payload);
    this.#head = { hash: payload.blockHash, number: head.number + 1, timestampSec: head.timestampSec + 2 };
    return {
      name,
      transactions: payload.transactions.length - 1,
      gas: Number(payload.gasUsed),
      build,
      follow,
    };
  }

  /**
   * The sender's only transaction. Its tip is above those of earlier transactions in the pool, which do not fit into the block
   * besides it.
   */
  async #send({ privateKey }: Sender, to: Uint8Array): Promise<void> {
    const transaction: FeeMarketTransaction = {
      type: 0x02,
      chainId: BigInt(CHAIN_ID),
      nonce: 0n,
      gasLimit: TRANSACTION_GAS,
      to,
      value: 0n,
      data: startWord(++this.#runs),
      maxPriorityFeePerGas: 1_000_000n * BigInt(this.#head!.number + 1),
      maxFeePerGas: 50_000_000_000n,
      accessList: [],
    };
    const raw = bytesToHex(encodeTransaction(signTransaction(transaction, privateKey)));
    await rpcCall(this.#sequencer.url, "eth_sendRawTransaction", [raw]);
  }

  async #import(program: Rengine, payload: Payload): Promise<Times> {
    const cpuBefore = await program.cpuMs();
    const added = await program.engine.timed<{ status: string }>("engine_newPayloadV4", newPayloadParams(payload));
    if (added.result.status !== "VALID") throw new Error(`newPayload: ${JSON.stringify(added.result)}`);
    const chosen = await program.engine.timed<{ payloadStatus: { status: string } }>("engine_forkchoiceUpdatedV3", [
      forkchoiceState(payload.blockHash),
      null,
    ]);
    if (chosen.result.payloadStatus.status !== "VALID") throw new Error(`forkchoiceUpdated: ${JSON.stringify(chosen.result)}`);
    return { ms: added.ms + chosen.ms, cpuMs: (await program.cpuMs()) - cpuBefore };
  }
}
