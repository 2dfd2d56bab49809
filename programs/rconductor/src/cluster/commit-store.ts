import { promisify } from "node:util";
import { deflateRaw, inflateRaw } from "node:zlib";
import { bytesToHex } from "@rnode/primitives";
import { type ExecutionPayloadEnvelope, envelopeFromJson, envelopeToJson, l1InfoOfPayload } from "@rnode/protocol";
import { ConductorError } from "../conductor-error.ts";
import { type Comparison, type Etcd, type KeyValue, type Operation, prefixEnd, type TxnResult } from "../etcd/etcd-api.ts";
import { EtcdError } from "../etcd/etcd-error.ts";
import type { ClusterKeys } from "./keys.ts";
import { type BlockName, type HeadRecord, type PayloadRecord, readHead, readLeader, recordToBytes } from "./records.ts";

export interface CommitOptions {
  /** of each chunk; etcd takes requests of 1.5 MiB by default (`--max-request-bytes`) */
  readonly chunkBytes: number;
  /** how many committed blocks are kept, the last one included */
  readonly keptBlocks: number;
}

export const DEFAULT_COMMIT_OPTIONS: CommitOptions = { chunkBytes: 512 * 1024, keptBlocks: 64 };

export interface CommitDeps {
  readonly etcd: Etcd;
  readonly keys: ClusterKeys;
  /** of this server */
  readonly id: string;
  /** default: zlib's, in its threads */
  readonly compression?: Compression | undefined;
}

/** The last committed block, as read by one leader. */
export interface CommittedHead {
  readonly record: HeadRecord;
  readonly modRevision: number;
}

/** The last committed block with its payload, and those before it. */
export interface Latest {
  readonly record: HeadRecord;
  readonly envelope: ExecutionPayloadEnvelope;
  /** The committed blocks after `number` and before the last one, in order; undefined: etcd has deleted some of them. */
  readonly after: (number: number) => Promise<readonly ExecutionPayloadEnvelope[] | undefined>;
}

export type CommitOutcome =
  | { readonly kind: "committed"; readonly head: HeadRecord }
  /** the fencing token is that of an earlier leader: nothing was changed */
  | { readonly kind: "not-leader"; readonly leader: string | undefined }
  /** the block does not follow the last committed one: nothing was changed */
  | { readonly kind: "not-on-head"; readonly head: HeadRecord };

/** How payloads become smaller. */
export interface Compression {
  deflate(text: string): Promise<Uint8Array>;
  inflate(bytes: Uint8Array): Promise<Uint8Array>;
}

/** Time counts more than size: a block is released only after it is committed. */
const DEFLATE_LEVEL = 1;
/** A payload that is inflated beyond this is none. */
const MAX_PAYLOAD_BYTES = 256 * 1024 * 1024;
const MAX_READS = 5;

const [deflateInThread, inflateInThread] = [promisify(deflateRaw), promisify(inflateRaw)];
const zlib: Compression = {
  deflate: (text) => deflateInThread(text, { level: DEFLATE_LEVEL }),
  inflate: (bytes) => inflateInThread(bytes, { maxOutputLength: MAX_PAYLOAD_BYTES }),
};

/**
 * Stores in etcd the latest block that sequencers may publish. The record under `head` names it; its payload is stored in chunks
 * under other keys. A commit is one transaction that compares the leader key's create revision (the fencing token) and the head's
 * mod revision, so that a deposed leader changes nothing, however late its request arrives. Chunks after the first are written
 * beforehand, under a prefix unique to this leader and block. Each commit deletes payloads older than the last 64 blocks,
 * including those of unfinished commits.
 */
export class CommitStore {
  readonly #options: CommitOptions;
  readonly #etcd: Etcd;
  readonly #keys: ClusterKeys;
  readonly #id: string;
  readonly #compression: Compression;
  /** as this process last saw it; etcd compares it in every commit */
  #head: CommittedHead | undefined | "unknown" = "unknown";
  /** how many chunks of the block that is being committed are in etcd */
  #written = { folder: "", chunks: 1 };

  constructor(options: CommitOptions, { etcd, keys, id, compression = zlib }: CommitDeps) {
    this.#options = options;
    this.#etcd = etcd;
    this.#keys = keys;
    this.#id = id;
    this.#compression = compression;
  }

