import type { EVM } from "@ethereumjs/evm";
import { createAddressFromBigInt } from "@ethereumjs/util";
import { bigintToBytes, bytesToHex } from "@rnode/primitives";

/** The used part of the library's interpreter state. */
interface RunState {
  readonly stack: {
    /** the topmost first */
    peek(count: number): bigint[];
    popN(count: number): bigint[];
    push(value: bigint): void;
  };
  readonly memory: {
    read(offset: number, length: number, avoidCopy: boolean): Uint8Array;
    write(offset: number, length: number, data: Uint8Array): void;
  };
  readonly stateManager: EVM["stateManager"];
  readonly interpreter: {
    isStatic(): boolean;
    create(gasLimit: bigint, value: bigint, data: Uint8Array): Promise<bigint>;
    create2(gasLimit: bigint, value: bigint, data: Uint8Array, salt: Uint8Array): Promise<bigint>;
  };
  /** set while gas is charged */
  messageGasLimit: bigint | undefined;
}

type Handler = (state: RunState, common: unknown) => Promise<void>;
interface Instruction {
  readonly opHandler: Handler;
}

const MAX_INIT_CODE_BYTES = 49_152n;
const ADDRESS_MASK = (1n << 160n) - 1n;
const startsWithEf00 = (code: Uint8Array): boolean => code[0] === 0xef && code[1] === 0x00;

/**
 * Makes the library treat code that starts with 0xef00 like any other code. It treats it as EOF in every fork, although no fork
 * up to Osaka has EOF: CREATE and CREATE2 of such init code would have no effect, and EXTCODESIZE, EXTCODECOPY and EXTCODEHASH
 * would see two bytes.
 */
export function knowNoEof(evm: EVM): void {
  const instructions = (evm as unknown as { readonly _opcodeMap: Instruction[] })._opcodeMap;
  const replace = (opcode: number, handler: (original: Handler) => Handler): void => {
    const instruction = instructions[opcode]!;
    instructions[opcode] = { ...instruction, opHandler: handler(instruction.opHandler) };
  };
  const codeOf = (state: RunState): Promise<Uint8Array> =>
    state.stateManager.getCode(createAddressFromBigInt(state.stack.peek(1)[0]! & ADDRESS_MASK));

  for (const opcode of [0xf0, 0xf5]) {
    replace(opcode, (original) => async (state, common) => {
      const [, offset, length] = state.stack.peek(3) as [bigint, bigint, bigint];
      const isRefused = state.interpreter.isStatic() || length > MAX_INIT_CODE_BYTES;
      const data = isRefused || length === 0n ? undefined : state.memory.read(Number(offset), Number(length), true);
      if (data === undefined || !startsWithEf00(data)) return original(state, common);
      const [value, , , salt] = state.stack.popN(opcode === 0xf5 ? 4 : 3) as [bigint, bigint, bigint, bigint | undefined];
      const gasLimit = state.messageGasLimit!;
      state.messageGasLimit = undefined;
      const { interpreter } = state;
      state.stack.push(
        salt === undefined
          ? await interpreter.create(gasLimit, value, data)
          : await interpreter.create2(gasLimit, value, data, bigintToBytes(salt, 32)),
      );
    });
  }
  // EXTCODESIZE
  replace(0x3b, (original) => async (state, common) => {
    const code = await codeOf(state);
    if (!startsWithEf00(code)) return original(state, common);
    state.stack.popN(1);
    state.stack.push(BigInt(code.length));
  });
  // EXTCODECOPY
  replace(0x3c, (original) => async (state, common) => {
    const code = await codeOf(state);
    if (!startsWithEf00(code)) return original(state, common);
    const [, to, from, length] = state.stack.popN(4) as [bigint, bigint, bigint, bigint];
    if (length === 0n) return;
    const data = new Uint8Array(Number(length));
    if (from < BigInt(code.length)) data.set(code.subarray(Number(from), Number(from) + Number(length)));
    state.memory.write(Number(to), Number(length), data);
  });
  // EXTCODEHASH
  replace(0x3f, (original) => async (state, common) => {
    const code = await codeOf(state);
    if (!startsWithEf00(code)) return original(state, common);
    const [address] = state.stack.popN(1) as [bigint];
    const account = await state.stateManager.getAccount(createAddressFromBigInt(address & ADDRESS_MASK));
    state.stack.push(BigInt(bytesToHex(account!.codeHash)));
  });
}
