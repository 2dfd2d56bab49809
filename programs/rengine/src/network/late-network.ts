import type { BlockPeer, BlockPeers, DevP2PNetwork } from "@rnode/devp2p";
import type { NetworkAccess, NetworkPeer, NodeOnNetwork } from "@rnode/eth-api";

/** A network that is joined once the client serves: until then there are no peers, and what operators change waits. */
export class LateNetwork implements BlockPeers, NetworkAccess {
  readonly #joined: Promise<DevP2PNetwork>;
  #resolve: (network: DevP2PNetwork) => void = () => {};
  #network: DevP2PNetwork | undefined;
  readonly #listeners = new Set<() => void>();

  constructor() {
    this.#joined = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  join(network: DevP2PNetwork): void {
    this.#network = network;
    network.onChange(() => this.#tell());
    this.#resolve(network);
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  list(): readonly BlockPeer[] {
    return this.#network?.list() ?? [];
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get node(): NodeOnNetwork | undefined {
    return this.#network?.identity;
  }

  get peerCount(): number {
    return this.list().length;
  }

  async peers(): Promise<readonly NetworkPeer[]> {
    return (await this.#network?.admin.peers()) ?? [];
  }

  async addPeer(enode: string): Promise<void> {
    await (await this.#joined).admin.addPeer(enode);
  }

  async removePeer(enode: string): Promise<void> {
    await (await this.#joined).admin.removePeer(enode);
  }

  async addTrustedPeer(enode: string): Promise<void> {
    await (await this.#joined).admin.addTrustedPeer(enode);
  }

  async removeTrustedPeer(enode: string): Promise<void> {
    await (await this.#joined).admin.removeTrustedPeer(enode);
  }
}
