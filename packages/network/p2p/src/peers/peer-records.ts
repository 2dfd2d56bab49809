import type { Logger } from "@rnode/observe";
import { canonicalIp, parseSubnet, type Subnet } from "@rnode/peering";
import { type Datastore, Key } from "interface-datastore";
import type { PeerScores } from "./peer-api.ts";
import { peerIdBytes, peerIdKeyText, peerIdOfKeyText } from "./peer-id-text.ts";
import {
  type Ban,
  type PeerMetadata,
  parseBan,
  parseMetadata,
  parseProtection,
  parseScores,
  type ScoreRecord,
} from "./record-json.ts";
import { RecordTable } from "./record-table.ts";

const METADATA_RETENTION_SEC = 7 * 24 * 3600;
const METADATA_INTERVAL_SEC = 3600;
const MAX_PEERS = 10_000;
/** Limit of the operator's blocks: they are not evicted, so further ones are refused. */
export const MAX_BLOCKED = 10_000;

/**
 * Peer data that survives a restart: scores, metadata, bans, the operator's blocks and protections. Reads are synchronous, from
 * memory; each change is written to the datastore asynchronously. The number of entries is bounded. Keys and values are those of
 * op-node. Spec: docs/protocol/03-p2p.md#connection-gater-and-bans
 */
export class PeerRecords {
  readonly scores: RecordTable<ScoreRecord>;
  readonly metadata: RecordTable<PeerMetadata>;
  readonly bans: RecordTable<Ban>;
  readonly ipBans: RecordTable<Ban>;
  readonly blockedPeers: RecordTable<string>;
  readonly blockedAddrs: RecordTable<string>;
  readonly blockedSubnets: RecordTable<Subnet>;
  readonly protectedPeers: RecordTable<{ readonly lastUpdate: number }>;
  readonly #log: Logger;
  readonly #scoreRetentionSec: number;
  readonly #pending = new Map<string, Uint8Array | undefined>();
  #store: Datastore | undefined;
  #writing: Promise<void> | undefined;
  #hasFailed = false;

  /** @param scoreRetentionSec how long scores are kept */
  constructor({ scoreRetentionSec, log }: { readonly scoreRetentionSec: number; readonly log: Logger }) {
    this.#log = log;
    this.#scoreRetentionSec = scoreRetentionSec;
    const write = (key: string, value: Uint8Array | undefined): void => this.#write(key, value);
    const json = { encode: encodeJson, write };
    const byPeer = { keyText: peerIdKeyText, keyOf: peerIdOfKeyText };
    const byIp = { keyText: (ip: string) => ip, keyOf: canonicalIp };
    this.scores = new RecordTable<ScoreRecord>({
      prefix: "/peers/scores/",
      ...byPeer,
      ...json,
      decode: fromJson(parseScores),
      max: MAX_PEERS,
    });
    this.metadata = new RecordTable<PeerMetadata>({
      prefix: "/peers/md/",
      ...byPeer,
      ...json,
      decode: fromJson(parseMetadata),
      max: MAX_PEERS,
    });
    this.bans = new RecordTable<Ban>({
      prefix: "/peers/ban_expiration/",
      ...byPeer,
      ...json,
      decode: fromJson(parseBan),
      max: MAX_PEERS,
    });
    this.ipBans = new RecordTable<Ban>({
      prefix: "/ips/ban_expiration/",
      ...byIp,
      ...json,
      decode: fromJson(parseBan),
      max: MAX_PEERS,
    });
    this.protectedPeers = new RecordTable<{ readonly lastUpdate: number }>({
      prefix: "/peers/protected/",
      ...byPeer,
      ...json,
      decode: fromJson(parseProtection),
      max: MAX_BLOCKED,
    });
    const gate = "/libp2p/net/conngater";
    const text = { keyText: (key: string) => key, max: MAX_BLOCKED, write };
    this.blockedPeers = new RecordTable<string>({
      prefix: `${gate}/peer/`,
      ...text,
      keyOf: (key) => (peerIdBytes(key) === undefined ? undefined : key),
      encode: (peer) => peerIdBytes(peer)!,
      decode: (_, key) => key,
    });
    this.blockedAddrs = new RecordTable<string>({
      prefix: `${gate}/addr/`,
      ...text,
      keyOf: canonicalIp,
      encode: (ip) => new TextEncoder().encode(ip),
      decode: (_, key) => key,
    });
    this.blockedSubnets = new RecordTable<Subnet>({
      prefix: `${gate}/subnet/`,
      ...text,
      keyOf: (key) => parseSubnet(key)?.text,
      encode: (subnet) => new TextEncoder().encode(subnet.text),
      decode: (_, key) => parseSubnet(key),
    });
  }

