import type { Announcement, DevP2PHandlers, DevP2PNetwork, ReceivedTransaction } from "@rnode/devp2p";
import type { PooledTransaction } from "@rnode/txpool";
import type { PoolService } from "../pool/pool-service.ts";

/** delay in which transactions are collected into one announcement, and their conditions arrive */
const BATCH_MS = 50;
/** of those that wait to be admitted */
const MAX_WAITING = 4_096;
/** admitted in one turn of the event loop: each takes some ten microseconds */
const SLICE = 64;

/** Exchanges transactions between the pool and the peers. */
export class SharedPool implements DevP2PHandlers {
  readonly #pool: PoolService;
  readonly #waiting: ReceivedTransaction[] = [];
  #isAdmitting = false;
  #fresh: PooledTransaction[] = [];
  #timer: NodeJS.Timeout | undefined;
  #stop: (() => void) | undefined;
  #isClosed = false;

  constructor(pool: PoolService) {
    this.#pool = pool;
  }

  /** Tells the network of all that is in the pool, and of what comes. */
  share(network: Pick<DevP2PNetwork, "announce">): void {
    const content = this.#pool.pool.content();
    this.#announce(
      network,
      [...content].flatMap(({ pending }) => pending),
    );
    this.#stop = this.#pool.onPending((transactions) => {
      this.#fresh.push(...transactions);
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.#announce(network, this.#fresh);
        this.#fresh = [];
      }, BATCH_MS);
    });
  }

  #announce(network: Pick<DevP2PNetwork, "announce">, transactions: readonly PooledTransaction[]): void {
    const announcements = transactions.flatMap(({ hash, encoded, transaction }): Announcement[] =>
      this.#pool.shareable(hash) === undefined ? [] : [{ hash, size: encoded.length, type: transaction.type }],
    );
    if (announcements.length > 0) network.announce(announcements);
  }

  onTransactions(transactions: readonly ReceivedTransaction[]): void {
    if (this.#waiting.length + transactions.length > MAX_WAITING) return;
    this.#waiting.push(...transactions);
    if (!this.#isAdmitting) void this.#admit();
  }

  async #admit(): Promise<void> {
    this.#isAdmitting = true;
    while (this.#waiting.length > 0 && !this.#isClosed) {
      for (const { encoded, sender } of this.#waiting.splice(0, SLICE)) await this.#pool.receive(encoded, sender);
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#isAdmitting = false;
  }

  async pooledTransactions(hashes: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
    return hashes.flatMap((hash) => this.#pool.shareable(hash)?.encoded ?? []);
  }

  close(): void {
    this.#isClosed = true;
    this.#stop?.();
    clearTimeout(this.#timer);
  }
}
