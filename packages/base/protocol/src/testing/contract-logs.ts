import { bigintToBytes, concatBytes } from "@rnode/primitives";
import { CHALLENGE_STATUS_TOPIC, type DaCommitment, encodeDaCommitment } from "../batches/da-commitment.ts";
import { CONFIG_UPDATE_TOPIC, CONFIG_UPDATE_TYPES } from "../rollup/system-config.ts";
import { TRANSACTION_DEPOSITED_TOPIC } from "../transactions/deposits.ts";
import type { Log } from "../transactions/receipt.ts";

export type ConfigUpdateType = keyof typeof CONFIG_UPDATE_TYPES;

const word = (value: bigint | number): Uint8Array => bigintToBytes(BigInt(value), 32);
const padded = (bytes: Uint8Array): Uint8Array => concatBytes(new Uint8Array(32 - bytes.length), bytes);
/** length ‖ bytes, padded to words */
const bytesTail = (bytes: Uint8Array): Uint8Array =>
  concatBytes(word(bytes.length), bytes, new Uint8Array((32 - (bytes.length % 32)) % 32));

/** Bytes of each word of an update's payload, without the left padding. */
const PAYLOAD_BYTES: Readonly<Record<ConfigUpdateType, readonly number[]>> = {
  batcher: [20],
  feeScalars: [32, 32],
  gasLimit: [8],
  unsafeBlockSigner: [20],
  eip1559Params: [8],
  operatorFeeParams: [12],
  minBaseFee: [8],
  daFootprintGasScalar: [2],
};

/** @param payload one for each word, without padding */
export function configUpdateLog(address: Uint8Array, type: ConfigUpdateType, ...payload: readonly Uint8Array[]): Log {
  return {
    address,
    topics: [CONFIG_UPDATE_TOPIC, word(0), word(CONFIG_UPDATE_TYPES[type])],
    data: concatBytes(word(32), word(32 * payload.length), ...payload.map(padded)),
  };
}

/** mint ‖ value ‖ gas ‖ isCreation ‖ calldata */
export const opaqueDeposit = (mint: bigint, gas: bigint, isCreation: number, calldata: Uint8Array): Uint8Array =>
  concatBytes(word(mint), word(mint), bigintToBytes(gas, 8), Uint8Array.of(isCreation), calldata);

export function depositLog(address: Uint8Array, from: Uint8Array, to: Uint8Array, opaque: Uint8Array): Log {
  return {
    address,
    topics: [TRANSACTION_DEPOSITED_TOPIC, padded(from), padded(to), word(0)],
    data: concatBytes(word(32), bytesTail(opaque)),
  };
}

export const CHALLENGE_STATUS = { active: 1, resolved: 2, expired: 3 } as const;

export function challengeLog(
  address: Uint8Array,
  commitment: DaCommitment,
  challengedBlock: number,
  status: keyof typeof CHALLENGE_STATUS,
): Log {
  const data = concatBytes(word(64), word(CHALLENGE_STATUS[status]), bytesTail(encodeDaCommitment(commitment)));
  return { address, topics: [CHALLENGE_STATUS_TOPIC, word(challengedBlock)], data };
}

/** Calldata of resolve(uint256,bytes,bytes). */
export function resolveCalldata(commitment: DaCommitment, challengedBlock: number, input: Uint8Array): Uint8Array {
  const first = bytesTail(encodeDaCommitment(commitment));
  const heads = [word(challengedBlock), word(96), word(96 + first.length)];
  return concatBytes(Uint8Array.of(0x7a, 0xe9, 0x29, 0xd9), ...heads, first, bytesTail(input));
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);
const withData = (log: Log, data: Uint8Array): Log => ({ ...log, data });
const withTopics = (log: Log, ...topics: readonly Uint8Array[]): Log => ({ ...log, topics });

/** The bytes with one bit changed, for each bit from byte `from` to before byte `to`. */
function flipped(bytes: Uint8Array, from: number, to: number): Uint8Array[] {
  return range(8 * from, 8 * to).map((bit) => {
    const changed = bytes.slice();
    changed[bit >> 3]! ^= 1 << (bit & 7);
    return changed;
  });
}

