import { arrayShape, dataShape, hashShape, optionalParam, param, RpcError, rpcErrorOf, SERVER_ERROR } from "@rnode/jsonrpc";
import { bytesToHex, toQuantity } from "@rnode/primitives";
import { blockToPayload, payloadToJson } from "@rnode/protocol";
import { rulesAt } from "../backend/backend.ts";
import { blobsBundle } from "../json/blobs-bundle.ts";
import { attributesShape } from "../params/payload-attributes.ts";
import * as results from "../schemas/results.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

/** The gas limit that Ethereum blocks built here move towards. */
const DESIRED_GAS_LIMIT = 60_000_000n;

/** Methods for testing clients, which must not be exposed to anyone else. Spec: execution-apis, testing_ */
export function testingMethods({ backend }: ReadServices): ApiMethods {
  return {
    testing_buildBlockV1: method({
      runs: "writer",
      result: results.builtPayload,
      params: [
        param("parentBlockHash", hashShape),
        param("payloadAttributes", attributesShape),
        optionalParam("transactions", arrayShape(dataShape)),
        optionalParam("extraData", dataShape),
      ],
      summary: "A block on any parent with the given transactions, or with those of the pool (null); it is kept nowhere.",
      handler: ([parentHash, attributes, transactions, extraData], { chain, sidecars }) => {
        const forced = {
          ...attributes,
          transactions: transactions ?? attributes.transactions,
          noTxPool: transactions !== undefined,
        };
        const built = chain.buildBlock(parentHash, forced, { desiredGasLimit: DESIRED_GAS_LIMIT, extraData });
        if (built.kind === "unknown-parent") {
          throw rpcErrorOf(backend.profile.errors.blockNotFound({ kind: "hash", hash: parentHash, requireCanonical: false }));
        }
        if (built.kind === "invalid-attributes") throw new RpcError(SERVER_ERROR, built.reason);
        const { block, hash, value, requests } = built.payload;
        const { hasMessagePasserRoot } = rulesAt(backend, block.header);
        return {
          executionPayload: payloadToJson(blockToPayload(block, hash, hasMessagePasserRoot).executionPayload),
          blockValue: toQuantity(value),
          blobsBundle: blobsBundle(block, sidecars),
          executionRequests: requests.map(bytesToHex),
          shouldOverrideBuilder: false,
        };
      },
    }),
  };
}
