import { PackedRows, type PackedState, type RowCounts } from "@rnode/chain";
import { EMPTY_KECCAK, isCodedError, keccak256 } from "@rnode/primitives";
import { type JsonObject, jsonError, jsonHash, parseGenesisAccount, parseGenesisSlot } from "@rnode/protocol";
import { JsonObjects, JsonTextError, type MemberSink } from "../setup/json-pieces.ts";
import { readHexWord } from "./hex-word.ts";

/** What an account of a dump may have beside the fields that are read: `geth dump` writes them. */
const IGNORED: ReadonlySet<string> = new Set(["root", "codeHash", "key"]);
const ACCOUNT_FIELDS: ReadonlySet<string> = new Set(["address", "balance", "nonce", "code", "storage"]);

/** A part of the text; `undefined`: its end. */
export type LinesPart = Uint8Array | undefined;

export type ParsedLines =
  | {
      readonly kind: "rows";
      readonly packed: PackedState;
      /** of all parts until now */
      readonly counts: RowCounts;
      /** the state root that the first line names */
      readonly root: Uint8Array | undefined;
    }
  | { readonly kind: "fault"; readonly reason: string };

/** Parses lines of JSON, part by part: an object for each account, as `readStateLines` describes it. */
export class LineParser {
  readonly #rows = new PackedRows();
  readonly #objects = new JsonObjects(() => this.#next());
  #fields: Record<string, unknown> = {};
  #address: Uint8Array | undefined;
  #isTaken = true;
  #root: Uint8Array | undefined;
  #count = 0;
  #accounts = 0;
  #slots = 0;

  parse(part: LinesPart): ParsedLines {
    try {
      if (part !== undefined) this.#objects.push(part);
      else {
        this.#objects.end();
        this.#end();
      }
    } catch (cause) {
      if (!(cause instanceof JsonTextError || isCodedError(cause, "json/"))) throw cause;
      return { kind: "fault", reason: `object ${this.#count}: ${cause.message}` };
    }
    const counts = { accounts: this.#accounts, slots: this.#slots };
    return { kind: "rows", packed: this.#rows.take(), counts, root: this.#root };
  }

  #next(): MemberSink {
    this.#end();
    this.#isTaken = false;
    this.#count++;
    return this.#account;
  }

  readonly #account: MemberSink = {
    member: (key, read) => {
      if (!ACCOUNT_FIELDS.has(key) && !IGNORED.has(key)) throw jsonError(key, undefined, "no such field");
      if (key in this.#fields) throw jsonError(key, undefined, "one of this name");
      this.#fields[key] = read();
      if (key !== "address") return;
      this.#address = parseGenesisAccount(String(this.#fields.address), {}, "").address;
      this.#rows.setAddress(this.#address);
    },
    open: (key) => {
      if (key !== "storage") return undefined;
      if (key in this.#fields) throw jsonError(key, undefined, "one of this name");
      return { sink: this.#storage, minBytes: 0, onEnd: () => void (this.#fields.storage = {}) };
    },
  };

  readonly #word = { slot: new Uint8Array(32), value: new Uint8Array(32) };

  readonly #storage: MemberSink = {
    member: (key, read) => {
      this.#slots++;
      this.#rows.addSlot(parseGenesisSlot(key, read(), "storage"));
    },
    strings: (bytes, key, keyEnd, value, valueEnd) => {
      const { slot, value: word } = this.#word;
      if (!readHexWord(bytes, key, keyEnd, slot) || !readHexWord(bytes, value, valueEnd, word)) return false;
      this.#slots++;
      this.#rows.addSlot(this.#word);
      return true;
    },
  };

  /** Takes the object that was read. */
  #end(): void {
    if (this.#isTaken) return;
    this.#isTaken = true;
    const fields = this.#fields;
    this.#fields = {};
    if (this.#address === undefined) {
      this.#takeRoot(fields);
      return;
    }
    const account = parseGenesisAccount(String(fields.address), fields satisfies JsonObject, "");
    const codeHash = account.code.length === 0 ? EMPTY_KECCAK : keccak256(account.code);
    this.#rows.addAccount(this.#address, { ...account, codeHash }, account.code);
    this.#address = undefined;
    this.#accounts++;
  }

  #takeRoot(fields: Readonly<Record<string, unknown>>): void {
    if (this.#count > 1 || Object.keys(fields).join() !== "root") {
      throw jsonError("address", undefined, "the account's address: a dump without preimages cannot be taken");
    }
    this.#root = jsonHash(fields.root, "root");
  }
}
