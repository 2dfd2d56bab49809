export { CHAIN_ID, GENESIS_TIME_SEC, startTestClient, type TestClient } from "./test-client.ts";
