import { randomBytes } from "node:crypto";
import { isRelayable } from "@rnode/peering";
import { type Clock, equalBytes, keccak256, LruCache } from "@rnode/primitives";
import { decodeV4, type Endpoint, encodeV4, idOf, isV4Packet, type V4Message, type V4Node, type V4Packet } from "./v4-packets.ts";
import { byDistance, V4Table } from "./v4-table.ts";

export interface DiscV4Deps {
  readonly privateKey: Uint8Array;
  /** x ‖ y */
  readonly publicKey: Uint8Array;
  readonly clock: Clock;
  /** the advertised endpoint */
  readonly endpoint: () => Endpoint;
  /** our record as RLP, and its sequence number */
  readonly record: () => { readonly encoded: Uint8Array; readonly sequence: bigint };
  readonly send: (data: Uint8Array, ip: string, port: number) => void;
  /** A node's record, as it sent it: nothing about it is checked. */
  readonly onRecord: (encoded: Uint8Array, node: V4Node) => void;
}

const REPLY_MS = 700;
/** between a node's first ping and our question for its record */
const RECORD_PAUSE_MS = 1_000;
/** both ends have proved their address for so long */
const BOND_MS = 12 * 3_600_000;
const MAX_BONDS = 4_096;
const MAX_PENDING = 256;
const BUCKET_SIZE = 16;
/** of a packet of 1,280 bytes */
const NODES_OF_PACKET = 12;
const ALPHA = 3;
const MAX_ASKED = 24;
const MAX_FAILURES = 3;
/** Lower ports belong to other services, to which packets must not be sent because a node requests it (as in Geth). */
const MIN_PORT = 1_024;
/** Maximum number of keys per address whose records are requested within a bond's time: many keys at one address are probably one node. */
const MAX_KEYS_OF_ADDRESS = 16;
const KEYS_MS = 600_000;

interface Bond {
  /** time of its last answer to a ping, which proves its endpoint */
  provedAtMs: number;
  /** when it pinged us: it takes our questions */
  knowsUsAtMs: number;
}

type Reply = Extract<V4Message, { readonly kind: "pong" | "neighbours" | "record" }>;

interface Pending {
  /** @returns whether the answer is complete */
  readonly take: (packet: V4Packet & { readonly message: Reply }) => boolean;
  readonly end: () => void;
}

/**
 * Node discovery version 4: a table of nodes by distance, and walks through the network. Answers larger than their requests go
 * only to addresses that have answered a ping.
 *
 * Spec: https://github.com/ethereum/devp2p/blob/master/discv4.md
 */
export class DiscV4 {
  readonly table: V4Table;
  readonly #deps: DiscV4Deps;
  readonly #bonds = new LruCache<string, Bond>(MAX_BONDS);
  readonly #keysOf = new LruCache<string, { count: number; readonly sinceMs: number }>(MAX_BONDS);
  readonly #pending = new Map<string, Pending>();

  constructor(deps: DiscV4Deps) {
    this.#deps = deps;
    this.table = new V4Table(keccak256(deps.publicKey));
  }

