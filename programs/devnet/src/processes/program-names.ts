/** In the order in which they start; they stop in reverse order. */
export const PROGRAM_NAMES = [
  ...["l1", "daServer", "sequencerEngine", "sequencerNode", "verifierEngine", "batcher", "verifierNode", "proposer"],
  ...["followerEngine", "followerNode"],
] as const;
export type ProgramName = (typeof PROGRAM_NAMES)[number];
