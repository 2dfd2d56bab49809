export { startProposer } from "./start-proposer.ts";
