import { encodeMessageAccess, messageChecksum } from "@rnode/protocol";
import { type AccessList, bytesToHex, concat, type Hex, hexToBytes, keccak256, type Log, parseAbi } from "viem";

export const CROSS_L2_INBOX: Hex = "0x4200000000000000000000000000000000000022";
export const L2_TO_L2_MESSENGER: Hex = "0x4200000000000000000000000000000000000023";
export const SUPERCHAIN_ETH_BRIDGE: Hex = "0x4200000000000000000000000000000000000024";

export const MESSENGER_ABI = parseAbi([
  "struct Identifier { address origin; uint256 blockNumber; uint256 logIndex; uint256 timestamp; uint256 chainId; }",
  "event SentMessage(uint256 indexed destination, address indexed target, uint256 indexed messageNonce, address sender, bytes message)",
  "event RelayedMessage(uint256 indexed source, uint256 indexed messageNonce, bytes32 indexed messageHash, bytes32 returnDataHash)",
  "function relayMessage(Identifier _id, bytes _sentMessage) payable returns (bytes)",
  "function successfulMessages(bytes32) view returns (bool)",
  "error MessageAlreadyRelayed()",
]);

/** A log of a block of a chain. */
export type MinedLog = Pick<Log<bigint, number, false>, "address" | "topics" | "data" | "blockNumber" | "blockHash" | "logIndex">;

/** The call of the messenger that relays a message, and the access list by which nodes know of it before they execute it. */
export function relayRequest(log: MinedLog, { chainId, timestamp }: { readonly chainId: number; readonly timestamp: bigint }) {
  const { address, topics, data, blockNumber, logIndex } = log;
  const payload = concat([...topics, data]);
  const place = { blockNumber, logIndex, timestamp, chainId: BigInt(chainId) };
  const checksum = messageChecksum({ ...place, origin: hexToBytes(address) }, hexToBytes(keccak256(payload)));
  const storageKeys = encodeMessageAccess({ ...place, checksum }).map((key) => bytesToHex(key));
  const accessList: AccessList = [{ address: CROSS_L2_INBOX, storageKeys }];
  return { args: [{ origin: address, ...place, logIndex: BigInt(logIndex) }, payload] as const, accessList };
}
