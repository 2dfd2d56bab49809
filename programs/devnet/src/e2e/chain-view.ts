import type { Hex } from "viem";
import type { Devnet } from "../devnet.ts";
import type { NodeEndpoints, NodeRole } from "../files.ts";
import { rpcCall } from "../rpc.ts";
import type { SyncStatus } from "../status.ts";

export type Role = NodeRole;

export interface OutputAtBlock {
  readonly outputRoot: Hex;
  readonly withdrawalStorageRoot: Hex;
  readonly stateRoot: Hex;
  readonly blockRef: { readonly hash: Hex; readonly number: number };
}

/** Questions to the devnet's nodes that the tests ask repeatedly. */
export class ChainView {
  readonly #devnet: Devnet;

  constructor(devnet: Devnet) {
    this.#devnet = devnet;
  }

  #endpoints(role: Role): NodeEndpoints {
    const endpoints = this.#devnet.info.endpoints[role];
    if (endpoints === undefined) throw new Error(`this devnet has no ${role}`);
    return endpoints;
  }

  syncStatus(role: Role): Promise<SyncStatus> {
    return this.node(role, "rnode_syncStatus");
  }

  node<T>(role: Role, method: string, params: readonly unknown[] = []): Promise<T> {
    return rpcCall<T>(this.#endpoints(role).node, method, params);
  }

  engine<T>(role: Role, method: string, params: readonly unknown[] = []): Promise<T> {
    return rpcCall<T>(this.#endpoints(role).http, method, params);
  }

  l1<T>(method: string, params: readonly unknown[] = []): Promise<T> {
    return rpcCall<T>(this.#devnet.info.endpoints.l1, method, params);
  }

  /** The node's answer: version and root. */
  async outputRoot(role: Role, number: number): Promise<Hex> {
    const [version, root] = await this.node<[Hex, Hex]>(role, "rnode_outputAtBlock", [`0x${number.toString(16)}`]);
    if (BigInt(version) !== 0n) throw new Error(`output version ${version}`);
    return root;
  }

  async unsafeNumber(role: Role): Promise<number> {
    return Number(await this.engine<Hex>(role, "eth_blockNumber"));
  }

  async safeNumber(role: Role): Promise<number> {
    return (await this.syncStatus(role)).safe_l2.number;
  }

  async blockHash(role: Role, number: number): Promise<Hex | undefined> {
    const block = await this.engine<{ hash: Hex } | null>(role, "eth_getBlockByNumber", [`0x${number.toString(16)}`, false]);
    return block?.hash;
  }

  /** Hashes of blocks 0 to `last`, in order. */
  async hashes(role: Role, last: number): Promise<(Hex | undefined)[]> {
    const hashes: (Hex | undefined)[] = [];
    for (let number = 0; number <= last; number += 20) {
      const some = Array.from({ length: Math.min(20, last - number + 1) }, (_, i) => this.blockHash(role, number + i));
      hashes.push(...(await Promise.all(some)));
    }
    return hashes;
  }
}
