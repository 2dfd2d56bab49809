/** MDB_BAD_TXN */
const BAD_TRANSACTION = -30782;

/**
 * LMDB (the version in lmdb 3.5.6) sometimes refuses a valid commit: while it saves its list of free pages, it reads the data of
 * an entry that it has not found (`mdb_freelist_save`), and reports "reserved freelist had a data entry with zero-size". The
 * transaction is aborted, and the next one succeeds.
 */
export function isFalseCommitError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, message } = error as Error & { readonly code?: unknown };
  return (code === BAD_TRANSACTION || message.includes("MDB_BAD_TXN")) && message.includes("reserved freelist");
}

/**
 * Runs a transaction, and once more if its commit failed without a reason.
 *
 * @param transact begins, acts and commits; has no effect if it throws
 * @param prepareAgain reverts the first run's changes in memory; absent: the action cannot be repeated
 */
export function withSecondTry<T>(transact: () => T, prepareAgain: (() => void) | undefined): T {
  try {
    return transact();
  } catch (error) {
    if (prepareAgain === undefined || !isFalseCommitError(error)) throw error;
    prepareAgain();
    return transact();
  }
}
