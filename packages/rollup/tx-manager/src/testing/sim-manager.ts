import { noMetrics, silentLogger } from "@rnode/observe";
import { localSigner } from "@rnode/signer";
import type { TransactionManagerOptions } from "../api.ts";
import { TransactionManager, type TransactionManagerDeps } from "../transaction-manager.ts";
import { createTxMetrics } from "../tx-metrics.ts";
import { simProver } from "./sim-prover.ts";

const GWEI = 10n ** 9n;
const OPTIONS: TransactionManagerOptions = {
  confirmations: 1,
  resubmissionTimeoutMs: 48_000,
  receiptQueryIntervalMs: 1000,
  sendTimeoutMs: 600_000,
  notInMempoolTimeoutMs: 120_000,
  safeAbortNonceTooLowCount: 3,
  minTipWei: GWEI,
  minBaseFeeWei: GWEI,
  feeLimitMultiplier: 5,
  feeLimitThresholdWei: 100n * GWEI,
};

export const SIM_SIGNER = localSigner(new Uint8Array(32).fill(0x11));

export type SimManagerDeps = Pick<TransactionManagerDeps, "l1" | "clock"> & Partial<TransactionManagerDeps>;

/** A manager of `SIM_SIGNER`'s transactions on a `SimL1`, chain 900. */
export const simManager = (deps: SimManagerDeps, options: Partial<TransactionManagerOptions> = {}): TransactionManager =>
  new TransactionManager(
    { ...OPTIONS, ...options },
    {
      l1ChainId: 900n,
      signer: SIM_SIGNER,
      prover: simProver,
      log: silentLogger,
      metrics: createTxMetrics(noMetrics),
      ...deps,
    },
  );
