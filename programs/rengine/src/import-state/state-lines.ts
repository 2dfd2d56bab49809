import type { GenesisState, RowCounts } from "@rnode/chain";
import { isCodedError } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import { type JsonObject, jsonError, jsonHash, parseGenesisAccount, parseGenesisSlot } from "@rnode/protocol";
import { RowFile } from "@rnode/storage";
import { JsonTextError, type MemberSink, readJsonObjects } from "../setup/json-pieces.ts";

/** What an account of a dump may have beside the fields that are read: `geth dump` writes them. */
const IGNORED: ReadonlySet<string> = new Set(["root", "codeHash", "key"]);
const ACCOUNT_FIELDS: ReadonlySet<string> = new Set(["address", "balance", "nonce", "code", "storage"]);
/** Storage with a longer text is read slot by slot. */
const LARGE_STORAGE_BYTES = 1 << 16;
const WORD = 32;
const REPORT_ROWS = 50_000;

export interface StateLines extends RowCounts {
  /** the state root that the first line names, which nothing is believed of; `undefined`: it names none */
  readonly root: Uint8Array | undefined;
}

/**
 * Reads a state from lines of JSON, in bounded memory: `{"root": "0x…"}`, then an object for each account with `address`, `balance`, `nonce`,
 * `code` and `storage` (slot → value), each of which may be absent where it is empty. That is what `op-reth init-state` takes, and what
 * `geth dump --iterative` writes.
 *
 * @param source for errors
 * @param folder for a temporary file
 * @throws {UserError} naming the source, the line's number among the objects, and the fault
 */
export async function readStateLines(
  text: AsyncIterable<Uint8Array>,
  state: GenesisState,
  {
    source,
    folder,
    onProgress,
  }: { readonly source: string; readonly folder: string; readonly onProgress?: (counts: RowCounts) => void },
): Promise<StateLines> {
  const lines = new Lines(state, folder, onProgress);
  try {
    await readJsonObjects(text, () => lines.next());
    lines.end();
    return lines;
  } catch (cause) {
    if (!(cause instanceof JsonTextError || isCodedError(cause, "json/"))) throw cause;
    throw new UserError(`${source}: object ${lines.objects}: ${cause.message}`, { cause });
  } finally {
    lines.close();
  }
}

class Lines implements StateLines {
  readonly #state: GenesisState;
  readonly #folder: string;
  readonly #onProgress: ((counts: RowCounts) => void) | undefined;
  /** slots of an account whose address comes after them */
  #early: RowFile | undefined;
  #fields: Record<string, unknown> = {};
  #address: Uint8Array | undefined;
  #reported = 0;
  #isTaken = true;
  root: Uint8Array | undefined;
  objects = 0;
  accounts = 0;
  slots = 0;

  constructor(state: GenesisState, folder: string, onProgress: ((counts: RowCounts) => void) | undefined) {
    this.#state = state;
    this.#folder = folder;
    this.#onProgress = onProgress;
  }

  next(): MemberSink {
    this.end();
    this.#isTaken = false;
    this.objects++;
    return this.#account;
  }

  readonly #account: MemberSink = {
    member: (key, read) => {
      if (!ACCOUNT_FIELDS.has(key) && !IGNORED.has(key)) throw jsonError(key, undefined, "no such field");
      if (key in this.#fields) throw jsonError(key, undefined, "one of this name");
      this.#fields[key] = read();
      if (key === "address") this.#address = parseGenesisAccount(String(this.#fields.address), {}, "").address;
    },
    open: (key) => {
      if (key !== "storage") return undefined;
      if (key in this.#fields) throw jsonError(key, undefined, "one of this name");
      return { sink: this.#storage, minBytes: LARGE_STORAGE_BYTES, onEnd: () => void (this.#fields.storage = {}) };
    },
  };

  readonly #storage: MemberSink = {
    member: (key, read) => {
      const slot = parseGenesisSlot(key, read(), "storage");
      this.slots++;
      if (this.#address !== undefined) {
        this.#state.addSlot(this.#address, slot);
        return;
      }
      this.#early ??= new RowFile(this.#folder);
      this.#early.append(slot.slot);
      this.#early.append(slot.value);
    },
  };

  /** Takes the object that was read. */
  end(): void {
    if (this.#isTaken) return;
    this.#isTaken = true;
    const fields = this.#fields;
    this.#fields = {};
    if (this.#address === undefined) {
      this.#takeRoot(fields);
      return;
    }
    const account = parseGenesisAccount(String(fields.address), fields satisfies JsonObject, "");
    this.#takeEarly(this.#address);
    this.#state.add(account);
    this.#address = undefined;
    this.accounts++;
    this.slots += account.storage.length;
    if (this.accounts + this.slots - this.#reported < REPORT_ROWS) return;
    this.#reported = this.accounts + this.slots;
    this.#onProgress?.({ accounts: this.accounts, slots: this.slots });
  }

  #takeRoot(fields: Readonly<Record<string, unknown>>): void {
    if (this.objects > 1 || Object.keys(fields).join() !== "root") {
      throw jsonError("address", undefined, "the account's address: a dump without preimages cannot be taken");
    }
    this.root = jsonHash(fields.root, "root");
  }

  #takeEarly(address: Uint8Array): void {
    if (this.#early === undefined || this.#early.sizeBytes === 0) return;
    this.#early.flush();
    const { sizeBytes } = this.#early;
    const pair = new Uint8Array(2 * WORD);
    for (let at = 0; at < sizeBytes; at += pair.length) {
      this.#early.read(pair, at);
      this.#state.addSlot(address, { slot: pair.slice(0, WORD), value: pair.slice(WORD) });
    }
    this.#early.cut(0);
  }

  close(): void {
    this.#early?.close();
  }
}
