import {
  type BlockFile,
  executeStateless,
  isWitnessFile,
  parseBlockFile,
  parseWitnessFile,
  verifyBlock,
  type WitnessedBlock,
} from "@rnode/chain/stateless";
import type { EvmEngine } from "@rnode/evm";
import { bytesToHex, type Hex } from "@rnode/primitives";
import { type Block, decodeTransaction, type Header, type Transaction } from "@rnode/protocol";
import { l1InfoOf } from "./l1-info.ts";
import { type Now, type OnStep, plural, timed } from "./steps.ts";

/** A block whose hash follows from its parent's state, or why it does not. */
export interface BlockOutcome {
  readonly header: Header;
  readonly hash: Hex;
  readonly transactions: readonly Transaction[];
  readonly isValid: boolean;
  /** the hash that the file expects */
  readonly expectedHash: Hex | undefined;
}

interface Tools {
  readonly engine: EvmEngine;
  readonly now: Now;
  readonly onStep: OnStep;
}

/**
 * Executes the block of a file by the code of the node (docs/stateless-block.md), and tells each step.
 *
 * @throws {CodedError} the file cannot be read
 */
export function checkBlock(json: unknown, tools: Tools): BlockOutcome {
  return isWitnessFile(json) ? checkFinished(json, tools) : checkBuilt(json, tools);
}

function sizeOf(parts: readonly Uint8Array[]): string {
  const bytes = parts.reduce((sum, { length }) => sum + length, 0);
  return bytes < 1024 ? plural(bytes, "byte") : `${(bytes / 1024).toLocaleString("en", { maximumFractionDigits: 1 })} KiB`;
}

function witnessFacts({ witness }: Pick<WitnessedBlock, "witness">): string[] {
  const { state, codes, headers } = witness;
  return [
    `${plural(state.length, "trie node")}, ${sizeOf(state)}`,
    `${plural(codes.length, "code")}, ${sizeOf(codes)}`,
    plural(headers.length, "ancestor header"),
  ];
}

/** States that the rules come from the file: such rules may differ from those of the network. */
const rulesFacts = (json: unknown): string[] =>
  typeof (json as { chain?: unknown }).chain === "string"
    ? []
    : ["its rules are those that came with the block, not those of a known network"];

function checkFinished(json: unknown, { engine, now, onStep }: Tools): BlockOutcome {
  const { value: witnessed, ms } = timed(now, () => parseWitnessFile(json));
  const { header, hashHex, block } = witnessed.block;
  onStep({
    stage: "decode",
    title: "Block and witness are decoded",
    state: "good",
    ms,
    facts: [
      `block ${header.number} of chain ${witnessed.config.chainId}`,
      ...rulesFacts(json),
      ...blockFacts(block),
      ...witnessFacts(witnessed),
    ],
  });
  const { value: verification, ms: executionMs } = timed(now, () => verifyBlock(witnessed, { engine }));
  const isValid = verification.kind === "valid";
  onStep({
    stage: "execute",
    title: isValid ? "Every rule of the block holds" : "The block is not valid",
    ms: executionMs,
    state: isValid ? "good" : "bad",
    facts: isValid
      ? [
          `parent ${bytesToHex(header.parentHash)}`,
          `gas used ${header.gasUsed.toLocaleString("en")}`,
          `state root, computed from the witness: ${bytesToHex(header.stateRoot)}`,
          `receipts root, computed: ${bytesToHex(header.receiptsRoot)}`,
        ]
      : [verification.reason],
  });
  return { header, hash: hashHex, transactions: block.transactions, isValid, expectedHash: undefined };
}

function blockFacts({ transactions }: Block): string[] {
  const info = l1InfoOf(transactions);
  return [
    plural(transactions.length, "transaction"),
    ...(info === undefined ? [] : [`L1 origin ${info.number} ${bytesToHex(info.blockHash)}`]),
  ];
}

function checkBuilt(json: unknown, { engine, now, onStep }: Tools): BlockOutcome {
  const { value: file, ms } = timed(now, () => parseBlockFile(json));
  const encoded = file.attributes.transactions ?? [];
  onStep({
    stage: "decode",
    title: "Payload attributes and witness are decoded",
    state: "good",
    ms,
    facts: [
      `block ${file.parentHeader.number + 1} of chain ${file.config.chainId}`,
      plural(encoded.length, "transaction"),
      ...witnessFacts(file),
    ],
  });
  const { value: result, ms: executionMs } = timed(now, () => executeStateless(file, { engine }));
  const { header } = result.executed.block;
  const isValid = result.mismatches.length === 0;
  onStep({
    stage: "execute",
    title: isValid ? "The block is built" : "The block is not what the file expects",
    ms: executionMs,
    state: isValid ? "good" : "bad",
    facts: [
      `parent ${bytesToHex(file.parentHash)}`,
      `gas used ${header.gasUsed.toLocaleString("en")}`,
      `state root ${bytesToHex(header.stateRoot)}`,
      ...result.mismatches.map(({ field, expected, computed }) => `${field}: expected ${expected}, computed ${computed}`),
    ],
  });
  return {
    header,
    hash: bytesToHex(result.executed.hash),
    isValid,
    expectedHash: expectedHashOf(file),
    transactions: encoded.map(decodeTransaction),
  };
}

const expectedHashOf = ({ expected }: BlockFile): Hex | undefined => expected.blockHash && bytesToHex(expected.blockHash);
