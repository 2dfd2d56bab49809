export { awaitedChannel } from "./awaited-channel.ts";
