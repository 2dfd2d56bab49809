import type { Hex } from "@rnode/primitives";

/**
 * A contract for tests, assembled by hand. Without calldata it adds 1 to slot 0 and logs the new value (topic and data); with a
 * zero byte it returns slot 0; with another byte it reverts with `Error("nope")`.
 */
const INCREMENT = "60005460010180600055806000526020600" + "0a100"; // SLOAD, ADD 1, SSTORE, MSTORE, LOG1, STOP
const READ = "5b" + "60003560f81c" + "60" + "2d" + "57" + "60005460005260206000f3"; // JUMPDEST, first byte, JUMPI revert, RETURN slot 0
const REVERT = "5b" + "6308c379a060e01b600052" + "6020600452" + "6004602452" + "636e6f706560e01b604452" + "60646000fd"; // Error("nope")
const READ_AT = 4 + INCREMENT.length / 2;
const REVERT_AT = READ_AT + READ.length / 2;
const hex = (value: number): string => value.toString(16).padStart(2, "0");
const runtime = `3660${hex(READ_AT)}57${INCREMENT}${READ.replace("602d57", `60${hex(REVERT_AT)}57`)}${REVERT}`;

export const COUNTER_RUNTIME: Hex = `0x${runtime}`;
/** Copies the runtime after these 11 bytes and returns it. */
export const COUNTER_CREATION: Hex = `0x60${hex(runtime.length / 2)}80600b6000396000f3${runtime}`;
