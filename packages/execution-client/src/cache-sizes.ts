/** Bytes that the parts of one process may keep; what each of them counts is said there. */
export interface CacheSizes {
  /** executed blocks that are in the database already: reorganisations go back to them without executing again */
  readonly executedBlocks: number;
  /** decoded code of each engine that executes and builds blocks */
  readonly chainCode: number;
  /** decoded code of each engine that serves calls and traces */
  readonly callCode: number;
  /** blocks that were asked for last, with their texts */
  readonly decodedBlocks: number;
}

const MIB = 1024 * 1024;

/** How `--cache` is shared out. Two engines have `chainCode`, about four `callCode`: with these, three quarters of it are taken. */
export const cacheSizesOf = (cacheMib: number): CacheSizes => ({
  executedBlocks: (cacheMib * MIB) / 8,
  chainCode: (cacheMib * MIB) / 8,
  callCode: (cacheMib * MIB) / 16,
  decodedBlocks: (cacheMib * MIB) / 8,
});
