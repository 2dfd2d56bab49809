import { asm } from "@rnode/evm/testing";
import { type Family, loop, MAIN, noise, OTHER, only, push, single, size, type WorstCase } from "./worst-code.ts";
import { FILLERS, jumpingOver, RUN_FILLERS, runningThrough } from "./worst-opcodes.ts";

/** The address of an account that no case has touched: kind, then the counter. */
const KINDS = { missing: 0xee, account: 0xb0, contract: 0xc1, delegated: 0xd7 } as const;
type Kind = keyof typeof KINDS;
const cold = (kind: Kind): string => `DUP1 0x${KINDS[kind].toString(16)}${"00".repeat(19)} ADD`;
const NEXT = "1 ADD";
const CODE_BYTES = 24_576;
const INITCODE_BYTES = 49_152;
const STOP_CODE = runningThrough(Uint8Array.of(0), CODE_BYTES);

const call = (target: string, value = "PUSH0"): string => `PUSH0 PUSH0 PUSH0 PUSH0 ${value} ${target} GAS CALL POP`;
const callBelow = (opcode: string, target: string): string => `PUSH0 PUSH0 PUSH0 PUSH0 ${target} GAS ${opcode} POP`;

function readingAccounts(): Family[] {
  return (Object.keys(KINDS) as Kind[]).flatMap((kind) => {
    // the address is computed from the counter, which five items may be above
    const deep = (above: number): string => cold(kind).replace("DUP1", `DUP${above + 1}`);
    const row = (name: string, body: string): Family =>
      only("state", single(`${name}, cold, ${kind}`, { body: `${body} ${NEXT}`, repetitions: 8, margin: 400_000 }, STOP_CODE));
    return [
      ...["BALANCE", "EXTCODESIZE", "EXTCODEHASH"].map((opcode) => row(opcode, `${cold(kind)} ${opcode} POP`)),
      row("EXTCODECOPY 32 B", `32 PUSH0 PUSH0 ${deep(3)} EXTCODECOPY`),
      row("EXTCODECOPY 24 KiB", `${CODE_BYTES} PUSH0 PUSH0 ${deep(3)} EXTCODECOPY`),
      row("CALL", call(deep(5))),
      row("CALL with value", call(deep(5), "1")),
      ...["STATICCALL", "DELEGATECALL"].map((opcode) => row(opcode, callBelow(opcode, deep(4)))),
      row("CALLCODE", `PUSH0 PUSH0 PUSH0 PUSH0 PUSH0 ${deep(5)} GAS CALLCODE POP`),
    ];
  });
}

function slots(): Family[] {
  const existing = `DUP1 0x01${"00".repeat(31)} ADD`;
  const row = (name: string, body: string, before = ""): Family =>
    only("state", single(name, { before, body, repetitions: 32, margin: 900_000 }));
  return [
    row("SLOAD, cold, zero", `DUP1 SLOAD POP ${NEXT}`),
    row("SLOAD, cold, not zero", `${existing} SLOAD POP ${NEXT}`),
    row("SSTORE, cold, zero → x", `DUP1 1 ADD DUP1 SSTORE ${NEXT}`),
    row("SSTORE, cold, x → y", `1 ${existing.replace("DUP1", "DUP2")} SSTORE ${NEXT}`),
    row("SSTORE, cold, x → zero", `PUSH0 ${existing.replace("DUP1", "DUP2")} SSTORE ${NEXT}`),
    row("SSTORE, cold, unchanged", `${existing} DUP1 SSTORE ${NEXT}`),
    row("SSTORE, warm, changing", `DUP1 PUSH0 SSTORE ${NEXT}`),
    row("SSTORE, warm, unchanged", "1 PUSH0 SSTORE"),
    row("SSTORE, warm, there and back", "1 PUSH0 SSTORE PUSH0 PUSH0 SSTORE"),
    row("SLOAD, 4,096 warm slots", `DUP1 4095 AND SLOAD POP ${NEXT}`),
    row("TSTORE, new slots", `DUP1 DUP1 TSTORE ${NEXT}`),
    row("TSTORE, one slot", `DUP1 PUSH0 TSTORE ${NEXT}`),
    row("TLOAD, new slots", `DUP1 TLOAD POP ${NEXT}`),
    row("TSTORE and TLOAD, new slots", `DUP1 DUP1 TSTORE DUP1 TLOAD POP ${NEXT}`),
  ];
}

