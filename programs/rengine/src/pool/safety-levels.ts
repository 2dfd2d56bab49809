/** How safe the block of a message can be, the least first. Spec: docs/protocol/05-services.md#interop-filters */
export const SAFETY_LEVELS = ["unsafe", "cross-unsafe", "local-safe", "safe", "finalized"] as const;
export type SafetyLevel = (typeof SAFETY_LEVELS)[number];
