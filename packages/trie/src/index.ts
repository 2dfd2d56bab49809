export * from "./node-reader.ts";
export * from "./ordered-trie.ts";
export * from "./sorted-trie.ts";
