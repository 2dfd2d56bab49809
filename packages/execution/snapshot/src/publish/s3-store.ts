import { setTimeout as wait } from "node:timers/promises";
import { errorCauses, proxiedFetch } from "@rnode/download";
import { backoffMs } from "@rnode/primitives";
import { S3mini, S3ServiceError } from "s3mini";
import { snapshotError } from "../errors.ts";
import type { SnapshotStore, StoreUpload } from "./snapshot-store.ts";

/** `s3://bucket/prefix` with what the environment names for it. */
export interface S3Place {
  readonly bucket: string;
  /** without slashes at its ends; may be empty */
  readonly prefix: string;
  /** of the service, without the bucket */
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** Parts of one object; S3 takes 10,000, from 5 MiB on. Snapshots of up to 160 GB fit. */
const PART_BYTES = 16 << 20;
const ATTEMPTS = 6;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
const REQUEST_TIMEOUT_MS = 120_000;
/** A presigned address; the longest that S3 takes. */
const ADDRESS_LIFE_SEC = 7 * 24 * 3600;

export function openS3Store(place: S3Place, firstWaitMs = FIRST_WAIT_MS): SnapshotStore {
  const client = clientOf(place);
  const keyOf = keysBelow(place.prefix);
  const start = keyOf("");
  const named = `s3://${place.bucket}/${start}`;
  const ask: Ask = (request) => repeated(request, named, firstWaitMs);
  return {
    place: named,
    async list() {
      const objects = await ask(() => client.listObjects("/", start));
      return (objects ?? []).map(({ Key: key }) => key.slice(start.length)).filter((name) => name !== "");
    },
    async read(name) {
      const bytes = await ask(() => client.getObjectArrayBuffer(keyOf(name)));
      return bytes === null ? undefined : new Uint8Array(bytes);
    },
    async write(name, bytes) {
      await ask(() => client.putObject(keyOf(name), bytes, "application/json"));
    },
    async create(name) {
      const id = await ask(() => client.getMultipartUploadId(keyOf(name), "application/octet-stream"));
      return new PartUpload(client, keyOf(name), id, ask);
    },
    async remove(name) {
      await ask(() => client.deleteObject(keyOf(name)));
    },
  };
}

/** An address from which an object can be read for a week, without credentials. */
export const presignedUrl = (place: S3Place, name: string): Promise<string> =>
  clientOf(place).getPresignedUrl("GET", keysBelow(place.prefix)(name), ADDRESS_LIFE_SEC);

const keysBelow = (prefix: string) => (name: string) => (prefix === "" ? name : `${prefix}/${name}`);

const clientOf = ({ bucket, endpoint, ...rest }: S3Place): S3mini =>
  new S3mini({ ...rest, endpoint: `${endpoint}/${bucket}`, requestAbortTimeout: REQUEST_TIMEOUT_MS, fetch: proxiedFetch });

type Ask = <T>(request: () => Promise<T>) => Promise<T>;

/** Collects a part at a time, and sends it before it takes more. */
class PartUpload implements StoreUpload {
  readonly #client: S3mini;
  readonly #key: string;
  readonly #id: string;
  readonly #ask: Ask;
  readonly #parts: { readonly partNumber: number; readonly etag: string }[] = [];
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  constructor(client: S3mini, key: string, id: string, ask: Ask) {
    this.#client = client;
    this.#key = key;
    this.#id = id;
    this.#ask = ask;
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#pieces.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes >= PART_BYTES) await this.#send();
  }

  async finish(): Promise<void> {
    if (this.#bytes > 0) await this.#send();
    await this.#ask(() => this.#client.completeMultipartUpload(this.#key, this.#id, this.#parts));
  }

  async abort(): Promise<void> {
    await this.#client.abortMultipartUpload(this.#key, this.#id);
  }

  async #send(): Promise<void> {
    const part = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#bytes = 0;
    const partNumber = this.#parts.length + 1;
    this.#parts.push(await this.#ask(() => this.#client.uploadPart(this.#key, this.#id, part, partNumber)));
  }
}

/** Repeats a request that fails on the way or by the server's fault. @throws {CodedError} snapshot/store-failed */
async function repeated<T>(request: () => Promise<T>, place: string, firstWaitMs: number): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await request();
    } catch (cause) {
      const isRefused = cause instanceof S3ServiceError && cause.status < 500 && cause.status !== 429;
      if (isRefused || failures === ATTEMPTS)
        throw snapshotError("snapshot/store-failed", { place, reason: errorCauses(cause) }, { cause });
      await wait(backoffMs(failures, { firstMs: firstWaitMs, maxMs: LONGEST_WAIT_MS }));
    }
  }
}
