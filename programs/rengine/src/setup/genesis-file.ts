import { createHash, type Hash } from "node:crypto";
import { tmpdir } from "node:os";
import { GenesisState } from "@rnode/chain";
import { isCodedError } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import {
  type GenesisHead,
  type JsonObject,
  jsonError,
  jsonObject,
  type OldForkKey,
  oldForkKeysIn,
  parseGenesisAccount,
  parseGenesisHead,
  parseGenesisSlot,
} from "@rnode/protocol";
import { RowFile } from "@rnode/storage";
import type { GenesisMemory } from "./genesis-memory.ts";
import { JsonTextError, MAX_VALUE_BYTES, type MemberSink, readJsonPieces } from "./json-pieces.ts";
import { fileChunks, unpacked } from "./packed-text.ts";
import { downloadPieces, isUrl } from "./read-input.ts";
import { MAX_GENESIS_BYTES } from "./zstd.ts";

const CHUNK_BYTES = 1 << 20;
/** An account with a longer text is read slot by slot. */
const LARGE_ACCOUNT_BYTES = 1 << 18;
const ACCOUNT_FIELDS: ReadonlySet<string> = new Set(["balance", "nonce", "code", "storage"]);

/** A Geth-style genesis file of any size, as it is, with gzip or with Zstandard as in the superchain registry. Its accounts are read on demand. */
export interface GenesisFile {
  readonly head: GenesisHead;
  /** keys of `config` that are read under their old names */
  readonly oldKeys: readonly OldForkKey[];
  /** SHA-256 of the file's bytes */
  readonly digest: Uint8Array;
  /**
   * @param folder for temporary files of a large state; default: that of the system
   * @throws {UserError} naming the file and the fault
   */
  readState(folder?: string): Promise<GenesisState>;
}

/**
 * @param memory a file that it knows is not read
 * @throws {UserError} as for `readState`
 */
export async function openGenesisFile(source: string, memory?: GenesisMemory): Promise<GenesisFile> {
  const identity = isUrl(source) ? undefined : memory?.identify(source);
  const known = identity && memory?.recall(identity);
  if (known !== undefined) {
    const readState = (folder?: string) =>
      describingErrors(source, () => stateOf(unpacked(source, fileChunks(source), MAX_GENESIS_BYTES), folder));
    return { ...headOf(known.fields), digest: known.digest, readState };
  }
  const downloaded = isUrl(source) ? await downloadedFile(source) : undefined;
  const chunks = (): AsyncIterable<Uint8Array> => (downloaded === undefined ? fileChunks(source) : downloaded());
  return await describingErrors(source, async () => {
    const hash = createHash("sha256");
    const fields: Record<string, unknown> = {};
    let fieldBytes = 0;
    let hasAlloc = false;
    const other = await readJsonPieces(unpacked(source, hashed(chunks(), hash), MAX_GENESIS_BYTES), {
      member(key, read, bytes) {
        if (key === "alloc") throw jsonError("alloc", read(), "an object");
        fieldBytes += key.length + bytes;
        if (fieldBytes > MAX_VALUE_BYTES)
          throw new UserError(
            `${source}: its fields beside "alloc" have more than ${MAX_VALUE_BYTES} bytes: remove those that are none of a genesis`,
          );
        fields[key] = read();
      },
      open(key) {
        if (key !== "alloc") return undefined;
        if (hasAlloc) throw new UserError(`${source}: "alloc" is there twice`);
        hasAlloc = true;
        return { sink: ignoring, minBytes: 0 };
      },
    });
    const head = headOf(other === undefined ? fields : jsonObject(other, "genesis"));
    if (!hasAlloc) throw jsonError("alloc", undefined, "an object");
    const readState = (folder?: string) =>
      describingErrors(source, () => stateOf(unpacked(source, chunks(), MAX_GENESIS_BYTES), folder));
    const digest = hash.digest();
    if (identity !== undefined) memory?.remember(source, identity, { fields, digest });
    return { ...head, digest, readState };
  });
}

const headOf = (fields: JsonObject): Pick<GenesisFile, "head" | "oldKeys"> => ({
  head: parseGenesisHead(fields),
  oldKeys: oldForkKeysIn(fields.config),
});

/** Skips members; large ones are never held in memory as a whole. */
const ignoring: MemberSink = {
  member: () => undefined,
  open: () => ({ sink: ignoring, minBytes: LARGE_ACCOUNT_BYTES }),
};

async function stateOf(text: AsyncIterable<Uint8Array>, folder: string | undefined): Promise<GenesisState> {
  const state = new GenesisState({ folder });
  try {
    await readJsonPieces(text, {
      member: () => undefined,
      open: (key) => (key === "alloc" ? { sink: accountsInto(state), minBytes: 0 } : undefined),
    });
  } catch (error) {
    state.close();
    throw error;
  }
  return state;
}

const accountsInto = (state: GenesisState): MemberSink => ({
  member(name, read) {
    state.add(parseGenesisAccount(name, read(), "alloc"));
  },
  open(name) {
    const fields: Record<string, unknown> = {};
    const { address } = parseGenesisAccount(name, {}, "alloc");
    let slots = 0;
    const storage: MemberSink = {
      member(slot, read) {
        state.addSlot(address, parseGenesisSlot(slot, read(), `alloc.${name}.storage`));
        slots++;
      },
    };
    return {
      minBytes: LARGE_ACCOUNT_BYTES,
      sink: {
        member(key, read) {
          if (ACCOUNT_FIELDS.has(key)) fields[key] = read();
        },
        open(key) {
          if (key !== "storage") return undefined;
          if (slots > 0) throw new UserError(`alloc.${name} has "storage" twice`);
          return { sink: storage, minBytes: 0 };
        },
      },
      onEnd: () => state.add(parseGenesisAccount(name, fields satisfies JsonObject, "alloc")),
    };
  },
});

async function describingErrors<T>(source: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (cause instanceof UserError || !(cause instanceof JsonTextError || isCodedError(cause))) throw cause;
    throw new UserError(`${source}: ${cause.message}`, { cause });
  }
}

/** Downloads into a temporary file without a name, which is read twice. */
async function downloadedFile(url: string): Promise<() => AsyncIterable<Uint8Array>> {
  const file = new RowFile(tmpdir());
  let size = 0;
  for await (const piece of downloadPieces(url)) {
    file.append(piece);
    size += piece.length;
  }
  file.flush();
  return async function* () {
    for (let at = 0; at < size; at += CHUNK_BYTES) {
      const chunk = new Uint8Array(Math.min(CHUNK_BYTES, size - at));
      file.read(chunk, at);
      yield chunk;
    }
  };
}

async function* hashed(chunks: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
}
