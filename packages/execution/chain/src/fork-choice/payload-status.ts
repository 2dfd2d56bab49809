import type { Hex } from "@rnode/primitives";
import type { PayloadStatusV1 } from "@rnode/protocol";
import type { BlockFault } from "../api.ts";
import { describeFault } from "../faults.ts";

export const SYNCING: PayloadStatusV1 = { status: "SYNCING", latestValidHash: null };

export const validStatus = (latestValidHash: Hex): PayloadStatusV1 => ({ status: "VALID", latestValidHash });

export const invalidStatus = (latestValidHash: Hex | null, fault: BlockFault): PayloadStatusV1 => ({
  status: "INVALID",
  latestValidHash,
  validationError: describeFault(fault),
});

export const updated = (status: PayloadStatusV1) => ({ kind: "updated", status, payloadId: undefined }) as const;