  /**
   * Makes the block the last committed one. A leader may commit the same block again.
   *
   * @param fence create revision of the leader key at the time when this process became leader
   * @throws {EtcdError} the outcome is unknown; repeating the commit determines it
   */
  async commit(envelope: ExecutionPayloadEnvelope, fence: number): Promise<CommitOutcome> {
    const { blockHash, blockNumber, parentHash } = envelope.executionPayload;
    const hash = bytesToHex(blockHash);
    const last = this.#head;
    if (last !== "unknown" && last?.record.hash === hash) {
      // Asked again because the answer was late: a large block is not packed a second time.
      const outcome = await this.#putHead({ ...last.record, fence }, new Uint8Array(), last, "again");
      if (outcome !== "head-has-changed") return outcome;
    }
    const deflated = await this.#compression.deflate(JSON.stringify(envelopeToJson(envelope)));
    const chunks = chunksOf(deflated, this.#options.chunkBytes);
    const made: Omit<HeadRecord, "recent"> = {
      number: Number(blockNumber),
      hash,
      l1Origin: l1OriginOf(envelope),
      parentHash: bytesToHex(parentHash),
      fence,
      leader: this.#id,
      chunks: chunks.length,
    };
    let areChunksThere = chunks.length === 1;
    for (;;) {
      const head = this.#head === "unknown" ? (await this.#readHead()).head : this.#head;
      const record: HeadRecord = { ...made, recent: this.#recentOf(head?.record) };
      const verdict = followUp(record, head?.record);
      if (verdict === "not-on-head") {
        // The cached record may be out of date, so it is read from etcd.
        const { head: now } = await this.#readHead();
        if (now?.modRevision === head?.modRevision) return { kind: "not-on-head", head: now!.record };
        continue;
      }
      if (!areChunksThere && verdict === "next") {
        const deposed = await this.#putChunks(record, chunks);
        if (deposed !== undefined) return deposed;
        areChunksThere = true;
      }
      const outcome = await this.#putHead(record, chunks[0]!, head, verdict);
      if (outcome !== "head-has-changed") return outcome;
      // The process that changed the head may also have deleted chunks.
      this.#written = { folder: "", chunks: 1 };
      areChunksThere = chunks.length === 1;
    }
  }

  /** The last committed block, with its payload. @throws {EtcdError}; {ConductorError} conductor/bad-record */
  async latest(): Promise<Latest | undefined> {
    for (let read = 1; ; read++) {
      const { head, revision } = await this.#readHead();
      if (head === undefined) return undefined;
      try {
        const { record } = head;
        const after = async (number: number): Promise<readonly ExecutionPayloadEnvelope[] | undefined> => {
          if (number + 1 >= record.number) return [];
          const missing = record.recent.filter((block) => block.number > number);
          if (missing[0]?.number !== number + 1) return undefined;
          const envelopes: ExecutionPayloadEnvelope[] = [];
          for (const block of missing) envelopes.push(await this.#readPayload(block, revision));
          return envelopes;
        };
        return { record, envelope: await this.#readPayload(record, revision), after };
      } catch (error) {
        // A later commit has deleted the chunks, and compaction has forgotten them.
        if (!(error instanceof EtcdError && error.code === "etcd/compacted") || read === MAX_READS) throw error;
      }
    }
  }

  /**
   * Takes back the committed blocks after one of the recent ones, because L1 has replaced the block that they belong to.
   *
   * @param from the last committed block, which must still be it
   * @param fence as of a commit
   * @returns false if nothing was changed
   * @throws {EtcdError}; {ConductorError} conductor/bad-record
   */
  async rewind(from: HeadRecord, to: PayloadRecord, fence: number): Promise<boolean> {
    const { head, revision } = await this.#readHead();
    if (head?.record.hash !== from.hash) return false;
    const { executionPayload } = await this.#readPayload(to, revision);
    const record: HeadRecord = {
      ...to,
      parentHash: bytesToHex(executionPayload.parentHash),
      leader: this.#id,
      recent: from.recent.filter(({ number }) => number < to.number),
    };
    const { head: key, payloads } = this.#keys;
    const result = await this.#etcd.txn(
      [this.#fenceOf(fence), { key, target: "mod", revision: head.modRevision }],
      [
        { kind: "put", key, value: recordToBytes(record) },
        { kind: "delete", key: this.#keys.payloadsFrom(to.number + 1), end: prefixEnd(payloads) },
      ],
    );
    this.#head = result.succeeded ? { record, modRevision: result.revision } : "unknown";
    this.#written = { folder: "", chunks: 1 };
    return result.succeeded;
  }

  /**
   * Deletes the record of the last committed block, so that the next leader starts from its own unsafe head. For operators who
   * know that L1 was reorganised.
   *
   * @returns false if the last committed block is another one
   */
  async forget(hash: string): Promise<boolean> {
    const { head } = await this.#readHead();
    if (head?.record.hash !== hash) return false;
    const { payloads, head: key } = this.#keys;
    const { succeeded } = await this.#etcd.txn(
      [{ key, target: "mod", revision: head.modRevision }],
      [
        { kind: "delete", key },
        { kind: "delete", key: payloads, end: prefixEnd(payloads) },
      ],
    );
    this.#head = "unknown";
    return succeeded;
  }

  /** Drops the cached records, which may be those of an earlier leader. */
  reset(): void {
    this.#head = "unknown";
  }

  async #readHead(): Promise<{ readonly head: CommittedHead | undefined; readonly revision: number }> {
    const { ranges, revision } = await this.#etcd.txn([], [{ kind: "range", key: this.#keys.head }]);
    const pair = ranges[0]?.[0];
    const head = pair && toHead(pair);
    this.#head = head;
    return { head, revision };
  }

  /** The list of recent payloads for the record of the block after `head`. */
  #recentOf(head: HeadRecord | undefined): readonly PayloadRecord[] {
    if (head === undefined) return [];
    const { number, hash, l1Origin, fence, chunks, recent } = head;
    return [...recent, { number, hash, l1Origin, fence, chunks }].slice(1 - this.#options.keptBlocks);
  }

  #fenceOf(fence: number): Comparison {
    return { key: this.#keys.leader, target: "create", revision: fence };
  }

  /** All but the first; those that an earlier attempt has written are there. @returns why they are not */
  async #putChunks(record: HeadRecord, chunks: readonly Uint8Array[]): Promise<CommitOutcome | undefined> {
    const folder = this.#keys.payload(record);
    if (this.#written.folder !== folder) this.#written = { folder, chunks: 1 };
    for (let index = this.#written.chunks; index < chunks.length; index++) {
      const put: Operation = { kind: "put", key: folder + String(index), value: chunks[index]! };
      const result = await this.#etcd.txn([this.#fenceOf(record.fence)], [put], [{ kind: "range", key: this.#keys.leader }]);
      if (!result.succeeded) return this.#notLeader(result);
      this.#written = { folder, chunks: index + 1 };
    }
    return undefined;
  }

  async #putHead(
    record: HeadRecord,
    firstChunk: Uint8Array,
    head: CommittedHead | undefined,
    verdict: "next" | "again",
  ): Promise<CommitOutcome | "head-has-changed"> {
    const { leader, head: key, payloads } = this.#keys;
    const folder = this.#keys.payload(record);
    const comparisons: Comparison[] = [this.#fenceOf(record.fence), { key, target: "mod", revision: head?.modRevision ?? 0 }];
    const writes: Operation[] = [
      { kind: "put", key, value: recordToBytes(record) },
      { kind: "put", key: `${folder}0`, value: firstChunk },
      { kind: "delete", key: payloads, end: this.#keys.payloadsFrom(record.number - this.#options.keptBlocks + 1) },
    ];
    const current: Operation[] = [
      { kind: "range", key: leader },
      { kind: "range", key },
    ];
    const result = await this.#etcd.txn(comparisons, verdict === "again" ? [] : writes, current);
    if (result.succeeded) {
      if (verdict === "again") return { kind: "committed", head: head!.record };
      this.#head = { record, modRevision: result.revision };
      return { kind: "committed", head: record };
    }
    if (result.ranges[0]?.[0]?.createRevision !== record.fence) return this.#notLeader(result);
    const now = result.ranges[1]?.[0];
    this.#head = now && toHead(now);
    return "head-has-changed";
  }

  #notLeader({ ranges }: TxnResult): CommitOutcome {
    this.#head = "unknown";
    const leader = ranges[0]?.[0];
    return { kind: "not-leader", leader: leader && readLeader(leader).id };
  }

  /** @param revision at which the head was this one: later commits delete its chunks */
  async #readPayload(record: PayloadRecord, revision: number): Promise<ExecutionPayloadEnvelope> {
    const folder = this.#keys.payload(record);
    const chunks: Uint8Array[] = [];
    for (let index = 0; index < record.chunks; index++) {
      const key = folder + String(index);
      const { ranges } = await this.#etcd.txn([], [{ kind: "range", key, revision }]);
      const chunk = ranges[0]?.[0];
      if (chunk === undefined) throw new ConductorError("conductor/bad-record", { key, reason: "it is missing" });
      chunks.push(chunk.value);
    }
    const key = this.#keys.head;
    try {
      const text = Buffer.from(await this.#compression.inflate(Buffer.concat(chunks))).toString("utf8");
      const envelope = envelopeFromJson(JSON.parse(text));
      const hash = bytesToHex(envelope.executionPayload.blockHash);
      if (hash !== record.hash) throw new Error(`the payload is that of ${hash}`);
      return envelope;
    } catch (error) {
      throw new ConductorError("conductor/bad-record", { key, reason: (error as Error).message }, { cause: error });
    }
  }
}

function l1OriginOf({ executionPayload }: ExecutionPayloadEnvelope): BlockName {
  const { number, blockHash } = l1InfoOfPayload(executionPayload);
  return { number, hash: bytesToHex(blockHash) };
}

const toHead = (pair: KeyValue): CommittedHead => ({ record: readHead(pair), modRevision: pair.modRevision });

/** One chain: a block is committed on top of the last one, or is the last one. */
function followUp(record: HeadRecord, head: HeadRecord | undefined): "next" | "again" | "not-on-head" {
  if (head === undefined) return "next";
  if (head.hash === record.hash) return "again";
  return record.parentHash === head.hash && record.number === head.number + 1 ? "next" : "not-on-head";
}

function chunksOf(bytes: Uint8Array, chunkBytes: number): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += chunkBytes) chunks.push(bytes.subarray(at, at + chunkBytes));
  return chunks;
}
