import { assemble, deployerOf } from "@rnode/eth-api/testing";
import { bytesToHex, concatBytes, type Hex, hexToBytes, privateKeyToAddress } from "@rnode/primitives";

/** The callee's behaviours, chosen by the first byte of the calldata. */
const CASES = [
  "0 SLOAD 1 ADD DUP1 0 SSTORE 0 MSTORE 7 32 0 LOG1 STOP", // counts in slot 0 and logs
  "0x08c379a0 224 SHL 0 MSTORE 32 4 MSTORE 4 36 MSTORE 0x6e6f7065 224 SHL 68 MSTORE 100 0 REVERT", // Error("nope")
  "INVALID",
  "0xffffffffff 0 KECCAK256", // out of gas
  "0xfff JUMP", // invalid destination
  "POP POP", // from an empty stack
  "1 0xffffff MSTORE", // memory too large to pay for
  "CALLER SELFDESTRUCT",
  "GAS 0 MSTORE 64 0 RETURN",
  "1 0 MSTORE8 0 0 1 0 0 ADDRESS GAS CALL STOP", // calls itself, which reverts
  "0 1 SSTORE 5 1 SSTORE 0 1 SSTORE 1 2 TSTORE 2 TLOAD POP 0 0 LOG0 STOP", // refunds
] as const;

function calleeCode(): Uint8Array {
  const bodies = CASES.map((text) => assemble(`JUMPDEST ${text}`));
  const start = assemble("PUSH0 CALLDATALOAD PUSH0 BYTE");
  const head = [start];
  let at = start.length + 8 * bodies.length + 1;
  for (const [index, body] of bodies.entries()) {
    // DUP1 PUSH1 index EQ PUSH2 body JUMPI
    head.push(Uint8Array.of(0x80, 0x60, index, 0x14, 0x61, at >> 8, at & 0xff, 0x57));
    at += body.length;
  }
  return concatBytes(...head, Uint8Array.of(0), ...bodies);
}

export const CALLEE_CREATION: Hex = bytesToHex(deployerOf(calleeCode()));

export interface Scenario {
  readonly name: string;
  /** undefined: creates a contract with the code `data` */
  readonly to: Hex | undefined;
  readonly data: Hex;
  readonly value: bigint;
  readonly gas: bigint;
  /** EIP-7702: in this transaction, `AUTHORITY_KEY` delegates to the callee */
  readonly delegates?: boolean;
}

export const AUTHORITY_KEY: Hex = `0x${"b2".repeat(32)}`;
const AUTHORITY: Hex = bytesToHex(privateKeyToAddress(hexToBytes(AUTHORITY_KEY)));
const GAS = 2_000_000n;
const toMemory = (code: string): string => {
  const bytes = hexToBytes(code);
  return `0x${code} ${256 - 8 * bytes.length} SHL 0 MSTORE`;
};

/** @param callee a contract created with `CALLEE_CREATION` */
export function traceScenarios(callee: Hex): Scenario[] {
  const call = (kind: string, item: number, gas = "60000", value = "0"): string => {
    const amount = kind === "CALL" || kind === "CALLCODE" ? `${value} ` : "";
    return `${item} 0 MSTORE8 0 0 1 0 ${amount}${callee} ${gas} ${kind} POP`;
  };
  const creation = (name: string, text: string, value = 0n, gas = GAS): Scenario => ({
    name,
    to: undefined,
    data: bytesToHex(assemble(text)),
    value,
    gas,
  });
  const direct = CASES.map(
    (_, item): Scenario => ({
      name: `the callee itself, case ${item}`,
      to: callee,
      data: `0x0${item.toString(16)}`,
      value: 0n,
      gas: 200_000n,
    }),
  );
  return [
    { name: "a transfer", to: `0x${"ab".repeat(20)}`, data: "0x", value: 7n, gas: 21_000n },
    ...direct,
    // anvil says that every account exists, which affects a refund
    { name: "a transfer to an authority", to: AUTHORITY, data: "0x", value: 7n, gas: 21_000n },
    { name: "a delegation, and its code at once", to: AUTHORITY, data: "0x00", value: 0n, gas: 300_000n, delegates: true },
    { name: "a call of delegated code", to: AUTHORITY, data: "0x09", value: 3n, gas: 300_000n },
    creation("a call of each case", `${CASES.map((_, item) => call("CALL", item)).join(" ")} STOP`),
    creation("delegated calls", `${CASES.map((_, item) => (item === 7 ? "" : call("DELEGATECALL", item))).join(" ")} STOP`),
    creation("static calls", `${CASES.map((_, item) => call("STATICCALL", item)).join(" ")} STOP`),
    creation("foreign code", `${call("CALLCODE", 0)} ${call("CALLCODE", 1)} ${call("CALLCODE", 8, "60000", "1")} STOP`, 5n),
    creation(
      "calls with value",
      `${call("CALL", 0, "0", "1")} ${call("CALL", 8, "0", "1")} ${call("CALL", 8, "9", "999")} STOP`,
      5n,
    ),
    creation("destroyed where it was made", call("DELEGATECALL", 7), 5n),
    creation(
      "precompiles",
      "0x112233445566 0 MSTORE 32 32 32 0 0 2 GAS CALL POP 0 0 32 0 4 GAS STATICCALL POP 0 0 3 0 9 5000 STATICCALL POP 0 0 4 0 1 3 2 GAS CALL POP 0 0 128 0 1 5000 DELEGATECALL POP 32 0 RETURN",
      9n,
    ),
    creation(
      "creations",
      [
        `${toMemory("6001600055600a6000f3")} 10 0 0 CREATE POP`, // deploys ten zero bytes
        `${toMemory("6001600055600a6000f3")} 77 10 0 0 CREATE2 POP`,
        "77 10 0 0 CREATE2 POP", // again: collides
        `${toMemory("60ef60005360016000f3")} 10 0 0 CREATE POP`, // code that begins with 0xef
        `${toMemory("60206000fd")} 5 0 0 CREATE POP RETURNDATASIZE 0 0 RETURNDATACOPY`, // reverts
        `${toMemory("fe")} 1 0 0 CREATE POP`,
        "0 0 55 CREATE POP", // more value than it has
        "STOP",
      ].join(" "),
    ),
    creation(
      "memory, copies and accounts",
      `32 0 0 CODECOPY 64 100 MSTORE8 40 3 200 MCOPY 20 0 0 ${callee} EXTCODECOPY ${callee} EXTCODESIZE ${callee} EXTCODEHASH POP POP ${callee} BALANCE POP SELFBALANCE POP 96 0 KECCAK256 POP 0x1234 33 EXP POP MSIZE POP 1 2 3 SWAP2 DUP3 ADD 1 2 0 0 LOG2 STOP`,
    ),
    creation("an empty deployment", "0 0 RETURN"),
    creation("a revert at the top", "32 0 REVERT"),
    creation("an undefined instruction at the top", "1 INVALID"),
    creation("too little gas", `${call("CALL", 0)} 0 0 0 0 0 ${callee} GAS CALL 0xffffff 0 RETURN`, 0n, 120_000n),
    creation("code that cannot be paid", "6000 0 RETURN", 0n, 200_000n),
    creation("not enough memory in a copy", "0xffffff 0 0 CODECOPY", 0n, 200_000n),
  ];
}
