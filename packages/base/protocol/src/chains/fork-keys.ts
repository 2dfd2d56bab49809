import { forkFacts, OP_FORKS, type OpFork } from "../forks/op-forks.ts";
import { fieldKey, type JsonObject, type JsonParser, jsonError, optionalField } from "../params/json-fields.ts";

/** The keys of a fork's time in a file. */
export interface ForkKeys {
  readonly fork: OpFork;
  /** the key that is written */
  readonly key: string;
  /** the key of earlier versions, which is only read */
  readonly oldKey: string | undefined;
}

const inCamelCase = (key: string): string => key.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Keys in a rollup configuration and in `[hardforks]` of a registry's file, in the order of activation. */
export const ROLLUP_FORK_KEYS: readonly ForkKeys[] = OP_FORKS.flatMap((fork) => {
  const { rollupKey: key, oldRollupKey: oldKey } = forkFacts(fork);
  return key === undefined ? [] : [{ fork, key, oldKey }];
});

/** Keys in `config` of a genesis file, in the order of activation. */
export const GENESIS_FORK_KEYS: readonly ForkKeys[] = OP_FORKS.flatMap((fork) => {
  const { genesisKey: key, oldRollupKey } = forkFacts(fork);
  return key === undefined ? [] : [{ fork, key, oldKey: oldRollupKey && inCamelCase(oldRollupKey) }];
});

/** Rollup keys as a genesis file has them: a superset of `GENESIS_FORK_KEYS`, because forks of derivation alone are in it. */
export const GENESIS_TIME_NAMES: readonly string[] = ROLLUP_FORK_KEYS.flatMap(({ key, oldKey }) =>
  (oldKey === undefined ? [key] : [key, oldKey]).map(inCamelCase),
);

/**
 * The times of forks in an object.
 *
 * @throws {CodedError} json/invalid: a time is invalid, or those of the key and the old key differ
 */
export function readForkTimes(
  object: JsonObject,
  path: string,
  keys: readonly ForkKeys[],
  parse: JsonParser<number>,
): Partial<Record<OpFork, number>> {
  const times: Partial<Record<OpFork, number>> = {};
  for (const { fork, key, oldKey } of keys) {
    const time = optionalField(object, path, key, parse);
    const old = oldKey === undefined ? undefined : optionalField(object, path, oldKey, parse);
    if (time !== undefined && old !== undefined && time !== old) {
      throw jsonError(fieldKey(path, oldKey!), old, `the time of ${key} (${time}), or no such key: it is the old name of ${key}`);
    }
    const found = time ?? old;
    if (found !== undefined) times[fork] = found;
  }
  return times;
}

/** A key that is read under its old name. */
export interface OldForkKey {
  readonly key: string;
  /** the key to write instead */
  readonly use: string;
}

/** Old keys that have a value in a rollup configuration, in `[hardforks]`, or in `config` of a genesis file. */
export function oldForkKeysIn(file: unknown): readonly OldForkKey[] {
  if (typeof file !== "object" || file === null) return [];
  return [...ROLLUP_FORK_KEYS, ...GENESIS_FORK_KEYS].flatMap(({ key: use, oldKey: key }) =>
    key !== undefined && ((file as JsonObject)[key] ?? undefined) !== undefined ? [{ key, use }] : [],
  );
}
