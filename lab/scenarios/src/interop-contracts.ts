import { bytesToHex, concatBytes, hexToBytes, keccak256 } from "@rnode/primitives";
import { PREDEPLOYS } from "@rnode/protocol";
import type { GenesisContract } from "./real-engine.ts";

/** `ExecutingMessage(bytes32 indexed msgHash, (address,uint256,uint256,uint256,uint256) id)` */
export const EXECUTING_MESSAGE_TOPIC = keccak256(
  new TextEncoder().encode("ExecutingMessage(bytes32,(address,uint256,uint256,uint256,uint256))"),
);

/** A call of this contract initiates a message: it logs its call data. */
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

/** What `CrossL2Inbox.validateMessage` is called with. */
export function validateMessageCalldata(
  id: {
    readonly origin: Uint8Array;
    readonly blockNumber: number;
    readonly logIndex: number;
    readonly timestamp: number;
    readonly chainId: bigint;
  },
  payloadHash: Uint8Array,
): Uint8Array {
  const word = (value: bigint): Uint8Array => hexToBytes(`0x${value.toString(16).padStart(64, "0")}`);
  const words = [BigInt(id.blockNumber), BigInt(id.logIndex), BigInt(id.timestamp), id.chainId].map(word);
  return concatBytes(new Uint8Array(4), new Uint8Array(12), id.origin, ...words, payloadHash);
}
