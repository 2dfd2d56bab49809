import type { JsonObject } from "@rnode/eth-api";
import type { PayloadStatusV1 } from "@rnode/protocol";

export const statusToJson = ({ status, latestValidHash, validationError }: PayloadStatusV1): JsonObject => ({
  status,
  latestValidHash,
  validationError: validationError ?? null,
});