/** Copies with every other length, up to `more` bytes longer. */
function resized(bytes: Uint8Array, more: number): Uint8Array[] {
  const longer = concatBytes(bytes, new Uint8Array(more));
  return range(0, longer.length + 1)
    .filter((length) => length !== bytes.length)
    .map((length) => longer.slice(0, length));
}

/** Types whose unused high bytes are not checked. Spec: docs/protocol/02-derivation.md#systemconfig-updates */
const UNCHECKED_PADDING: ReadonlySet<ConfigUpdateType> = new Set(["eip1559Params", "operatorFeeParams"]);

/** Updates without an effect, of every type: wrong topics, lengths, padding and values. */
export function badConfigUpdates(address: Uint8Array): readonly Log[] {
  const types = Object.keys(PAYLOAD_BYTES) as ConfigUpdateType[];
  return types.flatMap((type) => {
    const sizes = PAYLOAD_BYTES[type];
    const good = configUpdateLog(address, type, ...sizes.map((size) => new Uint8Array(size).fill(1)));
    const [topic, version, kind] = good.topics as [Uint8Array, Uint8Array, Uint8Array];
    const unknownTypes = [...range(8, 40), 255, 256].map(word);
    return [
      withTopics(good, topic),
      withTopics(good, topic, version),
      withTopics(good, topic, version, kind, version),
      ...flipped(version, 0, 32).map((other) => withTopics(good, topic, other, kind)),
      ...[...unknownTypes, ...flipped(kind, 0, 31)].map((other) => withTopics(good, topic, version, other)),
      ...flipped(good.data, 0, 64).map((data) => withData(good, data)),
      ...resized(good.data, 96).map((data) => withData(good, data)),
      ...(UNCHECKED_PADDING.has(type) ? [] : sizes).flatMap((size, i) => {
        const start = 64 + 32 * i;
        return flipped(good.data, start, start + 32 - size).map((data) => withData(good, data));
      }),
      ...(type === "eip1559Params"
        ? [0, 1, 2, 3].flatMap((at) => {
            const half = new Uint8Array(4);
            half[at] = 1;
            const zero = new Uint8Array(4);
            return [concatBytes(half, zero), concatBytes(zero, half)].map((params) => configUpdateLog(address, type, params));
          })
        : []),
    ];
  });
}

/** Deposits that the portal cannot emit. */
export function badDeposits(address: Uint8Array): readonly Log[] {
  const opaque = opaqueDeposit(1n, 100_000n, 0, new Uint8Array(55));
  const good = depositLog(address, new Uint8Array(20).fill(1), new Uint8Array(20).fill(2), opaque);
  const [topic, from, to, version] = good.topics as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
  const tooLongOrShort = [...range(0, opaque.length - 31), ...range(opaque.length + 1, opaque.length + 200)];
  return [
    withTopics(good, topic),
    withTopics(good, topic, from),
    withTopics(good, topic, from, to),
    ...flipped(version, 0, 32).map((other) => withTopics(good, topic, from, to, other)),
    ...flipped(good.data, 0, 32 + 24).map((data) => withData(good, data)),
    ...resized(good.data, 96).map((data) => withData(good, data)),
    ...tooLongOrShort.map((length) => withData(good, concatBytes(word(32), word(length), good.data.subarray(64)))),
    ...range(0, 73).map((length) => depositLog(address, from.subarray(12), to.subarray(12), opaque.subarray(0, length))),
  ];
}

/** Events of challenges that the contract cannot emit. */
export function badChallenges(address: Uint8Array, commitment: DaCommitment): readonly Log[] {
  const good = challengeLog(address, commitment, 7, "active");
  const [topic, block] = good.topics as [Uint8Array, Uint8Array];
  const end = 96 + encodeDaCommitment(commitment).length;
  return [
    withTopics(good, topic),
    withTopics(good, topic, block, block),
    ...flipped(block, 0, 25).map((other) => withTopics(good, topic, other)),
    ...flipped(good.data, 0, 32).map((data) => withData(good, data)),
    ...flipped(good.data, 32, 56).map((data) => withData(good, data)),
    ...flipped(good.data, 64, 96).map((data) => withData(good, data)),
    ...range(0, end).map((length) => withData(good, good.data.slice(0, length))),
    // its type; 1 is the type of generic commitments
    ...range(2, 256).map((type) =>
      withData(good, concatBytes(good.data.subarray(0, 96), Uint8Array.of(type), good.data.subarray(97))),
    ),
  ];
}
