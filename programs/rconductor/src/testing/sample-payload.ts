import { keccak256 } from "@rnode/primitives";
import {
  type ExecutionPayloadEnvelope,
  encodeL1BlockInfo,
  encodeTransaction,
  type ForkTimes,
  forksUpTo,
  PREDEPLOYS,
  payloadHash,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";

/** of the chain that sample payloads are blocks of */
export const SAMPLE_FORKS: ForkTimes = forksUpTo("jovian");

const encoder = new TextEncoder();
export const hashOf = (text: string): Uint8Array => keccak256(encoder.encode(text));

/** The L1 block to which the sample payload of this number belongs. @param branch of L1 */
export function sampleOrigin(number: number, branch = ""): { readonly number: number; readonly hash: Uint8Array } {
  const l1Number = Math.floor(number / 6);
  return { number: l1Number, hash: hashOf(`L1 ${l1Number} ${branch}`) };
}

/** PERF: simulated nodes make many blocks of each L1 origin. */
const infos = new Map<string, Uint8Array>();

function l1Info(origin: ReturnType<typeof sampleOrigin>): Uint8Array {
  const key = Buffer.from(origin.hash).toString("hex");
  const known = infos.get(key);
  if (known !== undefined) return known;
  const zero = new Uint8Array(32);
  const encoded = encodeTransaction({
    type: 0x7e,
    sourceHash: zero,
    from: new Uint8Array(20),
    to: PREDEPLOYS.l1Block,
    mint: 0n,
    value: 0n,
    gasLimit: 1_000_000n,
    isSystemTx: false,
    data: encodeL1BlockInfo({
      layout: "ecotone",
      number: origin.number,
      timestamp: 0,
      baseFee: 1n,
      blockHash: origin.hash,
      sequenceNumber: 0,
      batcherHash: zero,
      overhead: zero,
      scalar: zero,
      blobBaseFee: 1n,
      baseFeeScalar: 0,
      blobBaseFeeScalar: 0,
      operatorFeeScalar: 0,
      operatorFeeConstant: 0n,
      daFootprintGasScalar: 0,
    }),
  });
  infos.set(key, encoded);
  return encoded;
}

/** A payload of no real chain. @param name of the branch that it is on */
export function samplePayload(
  number: number,
  parentHash: Uint8Array,
  name = "",
  transactions: readonly Uint8Array[] = [],
  timestamp = 1_800_000_000 + number,
  l1Origin = sampleOrigin(number),
): ExecutionPayloadEnvelope {
  const zero = new Uint8Array(32);
  const envelope = {
    executionPayload: {
      parentHash,
      feeRecipient: new Uint8Array(20),
      stateRoot: zero,
      receiptsRoot: zero,
      logsBloom: new Uint8Array(256),
      prevRandao: zero,
      blockNumber: number,
      gasLimit: 30_000_000n,
      gasUsed: 0n,
      timestamp,
      extraData: encoder.encode(name),
      baseFeePerGas: 7n,
      blockHash: zero,
      transactions: [l1Info(l1Origin), ...transactions],
      withdrawals: [],
      blobGasUsed: 0n,
      excessBlobGas: 0n,
    },
    parentBeaconBlockRoot: zero,
  };
  const blockHash = payloadHash(SAMPLE_FORKS, envelope, orderedTrieRoot);
  return { ...envelope, executionPayload: { ...envelope.executionPayload, blockHash } };
}
