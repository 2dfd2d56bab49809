import { rollupForkTimesToJson } from "../chains/rollup-config-json.ts";
import { forksUpTo } from "../forks/fork-times.ts";

/** The JSON rollup config of L2 chain 901 on L1 chain 900, with all forks up to Jovian at genesis. */
export function testRollupConfigJson(over: Readonly<Record<string, unknown>> = {}) {
  return {
    genesis: {
      l1: { hash: `0x${"11".repeat(32)}`, number: 0 },
      l2: { hash: `0x${"22".repeat(32)}`, number: 0 },
      l2_time: 1_700_000_000,
      system_config: {
        batcherAddr: "0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a",
        overhead: `0x${"00".repeat(32)}`,
        scalar: `0x01${"00".repeat(31)}`,
        gasLimit: 30_000_000,
      },
    },
    block_time: 2,
    max_sequencer_drift: 600,
    seq_window_size: 3600,
    channel_timeout: 300,
    l1_chain_id: 900,
    l2_chain_id: 901,
    ...rollupForkTimesToJson(forksUpTo("jovian")),
    batch_inbox_address: `0x${"ff".repeat(20)}`,
    deposit_contract_address: `0x${"33".repeat(20)}`,
    l1_system_config_address: `0x${"44".repeat(20)}`,
    protocol_versions_address: `0x${"00".repeat(20)}`,
    ...over,
  };
}
