import { open } from "lmdb";

/** The tables of a database in the library's API, to write invalid content. The caller closes `root`. */
export function openRawTables(folder: string) {
  const root = open<Uint8Array, Uint8Array>({
    path: folder,
    noSubdir: false,
    encoding: "binary",
    keyEncoding: "binary",
    maxDbs: 40,
  });
  const table = (name: string) => root.openDB<Uint8Array, Uint8Array>({ name, encoding: "binary", keyEncoding: "binary" });
  return { root, table };
}
