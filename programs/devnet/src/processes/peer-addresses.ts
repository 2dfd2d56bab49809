import { NODE_ROLES, type NodeRole } from "../files.ts";
import { rpcCall } from "../rpc.ts";

/** Multiaddresses of the rollup nodes. Each node is asked once it has started, before the next one starts. */
export class PeerAddresses {
  readonly addresses: Partial<Record<NodeRole, string>> = {};
  readonly #order: readonly NodeRole[];

  /** @param order in which the nodes start */
  constructor(order: readonly NodeRole[] = NODE_ROLES) {
    this.#order = order;
  }

  /** @throws the node says no address */
  async read(role: NodeRole, url: string): Promise<void> {
    const { addresses } = await rpcCall<{ addresses: string[] }>(url, "rnodep2p_self");
    if (addresses[0] === undefined) throw new Error(`the ${role}'s rnode has no P2P address`);
    this.addresses[role] = addresses[0];
  }

  /** Each node is connected to the one that starts before it. */
  neighboursOf(role: NodeRole): string[] {
    const before = this.#order[this.#order.indexOf(role) - 1];
    const address = before && this.addresses[before];
    return address === undefined ? [] : [address];
  }
}
