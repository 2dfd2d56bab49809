export { startClient } from "./client.ts";
export { engineMethods } from "./engine/engine-methods.ts";
export { PartFollower } from "./subblocks/part-follower.ts";
export { PartOutlet } from "./subblocks/part-outlet.ts";
export { PartPromises } from "./subblocks/part-promises.ts";
export { PartPublisher } from "./subblocks/part-publisher.ts";
export { createStreamMetrics } from "./subblocks/stream-metrics.ts";