/** MAIN calls OTHER, whose code may contain anything. */
function pair(name: string, main: string, other: string | Uint8Array, margin = 200_000, bulk?: Uint8Array): WorstCase {
  return {
    name,
    contracts: [
      { address: MAIN, code: loop({ body: main, repetitions: 4, margin }) },
      { address: OTHER, code: typeof other === "string" ? asm(other) : other },
    ],
    ...(bulk !== undefined && { bulk }),
  };
}

function calls(): Family[] {
  const other = push(OTHER);
  const limited = (gas: number): string => `PUSH0 PUSH0 PUSH0 PUSH0 PUSH0 ${other} ${gas} CALL POP`;
  const self = "PUSH0 PUSH0 PUSH0 PUSH0 PUSH0 ADDRESS GAS CALL POP";
  return [
    only("state", pair("CALL, warm, code that stops", call(other), "STOP")),
    only("state", pair("CALL with value, warm", call(other, "1"), "STOP")),
    ...["STATICCALL", "DELEGATECALL"].map((opcode) =>
      only("state", pair(`${opcode}, warm, code that stops`, callBelow(opcode, other), "STOP")),
    ),
    only("state", pair("CALL, warm, no such account", call("0xee"), "STOP")),
    only("state", pair("CALL, warm, identity of nothing", call("4"), "STOP")),
    only("state", pair("CALL that fails at once", limited(5000), "INVALID")),
    only("state", pair("CALL that runs out of gas", limited(3), ":a @a JUMP")),
    only("state", pair("CALL with 32 KiB of call data, warm", `PUSH0 PUSH0 32768 PUSH0 PUSH0 ${other} GAS CALL POP`, "STOP")),
    only("state", {
      ...single("CALL of itself, as a tree", { body: `${self} ${self}`, repetitions: 1, margin: 1000 }),
      fails: true,
    }),
    only(
      "state",
      pair(
        "64 TSTORE, then REVERT",
        `${call(other)}`,
        `${Array.from({ length: 64 }, (_, i) => `1 ${i} TSTORE`).join(" ")} PUSH0 PUSH0 REVERT`,
      ),
    ),
    only(
      "state",
      pair(
        "64 SSTORE, then REVERT",
        call(other),
        `${Array.from({ length: 64 }, (_, i) => `1 ${i} SSTORE`).join(" ")} PUSH0 PUSH0 REVERT`,
        1_500_000,
      ),
    ),
    only(
      "state",
      pair(
        "64 SLOAD, then REVERT",
        call(other),
        `${Array.from({ length: 64 }, (_, i) => `${i} SLOAD POP`).join(" ")} PUSH0 PUSH0 REVERT`,
        1_500_000,
      ),
    ),
    only("state", pair("64 LOG0, then REVERT", call(other), `${"PUSH0 PUSH0 LOG0 ".repeat(64)} PUSH0 PUSH0 REVERT`)),
    only(
      "state",
      pair(
        "64 calls with value, then REVERT",
        call(other),
        `${call("0xb0000000000000000000000000000000000000ff", "1").concat(" ").repeat(16)} PUSH0 PUSH0 REVERT`,
        1_500_000,
      ),
    ),
  ];
}

function destructions(): Family[] {
  const row = (name: string, body: string, bulk: Uint8Array): Family =>
    only("state", single(name, { body, repetitions: 4, margin: 300_000 }, bulk));
  const target = cold("contract").replace("DUP1", "DUP6");
  const padded = (text: string): Uint8Array => {
    const code = new Uint8Array(64);
    code.set(asm(text));
    return code;
  };
  return [
    row("SELFDESTRUCT to itself", `${call(target)} ${NEXT}`, padded("ADDRESS SELFDESTRUCT")),
    row("SELFDESTRUCT to the caller", `${call(target)} ${NEXT}`, padded("CALLER SELFDESTRUCT")),
    row("SELFDESTRUCT to a new account", `${call(target)} ${NEXT}`, padded("ADDRESS NOT SELFDESTRUCT")),
  ];
}

