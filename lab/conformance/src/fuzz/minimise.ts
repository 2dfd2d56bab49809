import type { FuzzAccount, FuzzCase } from "./fuzz-case.ts";

const STOP = 0x00;
const MAX_ATTEMPTS = 400;

/** Makes a case smaller for as long as `fails` holds: fewer transactions, accounts without code, truncated code. */
export async function minimise(fuzzCase: FuzzCase, fails: (candidate: FuzzCase) => Promise<boolean>): Promise<FuzzCase> {
  let best = fuzzCase;
  let attempts = 0;
  const tryCase = async (candidate: FuzzCase): Promise<boolean> => {
    if (attempts++ >= MAX_ATTEMPTS || !(await fails(candidate))) return false;
    best = candidate;
    return true;
  };
  for (let i = best.transactions.length - 1; i >= 0 && best.transactions.length > 1; i--) {
    await tryCase({ ...best, transactions: best.transactions.filter((_, index) => index !== i) });
  }
  for (let i = 0; i < best.accounts.length; i++) {
    if (best.accounts[i]!.code.length === 0) continue;
    if (await tryCase(withAccount(best, i, { code: Uint8Array.of(STOP) }))) continue;
    let length = best.accounts[i]!.code.length;
    for (let cut = length >> 1; cut > 0; cut >>= 1) {
      while (length - cut > 0 && (await tryCase(withAccount(best, i, { code: best.accounts[i]!.code.slice(0, length - cut) })))) {
        length -= cut;
      }
    }
  }
  for (let i = 0; i < best.accounts.length; i++) {
    if (best.accounts[i]!.storage.length > 0) await tryCase(withAccount(best, i, { storage: [] }));
  }
  return best;
}

function withAccount(fuzzCase: FuzzCase, at: number, change: Partial<FuzzAccount>): FuzzCase {
  return { ...fuzzCase, accounts: fuzzCase.accounts.map((account, index) => (index === at ? { ...account, ...change } : account)) };
}
