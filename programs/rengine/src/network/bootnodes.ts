import { defaultBootnodes } from "@rnode/devp2p";
import { networkByName } from "@rnode/protocol";

/** Boot nodes of the L1 of a named network; none for a genesis file. @param chain as `--chain` gives it */
export function bootnodesOf(chain: string): readonly string[] {
  const network = networkByName(chain);
  return network === undefined ? [] : defaultBootnodes(BigInt(network.l1ChainId), "execution");
}
