export { BLOB_RECEIVER, type BlockFixture, blockFixture } from "./block-json.ts";
export * from "./fake-beacon.ts";
export { FakeEndpoint } from "./fake-endpoint.ts";
export { foreignBlock } from "./foreign-block.ts";
