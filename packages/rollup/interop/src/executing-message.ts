import { asciiToBytes, bytesToBigint, equalBytes, keccak256 } from "@rnode/primitives";
import { type Log, type MessageAccess, messageChecksum, PREDEPLOYS } from "@rnode/protocol";

/** A message that a log of CrossL2Inbox executes. Spec: docs/protocol/01-execution.md#interop-execution */
export interface ExecutingMessage extends MessageAccess {
  /** of the executing log, in its block */
  readonly executingLogIndex: number;
}

const TOPIC = keccak256(asciiToBytes("ExecutingMessage(bytes32,(address,uint256,uint256,uint256,uint256))"));
const WORD = 32;
const DATA_BYTES = 5 * WORD;

/**
 * The message that a log executes: two topics (the event, the hash of the message) and five words (origin, block number, log index, time,
 * chain id). `undefined`: the log executes none.
 */
export function executingMessageOf({ address, topics, data }: Log, executingLogIndex: number): ExecutingMessage | undefined {
  if (!equalBytes(address, PREDEPLOYS.crossL2Inbox) || topics.length !== 2 || !equalBytes(topics[0]!, TOPIC)) return undefined;
  if (data.length !== DATA_BYTES) return undefined;
  const origin = wordOf(data, 0, 20);
  const [blockNumber, logIndex, timestamp, chainId] = [
    wordOf(data, 1, 8),
    wordOf(data, 2, 4),
    wordOf(data, 3, 8),
    wordOf(data, 4, 32),
  ];
  if (origin === undefined || blockNumber === undefined || logIndex === undefined || timestamp === undefined) return undefined;
  const place = {
    chainId: bytesToBigint(chainId!),
    blockNumber: bytesToBigint(blockNumber),
    logIndex: Number(bytesToBigint(logIndex)),
    timestamp: bytesToBigint(timestamp),
  };
  return { executingLogIndex, ...place, checksum: messageChecksum({ origin, ...place }, topics[1]!) };
}

/** The last `bytes` bytes of a word; `undefined` if the bytes before them are not zero. */
function wordOf(data: Uint8Array, index: number, bytes: number): Uint8Array | undefined {
  const word = data.subarray(index * WORD, (index + 1) * WORD);
  const padding = word.subarray(0, WORD - bytes);
  return padding.every((byte) => byte === 0) ? word.subarray(WORD - bytes) : undefined;
}
