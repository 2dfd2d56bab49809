import { resolve } from "node:path";
import { bytesToHex, type Hex } from "@rnode/primitives";
import { benchOptions } from "./bench-options.ts";
import { makeSenders } from "./common/load-generator.ts";
import { forkchoiceState, newPayloadParams, type OpChain, sequencerAttributes } from "./common/op-chain.ts";
import { type Rengine, startRengine, THIS_CHECKOUT } from "./common/rengine.ts";
import { Transfers } from "./common/transfers.ts";
import { type CallRow, report } from "./rpc/engine-report.ts";

const CHAIN_ID = 901;
const GAS_LIMIT = 400_000_000n;
const GENESIS_TIME_SEC = 1_700_000_000;
const RAW_TRANSACTIONS_PER_BATCH = 100;

/** `npm run bench -- engine`: measures the rollup node's calls to the built program; with `--old=DIR`, two checkouts in turn. */
export async function main(args: readonly string[]): Promise<number> {
  const values = benchOptions("engine", args, {
    transfers: { type: "string", default: "1,100,1000,5000", help: "transfers a block" },
    rounds: { type: "string", default: "9", help: "rounds, of which the median counts" },
    "warm-up": { type: "string", default: "4", help: "rounds that do not count, in which the program's code is compiled" },
    old: { type: "string", help: "another checkout of the repository, already built, in turns" },
    "cpu-prof": { type: "string", help: "folder for CPU profiles" },
    json: { type: "boolean", help: "print JSON" },
  });
  const sizes = values.transfers.split(",").map(Number);
  const senders = makeSenders(Math.max(...sizes));
  const chain: OpChain = {
    chainId: CHAIN_ID,
    gasLimit: GAS_LIMIT,
    timestampSec: GENESIS_TIME_SEC,
    rich: senders.map(({ address }) => bytesToHex(address)),
  };
  const checkouts = [THIS_CHECKOUT, ...(values.old === undefined ? [] : [resolve(values.old)])];
  const sides: Side[] = [];
  try {
    for (const checkout of checkouts) sides.push(await Side.start(checkout, chain, values["cpu-prof"]));
    const source = new Transfers(senders, CHAIN_ID);
    const rows: CallRow[] = [];
    for (const transfers of sizes) {
      const measured = await measure(sides, source, transfers, Number(values["warm-up"]), Number(values.rounds));
      rows.push(...measured);
      console.error(`${transfers.toLocaleString("en")} transfers measured`);
    }
    console.log(values.json ? JSON.stringify(rows, undefined, 2) : report(rows));
    return 0;
  } finally {
    for (const side of sides) await side.stop();
  }
}

/** Measures blocks of one size on all sides. Each call is made on one side after the other; the sides take turns in going first. */
async function measure(
  sides: readonly Side[],
  source: Transfers,
  transfers: number,
  warmUp: number,
  rounds: number,
): Promise<CallRow[]> {
  for (let round = -warmUp; round < rounds; round++) {
    const inTurns = round % 2 === 0 ? sides : sides.toReversed();
    const transactions = source.next(transfers).map(bytesToHex);
    let payload: Payload | undefined;
    for (const side of inTurns) {
      side.calls.isCounting = round >= 0;
      await side.addToPool(transactions);
    }
    for (const side of inTurns) {
      const built = await side.build(transfers);
      if (payload !== undefined && payload.blockHash !== built.blockHash) throw new Error("the checkouts build different blocks");
      payload = built;
    }
    for (const side of inTurns) await side.follow(payload!);
  }
  const [own, old] = sides.map(({ calls }) => calls.take());
  return [...own!].map(([call, figures]) => ({ transfers, call, ...figures, old: old?.get(call) }));
}

interface Payload {
  readonly blockHash: Hex;
  readonly transactions: readonly Hex[];
}

interface Figures {
  readonly ms: number[];
  readonly cpuMs: number[];
}

class Calls {
  /** false: the program is still warming up */
  isCounting = false;
  #figures = new Map<string, Figures>();

  async make<T>(name: string, program: Rengine, method: string, params: readonly unknown[]): Promise<T> {
    const before = await program.cpuMs();
    const { result, ms } = await program.engine.timed<T>(method, params);
    const after = await program.cpuMs();
    if (this.isCounting) {
      let figures = this.#figures.get(name);
      if (figures === undefined) this.#figures.set(name, (figures = { ms: [], cpuMs: [] }));
      figures.ms.push(ms);
      figures.cpuMs.push(after - before);
    }
    return result;
  }