/** Initialisation code at memory 0, with the counter in its last four bytes. */
function creations(): Family[] {
  const create2 = (bytes: number): string => `DUP1 ${bytes} PUSH0 PUSH0 CREATE2 POP ${NEXT}`;
  const create = (bytes: number): string => `${bytes} PUSH0 PUSH0 CREATE POP ${NEXT}`;
  /** `data` is the initialisation code; 4 bytes before its end are the counter's */
  const row = (name: string, data: Uint8Array, body: string, stamps = true): Family => {
    const stamp =
      stamps && data.length >= 64 ? `DUP1 ${data.length - 32} MLOAD 4294967295 NOT AND OR ${data.length - 32} MSTORE` : "";
    return only("code", single(name, { body: `${stamp} ${body}`, repetitions: 1, margin: 700_000 + 240 * data.length, data }));
  };
  const initcode = (text: string): Uint8Array => {
    const code = new Uint8Array(64);
    code.set(asm(text));
    return code;
  };
  return [
    row("CREATE of nothing", new Uint8Array(0), create(0)),
    row("CREATE2 of nothing", new Uint8Array(0), create2(0)),
    row("CREATE, then SELFDESTRUCT to itself", initcode("ADDRESS SELFDESTRUCT"), create(64)),
    row("CREATE with value, then SELFDESTRUCT to the caller", initcode("CALLER SELFDESTRUCT"), `64 PUSH0 1 CREATE POP ${NEXT}`),
    row("CREATE, deploys 1 byte", initcode("1 PUSH0 RETURN"), create(64)),
    row("CREATE, deploys 24 KiB", initcode("24576 PUSH0 RETURN"), create(64)),
    row(
      "CREATE, deploys 24 KiB of other code each time",
      initcode("GAS PUSH0 MSTORE PUSH0 PUSH0 MSTORE8 24576 PUSH0 RETURN"),
      create(64),
    ),
    row("CREATE, REVERT with 24 KiB", initcode("24576 PUSH0 REVERT"), create(64)),
    ...[1024, 8192, 24_576, INITCODE_BYTES].flatMap((bytes) =>
      [...Object.entries(FILLERS)].flatMap(([filler, code]) => [
        row(`CREATE, ${size(bytes)} of ${filler} jumped over`, jumpingOver(code, bytes), create(bytes)),
        ...(filler === "JUMPDEST"
          ? [row(`CREATE2, ${size(bytes)} of ${filler} jumped over`, jumpingOver(code, bytes), create2(bytes))]
          : []),
      ]),
    ),
    ...Object.entries(RUN_FILLERS).map(([filler, code]) =>
      row(`CREATE, 48 KiB of ${filler} run through`, runningThrough(code, INITCODE_BYTES), create(INITCODE_BYTES)),
    ),
    row(
      "CREATE, the same 48 KiB of JUMPDEST jumped over",
      jumpingOver(FILLERS.JUMPDEST!, INITCODE_BYTES),
      create(INITCODE_BYTES),
      false,
    ),
  ];
}

function coldCode(): Family[] {
  const row = (name: string, bulk: Uint8Array, gas = "GAS"): Family => {
    const body = `${call(cold("contract").replace("DUP1", "DUP6")).replace("GAS", gas)} ${NEXT}`;
    return only("code", single(name, { body, repetitions: 4, margin: 400_000 }, bulk));
  };
  return [
    row("CALL, cold, 24 KiB, stops at once", STOP_CODE),
    ...Object.entries(FILLERS).map(([filler, code]) =>
      row(`CALL, cold, 24 KiB of ${filler} jumped over`, jumpingOver(code, CODE_BYTES)),
    ),
    ...Object.entries(RUN_FILLERS).map(([filler, code]) =>
      row(`CALL, cold, 24 KiB of ${filler} run through`, runningThrough(code, CODE_BYTES)),
    ),
    row("CALL, cold, 24 KiB of noise", noise(CODE_BYTES, 7), "1000"),
    only("code", pair("CALL, warm, 24 KiB jumped over", call(push(OTHER)), jumpingOver(FILLERS.JUMPDEST!, CODE_BYTES))),
  ];
}

export const stateFamilies = (): Family[] => [...readingAccounts(), ...slots(), ...calls(), ...destructions()];
export const codeFamilies = (): Family[] => [...creations(), ...coldCode()];
