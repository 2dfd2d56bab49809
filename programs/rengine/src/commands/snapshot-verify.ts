import { join } from "node:path";
import { isCodedError, isSystemError } from "@rnode/primitives";
import { bool, command, optionGroup, optionTable } from "@rnode/program";
import { loadSnapshot } from "@rnode/snapshot";
import { genesisHashOf, loadChainSpec } from "../setup/chain-spec.ts";
import { fileError, isUrl } from "../setup/read-input.ts";
import { VERSION } from "../version.ts";
import { KeptDownload } from "./kept-download.ts";
import {
  bytesOfMib,
  chainOptions,
  downloaded,
  isUseless,
  maxSize,
  noteReach,
  percent,
  printSnapshot,
  trust,
} from "./snapshot-shared.ts";

const table = optionTable({
  program: "rengine snapshot verify",
  summary:
    "Checks every byte of a snapshot, its blocks, and its state against the state root of its block. One at a URL is downloaded into a temporary file (TMPDIR); an interrupted download goes on where it was.",
  envPrefix: "RENGINE_",
  groups: {
    main: optionGroup("", {
      ...chainOptions,
      maxSize,
      json: { parse: bool, default: false, env: false, help: "Print the result as JSON." },
    }),
    trust,
  },
  positionals: { name: "FILE|URL", min: 1, max: 1 },
});

/** `rengine snapshot verify`: prints the chain and block of the file; exits with 1 and the reason if it is invalid. */
export const verifySnapshotFile = command({ table, version: VERSION }, async ({ options, positionals }, io) => {
  const spec = await loadChainSpec({ chain: options.main.chain, registry: options.main.registry });
  const expected = { config: spec.config, genesisHash: await genesisHashOf(spec), ...options.trust };
  const maxBytes = bytesOfMib(options.main.maxSize);
  const from = positionals[0]!;
  const download = isUrl(from) ? KeptDownload.of(from) : undefined;
  let isKept = false;
  try {
    const file =
      download === undefined ? from : await downloaded(from, join(download.folder, "snapshot"), { expected, maxBytes }, io);
    const loaded = await loadSnapshot(file, expected, { folder: download?.folder, onProgress: percent(io, "reading") });
    try {
      noteReach(io, loaded.reach);
      printSnapshot(io, loaded, options.main.json);
    } finally {
      loaded.close();
    }
    if (options.trust.blockHash === undefined && options.trust.outputRoot === undefined) {
      io.err("the file fits itself; that its block is one of the chain, --block-hash or --output-root tells");
    }
    return 0;
  } catch (cause) {
    if (isCodedError(cause, "download/") && !isUseless(cause)) isKept = download?.keep() === true;
    if (isKept) io.err(`what was downloaded is kept in ${download!.folder}: the same command goes on from there`);
    if (download === undefined && isSystemError(cause)) throw fileError(from, cause);
    throw cause;
  } finally {
    if (!isKept) download?.remove();
  }
});
