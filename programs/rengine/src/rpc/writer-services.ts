import type { Chain } from "@rnode/chain";
import type { NetworkAccess, SdmState, WriterAccess, WriteServices } from "@rnode/eth-api";
import { equalBytes } from "@rnode/primitives";
import type { PoolService } from "../pool/pool-service.ts";

/** The services of the process that owns the chain. They are reached directly, without messages between processes. */
/** @param network the network, or the node info of a client without P2P */
export const writeServicesOf = (
  chain: Chain,
  pool: PoolService,
  sdm: SdmState,
  network?: NetworkAccess | WriteServices["unjoinedNode"],
): WriteServices => ({
  chain,
  ...(typeof network === "function" ? { unjoinedNode: network } : { network }),
  pool: pool.pool,
  sidecars: pool,
  setMinimumTip: (tipWei) => pool.setMinimumTip(tipWei),
  sdm,
});

export const writerAccessOf = (chain: Chain, pool: PoolService): WriterAccess => ({
  submit: (raw, terms) => pool.submit(raw, terms),
  nextNonceOf: async (sender) => pool.pool.nextNonce(sender),
  badBlock: async (hash) => chain.badBlocks().find((bad) => equalBytes(bad.hash, hash))?.block,
});
