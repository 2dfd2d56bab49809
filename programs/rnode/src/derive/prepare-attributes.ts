import { type DerivationConfig, type L1Provider, type L2Provider, prepareAttributes } from "@rnode/derivation";
import { isCodedError, isCriticalError } from "@rnode/primitives";
import { critical, reset, temporary, temporaryBy } from "../common/progress.ts";
import type { PrepareAttributes } from "../sequencing/sequencer.ts";

/** Prepares the sequencer's attributes by the same rules as derived ones. */
export function attributesPreparer(
  config: DerivationConfig,
  providers: { readonly l1: L1Provider; readonly l2: Pick<L2Provider, "systemConfigByHash"> },
): PrepareAttributes {
  return async (parent, origin) => {
    try {
      const pulled = await prepareAttributes(config, providers, parent, origin);
      if (pulled.kind === "value") return { kind: "attributes", attributes: pulled.value };
      if (pulled.kind === "reset") return reset(`${pulled.reason} (${pulled.detail})`);
      return temporary("attributes are not ready");
    } catch (error) {
      if (!isCodedError(error)) throw error;
      return isCriticalError(error) ? critical(error.message) : temporaryBy(error);
    }
  };
}
