import type { Chain } from "@rnode/chain";
import {
  hashShape,
  type MethodTable,
  method,
  objectShape,
  param,
  RpcError,
  SERVER_ERROR,
  uint64Shape,
  uint256Shape,
} from "@rnode/jsonrpc";
import { bytesToHex, isZeroBytes, toQuantity } from "@rnode/primitives";
import * as results from "./engine-results.ts";

const configurationShape = objectShape(
  { terminalTotalDifficulty: uint256Shape, terminalBlockHash: hashShape, terminalBlockNumber: uint64Shape },
  {},
);

/** Compares both clients' configurations of the merge. Spec: execution-apis src/engine/paris.md, deprecated by cancun.md */
export function transitionConfigurationMethods({ config, hashOf }: Pick<Chain, "config"> & HashByNumber): MethodTable {
  return {
    engine_exchangeTransitionConfigurationV1: method({
      result: results.transitionConfiguration,
      params: [param("transitionConfiguration", configurationShape)],
      summary: "Deprecated: whether both clients have the same terminal total difficulty and terminal block.",
      handler: ([{ terminalTotalDifficulty, terminalBlockHash, terminalBlockNumber }]) => {
        const own = config.terminalTotalDifficulty;
        if (own !== terminalTotalDifficulty)
          throw new RpcError(SERVER_ERROR, `invalid ttd: execution ${own ?? "none"} consensus ${terminalTotalDifficulty}`);
        const hash = bytesToHex(terminalBlockHash);
        const isNamed = !isZeroBytes(terminalBlockHash);
        if (isNamed && hashOf(Number(terminalBlockNumber)) !== hash)
          throw new RpcError(SERVER_ERROR, "invalid terminal block hash");
        return {
          terminalTotalDifficulty: toQuantity(own),
          terminalBlockHash: hash,
          terminalBlockNumber: toQuantity(isNamed ? terminalBlockNumber : 0n),
        };
      },
    }),
  };
}

interface HashByNumber {
  /** hash of a canonical block */
  readonly hashOf: (number: number) => string | undefined;
}
