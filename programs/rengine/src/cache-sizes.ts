/** Memory limits in bytes for the caches of one process. Each cache documents which bytes it counts. */
export interface CacheSizes {
  /** executed blocks that are already in the database: a reorganisation back to one of them does not execute it again */
  readonly executedBlocks: number;
  /** decoded code in each engine that executes and builds blocks */
  readonly chainCode: number;
  /** decoded code in each engine that serves calls and traces */
  readonly callCode: number;
  /** most recently requested blocks, with their JSON texts */
  readonly decodedBlocks: number;
}

const MIB = 1024 * 1024;

/**
 * Divides up `--cache`. Two engines use `chainCode` and about four use `callCode`; together with the other caches that is two
 * thirds of it.
 */
export const cacheSizesOf = (cacheMib: number): CacheSizes => ({
  executedBlocks: (cacheMib * MIB) / 32,
  chainCode: (cacheMib * MIB) / 8,
  callCode: (cacheMib * MIB) / 16,
  decodedBlocks: (cacheMib * MIB) / 8,
});
