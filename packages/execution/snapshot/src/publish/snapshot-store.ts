/** Where snapshots are published: a folder, or a prefix of a bucket. Names have no slashes. */
export interface SnapshotStore {
  /** for people */
  readonly place: string;
  list(): Promise<readonly string[]>;
  /** @returns `undefined`: there is none */
  read(name: string): Promise<Uint8Array | undefined>;
  /** Readers see the earlier content or the whole new one. */
  write(name: string, bytes: Uint8Array): Promise<void>;
  /** A large file, which readers see once it is finished. */
  create(name: string): Promise<StoreUpload>;
  remove(name: string): Promise<void>;
}

export interface StoreUpload {
  write(bytes: Uint8Array): Promise<void>;
  finish(): Promise<void>;
  /** Leaves nothing of it. */
  abort(): Promise<void>;
}
