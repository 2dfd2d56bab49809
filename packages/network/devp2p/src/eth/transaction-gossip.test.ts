import { bytesToHex, type Hex, keccak256 } from "@rnode/primitives";
import { SimClock } from "@rnode/program/testing";
import { encodeTransaction, type SignedTransaction, signTransaction } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import type { PeerFault } from "../api.ts";
import { DevP2PError } from "../errors.ts";
import type { EthPeer } from "./eth-peer.ts";
import type { Announcement } from "./messages.ts";
import { TransactionGossip } from "./transaction-gossip.ts";

function signed(nonce: number): Uint8Array {
  const unsigned: SignedTransaction = {
    type: 0x02,
    chainId: 7_357n,
    nonce: BigInt(nonce),
    maxPriorityFeePerGas: 1n,
    maxFeePerGas: 10n ** 9n,
    gasLimit: 21_000n,
    to: new Uint8Array(20).fill(7),
    value: 1n,
    data: new Uint8Array(0),
    accessList: [],
  };
  return encodeTransaction(signTransaction(unsigned, keccak256(Uint8Array.of(5))));
}

const announcementOf = (encoded: Uint8Array): Announcement => ({
  hash: keccak256(encoded),
  size: encoded.length,
  type: encoded[0]!,
});

/** A peer's reaction to a request: its answer and delay; `undefined`: no answer. */
type Behaviour = (transactions: readonly Uint8Array[]) => { readonly afterMs: number; readonly send?: readonly Uint8Array[] };

class Scene {
  readonly clock = new SimClock();
  readonly #closing = new AbortController();
  /** encoded, with the time of arrival */
  readonly taken = new Map<Hex, number>();
  readonly gossip: TransactionGossip;
  readonly #startMs = this.clock.monotonicMs();

