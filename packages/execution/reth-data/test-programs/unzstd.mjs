// unzstd.mjs FILE MAX_BYTES: writes the decompressed file to the standard output.
import { readFileSync } from "node:fs";
import { decompress, init } from "@bokuweb/zstd-wasm";

const [file, maxBytes] = process.argv.slice(2);
await init();
process.stdout.write(decompress(readFileSync(file), { defaultHeapSize: Number(maxBytes) }));
