import { type ApiMethods, type JsonObject, method } from "@rnode/eth-api";
import {
  addressShape,
  booleanShape,
  hashShape,
  optionalParam,
  param,
  RpcError,
  SERVER_ERROR,
  type Shape,
  ShapeError,
  shape,
} from "@rnode/jsonrpc";
import { toQuantity } from "@rnode/primitives";
import type { DevChain } from "../dev-chain.ts";
import { ANYTHING, amountShape, DONE, NOTHING, smallAmountShape } from "./shapes.ts";

/** More in one request would hold up everything else for too long. */
const MAX_BLOCKS = 10_000;

/** Their answer is held whole. */
const MAX_DETAILED_BLOCKS = 256;

/** A block as eth_getBlockByHash shows it, with its transactions. */
export type BlockJson = (hash: Uint8Array) => JsonObject;

interface MineRequest {
  readonly timestampSec: number | undefined;
  readonly blocks: number;
}

/** A time, or `{timestamp, blocks}`. */
const mineShape: Shape<MineRequest> = shape({ oneOf: [smallAmountShape.schema, { type: "object" }] }, (value) => {
  if (typeof value !== "object" || value === null) return { timestampSec: smallAmountShape.parse(value), blocks: 1 };
  const { timestamp, blocks } = value as { readonly timestamp?: unknown; readonly blocks?: unknown };
  const given = (field: unknown): number | undefined =>
    field === undefined || field === null ? undefined : smallAmountShape.parse(field);
  return { timestampSec: given(timestamp), blocks: given(blocks) ?? 1 };
});

const ONE_BLOCK: MineRequest = { timestampSec: undefined, blocks: 1 };

const blockCountShape: Shape<number> = shape(smallAmountShape.schema, (value) => {
  const count = smallAmountShape.parse(value);
  if (count > MAX_BLOCKS) throw new ShapeError(`expected at most ${MAX_BLOCKS} blocks`);
  return count;
});

