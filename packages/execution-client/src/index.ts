export { type RunningClient, startClient } from "./client.ts";
export { type ClientOptions, clientTable } from "./options.ts";
