import {
  duration,
  gwei,
  hexKey,
  integerBetween,
  listOf,
  optionGroup,
  type Parser,
  positiveDuration,
  text,
  uint,
} from "@rnode/program";
import { parsePrivateKey } from "@rnode/signer";

const privateKey: Parser<Uint8Array> = {
  ...hexKey,
  expects: "a private key as 64 hex digits, from 1 to the order of the curve",
  parse: parsePrivateKey,
};

const positive = integerBetween(1, Number.MAX_SAFE_INTEGER);

/**
 * The account that sends: programs that include this have `--private-key` and `--private-key-file`. They also include
 * `remoteSignerOptions`, and `openSigner` chooses.
 */
export const accountOptions = optionGroup("", {
  privateKey: {
    parse: privateKey,
    required: true,
    requiredUnless: "signer.endpoint",
    secret: true,
    help: "Private key of the L1 account that sends.",
  },
});

/** Everything about transactions to L1, for every program that sends some. Spec: docs/protocol/05-services.md#transaction-manager */
export const transactionOptions = optionGroup("", {
  confirmations: {
    parse: positive,
    flag: "num-confirmations",
    default: 10,
    unit: "L1 blocks",
    help: "Number of L1 blocks, its own included, after which a transaction counts as confirmed.",
  },
  safeAbortNonceTooLowCount: {
    parse: positive,
    default: 3,
    help: "A transaction is given up after this many consecutive signs that another one has taken its nonce.",
  },
  feeLimitMultiplier: {
    parse: positive,
    default: 5,
    help: "A replacement may cost at most this many times the fee that L1 currently suggests.",
  },
  feeLimitThresholdWei: {
    parse: gwei,
    flag: "txmgr.fee-limit-threshold",
    default: 100n * 10n ** 9n,
    help: "Fee cap below which --fee-limit-multiplier does not apply.",
  },
  minTipWei: { parse: gwei, flag: "txmgr.min-tip-cap", default: 10n ** 9n, help: "Minimum priority fee of a transaction." },
  minBaseFeeWei: {
    parse: gwei,
    flag: "txmgr.min-basefee",
    default: 10n ** 9n,
    help: "Minimum base fee from which fee caps are computed, even if L1's is lower.",
  },
  maxTipWei: {
    parse: gwei,
    flag: "txmgr.max-tip-cap",
    default: 0n,
    help: "Nothing is sent while L1 suggests a higher priority fee. 0: no limit.",
  },
  maxBaseFeeWei: {
    parse: gwei,
    flag: "txmgr.max-basefee",
    default: 0n,
    help: "Nothing is sent while L1's base fee is higher. 0: no limit.",
  },
  alreadyPublishedErrors: {
    parse: listOf(text),
    flag: "txmgr.already-published-custom-errs",
    default: [],
    help: "Parts of further error texts by which an L1 endpoint says that it has the transaction already.",
  },
  resubmissionTimeoutMs: {
    parse: positiveDuration,
    default: 48_000,
    help: "A transaction that is not included after this time is replaced by one with higher fees.",
  },
  networkTimeoutMs: { parse: positiveDuration, default: 10_000, help: "Time limit of one request to an endpoint." },
  sendTimeoutMs: {
    parse: duration,
    flag: "txmgr.send-timeout",
    default: 600_000,
    check: (sendMs: number, other) => {
      const leastMs = Number(other("txmgr.not-in-mempool-timeout"));
      if (sendMs === 0 || sendMs >= leastMs) return undefined;
      return `expected at least --txmgr.not-in-mempool-timeout (${leastMs}ms) or 0, found ${sendMs}ms`;
    },
    help: "A transaction that is not included after this time is given up. 0: never.",
  },
  notInMempoolTimeoutMs: {
    parse: positiveDuration,
    flag: "txmgr.not-in-mempool-timeout",
    default: 120_000,
    help: "A transaction that no L1 transaction pool has accepted after this time is given up.",
  },
  cellProofTimeSec: {
    parse: uint,
    flag: "txmgr.cell-proof-time",
    unit: "seconds since 1970",
    help: "From this time of L1 on, blobs are sent with proofs of their cells, as L1 wants since Osaka. Not given: as is known of public networks, elsewhere by trial.",
  },
  receiptQueryIntervalMs: {
    parse: positiveDuration,
    flag: "txmgr.receipt-query-interval",
    default: 12_000,
    help: "Time between two checks whether a transaction is included.",
  },
});