/** Methods that control when blocks are made, and the header values of the next ones. */
export function miningMethods({ mining, maker, time }: DevChain, blockJson: BlockJson): ApiMethods {
  const mine = (request: MineRequest): Uint8Array[] => {
    if (request.blocks > MAX_BLOCKS) throw new RpcError(SERVER_ERROR, `at most ${MAX_BLOCKS} blocks a request`);
    if (request.timestampSec !== undefined) time.setNext(request.timestampSec, headSec());
    return Array.from({ length: request.blocks }, () => maker.make().hash);
  };
  const headSec = (): number => maker.head.header.timestamp;
  const refused = (reason: string) => (): never => {
    throw new RpcError(SERVER_ERROR, reason);
  };
  return {
    evm_mine: method({
      runs: "writer",
      result: { name: "zero", schema: { const: "0x0" } },
      params: [optionalParam("options", mineShape)],
      summary: "Makes a block, or as many as `blocks` says, the first at `timestamp`.",
      handler: ([request = ONE_BLOCK]) => {
        mine(request);
        return "0x0";
      },
    }),
    evm_mine_detailed: method({
      runs: "writer",
      result: ANYTHING("blocks"),
      params: [optionalParam("options", mineShape)],
      summary: "Like evm_mine; the answer is the blocks, with their transactions.",
      handler: ([request = ONE_BLOCK]) => {
        if (request.blocks > MAX_DETAILED_BLOCKS)
          throw new RpcError(SERVER_ERROR, `at most ${MAX_DETAILED_BLOCKS} blocks a request; evm_mine makes more`);
        return mine(request).map((hash) => blockJson(hash));
      },
    }),
    anvil_mine: method({
      runs: "writer",
      result: NOTHING,
      params: [optionalParam("blocks", blockCountShape), optionalParam("interval", smallAmountShape)],
      summary: "Makes blocks, each `interval` seconds after the one before.",
      handler: ([blocks = 1, interval = 0]) => {
        for (let made = 0; made < blocks; made++) {
          if (made > 0 && interval > 0) time.setNext(headSec() + interval, headSec());
          maker.make();
        }
      },
    }),
    evm_setAutomine: method({
      runs: "writer",
      result: NOTHING,
      params: [param("enabled", booleanShape)],
      summary: "Whether a block is made with each transaction; otherwise only when one is asked for.",
      handler: ([enabled]) => mining.setMode(enabled ? { kind: "auto" } : { kind: "manual" }),
    }),
    anvil_getAutomine: method({
      runs: "writer",
      result: DONE,
      params: [],
      summary: "Whether a block is made with each transaction.",
      handler: () => mining.mode.kind === "auto",
    }),
    evm_setIntervalMining: method({
      runs: "writer",
      result: NOTHING,
      params: [param("seconds", smallAmountShape)],
      summary: "Makes a block each so many seconds; 0: only when one is asked for.",
      handler: ([seconds]) => mining.setMode(seconds > 0 ? { kind: "interval", ms: seconds * 1000 } : { kind: "manual" }),
    }),
    anvil_getIntervalMining: method({
      runs: "writer",
      result: ANYTHING("seconds"),
      params: [],
      summary: "Seconds between blocks; null: they are not made at intervals.",
      handler: () => (mining.mode.kind === "interval" ? mining.mode.ms / 1000 : null),
    }),
    evm_setBlockGasLimit: method({
      runs: "writer",
      result: DONE,
      params: [param("gasLimit", amountShape)],
      summary: "Gas limit of the blocks from the next one on.",
      handler: ([gasLimit]) => {
        maker.gasLimit = gasLimit;
        return true;
      },
    }),
    anvil_setCoinbase: method({
      runs: "writer",
      result: NOTHING,
      params: [param("address", addressShape)],
      summary: "Who gets the fees of the blocks from the next one on.",
      handler: ([address]) => {
        maker.coinbase = address;
      },
    }),
    // Hardhat's own: anvil has no such method
    hardhat_setPrevRandao: method({
      runs: "writer",
      result: NOTHING,
      params: [param("prevRandao", hashShape)],
      summary: "What PREVRANDAO is in the next block.",
      handler: ([prevRandao]) => {
        maker.prevRandao = prevRandao;
      },
    }),
    anvil_setNextBlockBaseFeePerGas: method({
      runs: "writer",
      result: NOTHING,
      params: [param("wei", amountShape)],
      summary: "Base fee of the next block.",
      handler: ([wei]) => maker.holdBaseFee(wei, 1),
    }),
    anvil_setMinGasPrice: method({
      runs: "writer",
      result: NOTHING,
      params: [param("wei", amountShape)],
      summary: "Refused, as by anvil: there is a base fee.",
      handler: refused(
        "anvil_setMinGasPrice is not supported when EIP-1559 is active; anvil_setNextBlockBaseFeePerGas sets the base fee",
      ),
    }),
    evm_increaseTime: method({
      runs: "writer",
      result: ANYTHING("offset"),
      params: [param("seconds", smallAmountShape)],
      summary: "Moves the clock forward; the answer is by how many seconds it is ahead of the machine's.",
      handler: ([seconds]) => {
        time.advance(seconds);
        return time.offsetSec;
      },
    }),
    evm_setTime: method({
      runs: "writer",
      result: ANYTHING("offset"),
      params: [param("timestamp", smallAmountShape)],
      summary: "Sets the clock; the answer is by how many seconds it is ahead of the machine's.",
      handler: ([timestamp]) => {
        // Some tools give milliseconds.
        time.set(timestamp > 1e11 ? Math.floor(timestamp / 1000) : timestamp);
        return time.offsetSec;
      },
    }),
    evm_setNextBlockTimestamp: method({
      runs: "writer",
      result: NOTHING,
      params: [param("timestamp", smallAmountShape)],
      summary: "Time of the next block; the clock goes on from there.",
      handler: ([timestamp]) => time.setNext(timestamp, headSec()),
    }),
    anvil_setBlockTimestampInterval: method({
      runs: "writer",
      result: NOTHING,
      params: [param("seconds", smallAmountShape)],
      summary: "Each block is so much later than the one before, whatever the clock says.",
      handler: ([seconds]) => time.setInterval(seconds),
    }),
    anvil_removeBlockTimestampInterval: method({
      runs: "writer",
      result: DONE,
      params: [],
      summary: "Blocks have the clock's time again; whether they had not.",
      handler: () => {
        const had = time.settings.intervalSec !== undefined;
        time.setInterval(undefined);
        return had;
      },
    }),
    dev_stall: method({
      runs: "writer",
      result: NOTHING,
      params: [],
      summary: "No more blocks by themselves, until dev_resume.",
      handler: () => mining.setStalled(true),
    }),
    dev_resume: method({
      runs: "writer",
      result: NOTHING,
      params: [],
      summary: "Ends dev_stall.",
      handler: () => mining.setStalled(false),
    }),
    dev_missSlots: method({
      runs: "writer",
      result: NOTHING,
      params: [param("count", blockCountShape)],
      summary: "The next slots have no blocks.",
      handler: ([count]) => mining.missSlots(count),
    }),
    dev_setBaseFee: method({
      runs: "writer",
      result: NOTHING,
      params: [param("wei", amountShape), optionalParam("blocks", smallAmountShape)],
      summary: "Base fee of the next blocks (1); after them it moves by the rules again.",
      handler: ([wei, blocks = 1]) => maker.holdBaseFee(wei, blocks),
    }),
    dev_setBlobBaseFee: method({
      runs: "writer",
      result: NOTHING,
      params: [param("wei", amountShape), optionalParam("blocks", smallAmountShape)],
      summary: "Blob base fee of the next blocks (1), at least; after them it moves by the rules again.",
      handler: ([wei, blocks = 1]) => maker.holdBlobBaseFee(wei, blocks),
    }),
    dev_setFinalityLag: method({
      runs: "writer",
      result: NOTHING,
      params: [param("safe", smallAmountShape), param("finalized", smallAmountShape)],
      summary: "How many blocks the safe and the finalized block are behind the latest. Neither goes back.",
      handler: ([safe, finalized]) => {
        if (finalized < safe) throw new RpcError(SERVER_ERROR, `finalized (${finalized}) must be at least safe (${safe})`);
        maker.lag = { safe, finalized };
      },
    }),
    dev_stallFinality: method({
      runs: "writer",
      result: NOTHING,
      params: [param("stalled", booleanShape)],
      summary: "Whether the safe and the finalized block stand still.",
      handler: ([isStalled]) => {
        maker.isFinalityStalled = isStalled;
      },
    }),
    dev_status: method({
      runs: "writer",
      result: ANYTHING("status"),
      params: [],
      summary: "What is set by hand.",
      handler: () => ({
        mining: mining.mode.kind,
        intervalSec: mining.mode.kind === "interval" ? mining.mode.ms / 1000 : null,
        stalled: mining.isStalled,
        finalityStalled: maker.isFinalityStalled,
        finalityLag: maker.lag,
        slotSec: time.slotSec,
        slot: time.slotOf(maker.head.header.timestamp),
        clockOffsetSec: time.offsetSec,
        nextBaseFee: toQuantity(maker.nextBaseFee),
      }),
    }),
  };
}