  constructor() {
    this.gossip = new TransactionGossip(true, {
      clock: this.clock,
      signal: this.#closing.signal,
      onTransactions: (transactions) => {
        for (const { encoded } of transactions) this.taken.set(bytesToHex(encoded), this.clock.monotonicMs() - this.#startMs);
      },
      pooled: async () => [],
      count: () => {},
    });
  }

  peer(pool: readonly Uint8Array[], behaviour: Behaviour): { peer: EthPeer; faults: PeerFault[]; requests: number[] } {
    const faults: PeerFault[] = [];
    const requests: number[] = [];
    const peer = {
      connection: { isCongested: false },
      announce: () => {},
      report: (fault: PeerFault) => faults.push(fault),
      pooledTransactions: async (hashes: readonly Uint8Array[]) => {
        requests.push(hashes.length);
        const asked = new Set(hashes.map((hash) => bytesToHex(hash)));
        const { afterMs, send } = behaviour(pool.filter((encoded) => asked.has(bytesToHex(keccak256(encoded)))));
        await this.clock.sleep(Math.min(afterMs, 15_000));
        if (send === undefined) throw new DevP2PError("devp2p/request-timeout", { limitMs: 15_000 });
        return send;
      },
    } as unknown as EthPeer;
    this.gossip.join(peer);
    return { peer, faults, requests };
  }

  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  close(): void {
    this.#closing.abort();
  }
}

const honest: Behaviour = (transactions) => ({ afterMs: 20, send: transactions });
const WITHHOLDING: Record<string, Behaviour> = {
  "an empty answer at once": () => ({ afterMs: 1, send: [] }),
  "an empty answer after 4 s": () => ({ afterMs: 4_000, send: [] }),
  "no answer": () => ({ afterMs: 15_000 }),
  "the transaction after 10 s": (transactions) => ({ afterMs: 10_000, send: transactions }),
  "another transaction": () => ({ afterMs: 1, send: [signed(999)] }),
};

describe("transactions announced by several peers", () => {
  it.each(Object.entries(WITHHOLDING).flatMap(([what, how]) => [1, 3].map((count) => [what, count, how] as const)))(
    "arrive within a second and a half beside %s of %i that announced first",
    async (_, count, behaviour) => {
      const scene = new Scene();
      const transaction = signed(1);
      const liars = Array.from({ length: count }, () => scene.peer([transaction], behaviour));
      const good = scene.peer([transaction], honest);
      for (let round = 0; round < 8; round++) {
        for (const { peer } of liars) scene.gossip.announced(peer, [announcementOf(transaction)]);
        if (round === 0) scene.gossip.announced(good.peer, [announcementOf(transaction)]);
        await scene.pass(5_000);
      }
      const atMs = scene.taken.get(bytesToHex(transaction));
      expect(atMs).toBeLessThanOrEqual(500 * count + 300);
      expect(good.faults).toEqual([]);
      scene.close();
    },
  );

  it.each(["an empty answer at once", "an empty answer after 4 s", "no answer"])(
    "cost a peer that has nothing of it: %s, announced again and again",
    async (what) => {
      const scene = new Scene();
      const liar = scene.peer([], WITHHOLDING[what]!);
      for (let round = 0; round < 20; round++) {
        scene.gossip.announced(liar.peer, [announcementOf(signed(1))]);
        await scene.pass(4_000);
      }
      expect(liar.requests.length).toBeLessThanOrEqual(4);
      expect(liar.faults.length).toBeGreaterThanOrEqual(5);
      scene.close();
    },
  );

  it("cost a peer that announces ever other hashes and delivers none, and not one whose pool drops a few", async () => {
    const scene = new Scene();
    const liar = scene.peer([], WITHHOLDING["an empty answer at once"]!);
    const pool = Array.from({ length: 400 }, (_, nonce) => signed(nonce));
    const good = scene.peer(pool, (transactions) => ({ afterMs: 5, send: transactions.filter((_, index) => index % 4 !== 0) }));
    for (let round = 0; round < 10; round++) {
      const invented = Array.from({ length: 64 }, (_, index) => ({
        hash: keccak256(Uint8Array.of(9, round, index)),
        size: 100,
        type: 2,
      }));
      scene.gossip.announced(liar.peer, invented);
      scene.gossip.announced(good.peer, pool.slice(round * 40, round * 40 + 40).map(announcementOf));
      await scene.pass(1_000);
    }
    expect(liar.faults.length).toBeGreaterThanOrEqual(5);
    expect(good.faults).toEqual([]);
    scene.close();
  });

  it.each([
    ["bytes that are no transaction", () => Uint8Array.of(0x02, 0xc1, 0x80)],
    ["a bad signature", () => signed(1).with(-40, 0xff).with(-1, 0)],
    ["a legacy transaction cut short", () => Uint8Array.of(0xc8, 1, 2)],
  ])("cost a peer that delivers %s, sent or announced", async (_, make) => {
    const scene = new Scene();
    const junk = make();
    const pusher = scene.peer([], honest);
    scene.gossip.received(pusher.peer, [junk]);
    expect(pusher.faults).toEqual(["useless"]);
    const other = new Scene();
    const announcer = other.peer([junk], honest);
    other.gossip.announced(announcer.peer, [{ ...announcementOf(junk), type: junk[0]! >= 0xc0 ? 0 : junk[0]! }]);
    await other.pass(1_000);
    expect(announcer.faults).toContain("useless");
    scene.close();
    other.close();
  });

  it("cost a peer that announces another type or size, and nothing for a type of a later fork", async () => {
    const scene = new Scene();
    const transaction = signed(1);
    const liar = scene.peer([transaction], honest);
    scene.gossip.announced(liar.peer, [{ ...announcementOf(transaction), size: 100_000 }]);
    await scene.pass(1_000);
    expect(liar.faults).toEqual(["useless"]);
    const later = scene.peer([], honest);
    scene.gossip.received(later.peer, [Uint8Array.of(0x55, 0xc0)]);
    expect(later.faults).toEqual([]);
    scene.close();
  });

  it("arrive from a peer whatever junk other peers send", () => {
    const scene = new Scene();
    for (let id = 0; id < 20; id++) {
      const liar = scene.peer([], honest);
      const junk = Array.from({ length: 1_000 }, (_, index) => Uint8Array.of(0x02, 0xc3, id, index >> 7, index & 0x7f));
      scene.gossip.received(liar.peer, junk);
    }
    const good = scene.peer([], honest);
    const own = Array.from({ length: 100 }, (_, nonce) => signed(nonce));
    scene.gossip.received(good.peer, own);
    expect(scene.taken.size).toBe(100);
    scene.close();
  });

  it("beyond a budget are taken from another peer", () => {
    const scene = new Scene();
    const flooder = scene.peer([], honest);
    const wanted = signed(5_000);
    scene.gossip.received(
      flooder.peer,
      Array.from({ length: 2_300 }, (_, index) => Uint8Array.of(0x55, index >> 7, index & 0x7f)),
    );
    scene.gossip.received(flooder.peer, [wanted]);
    expect(scene.taken.size).toBe(0);
    scene.gossip.received(scene.peer([], honest).peer, [wanted]);
    expect(scene.taken.size).toBe(1);
    scene.close();
  });
});
