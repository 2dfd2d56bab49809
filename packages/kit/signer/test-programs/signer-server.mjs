// The signer of the tests as a separate process: reads its configuration from the given JSON file, and listens until it is
// killed.
import { readFileSync } from "node:fs";
import { SignerServer } from "@rnode/signer/testing";

const { key, signsWith, port, tls } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const keyOf = (hex) => Buffer.from(hex.slice(2), "hex");
const server = new SignerServer({ key: keyOf(key), tls });
if (signsWith !== undefined) server.key = keyOf(signsWith);
await server.listen(port);
process.stdout.write("listens\n");
