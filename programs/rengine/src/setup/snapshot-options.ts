import { bool, hash, optionGroup, type Parser, textOf } from "@rnode/program";
import { isUrl } from "./read-input.ts";

/** A switch of Geth's with the same name says how its database is kept: it names no place. */
const place: Parser<string> = {
  ...textOf("url", "a URL starting with http://, https:// or s3://"),
  bare: "false",
  parse: (value) => (isUrl(value) || value.startsWith("s3://") ? value : bool.parse(value) === undefined ? undefined : ""),
};

const publicKey: Parser<Uint8Array> = {
  ...hash,
  placeholder: "hex",
  expects: "a 32-byte ed25519 key as 0x and 64 hex digits",
};

export const snapshot = optionGroup("snapshot", {
  from: {
    parse: place,
    flag: "snapshot",
    default: "",
    help: "Where an empty data folder gets its state from: the place that rengine snapshot create --to publishes to, as a URL, or s3://bucket/prefix with credentials in the environment. Has no effect if there is a database.",
  },
  publicKey: {
    parse: publicKey,
    needs: "snapshot",
    help: "Key that must have signed the index there; rengine snapshot create prints it. The newest snapshot is taken.",
  },
  blockHash: {
    parse: hash,
    needs: "snapshot",
    help: "Hash of the block whose snapshot is taken, from somebody you trust: a node of your own, an explorer.",
  },
});
