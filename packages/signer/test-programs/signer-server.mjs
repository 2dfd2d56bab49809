// The signer of the tests as a process of its own: reads what it is from the JSON file that is named, and listens until it is killed.
import { readFileSync } from "node:fs";
import { SignerServer } from "@rnode/signer/testing";

const { key, port, tls } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const server = new SignerServer({ key: Buffer.from(key.slice(2), "hex"), tls });
await server.listen(port);
process.stdout.write("listens\n");
