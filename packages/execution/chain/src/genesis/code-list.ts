import { bytesToHex, keccak256 } from "@rnode/primitives";
import { RowFile } from "@rnode/storage";

const MEMORY_BYTES = 16 << 20;

interface CodePlace {
  readonly codeHash: Uint8Array;
  readonly size: number;
}

/** Codes, each once, in the order in which they were added. Beyond 16 MiB they lie in a temporary file. */
export class CodeList {
  readonly #folder: string;
  readonly #places: CodePlace[] = [];
  readonly #known = new Set<string>();
  #inMemory: Uint8Array[] = [];
  #memoryBytes = 0;
  #file: RowFile | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** @returns keccak256 of the code */
  add(code: Uint8Array): Uint8Array {
    const codeHash = keccak256(code);
    const key = bytesToHex(codeHash);
    if (this.#known.has(key)) return codeHash;
    this.#known.add(key);
    this.#places.push({ codeHash, size: code.length });
    this.#inMemory.push(code.slice());
    this.#memoryBytes += code.length;
    if (this.#memoryBytes > MEMORY_BYTES) this.#spill();
    return codeHash;
  }

  has(codeHash: Uint8Array): boolean {
    return this.#known.has(bytesToHex(codeHash));
  }

  #spill(): void {
    const file = (this.#file ??= new RowFile(this.#folder));
    for (const code of this.#inMemory) file.append(code);
    file.flush();
    this.#inMemory = [];
    this.#memoryBytes = 0;
  }

  *all(): Generator<{ readonly codeHash: Uint8Array; readonly code: Uint8Array }> {
    const spilled = this.#places.length - this.#inMemory.length;
    let from = 0;
    for (const [index, { codeHash, size }] of this.#places.entries()) {
      if (index >= spilled) {
        yield { codeHash, code: this.#inMemory[index - spilled]! };
        continue;
      }
      const code = new Uint8Array(size);
      this.#file!.read(code, from);
      from += size;
      yield { codeHash, code };
    }
  }

  close(): void {
    this.#file?.close();
  }
}
