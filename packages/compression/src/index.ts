export {
  type ChannelFullReason,
  type ChannelOut,
  type ChannelOutErrorCode,
  type ChannelOutOptions,
  maxRlpBytesPerChannel,
} from "./channel-out.ts";
export { createDecompressor } from "./decompressor.ts";
export { createSingularChannelOut, type FullStrategy } from "./singular-channel-out.ts";
export { createSpanChannelOut, type SpanChannelOutOptions } from "./span-channel-out.ts";
export { COMPRESSION_ALGORITHMS, type CompressionAlgorithm, compressChannel } from "./stream-compressor.ts";
