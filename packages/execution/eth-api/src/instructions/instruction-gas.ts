import type { TraceStep } from "@rnode/evm";
import { instructionOf, OP } from "./opcodes.ts";

/**
 * Offset and length of a memory range. A number is a position on the stack, counted from the top; `fixed` is a length that is not on
 * the stack.
 */
type Range = readonly [offset: number, length: number | { readonly fixed: bigint }];

const WORD: Range = [0, { fixed: 32n }];

function rangesOf(opcode: number): readonly Range[] {
  switch (opcode) {
    case OP.mload:
    case OP.mstore:
      return [WORD];
    case OP.mstore8:
      return [[0, { fixed: 1n }]];
    case OP.keccak256:
    case OP.return:
    case OP.revert:
      return [[0, 1]];
    case OP.calldataCopy:
    case OP.codeCopy:
    case OP.returnDataCopy:
      return [[0, 2]];
    case OP.extCodeCopy:
      return [[1, 3]];
    case OP.mcopy:
      return [
        [0, 2],
        [1, 2],
      ];
    case OP.create:
    case OP.create2:
      return [[1, 2]];
    case OP.call:
    case OP.callcode:
      return [
        [3, 4],
        [5, 6],
      ];
    case OP.delegatecall:
    case OP.staticcall:
      return [
        [2, 3],
        [4, 5],
      ];
    default:
      return opcode >= OP.log0 && opcode <= OP.log4 ? [[0, 1]] : [];
  }
}

/** Gas for each byte or word that the instruction processes, apart from memory expansion. */
function workGas(opcode: number, length: bigint): bigint {
  const words = (length + 31n) / 32n;
  switch (opcode) {
    case OP.keccak256:
      return 6n * words;
    case OP.calldataCopy:
    case OP.codeCopy:
    case OP.returnDataCopy:
    case OP.extCodeCopy:
    case OP.mcopy:
      return 3n * words;
    case OP.create:
      return 2n * words;
    case OP.create2:
      return 8n * words;
    default:
      return opcode >= OP.log0 && opcode <= OP.log4 ? 375n * BigInt(opcode - OP.log0 + 1) + 8n * length : 0n;
  }
}

const memoryGas = (words: bigint): bigint => 3n * words + (words * words) / 512n;
/** Geth computes memory gas up to this size; beyond it, it reports only the constant part. */
const MAX_MEMORY_BYTES = 0x1fffffffe0n;

/**
 * The cost of an instruction as far as it follows from the stack and the memory: its constant part, memory expansion and bytes
 * processed. Needed only where the remaining gas afterwards does not reveal the cost: for RETURN, and for instructions that fail.
 */
export function gasFromStack({ opcode, stackSize, stack, memorySize }: TraceStep): bigint {
  const { constantGas, pops } = instructionOf(opcode);
  let cost = BigInt(constantGas);
  if (stackSize < pops) return cost;
  let end = BigInt(memorySize);
  for (const [offset, length] of rangesOf(opcode)) {
    const bytes = typeof length === "number" ? stack(length) : length.fixed;
    if (bytes === 0n) continue;
    const rangeEnd = stack(offset) + bytes;
    if (rangeEnd > end) end = rangeEnd;
  }
  if (end > MAX_MEMORY_BYTES) return cost;
  cost += memoryGas((end + 31n) / 32n) - memoryGas(BigInt(memorySize) / 32n);
  const length = rangesOf(opcode)[0]?.[1];
  return typeof length === "number" ? cost + workGas(opcode, stack(length)) : cost;
}
