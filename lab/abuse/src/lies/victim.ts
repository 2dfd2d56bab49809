/** Whose rollup node is lied to. */
export type VictimName = "verifier" | "sequencer";
