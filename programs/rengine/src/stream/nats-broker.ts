import { readFileSync } from "node:fs";
import {
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  StorageType,
  type StoredMsg,
} from "@nats-io/jetstream";
import { connect, credsAuthenticator, headers, type MsgHdrs, type NatsConnection } from "@nats-io/transport-node";
import type { Hex } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import type { Broker, StoredEntry, StreamEntry } from "./stream-entry.ts";

export interface NatsOptions {
  readonly servers: readonly string[];
  readonly creds: string | undefined;
  readonly stream: string;
  readonly subject: string;
  /** An empty stream with earlier messages is a stream that lost its last block. */
  readonly mayBeginAgain: boolean;
}

/** bytes of a message that are kept for its headers */
const HEADER_BYTES = 4096;
const NUMBER = "Rnode-Block-Number";

interface Session {
  readonly connection: NatsConnection;
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly maxBodyBytes: number;
}

/** The messages of one subject of a JetStream stream. It connects when it is first used, and again after the connection is closed. */
export class NatsBroker implements Broker {
  readonly #options: NatsOptions;
  #session: Session | undefined;

  constructor(options: NatsOptions) {
    this.#options = options;
  }

  async maxBodyBytes(): Promise<number> {
    return (await this.#open()).maxBodyBytes;
  }

  async last(): Promise<StoredEntry | undefined> {
    const { manager } = await this.#open();
    const { stream, subject, mayBeginAgain } = this.#options;
    const found = await manager.streams.getMessage(stream, { last_by_subj: subject });
    if (found !== null) return entryOf(found);
    const { state } = await manager.streams.info(stream);
    if (state.last_seq > 0 && !mayBeginAgain) {
      throw new UserError(
        `the stream ${stream} has had messages, but none of ${subject} is left: name the first block with --from`,
      );
    }
    return undefined;
  }

  async before(sequence: number): Promise<StoredEntry | undefined> {
    const { manager } = await this.#open();
    const { stream, subject } = this.#options;
    const { state } = await manager.streams.info(stream);
    for (let seq = sequence - 1; seq >= state.first_seq; seq--) {
      const found = await manager.streams.getMessage(stream, { seq });
      if (found?.subject === subject) return entryOf(found);
    }
    return undefined;
  }

  async publish(entry: StreamEntry, body: Uint8Array, after: number): Promise<number> {
    const { client } = await this.#open();
    const { kind, hash, part } = entry;
    const { seq } = await client.publish(this.#options.subject, body, {
      headers: headersOf(entry),
      // The same block may come again after its retraction, then after another message.
      msgID: `${kind}:${hash}:${part}:${after}`,
      expect: { streamName: this.#options.stream, lastSubjectSequence: after },
    });
    return seq;
  }

  async close(): Promise<void> {
    await this.#session?.connection.close();
  }

  async #open(): Promise<Session> {
    if (this.#session !== undefined && !this.#session.connection.isClosed()) return this.#session;
    const { servers, creds } = this.#options;
    const authenticator = creds === undefined ? undefined : credsAuthenticator(readFileSync(creds));
    const { user, pass } = loginOf(servers);
    const connection = await connect({
      servers: servers.map(withoutLogin),
      name: "rengine stream",
      maxReconnectAttempts: -1,
      ...(authenticator && { authenticator }),
      ...(user !== undefined && { user, pass }),
    });
    try {
      const manager = await jetstreamManager(connection);
      const maxMessageBytes = await this.#findOrAddStream(manager);
      const maxBytes = Math.min(connection.info!.max_payload, maxMessageBytes);
      const session = { connection, manager, client: jetstream(connection), maxBodyBytes: Math.max(1024, maxBytes - HEADER_BYTES) };
      this.#session = session;
      return session;
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  /** @returns the largest message that the stream takes */
  async #findOrAddStream(manager: JetStreamManager): Promise<number> {
    const { stream, subject } = this.#options;
    try {
      const { config } = await manager.streams.info(stream);
      if (config.retention !== "limits") {
        throw new UserError(
          `the stream ${stream} has the retention ${config.retention}, which removes the message to resume from: it needs limits`,
        );
      }
      return config.max_msg_size > 0 ? config.max_msg_size : Number.POSITIVE_INFINITY;
    } catch (error) {
      if (!(error instanceof JetStreamApiError) || error.code !== JetStreamApiCodes.StreamNotFound) throw error;
      await manager.streams.add({ name: stream, subjects: [subject], storage: StorageType.File });
      return Number.POSITIVE_INFINITY;
    }
  }
}

function headersOf({ kind, number, hash, parentHash, genesisHash, isFirst, part, parts }: StreamEntry): MsgHdrs {
  const all = headers();
  all.set("Rnode-Kind", kind);
  all.set(NUMBER, String(number));
  all.set("Rnode-Block-Hash", hash);
  all.set("Rnode-Parent-Hash", parentHash);
  all.set("Rnode-Genesis-Hash", genesisHash);
  all.set("Rnode-Part", `${part}/${parts}`);
  if (isFirst) all.set("Rnode-First", "1");
  return all;
}

/** @throws {UserError} the message is of another program */
function entryOf({ header, seq, subject }: StoredMsg): StoredEntry {
  const of = (name: string): string => header.get(name);
  if (of(NUMBER) === "")
    throw new UserError(`message ${seq} of ${subject} is not of rengine stream: choose another --nats.subject`);
  const [part, parts] = of("Rnode-Part").split("/").map(Number) as [number, number];
  return {
    sequence: seq,
    kind: of("Rnode-Kind") as StreamEntry["kind"],
    number: Number(of(NUMBER)),
    hash: of("Rnode-Block-Hash") as Hex,
    parentHash: of("Rnode-Parent-Hash") as Hex,
    genesisHash: of("Rnode-Genesis-Hash") as Hex,
    isFirst: of("Rnode-First") === "1",
    part,
    parts,
  };
}

/** The user and password of the first address that has them. */
function loginOf(servers: readonly string[]): { readonly user?: string; readonly pass?: string } {
  const found = servers.map((server) => new URL(server)).find(({ username }) => username !== "");
  return found === undefined ? {} : { user: decodeURIComponent(found.username), pass: decodeURIComponent(found.password) };
}

function withoutLogin(server: string): string {
  const url = new URL(server);
  return `${url.protocol}//${url.host}`;
}