  get #tables(): readonly Pick<RecordTable<unknown>, "prefix" | "forget" | "restore">[] {
    const { scores, metadata, bans, ipBans, blockedPeers, blockedAddrs, blockedSubnets, protectedPeers } = this;
    return [scores, metadata, bans, ipBans, blockedPeers, blockedAddrs, blockedSubnets, protectedPeers];
  }

  /**
   * Reads all records of a store, and writes to it from now on. A record that cannot be read is deleted with a warning.
   *
   * @throws if the store as a whole cannot be read
   */
  async load(store: Datastore): Promise<void> {
    const unreadable: string[] = [];
    for (const table of this.#tables) {
      table.forget();
      for await (const { key, value } of store.query({ prefix: table.prefix })) {
        if (!table.restore(key.toString(), value)) unreadable.push(key.toString());
      }
    }
    this.#store = store;
    if (unreadable.length > 0)
      this.#log.warn("records of peers are damaged and were deleted", { records: unreadable.length, first: unreadable[0] });
    for (const key of unreadable) this.#write(key, undefined);
  }

  /** @returns `undefined`: none, or expired */
  scoresOf(peer: string, nowSec: number): PeerScores | undefined {
    const record = this.scores.get(peer);
    return record === undefined || record.lastUpdate + this.#scoreRetentionSec < nowSec ? undefined : record.peerScores;
  }

  /** Stores discovery's data of a peer. Unchanged data is written once an hour. */
  setMetadata(peer: string, enr: string, opStackID: number, nowSec: number): void {
    const known = this.metadata.get(peer);
    const isSame = known?.peerMetadata.enr === enr && known.peerMetadata.opStackID === opStackID;
    if (isSame && known.lastUpdate + METADATA_INTERVAL_SEC > nowSec) return;
    this.metadata.set(peer, { lastUpdate: nowSec, peerMetadata: { enr, opStackID } });
  }

  /** Removes expired records. */
  collectGarbage(nowSec: number): void {
    this.scores.deleteWhere(({ lastUpdate }) => lastUpdate + this.#scoreRetentionSec < nowSec);
    this.metadata.deleteWhere(({ lastUpdate }) => lastUpdate + METADATA_RETENTION_SEC < nowSec);
    for (const bans of [this.bans, this.ipBans])
      bans.deleteWhere(({ lastUpdate, expiry }) => expiry <= nowSec && lastUpdate + METADATA_RETENTION_SEC < nowSec);
  }

  setScores(peer: string, peerScores: PeerScores, nowSec: number): void {
    this.scores.set(peer, { lastUpdate: nowSec, peerScores });
  }

  /** Resolves when everything so far has been written, or could not be. */
  async written(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  #write(key: string, value: Uint8Array | undefined): void {
    if (this.#store === undefined) return;
    this.#pending.set(key, value);
    this.#writing ??= this.#writePending(this.#store).finally(() => {
      this.#writing = undefined;
    });
  }

  async #writePending(store: Datastore): Promise<void> {
    // Changes of the same turn are written together.
    await Promise.resolve();
    while (this.#pending.size > 0) {
      const batch = store.batch();
      for (const [key, value] of this.#pending) {
        if (value === undefined) batch.delete(new Key(key));
        else batch.put(new Key(key), value);
      }
      this.#pending.clear();
      try {
        await batch.commit();
        this.#hasFailed = false;
      } catch (error) {
        if (!this.#hasFailed) this.#log.warn("what is known of peers cannot be written, a restart will not know it", { error });
        this.#hasFailed = true;
      }
    }
  }
}

const encodeJson = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

const fromJson =
  <T>(parse: (json: unknown) => T | undefined) =>
  (value: Uint8Array): T | undefined => {
    try {
      return parse(JSON.parse(new TextDecoder().decode(value)));
    } catch {
      return undefined; // no JSON
    }
  };
