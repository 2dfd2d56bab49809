import type { ECDH } from "node:crypto";
import type { Socket } from "node:net";
import { parseEnode } from "../enode.ts";
import { type Announcement, decodeHashRequest, ETH, encodeAnnouncements, encodeAnswer, transactionItem } from "../eth/messages.ts";
import { RlpxConnection } from "../rlpx/connection.ts";
import { newKeyPair } from "../rlpx/ecies.ts";
import type { Capability } from "../rlpx/hello.ts";

/** A peer's answer to a request for pooled transactions: EIP-2718 encodings; `undefined`: no answer. */
export type AnswerPooled = (hashes: readonly Uint8Array[]) => Promise<readonly Uint8Array[] | undefined>;

const MAX_MESSAGE_BYTES = 1 << 24;
const MAX_HASHES = 4_096;

/** A scripted `eth` peer on the chain of the node that it dials. */
export class HostileEthPeer {
  readonly connection: RlpxConnection;
  readonly #socket: Socket;

  private constructor(connection: RlpxConnection, socket: Socket) {
    this.connection = connection;
    this.#socket = socket;
  }

  /**
   * Introduces itself and repeats the node's status as its own.
   *
   * @param socket connected to the node
   * @throws {DevP2PError} the node refuses the connection
   */
  static async open(
    socket: Socket,
    enode: string,
    own: ECDH = newKeyPair(),
    capabilities: readonly Capability[] = [{ name: "eth", version: 69 }],
  ): Promise<HostileEthPeer> {
    const { publicKey: remoteKey } = parseEnode(enode);
    const connection = await RlpxConnection.open(socket, { own, clientId: "hostile", capabilities, port: 0, remoteKey });
    const { data } = await connection.next(() => MAX_MESSAGE_BYTES);
    connection.send(ETH.status, data);
    return new HostileEthPeer(connection, socket);
  }

  get isConnected(): boolean {
    return !this.#socket.destroyed && !this.connection.isClosed;
  }

  announce(announcements: readonly Announcement[]): void {
    if (this.isConnected) this.connection.send(ETH.newPooledTransactionHashes, encodeAnnouncements(announcements));
  }

  /** Reads until the connection ends; other messages than requests for pooled transactions are ignored. */
  async answer(pooled: AnswerPooled): Promise<void> {
    try {
      for (;;) {
        const { code, data } = await this.connection.next(() => MAX_MESSAGE_BYTES);
        if (code !== ETH.getPooledTransactions) continue;
        const { id, hashes } = decodeHashRequest(data, MAX_HASHES);
        void pooled(hashes).then((transactions) => {
          if (transactions === undefined || !this.isConnected) return;
          this.connection.send(ETH.pooledTransactions, encodeAnswer(id, transactions.map(transactionItem)));
        });
      }
    } catch {
      this.#socket.destroy();
    }
  }
}
