import { compareBytes } from "@rnode/primitives";
import { Malformed } from "../errors.ts";

/** Checks that keys ascend over a whole tree. It follows that a walk meets each leaf once: a damaged file cannot make it endless. */
export class Ascent {
  #bound: Uint8Array | undefined;
  #isBoundAllowed = false;

  /** @returns the key of the next row @throws {Malformed} */
  key(key: Uint8Array): Uint8Array {
    const order = this.#bound === undefined ? 1 : compareBytes(key, this.#bound);
    if (order < 0 || (order === 0 && !this.#isBoundAllowed)) throw new Malformed("the keys do not ascend");
    this.#bound = key;
    this.#isBoundAllowed = false;
    return key;
  }

  /** The key of a child in a branch: higher than all keys left of the child, at most the first in it. @throws {Malformed} */
  separator(key: Uint8Array): void {
    this.key(key);
    this.#isBoundAllowed = true;
  }
}
