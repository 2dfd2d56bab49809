import { hexToBytes } from "@rnode/primitives";
import { type BlockRules, EVM_FORKS, forkRules } from "@rnode/protocol";
import type { BlockEnvironment, BlockExecution } from "./execution.ts";
import type { StateReader } from "./state.ts";

/**
 * V8 runs a WebAssembly function in its baseline tier until a budget is used up. It then compiles an optimised version in the
 * background, which only later calls use. A first call of a minute would stay in the slow tier, so the interpreter is warmed up
 * with some calls of a loop of ordinary instructions.
 */
export function warmUpEngine(
  beginBlock: (rules: BlockRules, environment: BlockEnvironment, reader: StateReader) => BlockExecution,
): void {
  const caller = new Uint8Array(20).fill(0x11);
  const contract = new Uint8Array(20).fill(0x22);
  const reader: StateReader = {
    readAccount: () => undefined,
    readStorage: () => undefined,
    readCode: () => LOOP,
    readBlockHash: () => undefined,
  };
  const block = beginBlock(
    { ...forkRules(EVM_FORKS.at(-1)!), chainId: 1n, blobParams: undefined, isDaoForkBlock: false },
    {
      number: 1n,
      timestamp: 1n,
      beneficiary: caller,
      gasLimit: 1n << 40n,
      baseFeePerGas: 0n,
      difficulty: 0n,
      prevRandao: new Uint8Array(32),
      blobBaseFee: 1n,
    },
    reader,
  );
  block.setCode(contract, LOOP);
  for (let round = 0; round < ROUNDS; round++) {
    block.call({ from: caller, to: contract, gasLimit: GAS_A_ROUND, value: 0n, data: new Uint8Array(0), gasPrice: 0n });
  }
}

const ROUNDS = 8;
const GAS_A_ROUND = 2_000_000n;

/**
 * Ordinary instructions until the gas ends: a counter is stored, hashed, multiplied, divided, masked, added to a slot's value, compared.
 * PUSH0 JUMPDEST DUP1 PUSH0 MSTORE PUSH1 32 PUSH0 KECCAK256 PUSH0 MLOAD MUL PUSH1 7 ADD PUSH1 3 SWAP1 DIV PUSH1 1 AND PUSH0 SLOAD ADD POP
 * PUSH1 1 ADD DUP1 PUSH2 0x0100 GT PUSH1 1 JUMPI POP PUSH0 PUSH1 1 JUMP
 */
const LOOP = hexToBytes("0x5f5b805f5260205f205f5102600701600390046001165f5401506001018061010011600157505f600156");
