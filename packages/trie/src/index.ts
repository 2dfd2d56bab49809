export * from "./account-codec.ts";
export * from "./node-reader.ts";
export * from "./ordered-trie.ts";
export * from "./proof.ts";
export * from "./sorted-trie.ts";
export * from "./update-state-trie.ts";
export * from "./update-trie.ts";
export * from "./witness.ts";
