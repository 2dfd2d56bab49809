import type { BlockPeer, BlockPeers } from "@rnode/devp2p";
import { bytesToHex, type Clock, equalBytes, type Hex, isCodedError } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import type { ChainConfig } from "@rnode/protocol";
import type { BlockRecord } from "@rnode/snapshot";
import { type HashedHeader, hashedHeader, verifiedBody } from "@rnode/sync";

const BATCH = 128;
/** No block can be had for this time. */
const LIMIT_MS = 60_000;
const PAUSE_MS = 500;
const NEVER = new AbortController().signal;

export interface PeerBlocksDeps {
  readonly peers: BlockPeers;
  readonly clock: Clock;
  /** ends the waiting; default: never */
  readonly signal?: AbortSignal | undefined;
}

/** Blocks of peers, without receipts, each checked against its hash. They are asked for from the newest to the oldest, and fetched ahead in this order. */
export class PeerBlocks {
  readonly #config: ChainConfig;
  readonly #peers: BlockPeers;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #fetched = new Map<Hex, BlockRecord>();

  constructor(config: ChainConfig, { peers, clock, signal = NEVER }: PeerBlocksDeps) {
    this.#config = config;
    this.#peers = peers;
    this.#clock = clock;
    this.#signal = signal;
  }

  /** @throws {UserError} no peer gives it */
  async blockOf(hash: Uint8Array): Promise<BlockRecord> {
    const key = bytesToHex(hash);
    const startMs = this.#clock.monotonicMs();
    let reason = "no peer is connected";
    while (!this.#fetched.has(key)) {
      this.#fetched.clear();
      for (const peer of this.#peers.list()) {
        reason = (await this.#fetch(peer, hash)) ?? reason;
        if (this.#fetched.has(key)) break;
      }
      if (this.#fetched.has(key)) break;
      if (this.#clock.monotonicMs() - startMs > LIMIT_MS) throw new UserError(`no peer gives block ${key}: ${reason}`);
      await this.#clock.sleep(PAUSE_MS, this.#signal);
      this.#signal.throwIfAborted();
    }
    const found = this.#fetched.get(key)!;
    this.#fetched.delete(key);
    return found;
  }

  /** @returns why the peer gave nothing */
  async #fetch(peer: BlockPeer, hash: Uint8Array): Promise<string | undefined> {
    try {
      const headers = chainOf(hash, await peer.headers({ start: hash, limit: BATCH, reverse: true }, this.#signal));
      if (headers.length === 0) return "it does not have the block";
      const bodies = await peer.bodies(
        headers.map((header) => header.hash),
        this.#signal,
      );
      for (const [index, body] of bodies.entries()) {
        const header = headers[index]!;
        const verified = verifiedBody(this.#config, [header], body);
        if (typeof verified === "string") {
          peer.report("lied", `body of block ${header.header.number}: ${verified}`);
          return verified;
        }
        this.#fetched.set(bytesToHex(header.hash), { block: verified.block.block, receipts: [] });
      }
      return "it does not have the block's body";
    } catch (error) {
      if (!isCodedError(error, "devp2p/")) throw error;
      return error.message;
    }
  }
}

/** The headers from the one with that hash on, each the parent of the one before, as far as they are. */
function chainOf(hash: Uint8Array, encoded: readonly Uint8Array[]): HashedHeader[] {
  const headers: HashedHeader[] = [];
  let wanted = hash;
  for (const rlp of encoded) {
    const hashed = hashedHeader(rlp);
    if (typeof hashed === "string" || !equalBytes(hashed.hash, wanted)) break;
    headers.push(hashed);
    wanted = hashed.header.parentHash;
  }
  return headers;
}