  take(): ReadonlyMap<string, Figures> {
    const figures = this.#figures;
    this.#figures = new Map();
    return figures;
  }
}

/** The two programs of a checkout: one builds blocks, the other only receives them and has not seen their transactions before. */
class Side {
  readonly calls = new Calls();
  readonly #sequencer: Rengine;
  readonly #verifier: Rengine;
  #head: { readonly hash: Hex; readonly number: number; readonly timestampSec: number };

  private constructor(sequencer: Rengine, verifier: Rengine, genesisHash: Hex) {
    this.#sequencer = sequencer;
    this.#verifier = verifier;
    this.#head = { hash: genesisHash, number: 0, timestampSec: GENESIS_TIME_SEC };
  }

  static async start(checkout: string, chain: OpChain, profileTo: string | undefined): Promise<Side> {
    const nodeArgs = profileTo === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileTo}`];
    const options = { chain, checkout, nodeArgs, args: ["--rpc.workers=1"] };
    const sequencer = await startRengine(options);
    try {
      const verifier = await startRengine(options);
      const { hash } = await sequencer.engine.call<{ hash: Hex }>("eth_getBlockByNumber", ["0x0", false]);
      return new Side(sequencer, verifier, hash);
    } catch (error) {
      await sequencer.stop();
      throw error;
    }
  }

  async addToPool(transactions: readonly Hex[]): Promise<void> {
    for (let at = 0; at < transactions.length; at += RAW_TRANSACTIONS_PER_BATCH) {
      const batch = transactions.slice(at, at + RAW_TRANSACTIONS_PER_BATCH);
      const response = await fetch(this.#sequencer.url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(batch.map((raw, id) => ({ jsonrpc: "2.0", id, method: "eth_sendRawTransaction", params: [raw] }))),
      });
      const answers = (await response.json()) as { error?: unknown }[];
      const refused = answers.find(({ error }) => error !== undefined);
      if (refused !== undefined) throw new Error(`transaction refused: ${JSON.stringify(refused.error)}`);
    }
  }

  /** Builds a block from the pool and makes it the head. */
  async build(transfers: number): Promise<Payload> {
    const program = this.#sequencer;
    const attributes = sequencerAttributes(this.#head, GAS_LIMIT);
    const { payloadId } = await this.calls.make<{ payloadId: Hex }>(
      "forkchoiceUpdated, a build starts",
      program,
      "engine_forkchoiceUpdatedV3",
      [forkchoiceState(this.#head.hash), attributes],
    );
    const { executionPayload: payload } = await this.calls.make<{ executionPayload: Payload }>(
      "getPayload",
      program,
      "engine_getPayloadV4",
      [payloadId],
    );
    if (payload.transactions.length !== transfers + 1) {
      throw new Error(`a block of ${payload.transactions.length} transactions was built: too little time for ${transfers}`);
    }
    await this.#import(program, payload, ", our own block");
    this.#head = { hash: payload.blockHash, number: this.#head.number + 1, timestampSec: this.#head.timestampSec + 2 };
    return payload;
  }

  /** Makes another producer's block the head. */
  follow(payload: Payload): Promise<void> {
    return this.#import(this.#verifier, payload, "");
  }

  async #import(program: Rengine, payload: Payload, suffix: string): Promise<void> {
    const added = await this.calls.make<{ status: string }>(
      `newPayload${suffix}`,
      program,
      "engine_newPayloadV4",
      newPayloadParams(payload),
    );
    if (added.status !== "VALID") throw new Error(`newPayload: ${JSON.stringify(added)}`);
    const { payloadStatus } = await this.calls.make<{ payloadStatus: { status: string } }>(
      `forkchoiceUpdated${suffix}`,
      program,
      "engine_forkchoiceUpdatedV3",
      [forkchoiceState(payload.blockHash), null],
    );
    if (payloadStatus.status !== "VALID") throw new Error(`forkchoiceUpdated: ${JSON.stringify(payloadStatus)}`);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#sequencer.stop(), this.#verifier.stop()]);
  }
}
