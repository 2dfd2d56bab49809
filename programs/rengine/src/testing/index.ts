export { CHAIN_ID, startTestClient, type TestClient } from "./test-client.ts";
