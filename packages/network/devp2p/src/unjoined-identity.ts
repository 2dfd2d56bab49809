import { bytesToHex, keccak256 } from "@rnode/primitives";
import { ForkIds } from "@rnode/protocol";
import { enodeText } from "./enode.ts";
import type { DevP2PConfig, DevP2PIdentity } from "./network.ts";
import { keyPairOf, publicKeyOf } from "./rlpx/ecies.ts";

/** The identity of a node without a network: its key and its chain, and ports of 0. */
export async function unjoinedIdentity(
  config: Pick<DevP2PConfig, "chain" | "genesisHash" | "genesisTimeSec" | "nodeKey" | "clientId" | "listen">,
  head: Parameters<ForkIds["at"]>[0],
  sequence: bigint,
): Promise<DevP2PIdentity> {
  const { createOwnRecord } = await import("./discovery/node-record.ts");
  const { chain, genesisHash, genesisTimeSec, nodeKey, clientId, listen } = config;
  const { ip } = listen;
  const publicKey = publicKeyOf(keyPairOf(nodeKey));
  const id = bytesToHex(publicKey).slice(2);
  const ports = { tcpPort: 0, udpPort: 0 };
  return {
    nodeId: bytesToHex(keccak256(publicKey)).slice(2),
    publicKey: id,
    enode: enodeText({ id, host: ip, ...ports }),
    enr: createOwnRecord(nodeKey, new ForkIds(chain, genesisHash, genesisTimeSec).at(head), sequence).encodeTxt(),
    ip,
    clientId,
    ...ports,
  };
}
