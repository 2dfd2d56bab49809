export type { ChannelOut, ChannelOutOptions } from "./channel-out.ts";
export { createDecompressor } from "./decompressor.ts";
export { createSingularChannelOut, type FullStrategy } from "./singular-channel-out.ts";
export { createSpanChannelOut } from "./span-channel-out.ts";
export type { CompressionAlgorithm } from "./stream-compressor.ts";
