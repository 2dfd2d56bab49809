export { type RunningClient, startClient } from "./client.ts";
export { type EngineServices, engineMethods } from "./engine/engine-methods.ts";
export { type ClientOptions, clientTable } from "./options.ts";