  /** @returns whether the datagram is one of this protocol */
  receive(data: Uint8Array, from: { readonly ip: string; readonly port: number }): boolean {
    if (!isV4Packet(data)) return false;
    const packet = decodeV4(data, this.#nowSec);
    if (packet !== undefined && !equalBytes(packet.publicKey, this.#deps.publicKey)) this.#take(packet, from);
    return true;
  }

  get #nowSec(): number {
    return Math.floor(this.#deps.clock.unixMs() / 1000);
  }

  #take(packet: V4Packet, { ip, port }: { readonly ip: string; readonly port: number }): void {
    const { message, publicKey, hash } = packet;
    const bond = this.#bondOf(publicKey, ip);
    const nowMs = this.#deps.clock.monotonicMs();
    switch (message.kind) {
      case "ping": {
        const node: V4Node = { ip, udpPort: port, tcpPort: message.from.tcpPort, publicKey };
        this.#send({ kind: "pong", to: node, pingHash: hash, recordSequence: this.#deps.record().sequence }, node);
        bond.knowsUsAtMs = nowMs;
        if (nowMs - bond.provedAtMs > BOND_MS) {
          if (this.#hasManyKeys(ip, nowMs)) return;
          void this.ping(node).then(async (isThere) => {
            if (!isThere) return;
            await this.#deps.clock.sleep(RECORD_PAUSE_MS); // it pinged because it has its own requests
            await this.#askRecord(node);
          });
        } else this.table.seen(node, nowMs);
        return;
      }
      case "find-node": {
        if (nowMs - bond.provedAtMs > BOND_MS) return;
        const nodes = this.table
          .closest(keccak256(message.target), BUCKET_SIZE)
          .filter((node) => !equalBytes(node.publicKey, publicKey));
        for (let at = 0; at === 0 || at < nodes.length; at += NODES_OF_PACKET)
          this.#send({ kind: "neighbours", nodes: nodes.slice(at, at + NODES_OF_PACKET) }, { ip, udpPort: port });
        return;
      }
      case "record-request":
        if (nowMs - bond.provedAtMs > BOND_MS) return;
        this.#send({ kind: "record", requestHash: hash, record: this.#deps.record().encoded }, { ip, udpPort: port });
        return;
      default: {
        const key = pendingKey(publicKey, ip, message.kind);
        const pending = this.#pending.get(key);
        if (pending?.take({ ...packet, message }) === true) {
          this.#pending.delete(key);
          pending.end();
        }
      }
    }
  }

  /** Counts a key that is new at an address. @returns whether there were too many of late */
  #hasManyKeys(ip: string, nowMs: number): boolean {
    const counted = this.#keysOf.get(ip);
    const keys = counted === undefined || nowMs - counted.sinceMs > KEYS_MS ? { count: 0, sinceMs: nowMs } : counted;
    this.#keysOf.set(ip, keys);
    return ++keys.count > MAX_KEYS_OF_ADDRESS;
  }

  #bondOf(publicKey: Uint8Array, ip: string): Bond {
    const key = `${idOf(publicKey)}@${ip}`;
    let bond = this.#bonds.get(key);
    if (bond === undefined) {
      bond = { provedAtMs: Number.NEGATIVE_INFINITY, knowsUsAtMs: Number.NEGATIVE_INFINITY };
      this.#bonds.set(key, bond);
    }
    return bond;
  }

  #send(message: V4Message, { ip, udpPort }: Pick<Endpoint, "ip" | "udpPort">): Uint8Array {
    const { packet, hash } = encodeV4(message, this.#deps.privateKey, this.#nowSec);
    this.#deps.send(packet, ip, udpPort);
    return hash;
  }

  /** Waits for answers. @param take whether the answer is complete */
  #await(node: V4Node, kind: Reply["kind"], take: Pending["take"]): Promise<void> {
    const key = pendingKey(node.publicKey, node.ip, kind);
    if (this.#pending.has(key) || this.#pending.size >= MAX_PENDING) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#pending.delete(key);
        resolve();
      }, REPLY_MS);
      const end = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.#pending.set(key, { take, end });
    });
  }

  /** @returns whether the node answers */
  async ping(node: V4Node): Promise<boolean> {
    let isThere = false;
    let sent: Uint8Array | undefined;
    const answered = this.#await(node, "pong", ({ message }) => {
      isThere = message.kind === "pong" && sent !== undefined && equalBytes(message.pingHash, sent);
      return isThere;
    });
    sent = this.#send({ kind: "ping", from: this.#deps.endpoint(), to: node, recordSequence: this.#deps.record().sequence }, node);
    await answered;
    const nowMs = this.#deps.clock.monotonicMs();
    const entry = this.table.find(node.publicKey);
    if (!isThere) {
      if (entry !== undefined && ++entry.failures >= MAX_FAILURES) this.table.remove(node.publicKey);
      return false;
    }
    this.#bondOf(node.publicKey, node.ip).provedAtMs = nowMs;
    const oldest = this.table.seen(node, nowMs);
    if (oldest !== undefined) void this.ping(oldest);
    return true;
  }

  /** Both ends have proved where they are. */
  async #bond(node: V4Node): Promise<boolean> {
    const bond = this.#bondOf(node.publicKey, node.ip);
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - bond.provedAtMs > BOND_MS && !(await this.ping(node))) return false;
    if (nowMs - bond.knowsUsAtMs > BOND_MS) await this.#deps.clock.sleep(REPLY_MS / 2); // its ping, which we answer
    return true;
  }

  async #askRecord(node: V4Node): Promise<void> {
    if (!(await this.#bond(node))) return;
    let asked: Uint8Array | undefined;
    const answered = this.#await(node, "record", ({ message }) => {
      const isAnswer = message.kind === "record" && asked !== undefined && equalBytes(message.requestHash, asked);
      if (isAnswer) this.#deps.onRecord(message.record, node);
      return isAnswer;
    });
    asked = this.#send({ kind: "record-request" }, node);
    await answered;
  }

  async #findNode(node: V4Node, target: Uint8Array): Promise<readonly V4Node[]> {
    if (!(await this.#bond(node))) return [];
    const found: V4Node[] = [];
    const answered = this.#await(node, "neighbours", ({ message }) => {
      if (message.kind === "neighbours") found.push(...message.nodes.slice(0, BUCKET_SIZE - found.length));
      return found.length >= BUCKET_SIZE;
    });
    this.#send({ kind: "find-node", target }, node);
    await answered;
    return found.filter(
      ({ ip, udpPort, publicKey }) =>
        isRelayable(ip, node.ip) && udpPort >= MIN_PORT && !equalBytes(publicKey, this.#deps.publicKey),
    );
  }

  /**
   * Walks towards a random key, from known nodes and `start`, and requests the records of all found nodes.
   *
   * @param start first nodes
   */
  async walk(start: readonly V4Node[], signal: AbortSignal): Promise<void> {
    const target = new Uint8Array(randomBytes(64));
    const targetHash = keccak256(target);
    const known = new Map<string, V4Node & { readonly nodeId: Uint8Array }>();
    const meet = (node: V4Node): void => {
      const id = idOf(node.publicKey);
      if (!known.has(id)) known.set(id, { ...node, nodeId: keccak256(node.publicKey) });
    };
    for (const node of [...start, ...this.table.closest(targetHash, BUCKET_SIZE)]) meet(node);
    const asked = new Set<string>();
    while (!signal.aborted && asked.size < MAX_ASKED) {
      const next = byDistance([...known.values()], targetHash)
        .filter(({ publicKey }) => !asked.has(idOf(publicKey)))
        .slice(0, ALPHA);
      if (next.length === 0) return;
      for (const { publicKey } of next) asked.add(idOf(publicKey));
      const answers = await Promise.all(
        next.map(async (node) => {
          const found = await this.#findNode(node, target);
          await this.#askRecord(node);
          return found;
        }),
      );
      for (const node of answers.flat()) meet(node);
    }
  }

  /** Pings the least recently seen node. */
  async revalidate(): Promise<void> {
    const oldest = this.table
      .all()
      .reduce<(V4Node & { seenMs: number }) | undefined>(
        (found, entry) => (found === undefined || entry.seenMs < found.seenMs ? entry : found),
        undefined,
      );
    if (oldest !== undefined) await this.ping(oldest);
  }
}

const pendingKey = (publicKey: Uint8Array, ip: string, kind: string): string => `${kind} ${idOf(publicKey)}@${ip}`;
