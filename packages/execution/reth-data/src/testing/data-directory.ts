import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asciiToBytes, bigintToBytes, concatBytes, EMPTY_KECCAK, equalBytes } from "@rnode/primitives";
import { type Header, hashHeader } from "@rnode/protocol";
import { MdbxWriter } from "./mdbx-writer.ts";

export interface WrittenState {
  readonly accounts: readonly {
    readonly addressHash: Uint8Array;
    readonly nonce: bigint;
    readonly balance: bigint;
    readonly codeHash: Uint8Array;
  }[];
  readonly slots: readonly { readonly addressHash: Uint8Array; readonly slotHash: Uint8Array; readonly value: Uint8Array }[];
  readonly codes: readonly (readonly [codeHash: Uint8Array, code: Uint8Array])[];
}

const STAGES = ["AccountHashing", "Bodies", "Execution", "Finish", "Headers", "MerkleExecute", "StorageHashing"];

/**
 * Writes a data directory as op-reth would leave it: a state of any content after a block, and the header of that block. For tests.
 *
 * @param header without fields of Cancun and later
 */
export function writeDataDirectory(folder: string, header: Header, { accounts, slots, codes }: WrittenState): void {
  mkdirSync(join(folder, "db"), { recursive: true });
  mkdirSync(join(folder, "static_files"));
  writeFileSync(join(folder, "db/database.version"), "2");
  const number = bigintToBytes(BigInt(header.number));
  const checkpoint = concatBytes(Uint8Array.of(number.length), number);
  const tables = {
    HashedAccounts: { rows: accounts.map(({ addressHash, ...account }) => [addressHash, compactAccount(account)] as const) },
    HashedStorages: {
      rows: slots.map(({ addressHash, slotHash, value }) => [addressHash, concatBytes(slotHash, value)] as const),
      duplicates: "any" as const,
    },
    Bytecodes: { rows: codes.map(([codeHash, code]) => [codeHash, compactCode(code)] as const) },
    StageCheckpoints: { rows: STAGES.map((stage) => [asciiToBytes(stage), checkpoint] as const) },
    HeaderNumbers: { rows: [[hashHeader(header), uint64(header.number)] as const] },
  };
  writeFileSync(join(folder, "db/mdbx.dat"), MdbxWriter.write(tables));
  writeHeaderFile(join(folder, "static_files"), header);
}

function compactAccount({ nonce, balance, codeHash }: Omit<WrittenState["accounts"][number], "addressHash">): Uint8Array {
  const [nonceBytes, balanceBytes] = [bigintToBytes(nonce), bigintToBytes(balance)];
  const hasCode = !equalBytes(codeHash, EMPTY_KECCAK);
  const flags = nonceBytes.length | (balanceBytes.length << 4) | (hasCode ? 1 << 10 : 0);
  return concatBytes(Uint8Array.of(flags & 0xff, flags >> 8), nonceBytes, balanceBytes, ...(hasCode ? [codeHash] : []));
}

function compactCode(code: Uint8Array): Uint8Array {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(code.length);
  return concatBytes(size, code, Uint8Array.of(0));
}

/** A file of headers with one row. */
function writeHeaderFile(folder: string, header: Header): void {
  const cells = [compactHeader(header), Uint8Array.of(0), hashHeader(header)].map(literalLz4);
  const first = header.number;
  const path = join(folder, `static_file_headers_${first}_${first}`);
  const ends = cells.map((_, index) => cells.slice(0, index + 1).reduce((sum, { length }) => sum + length, 0));
  writeFileSync(path, concatBytes(...cells));
  writeFileSync(`${path}.off`, concatBytes(Uint8Array.of(8), ...[0, ...ends].map(uint64)));
  const largest = Math.max(...cells.map(({ length }) => length));
  const range = [first, first].map(uint64);
  const parts = [uint64(1), ...range, Uint8Array.of(1), ...range, Uint8Array.of(0), uint32(0), uint64(3), uint64(1)];
  writeFileSync(`${path}.conf`, concatBytes(...parts, Uint8Array.of(1), uint32(1), uint64(largest)));
}

function compactHeader(header: Header): Uint8Array {
  const numbers = [header.number, header.gasLimit, header.gasUsed, header.timestamp].map((value) => bigintToBytes(BigInt(value)));
  const { baseFeePerGas } = header;
  const flags = [[0, 1], [0, 6], ...numbers.map(({ length }) => [length, 4]), [0, 4], [baseFeePerGas === undefined ? 0 : 1, 1]];
  let [bits, at] = [0n, 0n];
  for (const [value, size] of flags) {
    bits |= BigInt(value!) << at;
    at += BigInt(size!);
  }
  const baseFee = baseFeePerGas === undefined ? undefined : bigintToBytes(baseFeePerGas);
  return concatBytes(
    uint32(Number(bits)),
    header.parentHash,
    header.ommersHash,
    header.beneficiary,
    header.stateRoot,
    header.transactionsRoot,
    header.receiptsRoot,
    header.logsBloom,
    ...numbers,
    header.mixHash,
    ...(baseFee === undefined ? [] : [Uint8Array.of(baseFee.length), baseFee]),
    header.extraData,
  );
}

/** An LZ4 block of literals. */
function literalLz4(bytes: Uint8Array): Uint8Array {
  if (bytes.length < 15) return concatBytes(Uint8Array.of(bytes.length << 4), bytes);
  const rest = bytes.length - 15;
  const more = [...new Array<number>(Math.floor(rest / 255)).fill(255), rest % 255];
  return concatBytes(Uint8Array.of(15 << 4, ...more), bytes);
}

function uint64(value: number): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function uint32(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
