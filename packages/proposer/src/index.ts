export { DisputeGames } from "./dispute-games.ts";
export { type RproposerOptions, rproposerOptions } from "./options.ts";
export { OutputOracle } from "./output-oracle.ts";
export { Proposer, type ProposerDeps, type ProposerOptions } from "./proposer.ts";
export { ProposerError, type ProposerErrorCode } from "./proposer-error.ts";
export { type RunningProposer, startProposer } from "./start-proposer.ts";
