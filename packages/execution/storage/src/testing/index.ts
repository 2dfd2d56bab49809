export { BufferedGroup } from "../block-group.ts";
export * from "./random-chain.ts";
