export { BufferedGroup } from "../block-group.ts";
export { writeOldFormat } from "./old-format.ts";
export * from "./random-chain.ts";
