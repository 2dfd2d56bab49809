import { bytesToHex, keccak256 } from "@rnode/primitives";
import { RowFile } from "@rnode/storage";

const MEMORY_BYTES = 16 << 20;

interface CodePlace {
  readonly codeHash: Uint8Array;
  /** in the file, once it is there */
  readonly at: number;
  readonly size: number;
}

/** Codes, each once, in the order in which they were added. Beyond 16 MiB they lie in a temporary file. */
export class CodeList {
  readonly #folder: string;
  readonly #places: CodePlace[] = [];
  /** index of each code by its hash */
  readonly #known = new Map<string, number>();
  #inMemory: Uint8Array[] = [];
  #memoryBytes = 0;
  #totalBytes = 0;
  #file: RowFile | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** @returns keccak256 of the code */
  add(code: Uint8Array, codeHash = keccak256(code)): Uint8Array {
    const key = bytesToHex(codeHash);
    if (this.#known.has(key)) return codeHash;
    this.#known.set(key, this.#places.length);
    this.#places.push({ codeHash, at: this.#totalBytes, size: code.length });
    this.#totalBytes += code.length;
    this.#inMemory.push(code.slice());
    this.#memoryBytes += code.length;
    if (this.#memoryBytes > MEMORY_BYTES) this.#spill();
    return codeHash;
  }

  #spill(): void {
    const file = (this.#file ??= new RowFile(this.#folder));
    for (const code of this.#inMemory) file.append(code);
    file.flush();
    this.#inMemory = [];
    this.#memoryBytes = 0;
  }

  /** `undefined` if it was not added */
  get(codeHash: Uint8Array): Uint8Array | undefined {
    const index = this.#known.get(bytesToHex(codeHash));
    return index === undefined ? undefined : this.#at(index);
  }

  *all(): Generator<{ readonly codeHash: Uint8Array; readonly code: Uint8Array }> {
    for (const [index, { codeHash }] of this.#places.entries()) yield { codeHash, code: this.#at(index) };
  }

  #at(index: number): Uint8Array {
    const spilled = this.#places.length - this.#inMemory.length;
    if (index >= spilled) return this.#inMemory[index - spilled]!;
    const { at, size } = this.#places[index]!;
    const code = new Uint8Array(size);
    this.#file!.read(code, at);
    return code;
  }

  close(): void {
    this.#file?.close();
  }
}
