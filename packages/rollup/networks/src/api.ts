/** Where the files of a registry are: a folder on this machine, or a server. Spec: docs/protocol/05-services.md#registry-data */
export interface RegistrySource {
  /**
   * Reads a file.
   *
   * @param path in the registry's layout, with "/": `superchain/configs/mainnet/op.toml`
   * @param maxBytes maximum size of the file
   * @returns `undefined` if the registry has no such file
   * @throws {RegistryError}
   */
  read(path: string, maxBytes: number): Promise<Uint8Array | undefined>;
  /**
   * The names of the entries of a folder, sorted. A server cannot list folders: it has no `list`.
   *
   * @returns `undefined` if the registry has no such folder
   * @throws {RegistryError}
   */
  list?(folder: string): Promise<readonly string[] | undefined>;
  /** The registry in texts for people: the folder's path or the address. */
  describe(): string;
}
