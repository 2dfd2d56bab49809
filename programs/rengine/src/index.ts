export { startClient } from "./client.ts";
export { engineMethods } from "./engine/engine-methods.ts";
