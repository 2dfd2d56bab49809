export { BufferedGroup } from "../block-group.ts";
export { writeFormat3, writeFormat4, writeFormat5, writeOldFormat } from "./old-format.ts";
export * from "./random-chain.ts";
