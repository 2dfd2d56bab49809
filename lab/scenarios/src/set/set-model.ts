import { bytesToBigint, equalBytes } from "@rnode/primitives";
import { type Log, messageHash, PREDEPLOYS } from "@rnode/protocol";

/** What a model of the rules of messages sees of a block. */
export interface ModelBlock {
  readonly number: number;
  readonly timestamp: number;
  readonly logs: readonly Log[];
}

/** The chains of a set up to a time, as one of their branches. */
export interface ModelSet {
  readonly expirySec: number;
  /** the block of a number; `undefined`: no such block, or of another chain */
  blockAt(chainId: bigint, number: bigint): ModelBlock | undefined;
}

interface Execution {
  readonly origin: Uint8Array;
  readonly number: bigint;
  readonly logIndex: bigint;
  readonly timestamp: bigint;
  readonly chainId: bigint;
  readonly payloadHash: Uint8Array;
}

/** The message that a log executes, by the layout of the event. */
function executionOf({ address, topics, data }: Log): Execution | undefined {
  if (!equalBytes(address, PREDEPLOYS.crossL2Inbox)) return undefined;
  const [origin, ...words] = [0, 1, 2, 3, 4].map((i) => data.subarray(32 * i, 32 * i + 32));
  const [number, logIndex, timestamp, chainId] = words.map((word) => bytesToBigint(word));
  return {
    origin: origin!.subarray(12),
    number: number!,
    logIndex: logIndex!,
    timestamp: timestamp!,
    chainId: chainId!,
    payloadHash: topics[1]!,
  };
}

/** Why a block executes an unmet message, cycles left out; `undefined`: it executes none. */
export function unmetMessage(set: ModelSet, { timestamp, logs }: ModelBlock): string | undefined {
  for (const [index, log] of logs.entries()) {
    const message = executionOf(log);
    if (message === undefined) continue;
    const at = `log ${index}: chain ${message.chainId}, block ${message.number}, log ${message.logIndex}, time ${message.timestamp}`;
    const age = BigInt(timestamp) - message.timestamp;
    if (age < 0n) return `${at} is later`;
    if (age > BigInt(set.expirySec)) return `${at} is expired`;
    const block = set.blockAt(message.chainId, message.number);
    const initiating = block?.logs[Number(message.logIndex)];
    if (block === undefined || BigInt(block.timestamp) !== message.timestamp || initiating === undefined)
      return `${at} does not exist`;
    if (!equalBytes(initiating.address, message.origin) || !equalBytes(messageHash(initiating), message.payloadHash))
      return `${at} is another log`;
  }
  return undefined;
}

/** Whether the logs of blocks of one time have an order in which each message is executed after its log. */
export function haveOrder(blocks: ReadonlyMap<bigint, ModelBlock>): boolean {
  const done = new Map([...blocks.keys()].map((chainId) => [chainId, 0]));
  const isReady = (timestamp: number, log: Log): boolean => {
    const message = executionOf(log);
    if (message === undefined || message.timestamp !== BigInt(timestamp)) return true;
    const executed = done.get(message.chainId);
    return executed === undefined || BigInt(executed) > message.logIndex;
  };
  for (let moves = true; moves; ) {
    moves = false;
    for (const [chainId, { logs, timestamp }] of blocks) {
      for (let at = done.get(chainId)!; at < logs.length && isReady(timestamp, logs[at]!); at++) {
        done.set(chainId, at + 1);
        moves = true;
      }
    }
  }
  return [...blocks].every(([chainId, { logs }]) => done.get(chainId) === logs.length);
}
