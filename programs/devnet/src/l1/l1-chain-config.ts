import type { ChainParameters } from "../parameters.ts";

interface BlobParameters {
  readonly target: number;
  readonly max: number;
  readonly baseFeeUpdateFraction: number;
}

/** The blob schedule of an external L1. */
export interface BlobSchedule {
  readonly current: BlobParameters;
  readonly next?: { readonly activationTimeSec: number; readonly params: BlobParameters };
}

const PRAGUE: BlobParameters = { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 };

/**
 * The L1 (Prague from the start), for `--rollup.l1-chain-config`: its blob schedule determines the L1 blob base
 * fee.
 */
export function l1ChainConfig(parameters: ChainParameters, { current, next }: BlobSchedule = { current: PRAGUE }): object {
  return {
    chainId: parameters.l1ChainId,
    homesteadBlock: 0,
    eip150Block: 0,
    eip155Block: 0,
    eip158Block: 0,
    byzantiumBlock: 0,
    constantinopleBlock: 0,
    petersburgBlock: 0,
    istanbulBlock: 0,
    berlinBlock: 0,
    londonBlock: 0,
    mergeNetsplitBlock: 0,
    terminalTotalDifficulty: 0,
    shanghaiTime: 0,
    cancunTime: 0,
    pragueTime: 0,
    ...(next && { osakaTime: next.activationTimeSec }),
    blobSchedule: {
      cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 },
      prague: current,
      ...(next && { osaka: next.params }),
    },
  };
}
