import type { ForeignFact } from "./foreign-check.ts";

/** Options that several programs of the OP Stack have, from the flag tables of the Go modules. */

/** op-service: RPC, log, metrics and pprof */
export const OP_SERVICE_FLAGS: readonly ForeignFact[] = [
  { flag: "rpc.addr", sample: "127.0.0.1", fallback: "0.0.0.0" },
  { flag: "rpc.port", sample: "1234", fallback: "8545" },
  { flag: "rpc.enable-admin" },
  { flag: "log.level", sample: "DEBUG", fallback: "INFO" },
  { flag: "log.format", sample: "json", fallback: "text" },
  { flag: "log.color" },
  { flag: "log.pid" },
  { flag: "metrics.enabled" },
  { flag: "metrics.addr", sample: "0.0.0.0", fallback: "0.0.0.0" },
  { flag: "metrics.port", sample: "1235", fallback: "7300" },
  { flag: "pprof.enabled" },
  { flag: "pprof.addr", sample: "0.0.0.0", fallback: "0.0.0.0" },
  { flag: "pprof.port", sample: "1236", fallback: "6060" },
  { flag: "pprof.path", sample: "/tmp/x" },
  { flag: "pprof.type", sample: "heap" },
];

/** op-service: transactions to L1 */
export const OP_TXMGR_FLAGS: readonly ForeignFact[] = [
  { flag: "mnemonic", sample: "test junk" },
  { flag: "hd-path", sample: "m/44'/60'/0'/0/0" },
  { flag: "private-key", sample: "1111111111111111111111111111111111111111111111111111111111111111" },
  { flag: "num-confirmations", sample: "10", fallback: "10" },
  { flag: "safe-abort-nonce-too-low-count", sample: "3", fallback: "3" },
  { flag: "fee-limit-multiplier", env: ["TXMGR_FEE_LIMIT_MULTIPLIER"], sample: "5", fallback: "5" },
  { flag: "txmgr.fee-limit-threshold", sample: "100", fallback: "100" },
  { flag: "txmgr.min-tip-cap", sample: "1", fallback: "1" },
  { flag: "txmgr.max-tip-cap", sample: "5", fallback: "0" },
  { flag: "txmgr.min-basefee", sample: "1", fallback: "1" },
  { flag: "txmgr.max-basefee", sample: "5", fallback: "0" },
  { flag: "txmgr.rebroadcast-interval", sample: "7s", fallback: "12s" },
  { flag: "resubmission-timeout", sample: "7s", fallback: "48s" },
  { flag: "network-timeout", sample: "7s", fallback: "10s" },
  { flag: "txmgr.retry-interval", sample: "7s", fallback: "1s" },
  { flag: "txmgr.max-retries", sample: "10", fallback: "10" },
  { flag: "txmgr.send-timeout", env: ["TXMGR_TX_SEND_TIMEOUT"], sample: "10m", fallback: "0s" },
  { flag: "txmgr.not-in-mempool-timeout", env: ["TXMGR_TX_NOT_IN_MEMPOOL_TIMEOUT"], sample: "7s", fallback: "2m0s" },
  { flag: "txmgr.receipt-query-interval", sample: "7s", fallback: "12s" },
  { flag: "txmgr.already-published-custom-errs", sample: "already known" },
  { flag: "txmgr.cell-proof-time", sample: "1" },
];

/** op-service: a remote signer */
export const OP_SIGNER_FLAGS: readonly ForeignFact[] = [
  { flag: "signer.endpoint", sample: "https://127.0.0.1:1" },
  { flag: "signer.address", sample: "0x1212121212121212121212121212121212121212" },
  { flag: "signer.header", sample: "X-Key=a" },
  { flag: "signer.tls.enabled" },
  { flag: "signer.tls.ca", sample: "tls/ca.crt", fallback: "tls/ca.crt" },
  { flag: "signer.tls.cert", sample: "tls/tls.crt", fallback: "tls/tls.crt" },
  { flag: "signer.tls.key", sample: "tls/tls.key", fallback: "tls/tls.key" },
];

/** op-node: the chain and its forks */
export const OP_CHAIN_FLAGS: readonly ForeignFact[] = [
  { flag: "override.canyon", sample: "5", fallback: "0" },
  { flag: "override.delta", sample: "5", fallback: "0" },
  { flag: "override.ecotone", sample: "5", fallback: "0" },
  { flag: "override.fjord", sample: "5", fallback: "0" },
  { flag: "override.granite", sample: "5", fallback: "0" },
  { flag: "override.holocene", sample: "5", fallback: "0" },
  { flag: "override.isthmus", sample: "5", fallback: "0" },
  { flag: "override.jovian", sample: "5", fallback: "0" },
  { flag: "override.karst", sample: "5", fallback: "0" },
  { flag: "override.lagoon", sample: "5", fallback: "0" },
  { flag: "override.pectrablobschedule", sample: "5", fallback: "0" },
  { flag: "override.keep-karst-upgrade-gas" },
  { flag: "network", sample: "op-sepolia" },
  { flag: "rollup.config", sample: "/tmp/x" },
];

/** op-alt-da */
export const OP_ALT_DA_FLAGS: readonly ForeignFact[] = [
  { flag: "altda.enabled" },
  { flag: "altda.da-server", sample: "http://127.0.0.1:1" },
  { flag: "altda.verify-on-read" },
  { flag: "altda.da-service" },
  { flag: "altda.put-timeout", sample: "7s", fallback: "0s" },
  { flag: "altda.get-timeout", sample: "7s", fallback: "0s" },
  { flag: "altda.max-concurrent-da-requests", sample: "1", fallback: "1" },
];
