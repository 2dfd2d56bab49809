import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { PREDEPLOYS } from "@rnode/protocol";
import type { GenesisContract } from "./real-engine.ts";
import { EXECUTING_MESSAGE_TOPIC } from "./sim-supervisor.ts";

/** Whoever calls it initiates a message: it logs what it is called with. */
export const MESSAGE_EMITTER = new Uint8Array(20).fill(0xe1);
const code = (hex: string): Uint8Array => hexToBytes(`0x${hex}`);

export const INTEROP_CONTRACTS: readonly GenesisContract[] = [
  // copies its calldata to memory, and logs it with the topic 0x2a
  { address: MESSAGE_EMITTER, code: code("365f5f37602a365fa100") },
  // logs the identifier, with the event's signature and the hash of the message as topics. It leaves out that the real contract reverts
  // for messages that the access list does not declare.
  {
    address: PREDEPLOYS.crossL2Inbox,
    code: code(`60a060045f3760a4357f${bytesToHex(EXECUTING_MESSAGE_TOPIC).slice(2)}60a05fa200`),
  },
];
