import {
  fieldKey,
  type JsonParser,
  jsonError,
  jsonInteger,
  jsonObject,
  optionalField,
  refuseUnknownKeys,
  requiredField,
} from "../params/json-fields.ts";

/** The chains whose messages a chain may execute, including itself. Spec: docs/protocol/05-services.md#dependency-set-file */
export interface DependencySet {
  /** ascending */
  readonly chainIds: readonly bigint[];
  /** a message can be executed until this many seconds after it was initiated */
  readonly expiryWindowSec: number;
}

/** 7 days */
export const MESSAGE_EXPIRY_WINDOW_SEC = 604_800;

const MAX_CHAIN_ID = (1n << 256n) - 1n;
const KNOWN_KEYS = new Set(["dependencies", "overrideMessageExpiryWindow"]);
/** Other keys of a chain in files of 2025, now without effect. */
const CHAIN_KEYS = ["chainIndex", "activationTime", "historyMinTime"] as const;

const jsonChainEntry: JsonParser<void> = (value, key) => {
  const chain = jsonObject(value, key);
  refuseUnknownKeys(chain, key, new Set(CHAIN_KEYS));
  for (const name of CHAIN_KEYS) optionalField(chain, key, name, jsonInteger);
};

function chainIdOf(text: string, path: string): bigint {
  const id = /^(?:0|[1-9][0-9]{0,77})$/.test(text) ? BigInt(text) : undefined;
  if (id === undefined || id > MAX_CHAIN_ID) throw jsonError(fieldKey(path, text), text, "a chain id in decimal as the key");
  return id;
}

/** The file's form, without a default window. */
export const dependencySetToJson = ({ chainIds, expiryWindowSec }: DependencySet) => ({
  dependencies: Object.fromEntries(chainIds.map((id) => [String(id), {}])),
  ...(expiryWindowSec === MESSAGE_EXPIRY_WINDOW_SEC ? {} : { overrideMessageExpiryWindow: expiryWindowSec }),
});

/**
 * Reads `{"dependencies": {"<chain id>": {}, …}, "overrideMessageExpiryWindow"?: seconds}`. An override of 0 counts as unset.
 *
 * @throws {CodedError} json/invalid: `key` is the path of the first field that is wrong
 */
export function dependencySetFromJson(json: unknown): DependencySet {
  const file = jsonObject(json, "");
  refuseUnknownKeys(file, "", KNOWN_KEYS);
  const dependencies = requiredField(file, "", "dependencies", jsonObject);
  const chainIds = Object.entries(dependencies).map(([text, entry]) => {
    const id = chainIdOf(text, "dependencies");
    jsonChainEntry(entry, fieldKey("dependencies", text));
    return id;
  });
  if (chainIds.length === 0) throw jsonError("dependencies", dependencies, "at least one chain");
  return {
    chainIds: chainIds.sort((a, b) => (a < b ? -1 : 1)),
    expiryWindowSec: optionalField(file, "", "overrideMessageExpiryWindow", jsonInteger) || MESSAGE_EXPIRY_WINDOW_SEC,
  };
}
