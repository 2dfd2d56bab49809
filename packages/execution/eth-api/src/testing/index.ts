export { assemble, deployerOf } from "./assemble.ts";
export { deposit, feeTransaction, JOVIAN_CONFIG, l1Info, RECIPIENT, storedBlock } from "./blocks.ts";
export { schemaFaults } from "./json-schema.ts";
